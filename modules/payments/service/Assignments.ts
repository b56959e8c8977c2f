/**
 * Money that pays no invoice, given to one by a person. Its entry in the journal stays without an invoice: the
 * exception says which one it was assigned to, and what becomes of the transfer later goes there.
 */
import { Effect } from "effect"
import type { Chains, JournalEntry } from "../../../runtime/Chains.ts"
import { noCause } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
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
import { exceptionIdOf, paymentIdOf } from "./Credit.ts"

/** The services that assignments take. */
export interface AssignmentContext {
  readonly catalog: TokenCatalog["Service"]
  readonly chains: Chains["Service"]
  readonly clock: MerchantClock["Service"]
  readonly invoices: Invoices["Service"]
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

/** The payment that the entry becomes; null where its token or its price is not known. */
const transferOf = (
  { catalog, clock }: AssignmentContext,
  entry: JournalEntry,
  exception: Exception,
  { environment, merchantId }: InvoiceState
): IncomingTransfer | null => {
  const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
  const worth = token === undefined ? null : valuation([], baseUnits(entry.amount), spotOf(exception), token.decimals)
  return token === undefined || worth === null ? null : {
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
      exception: null,
      token: { id: token.id, symbol: token.symbol, address: token.address, decimals: token.decimals }
    }
  }
}

/** What an entry makes of the invoice that it was assigned to; null where it cannot be valued. */
const commandsOf = (
  context: AssignmentContext,
  entry: JournalEntry,
  exception: Exception,
  { invoice }: Aggregate
): ReadonlyArray<Command> | null => {
  const paymentId = paymentIdOf(entry)
  if (entry.status === "reverted") return [{ _tag: "Revert", paymentId }]
  const transfer = transferOf(context, entry, exception, invoice)
  return transfer === null ? null : [
    { _tag: "Observe", transfer, isAssigned: true },
    ...(entry.status === "confirmed"
      ? [{ _tag: "Confirm", paymentId, confirmations: entry.confirmations } as const]
      : [])
  ]
}

/** `Payments.assignmentOf`. */
export const assignmentOf = (context: AssignmentContext) =>
  Effect.fnUntraced(function*(
    current: Aggregate,
    { exception }: ExceptionRecord
  ): Effect.fn.Return<ReadonlyArray<Command>, PublicError> {
    const entry = yield* context.chains.journalEntry(String(exception.evidence.transfer_id))
    const commands = entry?.status === "confirmed" ? commandsOf(context, entry, exception, current) : null
    return commands ?? (yield* publicError("INVALID_TRANSITION", {
      message: "The transfer is not confirmed on its chain any more, or its token is not known here: look again later"
    }))
  })

/**
 * Tells the invoice that an entry was assigned to what became of the transfer since, with the entry as dealt with.
 * False: it was assigned to none, and nothing was written.
 */
export const changeAssignedInvoice = Effect.fnUntraced(function*(context: AssignmentContext, entry: JournalEntry) {
  const record = yield* context.invoices.findException(entry.merchantId, exceptionIdOf(entry))
  const resolution = record?.exception.resolution
  if (record == null || resolution?.action !== "assign" || resolution.invoiceId === null) return false
  yield* context.invoices.change(resolution.invoiceId, noCause, (current) =>
    Effect.succeed({
      commands: commandsOf(context, entry, record.exception, current) ?? [],
      writes: [context.chains.markHandled(entry, depthOf(entry))]
    })).pipe(Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)))
  return true
})
