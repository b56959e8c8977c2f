/** Refunds that a merchant asks for: payments of an invoice go back, and people approve. */
import { Effect, MutableRef } from "effect"
import type { CommitCause, IdempotentCall, IdempotentReplay, Write } from "../../../runtime/Commit.ts"
import { uuidV7Ahead } from "../../../runtime/Uuid.ts"
import type { ApprovalAnswer } from "../../../schemas/Approval.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { spotValueOf } from "../../../runtime/Prices.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { ExceptionType } from "../../../schemas/Payment.ts"
import type { FeeBearer, RefundReason } from "../../../schemas/Refund.ts"
import type { Aggregate, Command, InvoiceFact } from "../../invoices/plugin.ts"
import {
  amountOfException,
  approvalBy,
  type ApprovalRules,
  approvalsRequired,
  approvedRefund,
  type Approver,
  approversOf,
  type CoveredException,
  coveredExceptions,
  decide,
  type Destination,
  type ExceptionMoney,
  newPaymentRefund,
  type PaymentRefund,
  peopleRequired,
  portionsOf,
  type RefundCommand,
  type RefundContext,
  type RefundState,
  type RequestedAmount,
  stricterRules,
  undecidedException,
  valueOf,
  withApproval
} from "../machine.ts"
import { auditActOf, auditActOfCovered, auditActOfNew, refundsIn, withFirstDestination } from "../rules.ts"
import type { ProvedApproval } from "./Approvals.ts"
import { mintClaim } from "./ClaimTokens.ts"
import { checkWallet } from "./Destinations.ts"
import { changeSubject } from "./RefundChanges.ts"
import { loadContext, type RefundServices, stepTo } from "./RefundServices.ts"
import { decideOnRefund } from "./RefundSteps.ts"
import { type SoleApprovalCount, soleApprovalCount } from "./SoleApprovals.ts"

/** Who asks: for the audit log, and whether they may approve. */
export type RefundCaller = Approver

/** A refund that a merchant asks for. */
export interface PaymentRefundCall {
  readonly amount: RequestedAmount
  readonly reason: RefundReason
  readonly feeBearer: FeeBearer
  /** Null: where the payor said. `claim`: where the payor says by the claim link, whatever they said before. */
  readonly destination: Destination | "claim" | null
  /** It is approved as well, where the caller may and the destination is known. */
  readonly isAutoApproved: boolean
  readonly caller: RefundCaller
  readonly exceptionId: string | null
}

/** An exception that is decided on. */
export interface DecidedException {
  readonly environment: Environment
  readonly exception: ExceptionMoney & { readonly id: string }
}

/** A refund that is the decision on an exception. */
export interface ExceptionRefundCall extends Pick<PaymentRefundCall, "caller" | "feeBearer" | "isAutoApproved"> {
  readonly destination: PaymentRefundCall["destination"]
  /** Null: as the exception is. */
  readonly reason: RefundReason | null
  /** Of a part that nobody completed, so much; null: all of it. */
  readonly part: Pick<RequestedAmount, "usd" | "tokenAmount"> | null
}

/**
 * A refund, and the token of its claim link where it has just got one: it is kept as a hash, and sealed in the reply to
 * a repeat of the same call.
 */
export interface LinkedRefund {
  readonly refund: RefundState
  readonly claimToken: string | null
}

/** What a call opens, for a change of its invoice. */
export interface PaymentRefundPlan {
  readonly opened: ReadonlyArray<LinkedRefund>
  readonly writes: ReadonlyArray<Write>
  readonly facts: ReadonlyArray<InvoiceFact>
  /** What it decides: the exceptions about the money that it gives back; and that this is on its way. */
  readonly commands: ReadonlyArray<Command>
}

/** The parameter of a refused destination, as the body of a call names it. */
export const inDestination = (error: PublicError): PublicError =>
  error.param === null ? error : publicError(error.code, {
    message: `destination.${error.param}: ${error.message.replace(`${error.param}: `, "")}`,
    param: `destination.${error.param}`,
    details: error.details
  })

/** The destination of a call in the form that is kept; looked at before the invoice is, because the chain is asked. */
export const checkCall = (
  services: RefundServices,
  call: PaymentRefundCall,
  environment: Aggregate["invoice"]["environment"]
): Effect.Effect<PaymentRefundCall, PublicError> =>
  call.destination === null || call.destination === "claim"
    ? Effect.succeed(call)
    : checkWallet(services, call.destination, environment).pipe(
      Effect.mapError(inDestination),
      Effect.map((destination) => ({ ...call, destination }))
    )

/**
 * What the token of a refund is worth now; null where nobody knows a price of today. Its terms say how much is given
 * back: `tokenAmount` is null until it is approved.
 */
const spotValue = ({ catalog, prices }: RefundServices, { terms, token: named, tokenAmount }: RefundState) => {
  const token = named?.id === undefined || named.id === null ? undefined : catalog.get(named.id)
  const units = terms?.units ?? tokenAmount
  return token === undefined || units === null ? Effect.succeed(null) : spotValueOf(prices, token, units)
}

/** What the merchant's rules ask of a refund now. */
export const approvalRules = Effect.fnUntraced(function*(
  { members, settings }: RefundServices,
  { environment, merchantId }: Pick<RefundState, "environment" | "merchantId">
) {
  const { auto_approve_limit: limit } = yield* settings.forInvoices(merchantId, environment)
  const approvers = approversOf("refund", yield* members.list(merchantId), environment)
  const rules: ApprovalRules = { people: peopleRequired(approvers), autoApproveLimit: usdMillis(BigInt(limit)) }
  return rules
})

/**
 * The approval of a caller. Where it alone lets the refund out although two people may approve, `count` counts it;
 * above the limit of the day it is kept as the first of two.
 */
export const approveCommand = Effect.fnUntraced(function*(
  services: RefundServices,
  refund: RefundState,
  caller: RefundCaller,
  now: number,
  count: SoleApprovalCount,
  proved: ProvedApproval | null = null
) {
  const { environment, terms } = refund
  const rulesNow = yield* approvalRules(services, refund)
  const rules = terms?.rules === undefined ? rulesNow : stricterRules(terms.rules, rulesNow)
  // One approver is enough whatever the price is.
  const spot = rules.people < 2 ? null : yield* spotValue(services, refund)
  const value = { book: refund.amount, spot }
  const needed = approvalsRequired(value, rules)
  const bare = approvalBy("refund", caller, environment, now)
  const approval = bare === null || proved === null ? bare : { ...bare, signed: proved.id }
  const given = approval === null ? 0 : withApproval(terms?.approvals ?? [], approval).length
  const isAlone = given >= needed && given < rules.people
  const required = isAlone && !(yield* count.add(valueOf(value))) ? rules.people : needed
  const command: RefundCommand = { _tag: "Approve", ...(approval === null ? {} : { approval }), required }
  return command
})

/** A refund that waits for the payor to say where it goes gets a link to say it by. */
export const withClaimLink = Effect.fnUntraced(function*(refund: RefundState) {
  if (refund.status !== "awaiting_destination") return { refund, claimToken: null }
  const { claim, token } = yield* mintClaim
  return { refund: { ...refund, claim }, claimToken: token }
})

/**
 * Whether a call approves what it opens, as far as its caller may: a key never does. With real money a person signs
 * what it approves, which nobody can before it is there.
 */
export const isApprovedAtOnce = (
  { caller, isAutoApproved }: Pick<PaymentRefundCall, "caller" | "isAutoApproved">,
  { environment }: Pick<RefundState, "environment">
): boolean => isAutoApproved && caller.kind === "wallet" && environment === "devnet"

/** A new refund on its way as far as the call takes it. */
const advance = Effect.fnUntraced(function*(
  services: RefundServices,
  refund: PaymentRefund,
  call: PaymentRefundCall,
  destinations: ReadonlyArray<Destination>,
  context: RefundContext,
  count: SoleApprovalCount
): Effect.fn.Return<RefundState, PublicError> {
  const directed = withFirstDestination(services.catalog, refund, destinations, context)
  if (!isApprovedAtOnce(call, refund) || directed.status !== "pending_approval") return directed
  const command = yield* approveCommand(services, directed, call.caller, context.now, count)
  const approved = decide(directed, command, context, null)
  return isPublicError(approved) ? yield* approved : { ...approved.next, version: refund.version }
})

const commerceRefusal = publicError("VALIDATION_ERROR", {
  message:
    "invoice_id: this invoice is part of an order, whose money goes back by the order's own refund: cancel the order",
  param: "invoice_id"
})

/** What a call opens of an invoice as it is now. `facts` are those of the same change by then. */
export const planPaymentRefunds = Effect.fnUntraced(function*(
  services: RefundServices,
  call: PaymentRefundCall,
  current: Aggregate,
  now: number,
  cause: CommitCause,
  facts: ReadonlyArray<InvoiceFact> = []
): Effect.fn.Return<PaymentRefundPlan, PublicError> {
  const { environment, id: invoiceId, merchantId, type } = current.invoice
  if (type === "commerce") return yield* commerceRefusal
  const context = yield* loadContext(services, current, now, facts)
  const portions = portionsOf(call.amount, current, context.refunds)
  if (isPublicError(portions)) return yield* portions
  const undecided = call.exceptionId === null ? undecidedException(portions, current) : null
  if (undecided !== null) {
    return yield* publicError("INVALID_TRANSITION", {
      message: `The exception ${undecided} of this money is open, and somebody may accept it: give the money back by ` +
        `POST /api/v1/exceptions/${undecided}/resolve with the action refund`,
      details: { exception_id: undecided }
    })
  }
  const { destination } = call
  const fixed = destination === null || destination === "claim" ? null : destination
  const elsewhere = fixed === null ? undefined : portions.find(({ payment }) => payment.network !== fixed.network)
  if (elsewhere !== undefined) {
    return yield* publicError("VALIDATION_ERROR", {
      message:
        `destination.network: the payment ${elsewhere.payment.id} came on ${elsewhere.payment.network}, and is ` +
        "refunded there. Name the payment by invoice_payment_id to refund one at a time",
      param: "destination.network"
    })
  }
  const payorDestinations = destination === null
    ? yield* services.payors.refundDestinations({ merchantId, invoiceId })
    : []
  const destinations = fixed === null
    ? payorDestinations.map(({ address, memo, network }): Destination => ({ network, address, memo }))
    : [fixed]
  const ahead = services.clock.aheadSeconds(merchantId, environment)
  const covered = call.exceptionId === null ? coveredExceptions(portions, current, context.refunds) : []
  const exceptionOf = (paymentId: string) =>
    call.exceptionId ?? covered.find(({ paymentIds }) => paymentIds.has(paymentId))?.id ?? null
  const shared = {
    reason: call.reason,
    feeBearer: call.feeBearer,
    isClaimOnly: destination === "claim",
    rules: yield* approvalRules(services, current.invoice)
  }
  const count = soleApprovalCount(services, current.invoice, now)
  const made = yield* Effect.forEach(
    portions,
    Effect.fnUntraced(function*(portion) {
      const request = { ...shared, exceptionId: exceptionOf(portion.payment.id) }
      const refund = newPaymentRefund(`re_${yield* uuidV7Ahead(ahead)}`, portion, request, context)
      if (isPublicError(refund)) return yield* refund
      return yield* withClaimLink(yield* advance(services, refund, call, destinations, context, count))
    })
  )
  const steps = made.map(({ refund }) => stepTo(services, null, refund))
  const opened = made.map((each, place): LinkedRefund => ({ ...each, refund: steps[place]!.refund }))
  const acts = yield* Effect.forEach(
    opened,
    ({ refund }) => services.auditLog.writesOf(auditActOfNew(refund, call.caller.credential, cause))
  )
  const decided = yield* Effect.forEach(
    covered,
    (each) => services.auditLog.writesOf(auditActOfCovered(each, current, call.caller.credential, cause))
  )
  return {
    opened,
    writes: [...steps.flatMap(({ writes }) => writes), ...count.writes(), ...acts.flat(), ...decided.flat()],
    facts: steps.flatMap((step) => step.facts),
    commands: [
      ...covered.map((each) => resolutionBy(opened, each, call.caller.credential)),
      ...steps.flatMap((step) => step.commands)
    ]
  }
})

/** The decision on an exception that a refund of its money is; it names the first of the refunds. */
const resolutionBy = (
  opened: ReadonlyArray<LinkedRefund>,
  { open, part, paymentIds }: CoveredException,
  actor: string
): Command => ({
  _tag: "Resolve",
  exceptionId: open.id,
  ...(part === null ? {} : { part }),
  resolution: {
    action: "refund",
    note: "",
    actor,
    invoiceId: null,
    refundId: opened.find(({ refund: { paymentId } }) => paymentId !== null && paymentIds.has(paymentId))!.refund.id
  }
})

/** The reason that a refund of each kind of exception has where nobody says another. */
const reasonOf = (type: ExceptionType): RefundReason => {
  switch (type) {
    case "overpaid":
      return "overpayment"
    case "duplicate_payment":
      return "duplicate"
    case "underpaid_expired":
      return "underpayment"
    case "late_payment":
      return "late_payment"
    case "wrong_token":
      return "wrong_token"
    default:
      return "other"
  }
}

/** The parameter of a refused call, as the body of a decision names it. */
export const inRefund = (error: PublicError): PublicError =>
  error.param === null ? error : publicError(error.code, {
    message: `refund.${error.message}`,
    param: `refund.${error.param}`,
    details: error.details
  })

/**
 * `Refunds.ofException`: reads the destination, and answers what opens the refunds in the change of the invoice that
 * decides on the exception.
 */
export const refundOfException = (services: RefundServices) =>
  Effect.fn("Refunds.ofException")(function*(
    { environment, exception }: DecidedException,
    wish: ExceptionRefundCall,
    cause: CommitCause
  ) {
    const { type } = exception
    if (wish.part !== null && type !== "underpaid_expired") {
      return yield* publicError("VALIDATION_ERROR", {
        message: `refund.amount: only of underpaid_expired a part can be refunded: of ${type} it is what is too much`,
        param: "refund.amount"
      })
    }
    const call = yield* checkCall(services, {
      ...wish,
      amount: { mode: "remaining", usd: null, tokenAmount: null, paymentId: null },
      reason: wish.reason ?? reasonOf(type),
      exceptionId: exception.id
    }, environment).pipe(Effect.mapError(inRefund))
    return Effect.fnUntraced(function*(current: Aggregate, now: number) {
      // As it is in this moment: what was too much may be on its way back by now.
      const { amount: left } = current.exceptions.find(({ id }) => id === exception.id) ?? exception
      const amount = amountOfException({ ...exception, amount: left }, wish.part)
      return yield* Effect.mapError(
        planPaymentRefunds(services, { ...call, amount }, current, now, cause),
        inRefund
      )
    })
  })

/** `Refunds.openOfInvoice`. */
export const openPaymentRefunds = (services: RefundServices) =>
  Effect.fn("Refunds.openOfInvoice")(function*(
    invoiceId: string,
    request: PaymentRefundCall,
    { cause, reply }: IdempotentCall<ReadonlyArray<LinkedRefund>>
  ): Effect.fn.Return<ReadonlyArray<LinkedRefund>, PublicError | IdempotentReplay> {
    const { invoices } = services
    const found = yield* invoices.find(invoiceId)
    if (found === null) return yield* publicError("INVOICE_NOT_FOUND")
    const call = yield* checkCall(services, request, found.invoice.environment)
    const made = MutableRef.make<ReadonlyArray<LinkedRefund>>([])
    yield* invoices.change(
      invoiceId,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const { commands, facts, opened, writes } = yield* planPaymentRefunds(services, call, current, now, cause)
        MutableRef.set(made, opened)
        return { commands, writes, facts, reply: () => reply(opened) }
      })
    )
    return MutableRef.get(made)
  })

const commandOf = (
  services: RefundServices,
  act: "approve" | "cancel" | "retry",
  refund: RefundState,
  caller: RefundCaller,
  now: number,
  count: SoleApprovalCount,
  proved: ProvedApproval | null
): Effect.Effect<RefundCommand> =>
  act === "approve"
    ? approveCommand(services, refund, caller, now, count, proved)
    : Effect.succeed({ _tag: act === "cancel" ? "Cancel" : "Retry" })

/** What is stored of an approval beside the refund: what its person signed, of the refund before it. */
const approvalWrites = (
  { approvals }: RefundServices,
  refund: RefundState,
  command: RefundCommand,
  proved: ProvedApproval | null
): Effect.Effect<ReadonlyArray<Write>, PublicError> => {
  const content = approvedRefund(refund)
  return command._tag !== "Approve" || command.approval === undefined || content === null
    ? Effect.succeed([])
    : approvals.record(proved, content, command.approval)
}

const proveApproval = (
  { approvals }: RefundServices,
  act: "approve" | "cancel" | "retry",
  refund: RefundState,
  caller: RefundCaller,
  answer: ApprovalAnswer | null
): Effect.Effect<ProvedApproval | null, PublicError> => {
  const content = act === "approve" && refund.status === "pending_approval" ? approvedRefund(refund) : null
  return content === null ? Effect.succeed(null) : approvals.prove(content, caller, answer)
}

/** `Refunds.issueApproval`. */
export const issueApproval = ({ approvals, repo }: RefundServices) =>
  Effect.fn("Refunds.issueApproval")(function*(refundId: string, caller: RefundCaller) {
    const refund = yield* repo.find(refundId)
    if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
    const content = approvedRefund(refund)
    return refund.status !== "pending_approval" || content === null
      ? yield* publicError("INVALID_TRANSITION", {
        message: `Only a refund that waits for approval is approved by people: this one is ${refund.status}`
      })
      : yield* approvals.issue(content, caller)
  })

/** `Refunds.act`. `answer`: what the caller signed, of an approval. */
export const actOnRefund = (services: RefundServices) =>
  Effect.fn("Refunds.act")(function*(
    refundId: string,
    act: "approve" | "cancel" | "retry",
    caller: RefundCaller,
    { cause, reply }: IdempotentCall<RefundState>,
    answer: ApprovalAnswer | null = null
  ): Effect.fn.Return<RefundState, PublicError | IdempotentReplay> {
    const { auditLog, repo } = services
    const before = yield* repo.find(refundId)
    if (before === null) return yield* publicError("REFUND_NOT_FOUND")
    if (before.terms === null) {
      return yield* publicError(act === "cancel" ? "REFUND_NOT_CANCELABLE" : "INVALID_TRANSITION", {
        message: "This refund is an order's: the order and its operator move it"
      })
    }
    const proved = yield* proveApproval(services, act, before, caller, answer)
    // Another call may have changed it since: what is answered is what this one found, as its kept reply says.
    const found = MutableRef.make(before)
    const facts = yield* changeSubject(
      services,
      before,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const refund = yield* repo.find(refundId)
        if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
        MutableRef.set(found, refund)
        const count = soleApprovalCount(services, refund, now)
        const command = yield* commandOf(services, act, refund, caller, now, count, proved)
        const step = yield* decideOnRefund(services)(refund, command, current, now)
        if (step.facts.length === 0) return { commands: [], reply: () => reply(refund) }
        const signed = yield* approvalWrites(services, refund, command, proved)
        const entry = yield* auditLog.writesOf(auditActOf(refund, step.refund, command, caller.credential, cause))
        return {
          commands: step.commands,
          writes: [...step.writes, ...count.writes(), ...signed, ...entry],
          facts: step.facts,
          reply: () => reply(step.refund)
        }
      })
    )
    return refundsIn(facts).findLast(({ id }) => id === refundId) ?? MutableRef.get(found)
  })
