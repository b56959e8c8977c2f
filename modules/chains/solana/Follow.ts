/** Following Solana by polling: balances say which accounts to list, their transactions say what arrived. */
import { Effect, MutableRef, Schedule, Stream } from "effect"
import type { ChainEvent, ChainPoint, DriverError, WatchSet } from "../../../runtime/Chains.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import { look, watchOthers } from "../../../runtime/nodes/Heads.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { closedAccountsEvery, type DueAccount } from "./AccountBook.ts"
import { clockSysvar } from "./Addresses.ts"
import { checkFinality, finalitySlots } from "./Finality.ts"
import { type FollowContext, type FollowOptions, stateOf, update } from "./FollowContext.ts"
import { initialState, onJournal, onListed, onLookEnd } from "./FollowState.ts"
import { type AccountSnapshot, accountsPerCall, headOf, readAccounts, readHead } from "./Node.ts"
import { listSince } from "./Signatures.ts"
import { concurrentCalls } from "./TransactionReading.ts"
import { readBatch } from "./UnreadTransactions.ts"

/** Bytes of an account that are read: up to the end of the amount in a token account (`spl_token::state::Account`). */
const accountBytes = 72
/** Where the amount in a token account begins: after the mint and the owner, 32 bytes each. */
const amountAt = 64

/** Slots below a cursor whose transfers may not be final yet: 32 by the design of Solana, more where finality is late. */
const journalSlots = 1_000n

/** Milliseconds between two looks at the heads of the endpoints that serve no look, at most. */
const longestWatchMillis = 5_000

/** See `ChainDriver.follow`. */
export const follow = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.unwrap(Effect.gen(function*() {
    const { book, endpoints } = options
    const context: FollowContext = {
      ...options,
      watch,
      state: MutableRef.make(initialState(recent, MutableRef.get(options.unread))),
      looks: MutableRef.make({
        count: 0,
        finalityReadAt: -finalitySlots,
        servingEndpoint: null,
        condition: null,
        keys: [],
        listings: [],
        isIdle: false
      })
    }
    if (recent[0] !== undefined) book.rewind(recent[0].height)
    // Three times within the time after which a head counts as behind, so that one late answer does not.
    const watchMillis = Math.min(longestWatchMillis, endpoints.pool().lagMillis / 3)
    const watching = Effect.suspend(() =>
      watchOthers(endpoints, MutableRef.get(context.looks).servingEndpoint, readHead)
    )
    yield* Effect.forkScoped(Effect.delay(Effect.repeat(watching, Schedule.spaced(watchMillis)), watchMillis))
    return Stream.fromEffectRepeat(poll(context)).pipe(Stream.flatMap(Stream.fromIterable))
  }))

/** One look, and a pause before it where the last one emitted all there was. */
const poll = Effect.fnUntraced(function*(context: FollowContext) {
  const before = MutableRef.get(context.looks)
  if (before.isIdle) yield* Effect.sleep(context.pollMillis)
  const snapshots = new Map<number, AccountSnapshot>()
  const readSnapshot = Effect.fnUntraced(function*(node: JsonRpcClient) {
    const keys = before.keys.slice(0, accountsPerCall - 1)
    const snapshot = yield* readAccounts(node, [clockSysvar, ...keys], accountBytes)
    snapshots.set(node.place, snapshot)
    return yield* headOf(node, snapshot)
  })
  const { condition, place, result } = yield* look(
    context.endpoints,
    readSnapshot,
    (node, head) => lookAt(context, node, head, snapshots.get(node.place)!),
    stateOf(context).height
  )
  const isRead = stateOf(context).backlog.length === 0
  MutableRef.update(context.looks, (looks) => ({
    ...looks,
    count: looks.count + 1,
    servingEndpoint: place,
    condition,
    isIdle: isRead || result.every(({ _tag }) => _tag !== "Forward")
  }))
  const changed: ReadonlyArray<ChainEvent> = condition === before.condition ? [] : [{ _tag: "Condition", condition }]
  return [...changed, ...result]
})

/** Everything that one endpoint shows in one look, as events. */
const lookAt = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead,
  snapshot: AccountSnapshot
) {
  yield* context.watch.refresh
  if (!stateOf(context).isJournalRead) yield* readJournal(context, head)
  // Before anything is listed: what is listed at or below the finalized slot does not leave the chain any more.
  yield* checkFinality(context, node, head)
  // While a backlog is read nothing is listed: what comes meanwhile lies above it.
  const isBehind = stateOf(context).backlog.length > 0
  const safeHeight = isBehind ? head.height : yield* listDue(context, node, head, snapshot)
  const batch = yield* readBatch(context, node, head)
  completeListings(context)
  const [next, events] = onLookEnd(stateOf(context), { head, batch, safeHeight })
  update(context, () => next)
  return events
})

/** Once everything that was listed was asked for, the accounts need not be listed from so far back again. */
const completeListings = ({ book, looks, state }: FollowContext): void => {
  if (MutableRef.get(state).backlog.length > 0) return
  for (const { hasNews, head, key } of MutableRef.get(looks).listings) book.onListed(key, head, hasNews)
  MutableRef.update(looks, (before) => ({ ...before, listings: [] }))
}

/** What the journal holds from before this start is checked as what is emitted from now on. */
const readJournal = Effect.fnUntraced(function*(context: FollowContext, head: EndpointHead) {
  const { height } = stateOf(context)
  const transfers = new Map<string, Effect.Success<ReturnType<WatchSet["transfersAbove"]>>[number]>()
  for (let above = (height ?? head.height) - journalSlots;;) {
    const page = yield* context.watch.transfersAbove(above)
    const sizeBefore = transfers.size
    for (const each of page) transfers.set(`${each.txHash}:${each.index}:${each.matchKey}`, each)
    // A page may end within a height, so the next one begins with that height; one that brings nothing new is the last.
    if (transfers.size === sizeBefore) break
    above = page.at(-1)!.height - 1n
  }
  update(context, (state) => onJournal(state, [...transfers.values()]))
})

/** What tells one balance of an account from another; null: there is no account. */
const balanceOf = (account: AccountSnapshot["accounts"][number]): string | null =>
  account === null
    ? null
    : `${account.lamports}:${Buffer.from(account.data.subarray(amountAt, accountBytes)).toString("hex")}`

/** Looks at the balances of the accounts, in as many calls as they need; the first was made with the head. */
const observeAccounts = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead,
  snapshot: AccountSnapshot
) {
  const { book, looks, receiving, watch } = context
  const { count, keys: lastKeys } = MutableRef.get(looks)
  const keys = yield* receiving.keys(node, watch, count % closedAccountsEvery === 0)
  book.add(keys, stateOf(context).height ?? head.height)
  const observe = (part: ReadonlyArray<string>, { accounts, slot }: AccountSnapshot, offset: number) => {
    for (const [place, key] of part.entries()) book.observe(key, balanceOf(accounts[place + offset]!), slot)
  }
  const inSnapshot = lastKeys.slice(0, accountsPerCall - 1)
  // The clock comes first in it.
  observe(inSnapshot, snapshot, 1)
  const isObserved = new Set(inSnapshot)
  const others = keys.filter((key) => !isObserved.has(key))
  const parts = Array.from(
    { length: Math.ceil(others.length / accountsPerCall) },
    (_, place) => others.slice(place * accountsPerCall, (place + 1) * accountsPerCall)
  )
  yield* Effect.forEach(
    parts,
    (part) => Effect.map(readAccounts(node, part, accountBytes), (accounts) => observe(part, accounts, 0)),
    { concurrency: concurrentCalls, discard: true }
  )
  MutableRef.update(looks, (before) => ({ ...before, keys }))
  return keys
})

/** Lists the transactions of the accounts that are due into the backlog; answers the height that is safe to emit. */
const listDue = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead,
  snapshot: AccountSnapshot
) {
  const keys = yield* observeAccounts(context, node, head, snapshot)
  const { accounts, safeHeight } = context.book.due(keys, head.height)
  const lists = yield* Effect.forEach(
    accounts,
    (account: DueAccount) =>
      Effect.map(listSince(node, account.key, account.from), (transactions) => ({ account, transactions })),
    { concurrency: concurrentCalls }
  )
  const { readSlots, unread } = stateOf(context)
  update(context, (state) => onListed(state, lists.flatMap(({ transactions }) => transactions)))
  MutableRef.update(context.looks, (looks) => ({
    ...looks,
    listings: lists.map(({ account: { key }, transactions }) => ({
      key,
      head: head.height,
      hasNews: transactions.some(({ signature }) => !readSlots.has(signature) && !unread.has(signature))
    }))
  }))
  return safeHeight
})
