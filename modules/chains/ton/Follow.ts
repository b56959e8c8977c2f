/** Following TON by polling accounts: the masterchain gives the order, and what it refers to is final. */
import { Clock, Effect, MutableRef, Stream } from "effect"
import {
  type ChainEvent,
  type ChainPoint,
  DriverError,
  type LocatedTransfer,
  type WatchSet
} from "../../../runtime/Chains.ts"
import { type AccountReading, pollAccounts } from "../../../runtime/nodes/AccountPoll.ts"
import type { Readers } from "../../../runtime/nodes/Corroboration.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import {
  beginAtHead,
  beginFullPass,
  beginPass,
  canContinue,
  type FollowState,
  isFullPassDue,
  isFullPassOverdue,
  isSinceBegin,
  nextBatch,
  onBatchRead,
  onCorrection,
  onFullPassBatchRead,
  onTarget,
  overlapSeconds,
  resumeAt,
  stretchEnd
} from "./FollowState.ts"
import { type Jetton, jettonsOf } from "./JettonWallets.ts"
import { batchesOf, readBatch, type Reader, readOwners, receiversOf, resolveAll } from "./Reader.ts"
import { accountsPerCall, readBlockAt, readBlockBefore, readMasterchain, type Toncenter } from "./Toncenter.ts"

export interface FollowOptions extends Reader {
  readonly endpoints: Endpoints<Toncenter>
  /** Learns which endpoint each transfer was read from, by the shard's block that it is in. */
  readonly readers: Readers<string>
  readonly pollMillis: number
}

interface FollowContext extends FollowOptions {
  readonly watch: WatchSet
  /** Changed by looks only, one after the other; null: nothing was read yet. */
  readonly state: MutableRef.MutableRef<FollowState | null>
  /** What this look has read. */
  readonly found: MutableRef.MutableRef<ReadonlyArray<LocatedTransfer>>
}

/** Batches that one look reads at most before it tells that the chain answers. */
const batchesPerLook = 40

/** Jetton wallets that one look asks for at most, likewise. */
const questionsPerLook = 200

/** Jetton wallets that one look asks for again at most: 10,000 of them within half an hour. */
const repeatedQuestionsPerLook = 20

export const readHead = (client: Toncenter) => Effect.map(readMasterchain(client), ({ last }): EndpointHead => last)

const noCommonBlock = ({ network }: Toncenter, height: bigint, what: string) =>
  new DriverError({
    network,
    reason: `block ${height} of the masterchain, up to which it was followed, ${what}: make sure that the endpoints ` +
      "are on the same network as before and keep its history, then call chains.reanchor on the rpc port",
    condition: "no_common_block"
  })

/** Where following goes on; null: the endpoint has not come so far. */
const begin = Effect.fnUntraced(function*(client: Toncenter, recent: ReadonlyArray<ChainPoint>, head: EndpointHead) {
  const cursor = recent[0]
  if (cursor === undefined) return beginAtHead(head)
  if (cursor.height > head.height) return null
  const block = yield* readBlockAt(client, cursor.height)
  if (block === null) return yield* noCommonBlock(client, cursor.height, "is not there any more")
  if (block.hash !== cursor.hash) return yield* noCommonBlock(client, cursor.height, "is another one now")
  return resumeAt(block)
})

const stateOf = ({ state }: FollowContext): FollowState => MutableRef.get(state)!

const update = ({ state }: FollowContext, change: (state: FollowState) => FollowState) =>
  MutableRef.update(state, (before) => before === null ? null : change(before))

const keepFound = (context: FollowContext, client: Toncenter, transfers: ReadonlyArray<LocatedTransfer>) => {
  const news = transfers.filter(({ at }) => isSinceBegin(stateOf(context), at.height))
  for (const { at } of news) context.readers.remember(at.hash, client.place)
  MutableRef.update(context.found, (before) => [...before, ...news])
}

/** The block up to which this look reads. */
const targetOf = Effect.fnUntraced(function*(state: FollowState, client: Toncenter, head: EndpointHead) {
  const end = stretchEnd(state, head)
  const block = end === null ? head : yield* readBlockBefore(client, end)
  return block === null || block.height <= state.head.height ? head : block
})

/**
 * Asks again for jetton wallets that are known for long. A master that cannot be asked now leaves what is known;
 * endpoints that differ are an error.
 */
const askAgain = Effect.fnUntraced(function*(
  context: FollowContext,
  client: Toncenter,
  owners: ReadonlyArray<string>,
  jettons: ReadonlyArray<Jetton>
) {
  const { jettonWallets } = context
  const nowMillis = yield* Clock.currentTimeMillis
  const due = owners.flatMap((owner) =>
    jettons.filter((jetton) => jettonWallets.isDue(client.place, owner, jetton, nowMillis))
      .map((jetton) => [owner, jetton] as const)
  )
  const readFrom = stateOf(context).readUntil - overlapSeconds
  for (const [owner, jetton] of due.slice(0, repeatedQuestionsPerLook)) {
    yield* Effect.catchIf(
      jettonWallets.inquire(client, owner, jetton, readFrom),
      ({ kind }) => kind !== "contradiction",
      (error) => Effect.logDebug("a jetton's master cannot be asked again now", error.reason)
    )
  }
})

/** Open accounts with their jetton wallets, in batches; null: some were not asked for yet. */
const openBatches = Effect.fnUntraced(function*(context: FollowContext, client: Toncenter) {
  const { jettonWallets, watch } = context
  const jettons = jettonsOf(watch.tokens())
  const owners = watch.accounts().filter(({ isOpen }) => isOpen).map(({ key }) => key)
  const nowMillis = yield* Clock.currentTimeMillis
  const unknown = owners.flatMap((owner) =>
    jettons.filter((jetton) => jettonWallets.known(client.place, owner, jetton, nowMillis) === undefined)
      .map((jetton) => [owner, jetton] as const)
  )
  const readFrom = stateOf(context).readUntil - overlapSeconds
  yield* resolveAll(context, client, unknown.slice(0, questionsPerLook), readFrom)
  if (unknown.length > questionsPerLook) return null
  yield* askAgain(context, client, owners, jettons)
  const receivers = receiversOf(context, client.place, owners, jettons, nowMillis)
  return batchesOf([...receivers], accountsPerCall).map((batch) => new Map(batch))
})

/** Begins to read open accounts up to a block; false: more must be asked first. */
const ensurePass = Effect.fnUntraced(function*(context: FollowContext, client: Toncenter, head: EndpointHead) {
  if (canContinue(stateOf(context).pass, client.place)) return true
  const batches = yield* openBatches(context, client)
  if (batches === null) return false
  const correctedSince = context.jettonWallets.takeCorrection()
  if (correctedSince !== null) update(context, (state) => onCorrection(state, correctedSince))
  const target = yield* targetOf(stateOf(context), client, head)
  update(context, (state) => beginPass(state, client.place, target, batches))
  return true
})

/** Reads batches of open accounts, at most `budget`; answers what is left of it. */
const advancePass = Effect.fnUntraced(function*(context: FollowContext, client: Toncenter, budget: number) {
  for (let left = budget; left > 0; left--) {
    const { pass } = stateOf(context)
    const batch = pass === null ? null : nextBatch(pass)
    if (pass === null || batch === null) return left
    const stretch = { from: pass.from, until: pass.target.time }
    const transfers = yield* readBatch(context, client, batch, stretch, context.watch)
    keepFound(context, client, transfers)
    update(context, onBatchRead)
  }
  return 0
})

/** Reads all accounts, a part in each look; answers whether more must be read before `target` is emitted. */
const advanceFullPass = Effect.fnUntraced(function*(
  context: FollowContext,
  client: Toncenter,
  target: EndpointHead,
  budget: number
) {
  if (!canContinue(stateOf(context).fullPass, client.place)) {
    if (!isFullPassDue(stateOf(context), target)) return false
    const batches = batchesOf(context.watch.accounts().map(({ isOpen, key }) => ({ isOpen, key })), accountsPerCall)
    update(context, (state) => beginFullPass(state, client.place, target, batches.length === 0 ? [[]] : batches))
  }
  const { batches, from } = stateOf(context).fullPass!
  // Spread over half of the time there is.
  const share = Math.ceil(batches.length * context.pollMillis / 300_000)
  for (let left = isFullPassOverdue(stateOf(context), target) ? budget : Math.min(budget, share); left > 0; left--) {
    const { fullPass } = stateOf(context)
    const owners = fullPass === null ? null : nextBatch(fullPass)
    if (fullPass === null || owners === null) break
    const stretch = { from, until: fullPass.target.time }
    const transfers = owners.length === 0 ? [] : yield* readOwners(context, client, owners, stretch, context.watch)
    keepFound(context, client, transfers)
    update(context, onFullPassBatchRead)
  }
  return isFullPassOverdue(stateOf(context), target)
})

/** Nothing can be emitted yet. */
const waiting = { upTo: null, seenUntil: 0, isBehind: false }

/** Reads what is new at an endpoint with this head, or a part of it. */
const readNews = Effect.fnUntraced(function*(
  context: FollowContext,
  recent: ReadonlyArray<ChainPoint>,
  client: Toncenter,
  head: EndpointHead
): Effect.fn.Return<Pick<AccountReading, "isBehind" | "seenUntil" | "upTo">, DriverError> {
  if (MutableRef.get(context.state) === null) {
    const first = yield* begin(client, recent, head)
    if (first === null) return waiting
    MutableRef.set(context.state, first)
    if (recent.length === 0) return { upTo: { ...head }, seenUntil: head.time - 1, isBehind: false }
  }
  if (head.height <= stateOf(context).head.height) return waiting
  if (!(yield* ensurePass(context, client, head))) return { ...waiting, isBehind: true }
  const { target } = stateOf(context).pass!
  const left = yield* advancePass(context, client, batchesPerLook)
  if (left === 0 || (yield* advanceFullPass(context, client, target, left))) return { ...waiting, isBehind: true }
  update(context, (state) => onTarget(state, target))
  return { upTo: { ...target }, seenUntil: target.time - overlapSeconds, isBehind: target.height < head.height }
})

/** How much was read of what a look needs. */
const progressOf = (state: FollowState | null): string => `${state?.pass?.done} ${state?.fullPass?.done}`

/** A call that fails after others came through leaves what was read, and the next look goes on there. */
const readOrGoOn = Effect.fnUntraced(function*(
  context: FollowContext,
  recent: ReadonlyArray<ChainPoint>,
  client: Toncenter,
  head: EndpointHead
): Effect.fn.Return<AccountReading, DriverError> {
  const before = progressOf(MutableRef.get(context.state))
  const news = yield* Effect.catch(
    readNews(context, recent, client, head),
    (error) =>
      progressOf(MutableRef.get(context.state)) === before
        ? Effect.fail(error)
        : Effect.as(Effect.logDebug("a look goes on where a call failed", error.reason), waiting)
  )
  const transfers = MutableRef.getAndSet(context.found, [])
  const finalized = MutableRef.get(context.state)?.head.height ?? recent[0]?.height ?? null
  return { ...news, transfers, finalized, gone: [] }
})

/** See `ChainDriver.follow`. */
export const follow = (
  options: FollowOptions,
  recent: ReadonlyArray<ChainPoint>,
  watch: WatchSet
): Stream.Stream<ChainEvent, DriverError> =>
  Stream.suspend(() => {
    const { endpoints, environment, pollMillis } = options
    const context: FollowContext = {
      ...options,
      watch,
      state: MutableRef.make<FollowState | null>(null),
      found: MutableRef.make<ReadonlyArray<LocatedTransfer>>([])
    }
    return pollAccounts({
      endpoints,
      environment,
      pollMillis,
      recent,
      watch,
      readHead,
      read: (client, head) => readOrGoOn(context, recent, client, head)
    })
  })
