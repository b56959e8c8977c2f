/**
 * What the parts of {@link Refunds} in service.ts share: the ports, and the refunds of an invoice as a step sees them.
 */
import { Effect } from "effect"
import type { AuditLog } from "../../../runtime/AuditLog.ts"
import type { Chains } from "../../../runtime/Chains.ts"
import type { LinkedWallets } from "../../../runtime/LinkedWallets.ts"
import type { Members } from "../../../runtime/Members.ts"
import type { Mail } from "../../../runtime/Mail.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import type { Prices } from "../../../runtime/Prices.ts"
import type { Screening } from "../../../runtime/Screening.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { Aggregate, InvoiceFact, InvoiceHooks, Invoices } from "../../invoices/plugin.ts"
import type { PayorDetails } from "../../payments/plugin.ts"
import type { MerchantSettings } from "../../settings/plugin.ts"
import { type RefundContext, type RefundDecision, type RefundState, trackCommands } from "../machine.ts"
import { refundWrite, type Repo } from "../repo.ts"
import { isBookedAnew, refundFact, refundsAfter } from "../rules.ts"
import type { Approvals } from "./Approvals.ts"
import type { RefundOptions, RefundStep } from "./RefundCalls.ts"

/** Indexes of the transfers of a transaction that lines of batches show as theirs, final or not. */
export type BatchTransfers = (
  transaction: { readonly network: Network; readonly environment: Environment; readonly txHash: string }
) => Effect.Effect<ReadonlySet<number>>

export interface RefundServices extends RefundOptions {
  readonly approvals: Approvals["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly batchTransfers: BatchTransfers
  readonly catalog: TokenCatalog["Service"]
  readonly chains: Chains["Service"]
  readonly clock: MerchantClock["Service"]
  readonly hooks: InvoiceHooks["Service"]
  readonly invoices: Invoices["Service"]
  readonly linkedWallets: LinkedWallets["Service"]
  readonly mail: Mail["Service"]
  readonly members: Members["Service"]
  readonly payors: PayorDetails["Service"]
  readonly prices: Prices["Service"]
  readonly repo: Repo
  readonly screening: Screening["Service"]
  readonly settings: MerchantSettings["Service"]
}

export const refundsOfInvoice = (
  { repo }: RefundServices,
  merchantId: number,
  invoiceId: string,
  facts: ReadonlyArray<InvoiceFact> = []
): Effect.Effect<ReadonlyArray<RefundState>> =>
  Effect.map(repo.ofInvoice(merchantId, invoiceId), (stored) => refundsAfter(stored, invoiceId, facts))

/** What a decision on a refund depends on, after a change with `facts`. */
export const loadContext = (
  services: RefundServices,
  invoice: Aggregate,
  now: number,
  facts: ReadonlyArray<InvoiceFact>
): Effect.Effect<RefundContext> =>
  Effect.map(
    refundsOfInvoice(services, invoice.invoice.merchantId, invoice.invoice.id, facts),
    (refunds) => ({ now, invoice, refunds, fees: services.fees })
  )

/**
 * From `before`, null for a new one, to `after`; a ledger names the transaction that sets its money apart, and the
 * invoice learns what is on its way back.
 */
export const stepTo = (
  { hooks }: Pick<RefundServices, "hooks">,
  before: RefundState | null,
  after: RefundState,
  { commands = [], reopenedException }: Partial<Pick<RefundDecision, "commands" | "reopenedException">> = {}
): RefundStep => {
  const [nameRefund] = hooks.current().flatMap((each) => each.nameRefund ?? [])
  const refund = nameRefund === undefined || !isBookedAnew(before, after)
    ? after
    : { ...after, balanceTransactionId: nameRefund(after.id, after.version) }
  return {
    refund,
    writes: [refundWrite(refund)],
    commands: [...commands, ...trackCommands(before, after, reopenedException)],
    facts: [refundFact(before, refund)]
  }
}
