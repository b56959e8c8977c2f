/** One step of one refund at a time: opened, decided on, committed with its invoice. */
import { Effect, MutableRef } from "effect"
import { uuidV7Ahead } from "../../../runtime/Uuid.ts"
import type { CommitCause } from "../../../runtime/Commit.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Aggregate, ExceptionRecord, InvoiceFact } from "../../invoices/plugin.ts"
import {
  decide,
  decideUnmatchedRefund,
  type Destination,
  isUnmatchedRefund,
  newRefund,
  type RefundCommand,
  type RefundState
} from "../machine.ts"
import { auditActOf, refundsIn, withPayableDestination } from "../rules.ts"
import type { RefundRequest, RefundStep } from "./RefundCalls.ts"
import { checkDestination, checkWallet, parseAddress, payorDestinations } from "./Destinations.ts"
import { approveIfPossible, payoutOf } from "./Payouts.ts"
import { changeSubject, type RefundSubject } from "./RefundChanges.ts"
import { loadContext, type RefundServices, stepTo } from "./RefundServices.ts"

export const openRefund = (services: RefundServices) =>
  Effect.fnUntraced(function*(
    current: Aggregate,
    request: RefundRequest,
    now: number,
    facts: ReadonlyArray<InvoiceFact> = []
  ): Effect.fn.Return<RefundStep | null, PublicError> {
    const context = yield* loadContext(services, current, now, facts)
    const { environment, merchantId } = current.invoice
    const refund = newRefund(`re_${yield* uuidV7Ahead(services.clock.aheadSeconds(merchantId, environment))}`, {
      amount: request.amount,
      reason: request.reason,
      feeFree: request.feeFree,
      source: request.payments ?? "all",
      quote: request.quote ?? null
    }, context)
    if (refund === null) return null
    if (isPublicError(refund)) return yield* refund
    const destinations = request.destination === null
      ? yield* payorDestinations(services, current)
      : [{ ...request.destination, address: yield* parseAddress(request.destination, environment) }]
    const { catalog } = services
    const withDestination = withPayableDestination(catalog, refund, destinations, context, request.quote ?? null)
    return stepTo(services, null, yield* approveIfPossible(services, withDestination, context))
  })

/** A payment goes back in its own token, so its network needs none that there is a price of. */
const checkFor = (services: RefundServices, { environment, terms }: RefundState, destination: Destination) =>
  terms === null
    ? checkDestination(services, destination, environment)
    : checkWallet(services, destination, environment)

/** Of money that pays no invoice. */
const decideOnUnmatched = Effect.fnUntraced(function*(
  services: RefundServices,
  refund: RefundState,
  command: RefundCommand,
  record: ExceptionRecord,
  now: number
): Effect.fn.Return<RefundStep, PublicError> {
  if (!isUnmatchedRefund(refund)) return yield* publicError("REFUND_NOT_FOUND")
  const decision = decideUnmatchedRefund(refund, command, record, now)
  if (isPublicError(decision)) return yield* decision
  return decision.next === refund
    ? { refund, writes: [], commands: [], facts: [] }
    : stepTo(services, refund, decision.next, decision)
})

export const decideOnRefund = (services: RefundServices) =>
  Effect.fnUntraced(function*(
    refund: RefundState,
    command: RefundCommand,
    current: RefundSubject,
    now: number,
    facts: ReadonlyArray<InvoiceFact> = []
  ): Effect.fn.Return<RefundStep, PublicError> {
    const checkedCommand: RefundCommand = command._tag === "SetDestination"
      ? { ...command, destination: yield* checkFor(services, refund, command.destination) }
      : command
    if ("exception" in current) return yield* decideOnUnmatched(services, refund, checkedCommand, current, now)
    const context = yield* loadContext(services, current, now, facts)
    const needsPrice = refund.terms === null && (command._tag === "Approve" || command._tag === "Retry")
    const payout = needsPrice ? yield* payoutOf(services, refund, current) : null
    const decision = decide(refund, checkedCommand, context, payout)
    if (isPublicError(decision)) return yield* decision
    if (decision.next === refund) return { refund, writes: [], commands: [], facts: [] }
    return stepTo(
      services,
      refund,
      command._tag === "SetDestination" && refund.terms === null
        ? yield* approveIfPossible(services, decision.next, context)
        : decision.next,
      decision
    )
  })

export const changeRefund = (services: RefundServices) =>
  Effect.fn("Refunds.change")(function*(
    refundId: string,
    command: RefundCommand,
    cause: CommitCause,
    actor: string
  ) {
    const { auditLog, repo } = services
    const before = yield* repo.find(refundId)
    if (before === null) return yield* publicError("REFUND_NOT_FOUND")
    const decideOn = decideOnRefund(services)
    // Another change may have come since: what is answered is what this one found.
    const found = MutableRef.make(before)
    const facts = yield* changeSubject(
      services,
      before,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const refund = yield* repo.find(refundId)
        if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
        MutableRef.set(found, refund)
        const { commands, facts, refund: next, writes } = yield* decideOn(refund, command, current, now)
        if (facts.length === 0) return { commands: [] }
        const act = yield* auditLog.writesOf(auditActOf(refund, next, command, actor, cause))
        return { commands, writes: [...writes, ...act], facts }
      })
    )
    return refundsIn(facts).findLast(({ id }) => id === refundId) ?? MutableRef.get(found)
  })
