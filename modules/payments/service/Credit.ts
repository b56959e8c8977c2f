/** Credit: what a transfer makes of its invoice, and what it is worth. */
import { Effect, Metric } from "effect"
import { Chains, type JournalEntry } from "../../../runtime/Chains.ts"
import { dieOnReplay, noCause, type Write } from "../../../runtime/Commit.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { Prices, type Spot } from "../../../runtime/Prices.ts"
import { Screening } from "../../../runtime/Screening.ts"
import { initializeSeries } from "../../../runtime/Telemetry.ts"
import { awaitsContractRead, TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { uuidOf } from "../../../runtime/Uuid.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, formatUnits, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { familyOf, requiredDepth } from "../../../schemas/Network.ts"
import type { UnmatchedPaymentType } from "../../../schemas/Payment.ts"
import type { Token } from "../../../schemas/Token.ts"
import type { Aggregate, Command, IncomingTransfer, Invoices, InvoiceState } from "../../invoices/plugin.ts"
import { PaymentQuotes, valuation } from "../../quotes/plugin.ts"
import { isDustBeyondLimit, lockedRateAt, needsAgreement, needsPrice, rejectionReason, seenAtOf } from "../rules.ts"

/** Tries to price a confirmed payment before an operator is asked, at pauses that grow to 5 min: about 17 minutes. */
export const pricingTries = 10

/**
 * What a transfer is worth: by the quotes that held when it was seen, else at the spot price; null: no price now. Late
 * funds of an invoice with the policy `locked_rate` are worth what the last quote of their route said, for the
 * time that {@link lockedRateAt} says; later ones get the spot price and `pricing_reason` says why.
 */
export const makePricing = Effect.gen(function*() {
  const prices = yield* Prices
  const paymentQuotes = yield* PaymentQuotes

  return Effect.fnUntraced(function*(invoice: InvoiceState, token: Token, units: bigint, seenAt: number) {
    const lockedRate = lockedRateAt(invoice, seenAt)
    const allCandidates = yield* paymentQuotes.candidates(
      invoice.id,
      token.network,
      token.id,
      seenAt,
      lockedRate !== "none"
    )
    const candidates = lockedRate === "ended" ? [] : allCandidates
    const spot = candidates.length > 0
      ? null
      : yield* prices.spot(token).pipe(Effect.catchTag("PriceUnavailable", () => Effect.succeed(null)))
    const worth = valuation(candidates, baseUnits(units), spot, token.decimals)
    return worth === null || lockedRate !== "ended" || allCandidates.length === 0
      ? worth
      : { ...worth, quote: { ...worth.quote, pricing_reason: "locked_rate_ended" as const } }
  })
})

/** The payment that a transfer becomes: the same one however often it is seen. */
export const paymentIdOf = ({ id }: Pick<JournalEntry, "id">): string => uuidOf(`payment:${id}`)

/** Whether a transfer comes from a listed address; of a transfer without a known sender nothing can be said. */
export const isSenderListed = (
  screening: Screening["Service"],
  { environment, from, network }: Pick<JournalEntry, "environment" | "from" | "network">
): Effect.Effect<boolean, PublicError> => screening.isListed(network, environment, from === null ? [] : [from])

const dustOverLimit = Metric.counter("dust_transfers_over_limit_total", {
  description: "Transfers too small to count, beyond those that an invoice tells of",
  incremental: true
})

/** The payment of an entry that a person assigned to the invoice; null: it was not assigned. */
type ReadAssignedTransfer = (
  entry: JournalEntry,
  invoice: InvoiceState
) => Effect.Effect<IncomingTransfer | null, PublicError>

/** `Payments.credit`. */
export const makeCredit = Effect.fnUntraced(function*(
  price: Effect.Success<typeof makePricing>,
  assignedTransferOf: ReadAssignedTransfer
) {
  yield* initializeSeries(dustOverLimit)
  const chains = yield* Chains
  const clock = yield* MerchantClock
  const catalog = yield* TokenCatalog
  const screening = yield* Screening

  /** Block times follow the system's clock: they are shifted to the merchant's, which may be ahead. */
  const seenAtBy = ({ blockTime, observedAt }: JournalEntry, { environment, merchantId }: InvoiceState) =>
    seenAtOf(blockTime, observedAt) + clock.aheadSeconds(merchantId, environment)

  const incomingTransferOf = Effect.fnUntraced(function*(entry: JournalEntry, id: string, invoice: InvoiceState) {
    const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
    // Inactive only until its contract was asked, as after a start: judged now, it would be refused for good.
    if (token !== undefined && awaitsContractRead(catalog, token)) return yield* publicError("NETWORK_DEGRADED")
    const target = yield* chains.target(invoice.id, familyOf(entry.network))
    const exception = rejectionReason(
      token,
      entry.network,
      invoice.policy.acceptedNetworks,
      target?.refusedTokens ?? [],
      yield* isSenderListed(screening, entry)
    )
    const seenAt = seenAtBy(entry, invoice)
    // Of what is refused the price is kept as well: a person may accept it later, at the price of when it was seen.
    const paymentValue = token === undefined ? null : yield* price(invoice, token, entry.amount, seenAt)
    const metadata: IncomingTransfer["metadata"] = {
      quote: paymentValue?.quote ?? null,
      confirmations: entry.confirmations,
      required_confirmations: depthOf(entry, invoice).blocks,
      // Play money is in the journal below all blocks, at the negative of the height it shows.
      block_number: Math.abs(Number(entry.height)),
      exception,
      token: token === undefined
        ? { id: null, symbol: null, address: entry.tokenAddress, decimals: null }
        : { id: token.id, symbol: token.symbol, address: token.address, decimals: token.decimals }
    }
    const transfer: IncomingTransfer = {
      id,
      network: entry.network,
      tokenId: token?.id ?? null,
      tokenDecimals: token?.decimals ?? null,
      txHash: entry.kind === "direct" ? entry.txHash : null,
      sender: entry.from,
      units: entry.amount,
      amount: exception === null ? paymentValue?.amount ?? usdMillis(0n) : usdMillis(0n),
      seenAt,
      metadata,
      wallet: target?.fingerprint ?? null
    }
    return transfer
  })

  return Effect.fnUntraced(function*(entry: JournalEntry, { invoice, payments }: Aggregate) {
    const paymentId = paymentIdOf(entry)
    const previous = payments.find(({ id }) => id === paymentId)
    if (entry.status === "reverted") {
      const commands: ReadonlyArray<Command> = previous === undefined ? [] : [{ _tag: "Revert", paymentId }]
      return { commands, writes: [chains.markHandled(entry, depthOf(entry, invoice))] }
    }
    // Included again before anyone was told that it had gone: what was counted is taken back first.
    const isReincluded = previous !== undefined && previous.status !== "reverted" &&
      (entry.status === "seen" || previous.units !== entry.amount)
    const isNew = previous === undefined || previous.status === "reverted" || isReincluded
    const assigned = isNew && previous !== undefined ? yield* assignedTransferOf(entry, invoice) : null
    const arrival = assigned ?? (isNew ? yield* incomingTransferOf(entry, paymentId, invoice) : null)
    if (arrival !== null && previous === undefined && isDustBeyondLimit(arrival, payments)) {
      if (entry.status === "seen") yield* Metric.update(dustOverLimit, 1)
      return { commands: [], writes: [chains.markHandled(entry, depthOf(entry, invoice))] }
    }
    const threshold = chains.driver(entry.network, entry.environment)?.agreementAboveUsdMillis ?? null
    const agreement = needsAgreement(threshold, invoice.amount, valueOf(arrival ?? previous!))
    const writes = [chains.markHandled(entry, { ...depthOf(entry, invoice), agreement })]
    const observeCommands: ReadonlyArray<Command> = [
      ...(isReincluded ? [{ _tag: "Revert", paymentId } as const] : []),
      ...(arrival === null
        ? []
        : [
          {
            _tag: "Observe",
            transfer: arrival,
            isAssigned: assigned !== null && assigned.metadata.exception === null
          } as const
        ])
    ]
    if (entry.status === "seen") return { commands: observeCommands, writes }

    const confirm: Command = { _tag: "Confirm", paymentId, confirmations: entry.confirmations }
    const isPriced = (arrival?.metadata.quote ?? previous?.metadata.quote ?? null) !== null
    if (isPriced || !needsPrice(arrival ?? previous!)) return { commands: [...observeCommands, confirm], writes }
    const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
    const seenAt = previous?.seenAt ?? seenAtBy(entry, invoice)
    const priced = token === undefined ? null : yield* price(invoice, token, entry.amount, seenAt)
    if (priced !== null) {
      const setValue: Command = { _tag: "Value", paymentId, ...priced }
      return { commands: [...observeCommands, setValue, confirm], writes }
    }
    if (entry.attempts + 1 < pricingTries) return yield* publicError("QUOTE_UNAVAILABLE")
    yield* Effect.logError("no price for a confirmed payment: an operator must retry it").pipe(
      Effect.annotateLogs({ payment_id: paymentId, invoice_id: invoice.id, attempts: entry.attempts + 1 })
    )
    // The first is for a payment that would count, the second for one that came too late: each leaves the other alone.
    const requireManualRetry: Command = { _tag: "RequireManualRetry", paymentId }
    return { commands: [...observeCommands, requireManualRetry, confirm], writes }
  })
})

/** The exception that a transfer without an invoice opens: the same one however often it is seen. */
export const exceptionIdOf = ({ id }: Pick<JournalEntry, "id">): string => `exc_${uuidOf(`unmatched:${id}`)}`

/**
 * The exception of a transfer that pays no invoice. It opens at final depth only, because a person acts on it and an
 * earlier transfer may still be reverted.
 */
export const unmatchedPayment = (
  entry: JournalEntry,
  type: UnmatchedPaymentType,
  token: Token | undefined,
  spot: Spot | null,
  wallet: string | null
) => {
  const worth = token === undefined ? null : valuation([], baseUnits(entry.amount), spot, token.decimals)
  return {
    id: exceptionIdOf(entry),
    type,
    merchantId: entry.merchantId,
    environment: entry.environment,
    isOpen: entry.status === "confirmed",
    amount: worth?.amount ?? usdMillis(0n),
    evidence: {
      transfer_id: entry.id,
      network: entry.network,
      tx_hash: entry.txHash,
      wallet,
      address: readAddress(entry.network, entry.environment, entry.matchKey) ?? entry.matchKey,
      token: entry.tokenAddress,
      token_id: token?.id ?? null,
      token_decimals: token?.decimals ?? null,
      token_symbol: token?.symbol ?? null,
      token_amount: token === undefined ? entry.amount.toString() : formatUnits(entry.amount, token.decimals),
      token_amount_unit: token === undefined ? "base_units" : "token",
      exchange_rate: worth?.quote.exchange_rate ?? null,
      rate_source: worth?.quote.rate_source ?? null,
      priced_at: worth?.quote.priced_at ?? null
    }
  }
}

/** What a payment is worth; null while there is no price for it, zero where none is needed. */
const valueOf = (payment: Pick<IncomingTransfer, "amount" | "metadata">): UsdMillis | null =>
  needsPrice(payment) ? null : payment.amount

const depthOf = (entry: JournalEntry, invoice: InvoiceState) =>
  requiredDepth(entry.network, entry.environment, invoice.policy.confirmations, invoice.amount)

/** The services a retry by hand takes. */
export interface RetryContext {
  readonly catalog: TokenCatalog["Service"]
  readonly invoices: Invoices["Service"]
  readonly price: Effect.Success<typeof makePricing>
}

/** `Payments.retry`. */
export const retryPricing = Effect.fnUntraced(function*(
  { catalog, invoices, price }: RetryContext,
  paymentId: string,
  extraWrites: ReadonlyArray<Write>
) {
  const invoiceId = yield* invoices.invoiceOfPayment(paymentId)
  if (invoiceId === null) return yield* publicError("INVOICE_NOT_FOUND")
  const { aggregate } = yield* invoices.change(
    invoiceId,
    noCause,
    Effect.fnUntraced(function*({ invoice, payments }) {
      const payment = payments.find(({ id }) => id === paymentId)!
      const isLate = payment.status === "rejected" && payment.confirmedAt !== null && needsPrice(payment)
      if (payment.status !== "manual_retry" && !isLate) return yield* publicError("INVALID_TRANSITION")
      const token = payment.tokenId === null ? undefined : catalog.get(payment.tokenId)
      const paymentValue = token === undefined
        ? null
        : yield* price(invoice, token, payment.units, payment.seenAt)
      if (paymentValue === null) return yield* publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: 15 })
      const commands: ReadonlyArray<Command> = [
        { _tag: "Value", paymentId, ...paymentValue },
        { _tag: "Confirm", paymentId, confirmations: payment.metadata.required_confirmations }
      ]
      return { commands, writes: extraWrites }
    })
  ).pipe(dieOnReplay)
  return aggregate
})
