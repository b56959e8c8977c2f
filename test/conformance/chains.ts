/**
 * Goal: a follower may trust any chain driver the same way.
 * Method: each driver's test gives a rig, a chain it can make things happen on, which says what its chain can do; every
 * promise of `ChainDriver.follow` and of its history is tried on a chain of its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope, Stream } from "effect"
import type {
  AccountHistory,
  ChainDriver,
  ChainEvent,
  ChainPoint,
  ObservedTransfer,
  PlacedTransfer,
  ReceiveTarget,
  TransferIdentity,
  WatchSet
} from "../../runtime/Chains.ts"
import { blockHistoryOf, watching } from "../support/Drivers.ts"

/** A transaction that was mined. */
export interface MinedTransaction {
  readonly txHash: string
}

/** A chain to make things happen on. What is null its chain cannot do, and the suite leaves out what needs it. */
export interface TestedChain {
  readonly driver: ChainDriver
  /** Where the n-th invoice of the rig's wallet is paid, n from 0 to 9; the same target for the same number. */
  readonly target: (invoice: number) => ReceiveTarget
  /** What the suite pays is a multiple of it: base units that the chain lets a new account have. */
  readonly unit: bigint
  /** A token that the driver reports, as the catalogue spells it; null: it reports the native coin only. */
  readonly token: string | null
  /** Pays in the native coin (null) or the rig's token; mined at once, and in no other payment's block. */
  readonly pay: (to: ReceiveTarget, token: string | null, amount: bigint) => Effect.Effect<MinedTransaction>
  readonly mine: (blocks: number) => Effect.Effect<void>
  /** Pays several receivers in one transaction, in the token where there is one; the same receiver may come twice. */
  readonly payMany:
    | ((to: ReadonlyArray<ReceiveTarget>, amount: bigint) => Effect.Effect<MinedTransaction>)
    | null
  readonly rollback: {
    /** Replaces the newest blocks; transactions in them vanish. */
    readonly drop: (depth: number) => Effect.Effect<void>
    /** Replaces the newest blocks by others that hold the same payments again, each in a higher block. */
    readonly reinclude: (depth: number) => Effect.Effect<void>
  } | null
  /** One transaction that is not final leaves the chain, and the chain goes on until that is certain. */
  readonly dropTransaction: ((txHash: string) => Effect.Effect<void>) | null
  /** Pays the rig's shared wallet and names no invoice. */
  readonly shared: {
    readonly accountKey: string
    readonly payWithoutMemo: (token: string | null, amount: bigint) => Effect.Effect<MinedTransaction>
  } | null
  /** Pays in a token that keeps a fee: answers what arrives. */
  readonly payWithFee:
    | ((to: ReceiveTarget, amount: bigint) => Effect.Effect<MinedTransaction & { readonly arrives: bigint }>)
    | null
  /** Newest blocks whose transactions `dropTransaction` can drop: 1 where it is not said. */
  readonly droppableBlocks?: number
  /** Ways in which its node may misbehave for a while without harm: it lags, cuts answers, tells things twice. */
  readonly disturbances?: ReadonlyArray<{ readonly begin: Effect.Effect<void>; readonly end: Effect.Effect<void> }>
  /** A payment that fails on the chain: the transaction is there and has moved nothing. */
  readonly payInVain: ((to: ReceiveTarget, amount: bigint) => Effect.Effect<MinedTransaction>) | null
}

type SeenTransfer = ObservedTransfer & { readonly height: bigint }

/** What a follower would know after some events: the points, and what each block brought. */
interface Journal {
  readonly points: ReadonlyArray<ChainPoint>
  readonly transfers: ReadonlyMap<string, SeenTransfer>
}

const empty: Journal = { points: [], transfers: new Map() }

const keyOf = ({ index, matchKey, txHash }: TransferIdentity): string => `${txHash}:${index}:${matchKey}`

const isByAccount = ({ history }: ChainDriver): boolean => history._tag === "AccountHistory"

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
const followUntil = (
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
const watchOf = (
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

const amountsOf = ({ transfers }: Journal) => [...transfers.values()].map(({ amount }) => BigInt(amount)).sort()

const withoutHeight = (seen: SeenTransfer): ObservedTransfer =>
  Object.fromEntries(Object.entries(seen).filter(([field]) => field !== "height")) as never

const accountHistoryOf = ({ history }: ChainDriver): AccountHistory => {
  if (history._tag !== "AccountHistory") throw new Error("expected a driver that asks for accounts")
  return history
}

const inOrder = (transfers: ReadonlyArray<ObservedTransfer>) =>
  transfers.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)))

/** A rig whose chain can do these things. */
type With<Needs extends keyof TestedChain> =
  & TestedChain
  & { readonly [Need in Needs]: NonNullable<TestedChain[Need]> }

const hasAll = <Needs extends keyof TestedChain>(rig: TestedChain, needs: ReadonlyArray<Needs>): rig is With<Needs> =>
  needs.every((need) => rig[need] !== null)

/** Runs the suite; `rig` is made anew for every test. `limitMillis`: of one test. */
export const chainConformance = (
  name: string,
  rig: Effect.Effect<TestedChain, never, Scope.Scope>,
  limitMillis = 30_000
) => {
  const promise = <Needs extends Array<keyof TestedChain>>(
    title: string,
    needs: Needs,
    work: (rig: With<Needs[number]>, start: Journal) => Effect.Effect<void, unknown, Scope.Scope>,
    isApplicable: (driver: ChainDriver) => boolean = () => true
  ) =>
    it(title, (test) =>
      Effect.gen(function*() {
        const made = yield* rig
        if (!hasAll(made, needs) || !isApplicable(made.driver)) {
          return false
        }
        const start = yield* followUntil(made.driver, empty, watchOf(made, []), ({ points }) =>
          points.length === 1)
        yield* work(made, start)
        return true
      }).pipe(Effect.scoped, Effect.runPromise).then((isPossible) =>
        test.skip(!isPossible, "its chain cannot do that")
      ), limitMillis)

  describe(`chain driver ${name}`, () => {
    promise(
      "starts at the head, and yields what came after a cursor in order",
      [],
      (rig, start) =>
        Effect.gen(function*() {
          yield* rig.mine(30)
          const head = start.points[0]!.height + 30n
          const journal = yield* followUntil(
            rig.driver,
            start,
            watchOf(rig, []),
            ({ points }) => points[0]!.height >= head
          )
          if (!isByAccount(rig.driver)) assert.lengthOf(journal.points, 31)
        })
    )

    promise("ends every look with a mark of finality that never goes back", [], (rig, start) =>
      Effect.gen(function*() {
        const marks = rig.driver.follow(start.points, watchOf(rig, [])).pipe(
          Stream.filter((event) => event._tag === "Finality"),
          Stream.take(3),
          Stream.runCollect
        )
        const fiber = yield* Effect.forkChild(marks)
        yield* rig.mine(5)
        const heights = (yield* Fiber.join(fiber)).flatMap(({ finalized }) => finalized === null ? [] : [finalized])
        assert.deepStrictEqual(heights, heights.toSorted((one, other) => Number(one - other)))
      }))

    promise("finds transfers to watched targets once, with what they are", [], (rig, start) =>
      Effect.gen(function*() {
        const [first, second, unwatched] = [rig.target(0), rig.target(1), rig.target(2)]
        const native = yield* rig.pay(first, null, 5n * rig.unit)
        const other = yield* rig.pay(second, rig.token, 6n * rig.unit)
        yield* rig.pay(unwatched, null, 7n * rig.unit)
        const many = yield* rig.payMany?.([first, first, second], 8n * rig.unit) ?? Effect.succeed(null)
        const last = yield* rig.pay(first, null, 9n * rig.unit)
        const watch = watchOf(rig, [first, second])
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) =>
          [...transfers.values()].some(({ txHash }) =>
            txHash === last.txHash
          ))
        const found = (txHash: string) =>
          [...journal.transfers.values()].filter((each) =>
            each.txHash === txHash && watch.has(each.matchKey) &&
            each.matchKey !== rig.shared?.accountKey
          )
        const facts = (txHash: string) =>
          found(txHash).map(({ amount, matchKey, tokenAddress }) => ({
            amount: BigInt(amount),
            matchKey,
            tokenAddress
          }))
        assert.deepStrictEqual([facts(native.txHash), facts(other.txHash)], [
          [{ amount: 5n * rig.unit, matchKey: first.matchKey, tokenAddress: null }],
          [{ amount: 6n * rig.unit, matchKey: second.matchKey, tokenAddress: rig.token }]
        ])
        if (many === null) {
          return
        }
        const ofMany = found(many.txHash)
        const total = (matchKey: string) =>
          ofMany.filter((each) =>
            each.matchKey === matchKey
          ).reduce((sum, { amount }) => sum + amount, 0n)
        assert.deepStrictEqual([total(first.matchKey), total(second.matchKey)], [16n * rig.unit, 8n * rig.unit])
        assert.strictEqual(new Set(ofMany.map(({ index }) => index)).size, ofMany.length)
      }))

    promise(
      "finds a payment to a target that it learns of only while it looks",
      [],
      (rig, start) =>
        Effect.gen(function*() {
          const target = rig.target(0)
          yield* rig.pay(target, null, 3n * rig.unit)
          const all = watchOf(rig, [target])
          const none = watchOf(rig, [])
          let current = none
          const watch: WatchSet = {
            ...all,
            has: (key) => current.has(key),
            accounts: () => current.accounts(),
            refresh: Effect.sync(() => {
              current = all
            })
          }
          const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
          assert.deepStrictEqual(amountsOf(journal), [3n * rig.unit])
        })
    )

    promise("gives the same journal from any cursor", [], (rig, start) =>
      Effect.gen(function*() {
        const target = rig.target(0)
        yield* rig.pay(target, rig.token, 1n * rig.unit)
        yield* rig.mine(2)
        yield* rig.pay(target, null, 2n * rig.unit)
        yield* rig.pay(target, rig.token, 3n * rig.unit)
        const watch = watchOf(rig, [target])
        const whole = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 3)
        yield* rig.mine(1)
        for (const [skip] of whole.points.entries()) {
          const points = whole.points.slice(skip)
          const known = [...whole.transfers].filter(([, { height }]) => height <= points[0]!.height)
          const resumed = yield* followUntil(rig.driver, { points, transfers: new Map(known) }, watch, (journal) =>
            journal.points[0]!.height > whole.points[0]!.height)
          assert.deepStrictEqual([...resumed.transfers].sort(), [...whole.transfers].sort())
        }
      }))

    promise("reads again what was passed, and nothing that is not there", [], (rig, start) =>
      Effect.gen(function*() {
        const [target, unwatched] = [rig.target(0), rig.target(1)]
        const first = yield* rig.pay(target, rig.token, 3n * rig.unit)
        const other = yield* rig.pay(unwatched, rig.token, 4n * rig.unit)
        const last = yield* rig.pay(target, null, 5n * rig.unit)
        const watch = watchOf(rig, [target])
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) =>
          [...transfers.values()].some(({ txHash }) =>
            txHash === last.txHash
          ))
        const { readTransaction, readTransfers, timeOf } = accountHistoryOf(rig.driver)
        const seen = (txHash: string) =>
          inOrder(
            [...journal.transfers.values()].filter((each) =>
              each.txHash === txHash
            ).map(withoutHeight)
          )
        assert.deepStrictEqual(inOrder(yield* readTransaction(first.txHash, watch)), seen(first.txHash))
        assert.deepStrictEqual(inOrder(yield* readTransaction(last.txHash, watch)), seen(last.txHash))
        const toOthers = (yield* readTransaction(other.txHash, watch)).filter(({ matchKey }) =>
          matchKey === target.matchKey
        )
        assert.deepStrictEqual(toOthers, [])
        const range = (from: bigint, to: bigint) =>
          Effect.map(readTransfers(from, to, watch), (all: ReadonlyArray<PlacedTransfer>) =>
            inOrder(all.filter(({ matchKey }) => matchKey === target.matchKey)))
        const ofTarget = inOrder(
          [...journal.transfers.values()].map(withoutHeight).filter(({ matchKey }) =>
            matchKey === target.matchKey
          )
        )
        const [low, high] = [start.points[0]!.height, journal.points[0]!.height]
        assert.deepStrictEqual(yield* range(low, high), ofTarget)
        const place = seen(last.txHash)[0]!.at!
        assert.deepStrictEqual(yield* range(place.height, place.height), seen(last.txHash))
        assert.strictEqual(yield* timeOf(place.height), place.time)
      }), isByAccount)

    promise(
      "reads a block again by its height, and none on a branch that was left",
      ["rollback"],
      (rig, start) =>
        Effect.gen(function*() {
          const { readBlock } = blockHistoryOf(rig.driver)
          const watch = watchOf(rig, [rig.target(0)])
          yield* rig.pay(rig.target(0), rig.token, 3n * rig.unit)
          yield* rig.pay(rig.target(2), rig.token, 4n * rig.unit)
          const before = yield* followUntil(rig.driver, start, watch, ({ points }) => points.length === 3)
          const [top, middle] = before.points as [ChainPoint, ChainPoint]
          const own = yield* readBlock(middle.height, middle, watch)
          assert.deepStrictEqual(yield* readBlock(middle.height, top, watch), own)
          assert.deepStrictEqual([own.point, own.transfers.map(({ amount }) => BigInt(amount))], [
            middle,
            [3n * rig.unit]
          ])
          yield* rig.rollback.drop(1)
          yield* followUntil(
            rig.driver,
            before,
            watch,
            ({ points }) => points.length === 3 && points[0]!.hash !== top.hash
          )
          assert.strictEqual((yield* Effect.flip(readBlock(middle.height, top, watch)))._tag, "DriverError")
          assert.deepStrictEqual(yield* readBlock(middle.height, middle, watch), own)
        }),
      (driver) => !isByAccount(driver)
    )

    promise(
      "takes back what a reorganisation dropped, also while nobody was following",
      ["rollback"],
      (rig, start) =>
        Effect.gen(function*() {
          const watch = watchOf(rig, [rig.target(0)])
          yield* rig.pay(rig.target(0), rig.token, 1n * rig.unit)
          yield* rig.pay(rig.target(0), rig.token, 2n * rig.unit)
          const before = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 2)
          yield* rig.rollback.drop(1)
          const after = yield* followUntil(
            rig.driver,
            before,
            watch,
            ({ points, transfers }) => transfers.size === 1 && points.length === before.points.length
          )
          assert.deepStrictEqual(amountsOf(after), amountsOf(before).slice(0, 1))
          assert.notStrictEqual(after.points[0]!.hash, before.points[0]!.hash)
        })
    )

    promise(
      "takes a reorganisation of the same height, and finds the transfer under its old key",
      ["rollback"],
      (rig, start) =>
        Effect.gen(function*() {
          const watch = watchOf(rig, [rig.target(0)])
          yield* rig.pay(rig.target(0), rig.token, 4n * rig.unit)
          const before = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
          const [key, seen] = [...before.transfers][0]!
          const moved = yield* Effect.forkChild(followUntil(rig.driver, before, watch, ({ transfers }) => {
            const again = transfers.get(key)
            return again !== undefined && again.height > seen.height
          }))
          yield* rig.rollback.reinclude(1)
          const after = yield* Fiber.join(moved)
          assert.strictEqual(after.transfers.size, 1)
          assert.strictEqual(after.transfers.get(key)!.amount, seen.amount)
        })
    )

    promise("flips between forks as often as the chain does", ["rollback"], (rig, start) =>
      Effect.gen(function*() {
        const watch = watchOf(rig, [rig.target(0)])
        let journal = yield* followUntil(rig.driver, start, watch, ({ points }) => points.length > 0)
        for (let round = 0; round < 4; round++) {
          yield* rig.pay(rig.target(0), rig.token, 1n * rig.unit)
          journal = yield* followUntil(rig.driver, journal, watch, ({ transfers }) => transfers.size === 1)
          yield* rig.rollback.drop(1)
          journal = yield* followUntil(rig.driver, journal, watch, ({ transfers }) => transfers.size === 0)
        }
      }))

    for (const isAway of [false, true]) {
      promise(
        `takes back one dropped transaction and not its neighbours${isAway ? ", also after a restart" : ""}`,
        ["dropTransaction"],
        (rig, start) =>
          Effect.gen(function*() {
            const targets = [rig.target(0), rig.target(1)]
            let journal = start
            const watch = watchOf(rig, targets, {
              transfersAbove: (above) => [...journal.transfers.values()].filter(({ height }) => height > above)
            })
            yield* rig.pay(targets[0]!, null, 1n * rig.unit)
            const { txHash } = yield* rig.pay(targets[1]!, null, 2n * rig.unit)
            yield* rig.pay(targets[0]!, null, 3n * rig.unit)
            const isGone = ({ transfers }: Journal) => transfers.size === 2
            journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 3)
            const following = isAway
              ? null
              : yield* Effect.forkChild(followUntil(rig.driver, journal, watch, isGone))
            yield* rig.dropTransaction(txHash)
            const after = following === null
              ? yield* followUntil(rig.driver, journal, watch, isGone)
              : yield* Fiber.join(following)
            assert.deepStrictEqual(amountsOf(after), [1n * rig.unit, 3n * rig.unit])
          })
      )
    }

    promise(
      "tells money that names no invoice under the key of the wallet it came to",
      ["shared"],
      (rig, start) =>
        Effect.gen(function*() {
          yield* rig.shared.payWithoutMemo(null, 4n * rig.unit)
          if (rig.token !== null) yield* rig.shared.payWithoutMemo(rig.token, 5n * rig.unit)
          yield* rig.pay(rig.target(3), null, 6n * rig.unit)
          const watch = watchOf(rig, [rig.target(0)])
          const expected = rig.token === null ? 2 : 3
          const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === expected)
          for (const { matchKey } of journal.transfers.values()) assert.strictEqual(matchKey, rig.shared.accountKey)
        })
    )

    promise("counts what arrived where a token keeps a fee", ["payWithFee"], (rig, start) =>
      Effect.gen(function*() {
        const { arrives } = yield* rig.payWithFee(rig.target(0), 1_000n * rig.unit)
        const watch = watchOf(rig, [rig.target(0)])
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
        assert.deepStrictEqual(amountsOf(journal), [arrives])
      }))

    promise("counts nothing of a payment that failed", ["payInVain"], (rig, start) =>
      Effect.gen(function*() {
        yield* rig.payInVain(rig.target(0), 4n * rig.unit)
        yield* rig.pay(rig.target(0), null, 5n * rig.unit)
        const watch = watchOf(rig, [rig.target(0)])
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size > 0)
        assert.deepStrictEqual(amountsOf(journal), [5n * rig.unit])
      }))
  })
}
