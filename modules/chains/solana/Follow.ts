/** Following Solana by polling: balances tell which accounts to ask, their transactions tell what arrived. */
import { Clock, Effect, MutableRef, Schedule, Stream } from "effect"
import {
  type ChainEvent,
  type ChainPoint,
  type DriverCondition,
  DriverError,
  type WatchSet
} from "../../../runtime/Chains.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { type EndpointHead, isExpectedToAnswer } from "../../../runtime/nodes/EndpointPool.ts"
import { look, watchOthers } from "../../../runtime/nodes/Heads.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { type AccountBook, closedAccountsEvery, type DueAccount } from "./AccountBook.ts"
import type { ReceivingAccounts } from "./Accounts.ts"
import { clockSysvar } from "./Addresses.ts"
import {
  dueForFinality,
  type FollowState,
  initialState,
  nextBatch,
  onDropped,
  onFinalized,
  onJournal,
  onListed,
  onLookEnd,
  onPresent,
  onRead,
  onStatuses,
  type ReadTransaction
} from "./FollowState.ts"
import {
  type AccountSnapshot,
  accountsPerCall,
  contradiction,
  headOf,
  readAccounts,
  readFinalized,
  readHead,
  readStatuses,
  type SignatureStatus,
  statusesPerCall
} from "./Node.ts"
import { concurrentCalls, showTransaction } from "./Reading.ts"
import { listSince } from "./Signatures.ts"

/** Bytes of an account whose change shows that tokens came or went: up to the end of the amount in a token account. */
const markLength = 72
const amountAt = 64

/** Slots after which the finalized slot is read again where nothing waits for it: 10 s. */
const finalitySlots = 25n

/** Slots below a cursor in which something may not be final yet: 32 by the design, more while finality is late. */
const journalSlots = 1_000n

/** How often the endpoints that are not followed are asked for their heads, at the longest. */
const longestWatchMillis = 5_000

export interface FollowOptions {
  readonly network: Network
  readonly environment: Environment
  readonly endpoints: Endpoints<JsonRpcClient>
  readonly pollMillis: number
  readonly book: AccountBook
  readonly receiving: ReceivingAccounts
  /** Remembers at which endpoint a transaction was read. */
  readonly onShown: (signature: string, place: number) => void
}

/** What follows and where it is. */
interface FollowContext extends FollowOptions {
  readonly watch: WatchSet
  readonly state: MutableRef.MutableRef<FollowState>
  /** How often it looked, when the finalized slot was read, and who served; the keys of the last look. */
  readonly looks: MutableRef.MutableRef<{
    readonly count: number
    readonly finalityReadAt: bigint
    readonly servingPlace: number | null
    readonly condition: DriverCondition | null
    readonly keys: ReadonlyArray<string>
    /** Accounts that were listed and whose transactions are not all read yet. */
    readonly listed: ReadonlyArray<{ readonly key: string; readonly head: bigint; readonly hasNews: boolean }>
    readonly isIdle: boolean
  }>
}

/** See `ChainDriver.follow`. */
export const follow = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.unwrap(Effect.gen(function*() {
    const { book, endpoints, environment } = options
    const context: FollowContext = {
      ...options,
      watch,
      state: MutableRef.make(initialState(recent)),
      looks: MutableRef.make({
        count: 0,
        finalityReadAt: -finalitySlots,
        servingPlace: null,
        condition: null,
        keys: [],
        listed: [],
        isIdle: false
      })
    }
    if (recent[0] !== undefined) book.rewind(recent[0].height)
    const watchMillis = Math.min(longestWatchMillis, endpoints.pool().lagMillis / 3)
    const watching = Effect.suspend(() =>
      watchOthers(endpoints, environment, MutableRef.get(context.looks).servingPlace, readHead)
    )
    yield* Effect.forkScoped(Effect.delay(Effect.repeat(watching, Schedule.spaced(watchMillis)), watchMillis))
    return Stream.fromEffectRepeat(poll(context)).pipe(Stream.flatMap(Stream.fromIterable))
  }))

const stateOf = ({ state }: FollowContext): FollowState => MutableRef.get(state)

const update = ({ state }: FollowContext, change: (state: FollowState) => FollowState): void =>
  void MutableRef.update(state, change)

/** One look, and a pause before it where the last one has told all there was. */
const poll = Effect.fnUntraced(function*(context: FollowContext) {
  const before = MutableRef.get(context.looks)
  if (before.isIdle) yield* Effect.sleep(context.pollMillis)
  const snapshots = new Map<number, AccountSnapshot>()
  const readSnapshot = Effect.fnUntraced(function*(node: JsonRpcClient) {
    const keys = before.keys.slice(0, accountsPerCall - 1)
    const snapshot = yield* readAccounts(node, [clockSysvar, ...keys], markLength)
    snapshots.set(node.place, snapshot)
    return yield* headOf(node, snapshot)
  })
  const { condition, place, result } = yield* look(
    context.endpoints,
    readSnapshot,
    (node, head) => lookAt(context, node, head, snapshots.get(node.place)!)
  )
  const isIdle = stateOf(context).backlog.length === 0
  MutableRef.update(context.looks, (looks) => ({
    ...looks,
    count: looks.count + 1,
    servingPlace: place,
    condition,
    isIdle: isIdle || result.every(({ _tag }) => _tag !== "Forward")
  }))
  const changed: ReadonlyArray<ChainEvent> = condition === before.condition ? [] : [{ _tag: "Condition", condition }]
  return [...changed, ...result]
})

/** All that one endpoint shows in one look, as events. */
const lookAt = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead,
  snapshot: AccountSnapshot
) {
  const { watch } = context
  yield* watch.refresh
  if (!stateOf(context).isJournalRead) yield* readJournal(context, head)
  // Before anything is listed: what is listed at or below this mark does not leave the chain any more.
  const gone = yield* checkFinality(context, node, head)
  // While a backlog is read nothing is listed: what comes meanwhile lies above it.
  const isBehind = stateOf(context).backlog.length > 0
  const safeHeight = isBehind ? head.height : yield* listDue(context, node, head, snapshot)
  const batch = yield* readBatch(context, node)
  const { finalized } = stateOf(context)
  if (batch.some(({ listed, shown }) => shown === null && finalized !== null && listed.slot <= finalized)) {
    return yield* contradiction(node, "getTransaction", "it does not show a final transaction that it has listed")
  }
  update(context, (state) => onRead(state, batch))
  settleListing(context)
  const [next, events] = onLookEnd(stateOf(context), { head, batch, safeHeight })
  update(context, () => next)
  return [...gone, ...events]
})

/** Once all that was listed is read, the accounts need not be asked for it again; where some is hidden they are. */
const settleListing = ({ book, looks, state }: FollowContext): void => {
  const { backlog, hiddenFrom } = MutableRef.get(state)
  if (backlog.length > 0) return
  if (hiddenFrom === null) {
    for (const { hasNews, head, key } of MutableRef.get(looks).listed) book.onListed(key, head, hasNews)
  }
  MutableRef.update(looks, (before) => ({ ...before, listed: [] }))
}

/** What the journal holds from before this start is checked as what is told from now on. */
const readJournal = Effect.fnUntraced(function*(context: FollowContext, head: EndpointHead) {
  const { height } = stateOf(context)
  const from = (height ?? head.height) - journalSlots
  const seen = new Map<string, Effect.Success<ReturnType<WatchSet["transfersAbove"]>>[number]>()
  for (let above = from;;) {
    const page = yield* context.watch.transfersAbove(above)
    const before = seen.size
    for (const each of page) seen.set(`${each.txHash}:${each.index}:${each.matchKey}`, each)
    // Pages overlap by one height, which may not have come whole.
    if (page.length === 0 || seen.size === before) break
    above = page.at(-1)!.height - 1n
  }
  update(context, (state) => onJournal(state, [...seen.values()]))
})

const markOf = (account: AccountSnapshot["accounts"][number]): string | null =>
  account === null
    ? null
    : `${account.lamports}:${Buffer.from(account.data.subarray(amountAt, markLength)).toString("hex")}`

/** Looks at the balances of the accounts, in as many calls as they need; the first was made with the head. */
const observeAccounts = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead,
  snapshot: AccountSnapshot
) {
  const { book, looks, receiving, watch } = context
  const { count, keys: shownKeys } = MutableRef.get(looks)
  const keys = yield* receiving.keys(node, watch, count % closedAccountsEvery === 0)
  book.add(keys, stateOf(context).height ?? head.height)
  const take = (part: ReadonlyArray<string>, { accounts, slot }: AccountSnapshot, offset: number) => {
    for (const [place, key] of part.entries()) book.observe(key, markOf(accounts[place + offset]!), slot)
  }
  const shown = shownKeys.slice(0, accountsPerCall - 1)
  take(shown, snapshot, 1)
  const isShown = new Set(shown)
  const others = keys.filter((key) => !isShown.has(key))
  const parts = Array.from(
    { length: Math.ceil(others.length / accountsPerCall) },
    (_, place) => others.slice(place * accountsPerCall, (place + 1) * accountsPerCall)
  )
  yield* Effect.forEach(
    parts,
    (part) => Effect.map(readAccounts(node, part, markLength), (found) => take(part, found, 0)),
    { concurrency: concurrentCalls, discard: true }
  )
  MutableRef.update(looks, (before) => ({ ...before, keys }))
  return keys
})

/** Lists the transactions of the accounts that are due into the backlog; answers the height that is safe to tell. */
const listDue = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead,
  snapshot: AccountSnapshot
) {
  const keys = yield* observeAccounts(context, node, head, snapshot)
  const { accounts, safeHeight } = context.book.due(keys, head.height)
  const listed = yield* Effect.forEach(
    accounts,
    (account: DueAccount) => Effect.map(listSince(node, account.key, account.from), (found) => ({ account, found })),
    { concurrency: concurrentCalls }
  )
  const { readSlots } = stateOf(context)
  update(context, (state) => onListed(state, listed.flatMap(({ found }) => found)))
  MutableRef.update(context.looks, (looks) => ({
    ...looks,
    listed: listed.map(({ account: { key }, found }) => ({
      key,
      head: head.height,
      hasNews: found.some(({ signature }) => !readSlots.has(signature))
    }))
  }))
  return safeHeight
})

/** Reads the oldest of the backlog. */
const readBatch = (context: FollowContext, node: JsonRpcClient) =>
  Effect.forEach(
    nextBatch(stateOf(context)),
    (listed) =>
      Effect.map(showTransaction(node, listed.signature, context.watch), (shown): ReadTransaction => {
        if (shown !== null) context.onShown(listed.signature, node.place)
        return { listed, shown }
      }),
    { concurrency: concurrentCalls }
  )

/** Whether no other endpoint that should answer has a transaction; one that fails leaves it open. */
const absentElsewhere = Effect.fnUntraced(function*(
  { endpoints }: FollowContext,
  own: JsonRpcClient,
  signatures: ReadonlyArray<string>
) {
  const now = yield* Clock.currentTimeMillis
  const others = endpoints.endpoints.filter(({ place }) =>
    place !== own.place && isExpectedToAnswer(endpoints.pool(), place, now)
  )
  const answers = yield* Effect.forEach(
    others,
    (node) => Effect.result(endpoints.attempt(node, (each) => readAllStatuses(each, signatures))),
    { concurrency: "unbounded" }
  )
  return signatures.filter((signature) =>
    answers.every((answer) => answer._tag === "Success" && answer.success.get(signature) === null)
  )
})

const readAllStatuses = Effect.fnUntraced(function*(node: JsonRpcClient, signatures: ReadonlyArray<string>) {
  const statuses = new Map<string, SignatureStatus | null>()
  for (let from = 0; from < signatures.length; from += statusesPerCall) {
    const part = signatures.slice(from, from + statusesPerCall)
    const answers = yield* readStatuses(node, part)
    for (const [place, status] of answers.entries()) statuses.set(part[place]!, status)
  }
  return statuses
})

/** Asks for the finalized slot where it matters, and whether what lies at or below it is still there. */
const checkFinality = Effect.fnUntraced(function*(context: FollowContext, node: JsonRpcClient, head: EndpointHead) {
  const { finalityReadAt } = MutableRef.get(context.looks)
  if (stateOf(context).unfinal.size === 0 && head.height < finalityReadAt + finalitySlots) return []
  const finalized = yield* readFinalized(node)
  MutableRef.update(context.looks, (looks) => ({ ...looks, finalityReadAt: head.height }))
  update(context, (state) => onFinalized(state, finalized))
  const due = dueForFinality(stateOf(context), finalized)
  if (due.length === 0) return []
  const step = onStatuses(stateOf(context), yield* readAllStatuses(node, due), finalized)
  const absent = step.absent.length === 0 ? [] : yield* absentElsewhere(context, node, step.absent)
  const present = step.absent.filter((signature) => !absent.includes(signature))
  const [next, events] = onDropped(onPresent(step.state, present), [...absent, ...step.failed])
  update(context, () => next)
  return events
})
