/** Money that no invoice expects: its exception opens, closes where the transfer goes away again, and is decided on. */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import {
  type Commit,
  type CommitCause,
  decideAnew,
  dieOnReplay,
  noCause,
  type ReplyWrite,
  systemMerchant,
  type Write
} from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import {
  exceptionEvents,
  type ExceptionRecord,
  stepUnmatched,
  type UnmatchedEvent,
  type UnmatchedPayment
} from "../machine.ts"
import { type Repo, unmatchedWrite } from "../repo.ts"
import { type InvoiceFact, type InvoiceHooks, runUnmatchedHooks } from "./Hooks.ts"

/** The events of an exception of money that pays no invoice. The operator's own has no merchant who could hear them. */
export const unmatchedEvents = (
  before: ExceptionRecord | null,
  after: ExceptionRecord
): ReadonlyArray<EventDraft> => after.merchantId === systemMerchant ? [] : exceptionEvents(before, after)

/** The services that this takes. */
export interface UnmatchedContext {
  readonly actors: Actors["Service"]
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly hooks: InvoiceHooks["Service"]
  readonly repo: Repo
}

/** What to do to the exception of money that pays no invoice, and what of other modules must be stored with it. */
export interface UnmatchedPlan {
  /** Null: nothing. */
  readonly event: UnmatchedEvent | null
  readonly writes?: ReadonlyArray<Write>
  /** For the hooks that know the tags. */
  readonly facts?: ReadonlyArray<InvoiceFact>
  /** The answer to keep for the caller's idempotency key. */
  readonly reply?: (record: ExceptionRecord) => ReplyWrite | undefined
}

/** A change after its commit. */
export interface UnmatchedResult {
  readonly record: ExceptionRecord
  readonly facts: ReadonlyArray<InvoiceFact>
}

/** `Invoices.recordUnmatched`. */
export const recordUnmatched = Effect.fnUntraced(function*(
  { clock, commit, hooks, repo }: UnmatchedContext,
  payment: UnmatchedPayment,
  writes: ReadonlyArray<Write>
) {
  const { environment, merchantId } = payment
  const before = yield* repo.findException(merchantId, payment.id)
  const nowMillis = yield* clock.nowMillis(merchantId, environment)
  const now = Math.floor(nowMillis / 1_000)
  const exception = stepUnmatched(before?.exception ?? null, { _tag: "Observe", payment }, now)
  if (exception !== null && payment.isOpen) {
    // A field of the name `token` is never logged: everywhere else it is a secret.
    const { token, ...evidence } = payment.evidence
    yield* Effect.logError(
      "money arrived that belongs to no invoice: find out who sent it, then refund it or deliver",
      { exception: payment.type, ...evidence, token_address: token }
    )
  }
  const belongsToMerchant = merchantId !== systemMerchant
  const after: ExceptionRecord | null = exception === null
    ? null
    : { exception, merchantId, environment, belongsToMerchant, invoice: null, payment: null }
  const added = after === null
    ? null
    : yield* runUnmatchedHooks(hooks.current(), { before, after, facts: [], now, nowMillis })
  yield* commit.append({
    merchantId,
    environment,
    cause: noCause,
    writes: [...writes, ...exception === null ? [] : [unmatchedWrite(payment, exception)], ...added?.writes ?? []],
    balances: added?.balances ?? [],
    events: after === null ? [] : [...unmatchedEvents(before, after), ...added?.events ?? []]
  }).pipe(
    dieOnReplay,
    Effect.catchTag("Conflict", ({ table }) =>
      Effect.fail(publicError("SERVICE_UNAVAILABLE", {
        retryAfterSeconds: 1,
        reason: `rows of ${table} were changed by others at once`
      })))
  )
})

/**
 * `Invoices.changeUnmatched`. In the exception's mailbox, so that callers of one process wait for each other; its row
 * is in every commit, so that no two changes are made of the same money.
 */
export const changeUnmatched = <E, R>(
  { actors, clock, commit, hooks, repo }: UnmatchedContext,
  merchantId: number,
  id: string,
  cause: CommitCause,
  plan: (record: ExceptionRecord, nowSeconds: number) => Effect.Effect<UnmatchedPlan, E, R>
) =>
  actors.send(
    "exception",
    id,
    Effect.gen(function*() {
      const record = yield* repo.findException(merchantId, id)
      if (record === null || record.invoice !== null) return yield* publicError("EXCEPTION_NOT_FOUND")
      const { environment } = record
      const nowMillis = yield* clock.nowMillis(merchantId, environment)
      const now = Math.floor(nowMillis / 1_000)
      const { event, facts = [], reply, writes = [] } = yield* plan(record, now)
      const exception = event === null ? null : stepUnmatched(record.exception, event, now)
      const after: ExceptionRecord = exception === null ? record : { ...record, exception }
      const kept = reply?.(after)
      if (exception === null && kept === undefined) return { record, facts } satisfies UnmatchedResult
      const added = exception === null
        ? null
        : yield* runUnmatchedHooks(hooks.current(), { before: record, after, facts, now, nowMillis })
      yield* commit.append({
        merchantId,
        environment,
        cause,
        writes: exception === null ? [] : [unmatchedWrite(record, exception), ...writes, ...added?.writes ?? []],
        balances: added?.balances ?? [],
        events: [...unmatchedEvents(record, after), ...added?.events ?? []],
        reply: kept
      })
      return { record: after, facts: added?.facts ?? facts } satisfies UnmatchedResult
    })
  ).pipe(decideAnew())
