/** Money that no invoice expects: its exception opens, closes where the transfer goes away again, and is decided on. */
import { Effect } from "effect"
import { type Commit, noCause, type Write } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { type Repo, type UnmatchedPayment, unmatchedWrite } from "../repo.ts"

/** The services that this takes. */
export interface UnmatchedContext {
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly repo: Repo
}

/** `Invoices.recordUnmatched`. */
export const recordUnmatched = Effect.fnUntraced(function*(
  { clock, commit, repo }: UnmatchedContext,
  payment: UnmatchedPayment,
  writes: ReadonlyArray<Write>
) {
  const stored = (yield* repo.findException(payment.merchantId, payment.id))?.exception ?? null
  const write = unmatchedWrite(payment, stored, yield* clock.nowSeconds(payment.merchantId, payment.environment))
  if (write !== null && payment.isOpen) {
    // A field of the name `token` is never logged: everywhere else it is a secret.
    const { token, ...evidence } = payment.evidence
    yield* Effect.logError(
      "money arrived that belongs to no invoice: find out who sent it, then refund it or deliver",
      { exception: payment.type, ...evidence, token_address: token }
    )
  }
  yield* commit.append({
    merchantId: payment.merchantId,
    environment: payment.environment,
    cause: noCause,
    writes: write === null ? writes : [...writes, write],
    events: []
  }).pipe(
    Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)),
    Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
  )
})
