/** Refunds: load, decide, commit with the invoice; what a payout costs, what it comes to, where it may go. */
import { Context, Effect, Layer, type Scope } from "effect"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Chains } from "../../runtime/Chains.ts"
import type { CommitCause, IdempotentCall, IdempotentReplay, Write } from "../../runtime/Commit.ts"
import { LinkedWallets } from "../../runtime/LinkedWallets.ts"
import { Mail } from "../../runtime/Mail.ts"
import { Members } from "../../runtime/Members.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import * as Registry from "../../runtime/Registry.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Timers } from "../../runtime/Timers.ts"
import { Screening } from "../../runtime/Screening.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import type { ApprovalAnswer } from "../../schemas/Approval.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { RefundQuote } from "../../schemas/Refund.ts"
import { type Aggregate, type ExceptionRecord, type InvoiceFact, InvoiceHooks, Invoices } from "../invoices/plugin.ts"
import { PayorDetails } from "../payments/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import type { Destination, RefundCommand, RefundState } from "./machine.ts"
import { makePersonalQueries, makeRepo, type Repo } from "./repo.ts"
import { Approvals, type IssuedApproval } from "./service/Approvals.ts"
import { type LineResult, recordLineResult } from "./service/BatchPayouts.ts"
import { checkClaim, type ClaimedWallet, claimRefund, findClaim, type OpenClaim, renewClaim } from "./service/Claims.ts"
import { checkDestination } from "./service/Destinations.ts"
import { recheckMoney, refundTimer } from "./service/DueRefunds.ts"
import { onInvoiceChange } from "./service/InvoiceChanges.ts"
import { refundMetrics } from "./service/Metrics.ts"
import { registerPersonalRecords } from "./service/PersonalRecords.ts"
import {
  actOnRefund,
  type DecidedException,
  type ExceptionRefundCall,
  issueApproval,
  type LinkedRefund,
  openPaymentRefunds,
  type PaymentRefundCall,
  type PaymentRefundPlan,
  type RefundCaller,
  refundOfException
} from "./service/PaymentRefunds.ts"
import { quoteRefund } from "./service/Payouts.ts"
import type {
  ClaimRecipient,
  RefundOptions,
  RefundQuoteRequest,
  RefundRequest,
  RefundStep
} from "./service/RefundCalls.ts"
import { type BatchTransfers, type RefundServices, refundsOfInvoice } from "./service/RefundServices.ts"
import { type PayoutReport, reportPayout } from "./service/Reports.ts"
import { changeRefund, decideOnRefund, openRefund } from "./service/RefundSteps.ts"
import { countSoleApproval } from "./service/SoleApprovals.ts"
import { onUnmatchedChange, refundOfUnmatched, type UnmatchedRefundOpening } from "./service/UnmatchedRefunds.ts"

export class Refunds extends Context.Service<Refunds, {
  /** What a refund would come to; null where nothing is left, the fee takes all of it, or the network has no token. */
  readonly quote: (current: Aggregate, request: RefundQuoteRequest, now: number) => Effect.Effect<RefundQuote | null>
  /**
   * Opens a refund, to be put into a change of this invoice; null where nothing remains. `facts` are those of the same
   * change by then: refunds among them count. Where the destination cannot be paid to, as its fee takes all, it waits
   * for another one. Errors: `REFUND_EXCEEDS_RECEIVED`, `WALLET_ADDRESS_INVALID`.
   */
  readonly open: (
    current: Aggregate,
    request: RefundRequest,
    now: number,
    facts?: ReadonlyArray<InvoiceFact>
  ) => Effect.Effect<RefundStep | null, PublicError>
  /** Oldest first. With `facts`: as they will be after a change with these facts. */
  readonly ofInvoice: (
    merchantId: number,
    invoiceId: string,
    facts?: ReadonlyArray<InvoiceFact>
  ) => Effect.Effect<ReadonlyArray<RefundState>>
  /**
   * One step of a refund, to be put into a change of its invoice, and at most one in a change; where it changes nothing
   * there is nothing to write. Errors: those of `decide` in machine.ts; for a destination those of {@link check}.
   */
  readonly decideOn: (
    refund: RefundState,
    command: RefundCommand,
    current: Aggregate,
    now: number,
    facts?: ReadonlyArray<InvoiceFact>
  ) => Effect.Effect<RefundStep, PublicError>
  /** The same as a commit, in the audit log. Errors: those, `REFUND_NOT_FOUND`, `SERVICE_UNAVAILABLE`. */
  readonly change: (
    refundId: string,
    command: RefundCommand,
    cause: CommitCause,
    actor: string
  ) => Effect.Effect<RefundState, PublicError | IdempotentReplay>
  /**
   * A destination in the form it is kept in. Errors: `WALLET_ADDRESS_INVALID`, also for a token's own contract, an
   * address that payments are received at, and a listed one (runtime/Screening.ts); `UNSUPPORTED_NETWORK` where it has
   * no token to pay out; `VALIDATION_ERROR` for a memo where the network has none; `NETWORK_DEGRADED` and
   * `SERVICE_UNAVAILABLE` where the chain or screening has to be asked and does not answer.
   */
  readonly check: (destination: Destination, environment: Environment) => Effect.Effect<Destination, PublicError>
  /**
   * What became of a payout. Of a refund that a merchant asked for, only its transfer on the chain proves that it
   * succeeded: to the destination, in the token, of exactly the units to be sent, from a wallet that is linked to the
   * merchant or that the report names and that is no other merchant's, final, of no other refund or line of a batch.
   * Errors: those of {@link change}; `VALIDATION_ERROR` for a transaction that proves nothing, `INVALID_TRANSITION` for
   * one that is not final yet, `UNSUPPORTED_NETWORK` and `NETWORK_DEGRADED` where the chain cannot be asked.
   */
  readonly report: (refundId: string, report: PayoutReport, actor: string) => Effect.Effect<RefundState, PublicError>
  /** Who knows which transfers lines of batches show as theirs, so that no report takes one. One per deployment. */
  readonly registerBatches: (batchTransfers: BatchTransfers) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Counts an act beside refunds that one person alone approves, of this value, for the limit of the day; answers what
   * is to be stored with its change. Null: it is above the limit, so another person must approve it too.
   */
  readonly countSoleApproval: (
    owner: Pick<RefundState, "environment" | "merchantId">,
    value: UsdMillis | null,
    nowSeconds: number
  ) => Effect.Effect<ReadonlyArray<Write> | null>
  readonly find: Repo["find"]
  readonly findAll: Repo["findAll"]
  readonly payable: Repo["payable"]
  /**
   * Checks the money of the refunds that `read` answers, and reads them again: while a wallet could pay the batch of a
   * refund, it counted as sent and did not fail where its payment left the chain. Such a refund fails now, by a commit.
   */
  readonly recheckMoney: <E>(
    read: Effect.Effect<ReadonlyArray<RefundState>, E>
  ) => Effect.Effect<ReadonlyArray<RefundState>, E | PublicError>
  /**
   * Stores the result of the line that pays a refund, which most nodes say is final, in one commit with `writes`. Where
   * it was stored before, answers the refund as it is and stores no `writes`. Errors: `REFUND_NOT_FOUND`,
   * `INVALID_TRANSITION`, `REFUND_IN_BATCH` where it is in another one, `SERVICE_UNAVAILABLE`.
   */
  readonly recordLineResult: (refundId: string, result: LineResult, writes: ReadonlyArray<Write>) => Effect.Effect<
    RefundState,
    PublicError
  >
  readonly list: Repo["list"]
  /** A merchant's own, of one environment. */
  readonly page: Repo["page"]
  /**
   * Gives back payments of an invoice, each by a refund of its own, in one commit. Errors: `INVOICE_NOT_FOUND`,
   * `REFUND_EXCEEDS_RECEIVED` with what is left, `VALIDATION_ERROR`, and for a destination those of {@link check} but
   * `UNSUPPORTED_NETWORK`.
   */
  readonly openOfInvoice: (
    invoiceId: string,
    request: PaymentRefundCall,
    call: IdempotentCall<ReadonlyArray<LinkedRefund>>
  ) => Effect.Effect<ReadonlyArray<LinkedRefund>, PublicError | IdempotentReplay>
  /**
   * The refunds that are the decision on an exception. The destination is looked at first, because the chain is asked;
   * what that answers opens them in the change of the invoice. Errors: as {@link openOfInvoice}, with `refund.` before
   * each `param`.
   */
  readonly ofException: (
    decided: DecidedException,
    wish: ExceptionRefundCall,
    cause: CommitCause
  ) => Effect.Effect<
    (current: Aggregate, nowSeconds: number) => Effect.Effect<PaymentRefundPlan, PublicError>,
    PublicError
  >
  /**
   * The same of money that pays no invoice: one refund of all of it, in the change of the exception. Errors: those of
   * the destination, with `refund.` before each `param`; `REFUND_EXCEEDS_RECEIVED` while another refund stands for it.
   */
  readonly ofUnmatched: (
    record: Pick<ExceptionRecord, "environment" | "exception" | "merchantId">,
    wish: ExceptionRefundCall,
    cause: CommitCause
  ) => Effect.Effect<UnmatchedRefundOpening, PublicError>
  /**
   * A new claim link, which ends the one before. With a recipient it is sent by e-mail and answered to nobody. Errors:
   * `INVALID_TRANSITION` where the destination cannot change any more, `REFUND_NOT_FOUND`, `SERVICE_UNAVAILABLE`; by
   * e-mail also `NOT_FOUND` where no mail is sent, and those of `Mail.draft`.
   */
  readonly renewClaim: (
    refundId: string,
    caller: RefundCaller,
    call: IdempotentCall<LinkedRefund>,
    recipient?: ClaimRecipient
  ) => Effect.Effect<LinkedRefund, PublicError | IdempotentReplay>
  /**
   * What a claim link shows, by the id and the token in it; null: it opens nothing. A wrong token is counted, and ten
   * end the link, so the caller only limits how often one address may try. Errors: `SERVICE_UNAVAILABLE`.
   */
  readonly findClaim: (refundId: string, token: string) => Effect.Effect<OpenClaim | null, PublicError>
  /** A wallet that {@link claim} would take of a refund's payor, in the form it is kept in. Errors: as there. */
  readonly checkClaim: (refund: RefundState, wallet: ClaimedWallet) => Effect.Effect<ClaimedWallet, PublicError>
  /**
   * Says where the refund goes, on its network, by its claim link, which then only shows it. Errors:
   * `REFUND_NOT_FOUND` for a link that opens nothing, `INVALID_TRANSITION` for one that was used or came too late, and
   * those of {@link check} but `UNSUPPORTED_NETWORK`, with `param` `address` or `memo`.
   */
  readonly claim: (
    refundId: string,
    token: string,
    wallet: ClaimedWallet,
    requestId?: string
  ) => Effect.Effect<RefundState, PublicError>
  /** What a person signs to approve it. Errors: `REFUND_NOT_FOUND`, `INVALID_TRANSITION`, `CREDENTIAL_NOT_ALLOWED`. */
  readonly issueApproval: (refundId: string, caller: RefundCaller) => Effect.Effect<IssuedApproval, PublicError>
  /**
   * A person's or a service's act on a refund that its merchant asked for. Errors: `INVALID_TRANSITION`,
   * `REFUND_NOT_CANCELABLE`, `REFUND_EXCEEDS_RECEIVED`, `CREDENTIAL_NOT_ALLOWED` for an approval by no person,
   * `REFUND_NOT_FOUND`, `SERVICE_UNAVAILABLE`. `answer`: what the person signed; with it those of `Approvals.prove` and
   * `Approvals.record`.
   */
  readonly act: (
    refundId: string,
    act: "approve" | "cancel" | "retry",
    caller: RefundCaller,
    call: IdempotentCall<RefundState>,
    answer?: ApprovalAnswer | null
  ) => Effect.Effect<RefundState, PublicError | IdempotentReplay>
}>()("tillwire/modules/refunds/Refunds") {
  static readonly layer = (options: Omit<RefundOptions, "publicUrl">) => Layer.effect(Refunds, make(options))
}

const make = Effect.fnUntraced(function*(options: Omit<RefundOptions, "publicUrl">) {
  const batches = Registry.single<BatchTransfers>("two modules make batches: name one of them in the config file")
  const services: RefundServices = {
    ...options,
    approvals: yield* Approvals,
    auditLog: yield* AuditLog,
    batchTransfers: (transaction) => batches.current()?.(transaction) ?? Effect.succeed(new Set()),
    catalog: yield* TokenCatalog,
    chains: yield* Chains,
    clock: yield* MerchantClock,
    hooks: yield* InvoiceHooks,
    invoices: yield* Invoices,
    linkedWallets: yield* LinkedWallets,
    mail: yield* Mail,
    members: yield* Members,
    payors: yield* PayorDetails,
    prices: yield* Prices,
    publicUrl: (yield* Settings).publicUrl,
    repo: yield* makeRepo,
    screening: yield* Screening,
    settings: yield* MerchantSettings
  }
  const reads = yield* readsOf(makeRepo)
  yield* services.hooks.register({
    name: "refunds",
    run: onInvoiceChange(services),
    onUnmatched: onUnmatchedChange(services)
  })
  yield* (yield* Timers).register(refundTimer(services))
  yield* refundMetrics(services.repo)
  yield* registerPersonalRecords(services.repo, yield* makePersonalQueries)
  return Refunds.of({
    quote: (current, request, now) => quoteRefund(services, current, request, now),
    open: openRefund(services),
    ofInvoice: (merchantId, invoiceId, facts) => refundsOfInvoice(services, merchantId, invoiceId, facts),
    decideOn: decideOnRefund(services),
    change: changeRefund(services),
    check: (destination, environment) => checkDestination(services, destination, environment),
    registerBatches: batches.register,
    countSoleApproval: countSoleApproval(services),
    find: services.repo.find,
    findAll: services.repo.findAll,
    payable: services.repo.payable,
    recheckMoney: recheckMoney(services),
    recordLineResult: recordLineResult(services),
    list: services.repo.list,
    page: (filter, page) => reads.page(page.cursor?.direction === "older", (from) => from.page(filter, page)),
    openOfInvoice: openPaymentRefunds(services),
    act: actOnRefund(services),
    issueApproval: issueApproval(services),
    ofException: refundOfException(services),
    ofUnmatched: refundOfUnmatched(services),
    report: reportPayout(services),
    renewClaim: renewClaim(services),
    findClaim: findClaim(services),
    checkClaim: checkClaim(services),
    claim: claimRefund(services)
  })
})
