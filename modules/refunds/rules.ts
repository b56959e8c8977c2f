/**
 * What is around the steps of a refund: the token that is paid out, the destination that is taken, and which changes of
 * the invoice concern its refunds. Pure.
 */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import type { CommitCause } from "../../runtime/Commit.ts"
import { isPublicError } from "../../schemas/Errors.ts"
import { usdWire } from "../../schemas/Money.ts"
import { descriptorOf, type Environment, type Network } from "../../schemas/Network.ts"
import type { RefundQuote } from "../../schemas/Refund.ts"
import type { Token } from "../../schemas/Token.ts"
import { type Aggregate, bySeenAt, type HookInput, type InvoiceFact, type PaymentState } from "../invoices/plugin.ts"
import type { RefundAddressFact } from "../payments/plugin.ts"
import {
  type CoveredException,
  decide,
  type Destination,
  isActive,
  isConfirmed,
  isLost,
  isReceived,
  isRefundable,
  type RefundCommand,
  type RefundContext,
  type RefundState
} from "./machine.ts"

/** What a change makes of a refund; `changed`: anything else, which moves no money. */
export type RefundChange = "opened" | "canceled" | "expired" | "failed" | "succeeded" | "changed"

/** For the hooks of an invoice: this is how a refund of it will be. */
export interface RefundFact extends InvoiceFact {
  readonly _tag: "Refund"
  readonly change: RefundChange
  readonly refund: RefundState
  /** Who paid it out; absent: nobody knows, or it is not paid. */
  readonly sender?: PayoutSender
}

/** The wallet that paid a refund out. */
export interface PayoutSender {
  /** Fingerprint of the receiving wallet of the merchant, or of the deployment; null: it was sent from none of them. */
  readonly wallet: string | null
}

const changeOf = (before: RefundState | null, { status }: RefundState): RefundChange => {
  if (before === null) return "opened"
  if (before.status === status) return "changed"
  return status === "canceled" || status === "expired" || status === "failed" || status === "succeeded"
    ? status
    : "changed"
}

/**
 * Whether the money of a refund is set apart by a booking of its own: once it is opened, where it is about another
 * amount from then on, and where it was paid although it failed for good. What a refund opens under a ledger that came
 * later has no name here.
 */
export const isBookedAnew = (before: RefundState | null, after: RefundState): boolean =>
  before === null || (before.amount !== after.amount && isActive(after)) ||
  (isLost(before) && after.status === "succeeded")

/** `before` is null for a new one. */
export const refundFact = (before: RefundState | null, refund: RefundState): RefundFact => ({
  _tag: "Refund",
  change: changeOf(before, refund),
  refund
})

const isRefundFact = (fact: InvoiceFact): fact is RefundFact => fact._tag === "Refund"

const isRefundAddressFact = (fact: InvoiceFact): fact is RefundAddressFact => fact._tag === "RefundAddress"

/** Refunds that a change tells of, as they will be after it. */
export const refundsIn = (facts: ReadonlyArray<InvoiceFact>): ReadonlyArray<RefundState> =>
  facts.filter(isRefundFact).map(({ refund }) => refund)

/** What a change makes of them. */
export const changesIn = (facts: ReadonlyArray<InvoiceFact>): ReadonlyArray<RefundChange> =>
  facts.filter(isRefundFact).map(({ change }) => change)

/** Refunds of an invoice as they will be after a change with `facts`: a new one stands after those that are stored. */
export const refundsAfter = (
  stored: ReadonlyArray<RefundState>,
  invoiceId: string,
  facts: ReadonlyArray<InvoiceFact>
): ReadonlyArray<RefundState> => {
  const newest = new Map(stored.map((refund) => [refund.id, refund]))
  for (const refund of refundsIn(facts)) if (refund.invoiceId === invoiceId) newest.set(refund.id, refund)
  return [...newest.values()]
}

/** The verb of each command in the audit log. */
const actions: Readonly<Record<RefundCommand["_tag"], string>> = {
  SetDestination: "set_destination",
  Approve: "approve",
  Submit: "report_submitted",
  Succeed: "report_succeeded",
  Fail: "report_failed",
  Retry: "retry",
  Cancel: "cancel",
  Expire: "expire",
  RenewClaim: "claim_link",
  CountWrongToken: "count_wrong_token"
}

/** What the audit log keeps of a refund: not the payor's address. */
const auditFieldsOf = ({ amount, failureCode, status, terms, tokenAmount, txHash }: RefundState) => ({
  status,
  amount: usdWire(amount),
  // Base units: of a refund of one payment all that is given back, which is known before it is approved.
  token_amount: (terms?.units ?? tokenAmount)?.toString() ?? null,
  tx_hash: txHash,
  failure_code: failureCode,
  ...(terms === null ? {} : { approved_by: terms.approvals.map(({ actor }) => actor) })
})

/** The step of a refund as the audit log keeps it. */
export const auditActOf = (
  before: RefundState,
  after: RefundState,
  { _tag }: RefundCommand,
  actor: string,
  { requestId }: CommitCause
): AuditAct => ({
  merchantId: before.merchantId,
  environment: before.environment,
  actor,
  action: `refund.${actions[_tag]}`,
  subject: { object: "refund", id: before.id },
  before: auditFieldsOf(before),
  after: auditFieldsOf(after),
  requestId
})

/** A new refund as the audit log keeps it. */
export const auditActOfNew = (refund: RefundState, actor: string, { requestId }: CommitCause): AuditAct => ({
  merchantId: refund.merchantId,
  environment: refund.environment,
  actor,
  action: "refund.create",
  subject: { object: "refund", id: refund.id },
  before: {},
  after: {
    ...auditFieldsOf(refund),
    invoice_id: refund.invoiceId,
    ...(refund.invoiceId === null ? { exception_id: refund.terms?.exceptionId ?? null } : {}),
    reason: refund.reason
  },
  requestId
})

/** An exception that a refund decides, or the part of it, as the audit log keeps it: as any decision. */
export const auditActOfCovered = (
  { amount, id, open }: CoveredException,
  { invoice: { environment, merchantId } }: Aggregate,
  actor: string,
  { requestId }: CommitCause
): AuditAct => ({
  merchantId,
  environment,
  actor,
  action: "exception.resolve",
  subject: { object: "exception", id },
  before: { status: "open", type: open.type, amount: usdWire(amount) },
  after: { status: "resolved", action: "refund", note: "", invoice_id: null },
  requestId
})

/** The tokens there are to be paid out. */
export interface PayoutTokens {
  readonly get: (tokenId: number) => Token | undefined
  readonly list: (environment: Environment) => ReadonlyArray<Token>
}

const isPriced = ({ active, asset, stable }: Token) => active && (asset !== null || stable)

/** What is paid out on a network where nobody paid: a dollar stablecoin, else the network's own coin. */
export const defaultPayoutToken = (tokens: PayoutTokens, network: Network, environment: Environment): Token | null => {
  const priced = tokens.list(environment).filter((token) => token.network === network && isPriced(token))
  const stables = priced.filter(({ stable }) => stable)
  const [first] = descriptorOf(network).payoutStablecoins.flatMap((symbol) =>
    stables.filter((token) => token.symbol === symbol)
  )
  return first ?? stables[0] ?? priced.find(({ address }) => address === null) ?? null
}

/** What is paid out on a network: the token that was paid with where it was paid there, else the default. */
export const payoutToken = (tokens: PayoutTokens, { invoice, payments }: Aggregate, network: Network): Token | null => {
  const [paidWith] = payments
    .filter((payment) => isReceived(payment) && payment.network === network)
    .toSorted(bySeenAt)
    .flatMap(({ tokenId }) => {
      const token = tokenId === null ? undefined : tokens.get(tokenId)
      return token !== undefined && isPriced(token) ? [token] : []
    })
  return paidWith ?? defaultPayoutToken(tokens, network, invoice.environment)
}

/**
 * The refund with the first of these destinations that can be paid to; as it is where none can. Its version stays,
 * because this is part of a larger step.
 */
export const withPayableDestination = (
  tokens: PayoutTokens,
  refund: RefundState,
  destinations: ReadonlyArray<Destination>,
  context: RefundContext,
  quote: RefundQuote | null
): RefundState => {
  for (const destination of destinations) {
    if (payoutToken(tokens, context.invoice, destination.network) === null) continue
    const decision = decide(refund, { _tag: "SetDestination", destination, quote }, context, null)
    if (!isPublicError(decision)) return { ...decision.next, version: refund.version }
  }
  return refund
}

/** The same for any refund: one of a payment takes the destination on its payment's network, if it waits for no link. */
export const withFirstDestination = (
  tokens: PayoutTokens,
  refund: RefundState,
  destinations: ReadonlyArray<Destination>,
  context: RefundContext
): RefundState => {
  const { terms } = refund
  if (terms === null) return withPayableDestination(tokens, refund, destinations, context, null)
  const destination = destinations.find(({ network }) => network === terms.network)
  if (destination === undefined || terms.isClaimOnly) return refund
  const decision = decide(refund, { _tag: "SetDestination", destination }, context, null)
  return isPublicError(decision) ? refund : { ...decision.next, version: refund.version }
}

/** What a change of an invoice means to its refunds. */
export interface RefundTriggers {
  /** Where the payor wants refunds, newly said. */
  readonly destinations: ReadonlyArray<Destination>
  /** Money that was received is gone, or was given back although it is. */
  readonly isReverted: boolean
  /** Money that was received is there to stay. */
  readonly isNowConfirmed: boolean
}

/** Null: the change concerns no refund. */
export const refundTriggers = (
  { before, decision, facts }: Pick<HookInput, "before" | "decision" | "facts">
): RefundTriggers | null => {
  const destinations = facts.filter(isRefundAddressFact).map(({ destination }): Destination => ({
    network: destination.network,
    address: destination.address,
    memo: destination.memo
  }))
  const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
  const wasReceived = ({ id }: PaymentState) => previousById.has(id) && isReceived(previousById.get(id)!)
  const wasRefundable = ({ id }: PaymentState) => previousById.has(id) && isRefundable(previousById.get(id)!)
  // What was paid out for a payment that is gone is not there for the refunds of others.
  const isPaidForNothing = facts.filter(isRefundFact).some(({ change, refund: { paymentId } }) =>
    change === "succeeded" && decision.next.payments.some(({ id, status }) => id === paymentId && status === "reverted")
  )
  const isReverted = isPaidForNothing ||
    decision.changedPayments.some((payment) =>
      payment.status === "reverted" && (wasReceived(payment) || wasRefundable(payment))
    )
  const isNowConfirmed = decision.changedPayments.some((payment) =>
    isConfirmed(payment) && wasReceived(payment) && !isConfirmed(previousById.get(payment.id)!)
  )
  return destinations.length === 0 && !isReverted && !isNowConfirmed
    ? null
    : { destinations, isReverted, isNowConfirmed }
}
