/**
 * Money that pays no invoice, given to one by a person. From then on its entry in the journal is that invoice's; the
 * exception keeps what the money was worth, also for a transfer that leaves its chain and comes back.
 */
import { Effect } from "effect"
import type { Chains, JournalEntry } from "../../../runtime/Chains.ts"
import { systemMerchant, type Write } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import type { Screening } from "../../../runtime/Screening.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, readRate } from "../../../schemas/Money.ts"
import { requiredDepth } from "../../../schemas/Network.ts"
import type {
  Aggregate,
  Command,
  ExceptionRecord,
  IncomingTransfer,
  Invoices,
  InvoiceState
} from "../../invoices/plugin.ts"
import { valuation } from "../../quotes/plugin.ts"
import { seenAtOf } from "../rules.ts"
import { exceptionIdOf, isSenderListed, paymentIdOf } from "./Credit.ts"

/** The services that assignments take. */
export interface AssignmentContext {
  readonly catalog: TokenCatalog["Service"]
  readonly chains: Chains["Service"]
  readonly clock: MerchantClock["Service"]
  readonly invoices: Invoices["Service"]
  readonly screening: Screening["Service"]
}

type Exception = ExceptionRecord["exception"]

/** The price that was kept when the money was recorded. */
const spotOf = ({ evidence }: Exception) => {
  const { exchange_rate: text, priced_at: at, rate_source: source } = evidence
  const rate = typeof text === "string" ? readRate(text) : undefined
  return rate === undefined ? null : { rate, text: String(text), source: String(source), at: Number(at) }
}

/** Money without an invoice is recorded at final depth, whatever it is worth. */
const depthOf = ({ environment, network }: JournalEntry) => requiredDepth(network, environment, "final", 0n)

/**
 * The payment that the entry becomes; null where its token or its price is not known. From a listed sender it is
 * refused as `screened`: whoever assigns money may not be one who may accept such a payment.
 */
const transferOf = Effect.fnUntraced(function*(
  { catalog, clock, screening }: AssignmentContext,
  entry: JournalEntry,
  exception: Exception,
  { environment, merchantId }: InvoiceState
): Effect.fn.Return<IncomingTransfer | null, PublicError> {
  const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
  const worth = token === undefined ? null : valuation([], baseUnits(entry.amount), spotOf(exception), token.decimals)
  if (token === undefined || worth === null) return null
  const isListed = yield* isSenderListed(screening, entry)
  return {
    id: paymentIdOf(entry),
    network: entry.network,
    tokenId: token.id,
    tokenDecimals: token.decimals,
    txHash: entry.kind === "direct" ? entry.txHash : null,
    sender: entry.from,
    units: entry.amount,
    amount: worth.amount,
    seenAt: seenAtOf(entry.blockTime, entry.observedAt) + clock.aheadSeconds(merchantId, environment),
    metadata: {
      quote: worth.quote,
      confirmations: entry.confirmations,
      required_confirmations: depthOf(entry).blocks,
      // Play money is in the journal below all blocks, at the negative of the height it shows.
      block_number: Math.abs(Number(entry.height)),
      exception: isListed ? "screened" : null,
      token: { id: token.id, symbol: token.symbol, address: token.address, decimals: token.decimals }
    },
    wallet: typeof exception.evidence.wallet === "string" ? exception.evidence.wallet : null
  }
})

/** `Payments.assignmentOf`. */
export const assignmentOf = (context: AssignmentContext) =>
  Effect.fnUntraced(function*(
    { invoice }: Aggregate,
    { exception }: ExceptionRecord
  ): Effect.fn.Return<{ commands: ReadonlyArray<Command>; writes: ReadonlyArray<Write> }, PublicError> {
    const { chains } = context
    const entry = yield* chains.journalEntry(String(exception.evidence.transfer_id))
    const transfer = entry?.status === "confirmed" ? yield* transferOf(context, entry, exception, invoice) : null
    if (entry === null || transfer === null) {
      return yield* publicError("INVALID_TRANSITION", {
        message:
          "The transfer is not confirmed on its chain any more, or its token is not known here. Once it is, try " +
          "again with another Idempotency-Key"
      })
    }
    return {
      commands: [
        { _tag: "Observe", transfer, isAssigned: transfer.metadata.exception === null },
        { _tag: "Confirm", paymentId: transfer.id, confirmations: entry.confirmations }
      ],
      writes: [chains.assignEntry(entry, { invoiceId: invoice.id, merchantId: invoice.merchantId })]
    }
  })

/**
 * The payment of an entry that was assigned to this invoice and is on its chain again; null: it was not assigned. The
 * exception stays with whom it was opened for: the merchant, or the operator. Errors: `NETWORK_DEGRADED` while its
 * token is not known here, so that it is tried again.
 */
export const assignedTransferOf = Effect.fnUntraced(function*(
  context: AssignmentContext,
  entry: JournalEntry,
  invoice: InvoiceState
) {
  const id = exceptionIdOf(entry)
  const record = (yield* context.invoices.findException(invoice.merchantId, id)) ??
    (yield* context.invoices.findException(systemMerchant, id))
  if (record?.exception.resolution?.invoiceId !== invoice.id) return null
  return (yield* transferOf(context, entry, record.exception, invoice)) ?? (yield* publicError("NETWORK_DEGRADED"))
})
