/**
 * Refunds of money that pays no invoice: opened by the decision on its exception, in its commit, and failed where the
 * money leaves its chain before they are sent.
 */
import { Effect } from "effect"
import type { CommitCause } from "../../../runtime/Commit.ts"
import { uuidV7Ahead } from "../../../runtime/Uuid.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { type ExceptionRecord, hasLeft, type UnmatchedChange, type UnmatchedHookResult } from "../../invoices/plugin.ts"
import {
  decideUnmatchedRefund,
  failLeft,
  newUnmatchedRefund,
  type RefundState,
  type UnmatchedRefund
} from "../machine.ts"
import { auditActOfNew } from "../rules.ts"
import {
  approvalRules,
  approveCommand,
  checkCall,
  type ExceptionRefundCall,
  inDestination,
  inRefund,
  isApprovedAtOnce,
  type PaymentRefundCall,
  type PaymentRefundPlan,
  withClaimLink
} from "./PaymentRefunds.ts"
import { type RefundServices, stepTo } from "./RefundServices.ts"
import { type SoleApprovalCount, soleApprovalCount } from "./SoleApprovals.ts"

/** What opens the refund in the change of the exception that it decides. */
export type UnmatchedRefundOpening = (
  record: ExceptionRecord,
  nowSeconds: number
) => Effect.Effect<PaymentRefundPlan, PublicError>

/** A new refund on its way as far as the call takes it: nobody has said before where it goes. */
const advance = Effect.fnUntraced(function*(
  services: RefundServices,
  refund: UnmatchedRefund,
  call: PaymentRefundCall,
  record: ExceptionRecord,
  now: number,
  count: SoleApprovalCount
): Effect.fn.Return<RefundState, PublicError> {
  const { destination } = call
  if (destination === null || destination === "claim") return refund
  const directed = decideUnmatchedRefund(refund, { _tag: "SetDestination", destination }, record, now)
  if (isPublicError(directed)) return yield* inDestination(directed)
  const next: UnmatchedRefund = {
    ...refund,
    ...directed.next,
    terms: refund.terms,
    invoiceId: null,
    version: refund.version
  }
  if (!isApprovedAtOnce(call, refund)) return next
  const command = yield* approveCommand(services, next, call.caller, now, count)
  const approved = decideUnmatchedRefund(next, command, record, now)
  return isPublicError(approved) ? yield* approved : { ...approved.next, version: refund.version }
})

/** `Refunds.ofUnmatched`. */
export const refundOfUnmatched = (services: RefundServices) =>
  Effect.fn("Refunds.ofUnmatched")(function*(
    { environment, exception, merchantId }: Pick<ExceptionRecord, "environment" | "exception" | "merchantId">,
    wish: ExceptionRefundCall,
    cause: CommitCause
  ): Effect.fn.Return<UnmatchedRefundOpening, PublicError> {
    if (wish.part !== null) {
      return yield* publicError("VALIDATION_ERROR", {
        message:
          `refund.amount: only of underpaid_expired a part can be refunded: of ${exception.type} it is all that came`,
        param: "refund.amount"
      })
    }
    const call = yield* checkCall(services, {
      ...wish,
      amount: { mode: "full", usd: null, tokenAmount: null, paymentId: null },
      reason: wish.reason ?? "other",
      exceptionId: exception.id
    }, environment).pipe(Effect.mapError(inRefund))
    const ahead = services.clock.aheadSeconds(merchantId, environment)
    const request = {
      reason: call.reason,
      feeBearer: call.feeBearer,
      isClaimOnly: call.destination === "claim",
      exceptionId: exception.id
    }
    return (record, now) =>
      Effect.gen(function*() {
        const refunds = yield* services.repo.ofException(record.merchantId, exception.id)
        const rules = yield* approvalRules(services, record)
        const refund = newUnmatchedRefund(`re_${yield* uuidV7Ahead(ahead)}`, record, { ...request, rules }, {
          fees: services.fees,
          now,
          refunds
        })
        if (isPublicError(refund)) return yield* refund
        const count = soleApprovalCount(services, record, now)
        const advanced = yield* advance(services, refund, call, record, now, count)
        const { claimToken, refund: made } = yield* withClaimLink(advanced)
        const step = stepTo(services, null, made)
        const entry = yield* services.auditLog.writesOf(auditActOfNew(step.refund, call.caller.credential, cause))
        return {
          opened: [{ refund: step.refund, claimToken }],
          writes: [...step.writes, ...count.writes(), ...entry],
          facts: step.facts,
          commands: []
        }
      }).pipe(Effect.mapError(inRefund))
  })

/** The hook of money that pays no invoice: what has left its chain is not given back. */
export const onUnmatchedChange = (services: RefundServices) =>
  Effect.fnUntraced(function*({ after, before, now }: UnmatchedChange): Effect.fn.Return<UnmatchedHookResult> {
    const { exception, merchantId } = after
    if (before === null || exception.resolution === null || hasLeft(before.exception) || !hasLeft(exception)) return {}
    const refunds = yield* services.repo.ofException(merchantId, exception.id)
    const previous = new Map(refunds.map((refund) => [refund.id, refund]))
    const steps = failLeft(refunds, now).map((refund) => stepTo(services, previous.get(refund.id)!, refund))
    return { writes: steps.flatMap(({ writes }) => writes), facts: steps.flatMap(({ facts }) => facts) }
  })
