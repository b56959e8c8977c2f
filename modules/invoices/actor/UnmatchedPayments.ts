/** Money that no invoice expects: its exception opens, closes where the transfer goes away again, and is decided on. */
import { Effect } from "effect"
import { type Commit, noCause, systemMerchant, type Write } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { exceptionEvents, type ExceptionRecord } from "../machine.ts"
import { type Repo, unmatchedException, type UnmatchedPayment, unmatchedWrite } from "../repo.ts"
import { type InvoiceHooks, runUnmatchedHooks } from "./Hooks.ts"

/** The events of an exception of money that pays no invoice. The operator's own has no merchant who could hear them. */
export const unmatchedEvents = (
  before: ExceptionRecord | null,
  after: ExceptionRecord
): ReadonlyArray<EventDraft> => after.merchantId === systemMerchant ? [] : exceptionEvents(before, after)

/** The services that this takes. */
export interface UnmatchedContext {
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly hooks: InvoiceHooks["Service"]
  readonly repo: Repo
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
  const exception = unmatchedException(payment, before?.exception ?? null, now)
  if (exception !== null && payment.isOpen) {
    // A field of the name `token` is never logged: everywhere else it is a secret.
    const { token, ...evidence } = payment.evidence
    yield* Effect.logError(
      "money arrived that belongs to no invoice: find out who sent it, then refund it or deliver",
      { exception: payment.type, ...evidence, token_address: token }
    )
  }
  const after: ExceptionRecord | null = exception === null
    ? null
    : { exception, merchantId, environment, invoice: null, payment: null }
  const added = after === null ? null : yield* runUnmatchedHooks(hooks.current(), { before, after, now, nowMillis })
  yield* commit.append({
    merchantId,
    environment,
    cause: noCause,
    writes: [...writes, ...exception === null ? [] : [unmatchedWrite(payment, exception)], ...added?.writes ?? []],
    balances: added?.balances ?? [],
    events: after === null ? [] : [...unmatchedEvents(before, after), ...added?.events ?? []]
  }).pipe(
    Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)),
    Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
  )
})
