/** Searches the chain for parts that wallets were given, and stores what became of them. */
import { Cause, Effect } from "effect"
import { decideAnew, noCause, type Write } from "../../../runtime/Commit.ts"
import type { PayoutSearch } from "../../../runtime/Payouts.ts"
import { isPublicError, publicError } from "../../../schemas/Errors.ts"
import { type BatchState, decide, dueParts, type FinalLine, isOnlyReported, type PartState } from "../machine.ts"
import { batchWrite, type DueBatch, lineWrite } from "../repo.ts"
import { proofWrite } from "../../refunds/plugin.ts"
import { eventsOf } from "../rules.ts"
import { type BatchServices, serializeBookings } from "./BatchServices.ts"
import { lineWrites, refundWrites, wakeRefunds } from "./BatchWrites.ts"
import type { Contradictions } from "./Contradictions.ts"
import { ownSearch, searchPart } from "./Claims.ts"
import { storeExceptions, walletOf } from "./PayoutExceptions.ts"

/** Batches that one run of the timer reads, at most. */
const duePageSize = 100

/** Seconds until a batch is looked at again whose network did not answer, or whose lines could not be stored. */
const failurePauseSeconds = 15

/** Stores a line that pays no refund, and books what has left for a payout. */
const storeOwnLine = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  { line, status, transfer, txHash }: FinalLine,
  write: Write
) {
  const { books, commit } = services
  const { environment, merchantId } = batch
  // What arrived in place of a line is booked by its exception: nobody has said yet that it was meant.
  const isPayout = batch.kind === "payouts" && transfer !== null && status === "paid"
  const wallet = isPayout ? yield* walletOf(services, batch, transfer.from) : null
  const booking = isPayout
    ? yield* books.payout({
      merchantId,
      environment,
      id: `${batch.id}/${line.line}`,
      network: batch.network,
      tokenAddress: line.tokenAddress,
      units: transfer.amount,
      wallet
    })
    : null
  const proof = isPayout
    ? [proofWrite({ network: batch.network, environment, txHash, index: transfer.index, sender: { wallet } }, {
      merchantId,
      refundId: null,
      line: { batchId: batch.id, line: line.line }
    })]
    : []
  yield* commit.append({
    merchantId,
    environment,
    cause: noCause,
    writes: [write, ...proof, ...booking?.writes ?? []],
    balances: booking?.balances ?? [],
    events: booking?.events ?? []
  })
})

/** Stores what became of a line for good, in one commit with what it pays. */
const storeFinalLine = Effect.fnUntraced(function*(services: BatchServices, batch: BatchState, final: FinalLine) {
  const { line, status, transfer, txHash } = final
  const write: Write = lineWrite(batch, {
    ...line,
    version: line.version + 1,
    status,
    txHash,
    transferIndex: transfer?.index ?? null
  })
  if (line.refundId === null) {
    return yield* serializeBookings(services, batch, storeOwnLine(services, batch, final, write))
  }
  yield* services.refunds.recordLineResult(
    line.refundId,
    status === "paid" && transfer !== null
      ? { _tag: "Paid", batchId: batch.id, line: line.line, txHash, index: transfer.index, from: transfer.from }
      : { _tag: "Mismatch", batchId: batch.id, txHash },
    [write]
  )
})

/**
 * Stores a change in a commit. After a look that found nothing only the time of the next one is stored, without one.
 */
const store = Effect.fnUntraced(function*(services: BatchServices, before: BatchState, after: BatchState) {
  if (after.version === before.version) return yield* services.repo.storeTimes(after)
  const { environment, merchantId } = before
  yield* services.commit.append({
    merchantId,
    environment,
    cause: noCause,
    writes: [
      batchWrite(after),
      ...lineWrites(before, after),
      ...yield* refundWrites(services, before, after)
    ],
    events: eventsOf(before, after)
  })
  yield* wakeRefunds(services, before, after)
})

/** Stores what a look found for a part as it was when the look began. Answers the batch as it is stored then. */
const storeSearch = Effect.fnUntraced(function*(
  services: BatchServices,
  before: BatchState,
  { hint, part }: PartState,
  search: PayoutSearch,
  now: number
) {
  const observe = { _tag: "Observe", part, search, hint } as const
  const first = decide(before, observe, now)
  if (isPublicError(first)) return yield* first
  // The exceptions are stored first, so that a line that cannot be stored does not delay them.
  const storeFound = storeExceptions(services, before, first)
  const batch = yield* first.unexpected.length === 0 ? storeFound : serializeBookings(services, before, storeFound)
  const decision = batch === before ? first : decide(batch, observe, now)
  if (isPublicError(decision)) return yield* decision
  for (const each of decision.finalLines) yield* storeFinalLine(services, batch, each)
  // Their rows are stored now, so the batch is read again: otherwise the rest would overwrite them.
  const current = decision.finalLines.length === 0 ? batch : yield* services.repo.find(before.merchantId, batch.id)
  if (current === null) return yield* publicError("BATCH_NOT_FOUND")
  const rest = decide(current, observe, now)
  if (isPublicError(rest)) return yield* rest
  yield* store(services, current, rest.next)
  return rest.next
})

/** One look at the chain for a part. Answers the batch as it is stored then. */
export const lookAtPart = Effect.fnUntraced(function*(services: BatchServices, before: BatchState, part: PartState) {
  if (part.export === null) return before
  const found = yield* searchPart(services, before, part)
  const now = yield* services.clock.nowSeconds(before.merchantId, before.environment)
  const search = yield* ownSearch(services, before, part, found, now)
  // A look takes as long as the nodes do, and reports that come meanwhile make its commit conflict. It is then decided
  // again without another look: otherwise endless reports would delay the exception for what was paid twice.
  return yield* storeSearch(services, before, part, search, now).pipe(
    Effect.catchTag("Conflict", (conflict) =>
      Effect.gen(function*() {
        const stored = yield* services.repo.find(before.merchantId, before.id)
        if (stored === null || !isOnlyReported(before, stored)) return yield* conflict
        return yield* storeSearch(services, stored, part, search, now)
      }))
  )
})

/** So that it is tried again after a pause, and others in the meantime. */
const postpone = ({ clock, repo }: BatchServices, { environment, id, merchantId }: DueBatch) =>
  Effect.gen(function*() {
    const batch = yield* repo.find(merchantId, id)
    if (batch === null || batch.dueAt === null) return
    const dueAt = (yield* clock.nowSeconds(merchantId, environment)) + failurePauseSeconds
    yield* repo.storeTimes({ ...batch, dueAt })
  })

/**
 * Every part of a batch that is to be searched for, one after the other: each look goes on from what the one before
 * has stored. Never fails: what is wrong with one batch must not keep the others from being searched for.
 */
const look = (services: BatchServices, contradictions: Contradictions, batch: DueBatch) =>
  Effect.gen(function*() {
    // Read anew with each try: a hint or a cancellation that was stored meanwhile has changed it.
    const stored = yield* services.repo.find(batch.merchantId, batch.id)
    if (stored === null) return 0
    const now = yield* services.clock.nowSeconds(batch.merchantId, batch.environment)
    let current = stored
    for (const { part } of dueParts(stored, now)) {
      current = yield* lookAtPart(services, current, current.parts.find((each) => each.part === part)!)
    }
    const expiry = decide(current, { _tag: "Expire" }, now)
    if (!isPublicError(expiry) && expiry.next !== current) yield* store(services, current, expiry.next)
    return 1
  }).pipe(
    // A conflict: another look has stored its result, or more has changed than a report does.
    decideAnew(),
    Effect.tap(contradictions.record(batch, null)),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.andThen(
        Effect.andThen(
          contradictions.record(batch, cause),
          Effect.logWarning(
            "a batch could not be looked for on its network: it is tried again",
            { batch: batch.id, network: batch.network },
            cause
          )
        ),
        Effect.as(postpone(services, batch), 1)
      )
    ),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.as(Effect.logWarning("a batch could not be put off", { batch: batch.id }, cause), 0)
    )
  )

/** The timer of batches that a wallet was given. */
export const batchTimer = (services: BatchServices, contradictions: Contradictions) => ({
  name: "batches",
  batchSize: duePageSize,
  run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const due = yield* services.repo.due(Math.floor(nowMillis / 1000), limit)
    const counts = yield* Effect.forEach(due, (batch) => look(services, contradictions, batch), { concurrency: 4 })
    return counts.reduce((sum, each) => sum + each, 0)
  }),
  nextDueMillis: Effect.map(services.repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
})
