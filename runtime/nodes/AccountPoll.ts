/**
 * The loop of drivers that ask a chain for accounts: `ChainDriver.follow` as a stream. A driver gives how a head is
 * read and how accounts are read at one endpoint; the order of the steps, the pause, heights that rise, what was
 * emitted already, the network's condition and the other endpoints are the same for all:
 *
 * ```ts
 * follow: (recent, watch) =>
 *   pollAccounts({ endpoints, environment, pollMillis, recent, watch, readHead, read: (client, head, from) =>
 *     Effect.gen(function*() {
 *       const transfers = yield* transfersSince(client, watch, (from ?? head).height - overlap)
 *       return { upTo: { ...head }, transfers, gone: [], finalized: yield* finalSlot(client), isBehind: false }
 *     }) })
 * ```
 *
 *   head --> `watch.refresh` --> read --> Gone, Forward where the height rose, Condition where it changed, Finality
 *   nothing rose, or only a part was read --> Finality alone; what was found is kept for the next Forward
 *   a transfer above the point that is emitted --> kept until a point reaches it
 *   a transfer that was emitted in the same block --> emitted again a minute later at the soonest: reading may overlap
 */
import { Effect, MutableRef, Schedule, Stream } from "effect"
import type { Environment } from "../../schemas/Network.ts"
import type {
  BlockPoint,
  ChainEvent,
  ChainPoint,
  DriverCondition,
  DriverError,
  LocatedTransfer,
  TransferIdentity,
  WatchSet
} from "../Chains.ts"
import type { EndpointHead } from "./EndpointPool.ts"
import type { Endpoints, NodeEndpoint } from "./Endpoints.ts"
import { look, type ReadHead, watchOthers } from "./Heads.ts"

/** What accounts were read to. */
export interface AccountReading {
  /** Up to here every open account was read; null: a part was, and nothing is emitted yet. At most the head. */
  readonly upTo: BlockPoint | null
  /** What was found, in any order, emitted before or not. */
  readonly transfers: ReadonlyArray<LocatedTransfer>
  /** Emitted before, and not on the chain any more. */
  readonly gone: ReadonlyArray<TransferIdentity>
  /** As `ChainEvent`'s `Finality` has it. */
  readonly finalized: bigint | null
  /** As `ChainEvent`'s `Forward` has it. */
  readonly seenUntil?: number
  /** There is more to read, so the next look does not wait. */
  readonly isBehind: boolean
}

export interface AccountPollState {
  /** The point that was emitted last; null: none. */
  readonly top: ChainPoint | null
  /** Found and not emitted, by their identity. */
  readonly waiting: ReadonlyMap<string, LocatedTransfer>
  /** The transfers that were emitted lately: each one's block, and the second of the point it came with. */
  readonly emissions: ReadonlyMap<string, EmittedTransfer>
  /** Null before the first event of it, which is sent however the network stands. */
  readonly condition: DriverCondition | null
}

export interface EmittedTransfer {
  readonly at: BlockPoint
  readonly emittedAt: number
}

/**
 * Seconds of the chain after which a transfer that is found again is emitted again: the follower may have taken it back
 * meanwhile, because other endpoints did not have it then. Emitting it costs a look into the journal, so not each time.
 */
export const repeatSeconds = 60

export const initialState = (recent: ReadonlyArray<ChainPoint>): AccountPollState => ({
  top: recent[0] ?? null,
  waiting: new Map(),
  emissions: new Map(),
  condition: null
})

const keyOf = ({ index, matchKey, txHash }: TransferIdentity): string => `${txHash} ${index} ${matchKey}`

const byPosition = (one: LocatedTransfer, other: LocatedTransfer): number =>
  one.at.height === other.at.height ? one.index - other.index : one.at.height < other.at.height ? -1 : 1

/** What is known after a reading, with what it found and without what has left the chain. */
const afterReading = (state: AccountPollState, { gone, transfers }: AccountReading): AccountPollState => {
  const goneKeys = new Set(gone.map(keyOf))
  const isGone = ([key]: readonly [string, unknown]) => goneKeys.has(key)
  const waiting = new Map([...state.waiting].filter((each) => !isGone(each)))
  const emissions = goneKeys.size === 0
    ? state.emissions
    : new Map([...state.emissions].filter((each) => !isGone(each)))
  for (const transfer of transfers) {
    const key = keyOf(transfer)
    if (emissions.get(key)?.at.hash !== transfer.at.hash) waiting.set(key, transfer)
  }
  return { ...state, waiting, emissions }
}

/** The forward to `point`, and the state after it. */
const goForward = (
  state: AccountPollState,
  point: BlockPoint,
  { isBehind, seenUntil = point.time - 1 }: AccountReading
): readonly [AccountPollState, ChainEvent] => {
  const due = [...state.waiting].filter(([, { at }]) => at.height <= point.height)
  const kept = [...state.waiting].filter(([, { at }]) => at.height > point.height)
  const stillRecent = [...state.emissions].filter(([, { emittedAt }]) => emittedAt > point.time - repeatSeconds)
  const { hash, height, time } = point
  return [
    {
      ...state,
      top: { height, hash },
      waiting: new Map(kept),
      emissions: new Map([...stillRecent, ...due.map(([key, { at }]) => [key, { at, emittedAt: point.time }] as const)])
    },
    {
      _tag: "Forward",
      point: { height, hash },
      time,
      transfers: due.map(([, transfer]) => transfer).toSorted(byPosition),
      isCatchingUp: isBehind,
      // What is kept was not emitted: nobody may rely on its second.
      seenUntil: Math.min(seenUntil, ...kept.map(([, { at }]) => at.time - 1))
    }
  ]
}

/** What a reading emits, and the state after it. */
export const onReading = (
  state: AccountPollState,
  reading: AccountReading,
  condition: DriverCondition
): readonly [AccountPollState, ReadonlyArray<ChainEvent>] => {
  const { finalized, gone, upTo } = reading
  const read: AccountPollState = { ...afterReading(state, reading), condition }
  const [next, forward] = upTo === null || (state.top !== null && upTo.height <= state.top.height)
    ? [read, null]
    : goForward(read, upTo, reading)
  return [next, [
    ...gone.length === 0 ? [] : [{ _tag: "Gone", transfers: gone } as const],
    ...forward === null ? [] : [forward],
    ...condition === state.condition ? [] : [{ _tag: "Condition", condition } as const],
    { _tag: "Finality", finalized }
  ]]
}

export interface AccountPollOptions<Client extends NodeEndpoint> {
  readonly endpoints: Endpoints<Client>
  readonly environment: Environment
  readonly pollMillis: number
  readonly recent: ReadonlyArray<ChainPoint>
  readonly watch: WatchSet
  readonly readHead: ReadHead<Client>
  /** `from`: the point that was emitted last, or before a restart; null: following begins at the head. */
  readonly read: (
    client: Client,
    head: EndpointHead,
    from: ChainPoint | null
  ) => Effect.Effect<AccountReading, DriverError>
}

/** How often endpoints that serve no look are asked for their heads, at most. */
const shortestWatchMillis = 5_000

/** The first look is at once; each further one waits `pollMillis`, but where the last one left more to read. */
export const pollAccounts = <Client extends NodeEndpoint>(
  options: AccountPollOptions<Client>
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.unwrap(Effect.gen(function*() {
    const { endpoints, pollMillis, read, readHead, recent, watch } = options
    const state = MutableRef.make(initialState(recent))
    const servingEndpoint = MutableRef.make<number | null>(null)
    const isWaiting = MutableRef.make(false)
    const watchMillis = Math.max(shortestWatchMillis, pollMillis)
    const watching = Effect.suspend(() => watchOthers(endpoints, MutableRef.get(servingEndpoint), readHead))
    yield* Effect.forkScoped(Effect.delay(Effect.repeat(watching, Schedule.spaced(watchMillis)), watchMillis))

    const poll = Effect.gen(function*() {
      if (MutableRef.get(isWaiting)) yield* Effect.sleep(pollMillis)
      const { top } = MutableRef.get(state)
      const { condition, place, result } = yield* look(
        endpoints,
        readHead,
        (client, head) => Effect.andThen(watch.refresh, read(client, head, top)),
        top?.height ?? null
      )
      MutableRef.set(servingEndpoint, place)
      MutableRef.set(isWaiting, !result.isBehind)
      const [next, events] = onReading(MutableRef.get(state), result, condition)
      MutableRef.set(state, next)
      return events
    })
    return Stream.fromEffectRepeat(poll).pipe(Stream.flatMap(Stream.fromIterable))
  }))
