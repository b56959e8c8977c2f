/**
 * Where a refund changes: in the commit of its invoice or, where its money pays none, in that of its exception. So no
 * two changes are made of the same money.
 */
import { Effect } from "effect"
import type { CommitCause, Conflict, IdempotentReplay, ReplyWrite } from "../../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Aggregate, ChangePlan, ExceptionRecord, InvoiceFact, UnmatchedPlan } from "../../invoices/plugin.ts"
import type { RefundState } from "../machine.ts"
import { changesIn } from "../rules.ts"
import type { RefundServices } from "./RefundServices.ts"

/** What a refund is of: an invoice, or the exception of money that pays none. */
export type RefundSubject = Aggregate | ExceptionRecord

/** What to do to what a refund is of, and what of the refund must be stored with it. */
export interface RefundChangePlan extends Pick<ChangePlan, "commands" | "writes" | "facts"> {
  readonly reply?: () => ReplyWrite | undefined
}

/** In terms of an exception: it is given up with its refund, or changes with it; nothing, where that does not. */
const unmatchedPlanOf = ({ facts = [], reply, writes = [] }: RefundChangePlan): UnmatchedPlan => {
  const isGivenUp = changesIn(facts).some((change) => change === "canceled" || change === "expired")
  return {
    event: facts.length === 0 ? null : { _tag: isGivenUp ? "GiveUp" : "Touch" },
    writes,
    facts,
    ...(reply === undefined ? {} : { reply })
  }
}

/**
 * Changes what a refund is of, by what `plan` says of it as it is; answers the facts of the change. Errors: `plan`'s
 * own, those of the hooks, `REFUND_NOT_FOUND` for a refund of nothing, `SERVICE_UNAVAILABLE`.
 */
export const changeSubject = <E, R>(
  { invoices }: RefundServices,
  { invoiceId, merchantId, terms }: Pick<RefundState, "invoiceId" | "merchantId" | "terms">,
  cause: CommitCause,
  plan: (subject: RefundSubject, nowSeconds: number) => Effect.Effect<RefundChangePlan, E, R>
): Effect.Effect<ReadonlyArray<InvoiceFact>, Exclude<E, Conflict> | PublicError | IdempotentReplay, R> => {
  if (invoiceId !== null) {
    return Effect.map(invoices.change(invoiceId, cause, plan), ({ facts }) => facts) as Effect.Effect<
      ReadonlyArray<InvoiceFact>,
      Exclude<E, Conflict> | PublicError | IdempotentReplay,
      R
    >
  }
  const exceptionId = terms?.exceptionId ?? null
  return exceptionId === null
    ? publicError("REFUND_NOT_FOUND")
    : Effect.map(
      invoices.changeUnmatched(
        merchantId,
        exceptionId,
        cause,
        (record, now) => Effect.map(plan(record, now), unmatchedPlanOf)
      ),
      ({ facts }) => facts
    )
}
