/** What a follower would know of a chain, and the driver followed until it knows it. */
import { assert } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type {
  AccountHistory,
  ChainDriver,
  ChainEvent,
  ChainPoint,
  ObservedTransfer,
  ReceiveTarget,
  TransferIdentity,
  WatchSet
} from "../../../runtime/Chains.ts"
import { watching } from "../../support/Drivers.ts"
import type { TestedChain } from "./TestedChain.ts"

type SeenTransfer = ObservedTransfer & { readonly height: bigint }

/** What a follower would know after some events: the points, and what each block brought. */
export interface Journal {
  readonly points: ReadonlyArray<ChainPoint>
  readonly transfers: ReadonlyMap<string, SeenTransfer>
}

export const empty: Journal = { points: [], transfers: new Map() }

const keyOf = ({ index, matchKey, txHash }: TransferIdentity): string => `${txHash}:${index}:${matchKey}`

export const isByAccount = ({ history }: ChainDriver): boolean => history._tag === "AccountHistory"

/** Insists on what a new head must be: above the one before, and without a gap where blocks are read. */
const checkHead = (driver: ChainDriver, before: ChainPoint | undefined, point: ChainPoint): void => {
  if (before === undefined) return
  if (isByAccount(driver)) assert.isAbove(Number(point.height), Number(before.height), "heights rise")
  else assert.strictEqual(point.height, before.height + 1n, "blocks come in order")
}

/** Insists that a transfer is told once, or again as it was where an overlap is allowed. */
const checkTransfer = (driver: ChainDriver, before: SeenTransfer | undefined, transfer: SeenTransfer): void => {
  if (isByAccount(driver)) assert.isDefined(transfer.at, "a transfer names its place")
  if (before === undefined) return
  assert.isTrue(isByAccount(driver), "a transfer comes once")
  assert.deepStrictEqual(transfer, before, "a transfer is the same when it is told again")
}

/** Applies an event as the journal does. */
const apply = (driver: ChainDriver) => (journal: Journal, event: ChainEvent): Journal => {
  switch (event._tag) {
    case "Finality":
    case "Condition":
      return journal
    case "Forward": {
      checkHead(driver, journal.points[0], event.point)
      const transfers = new Map(journal.transfers)
      for (const transfer of event.transfers) {
        const { at, height } = { height: event.point.height, ...transfer }
        const seen = { ...transfer, height: at?.height ?? height }
        checkTransfer(driver, transfers.get(keyOf(transfer)), seen)
        transfers.set(keyOf(transfer), seen)
      }
      return { points: [event.point, ...journal.points], transfers }
    }
    case "Gone": {
      const transfers = new Map(journal.transfers)
      for (const transfer of event.transfers) transfers.delete(keyOf(transfer))
      return { ...journal, transfers }
    }
    case "Rollback":
      return {
        points: journal.points.filter(({ height }) => height <= event.to.height),
        transfers: new Map([...journal.transfers].filter(([, { height }]) => height <= event.to.height))
      }
  }
}

/** Follows from `journal` until it satisfies `done`. */
export const followUntil = (
  driver: ChainDriver,
  journal: Journal,
  watch: WatchSet,
  done: (journal: Journal) => boolean
) =>
  driver.follow(journal.points, watch).pipe(
    Stream.scan(() => journal, apply(driver)),
    Stream.filter(done),
    Stream.runHead,
    Effect.map((found) => found._tag === "Some" ? found.value : empty)
  )

/** Keys and accounts of targets, and of the rig's shared wallet. */
export const watchOf = (
  rig: TestedChain,
  targets: ReadonlyArray<ReceiveTarget>,
  more: Parameters<typeof watching>[1] = {}
) => {
  const accountKeys = rig.shared === null ? [] : [rig.shared.accountKey]
  const accounts = [...accountKeys, ...targets.flatMap(({ matchKey, memo }) => memo === null ? [matchKey] : [])]
  return watching([...accountKeys, ...targets.map(({ matchKey }) => matchKey)], {
    accounts: accounts.map((key) => ({ key, isOpen: true })),
    tokens: rig.token === null ? [] : [rig.token],
    ...more
  })
}

export const amountsOf = ({ transfers }: Journal) => [...transfers.values()].map(({ amount }) => BigInt(amount)).sort()

export const withoutHeight = (seen: SeenTransfer): ObservedTransfer =>
  Object.fromEntries(Object.entries(seen).filter(([field]) => field !== "height")) as never

export const accountHistoryOf = ({ history }: ChainDriver): AccountHistory => {
  if (history._tag !== "AccountHistory") throw new Error("expected a driver that asks for accounts")
  return history
}

export const inOrder = (transfers: ReadonlyArray<ObservedTransfer>) =>
  transfers.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)))
