/** Routes and transfers: gives an invoice an address and a quote, and turns transfers into payments of it. */
import { Clock, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { Chains, type JournalEntry, type ReceiveTarget } from "../../runtime/Chains.ts"
import { Commit, noCause, type Write } from "../../runtime/Commit.ts"
import { Quotes } from "../../runtime/Quotes.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidOf } from "../../runtime/Uuid.ts"
import { readAddress } from "../../schemas/Address.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { type BaseUnits, baseUnits, parseUnits, type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import { familyOf, type Network, requiredDepth } from "../../schemas/Network.ts"
import type { PaymentMetadata } from "../../schemas/Payment.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  type Aggregate,
  type Arrival,
  type Command,
  Invoices,
  type InvoiceState,
  remaining
} from "../invoices/plugin.ts"
import { isRefused, payableToken, PaymentQuotes, valuation } from "../quotes/plugin.ts"
import { type PolicyState, TokenPolicies } from "../tokens/plugin.ts"
import { isMemo, isNetwork, seenAtOf, verdict } from "./machine.ts"
import { contactWrite, destinationWrite, type InvoiceOwner, makeRepo, type RefundDestination } from "./repo.ts"

/** An address an invoice can be paid at, and what to send there. */
export interface Route {
  readonly token: Token
  readonly target: ReceiveTarget
  /** Base units that pay what remains. Null while there is no price: the address is right all the same. */
  readonly tokenAmount: BaseUnits | null
  readonly paymentUri: string | null
  readonly quote: Quote
  readonly remaining: UsdMillis
}

/** Tries to price a confirmed payment before an operator is asked, at pauses that grow to 5 min: about half an hour. */
export const pricingTries = 10

export class Payments extends Context.Service<Payments, {
  /**
   * The invoice's address for a token, with a quote: the same address each time. Errors, in the order they are looked
   * for: `UNSUPPORTED_NETWORK`, `TOKEN_NOT_ACCEPTED`, `TOKEN_NETWORK_MISMATCH`, `INVOICE_NOT_PAYABLE`, `ROUTE_LOCKED`,
   * `NETWORK_DEGRADED`.
   */
  readonly route: (current: Aggregate, network: string, tokenId: number) => Effect.Effect<Route, PublicError>
  /** Prices and counts a payment that is `manual_retry`. */
  readonly retry: (paymentId: string) => Effect.Effect<Aggregate, PublicError>
}>()("tillwire/modules/payments/Payments") {
  static readonly layer = Layer.effect(Payments, Effect.gen(function*() {
    const chains = yield* Chains
    const commit = yield* Commit
    const catalog = yield* TokenCatalog
    const quotes = yield* PaymentQuotes
    const invoices = yield* Invoices
    const policies = yield* TokenPolicies
    const price = yield* makePricing

    const route = Effect.fnUntraced(function*(current: Aggregate, network: string, tokenId: number) {
      const { invoice } = current
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const token = yield* payableToken(current, network, catalog.get(tokenId), now)
      const driver = chains.driver(token.network, token.environment)
      if (driver === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
      const { environment, id: invoiceId, merchantId } = invoice
      const owner = { merchantId, environment, family: familyOf(token.network) }
      const allocated = yield* chains.target(invoiceId, owner.family)
      const policy = yield* policies.get(merchantId, environment)
      if (isRefused(token, allocated, policy)) return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      if (allocated === null && (yield* chains.wallet(owner)) === null) {
        return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
      }
      const status = chains.status(token.environment).find((one) => one.network === token.network)
      if (status?.healthy === false) return yield* publicError("NETWORK_DEGRADED", { retryAfterSeconds: 15 })
      const target = allocated ?? (yield* chains.allocate({ ...owner, invoiceId, refusedTokens: [...refusedBy(policy)] }))
      // Another call may have been first, under a policy that was older or newer: what it kept holds.
      if (target.refusedTokens.includes(token.id)) {
        return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      }
      const left = remaining(invoice)
      const issued = yield* quotes.issue({
        merchantId: invoice.merchantId,
        invoiceId: invoice.id,
        environment: invoice.environment,
        token,
        amountRemaining: left,
        shown: true
      })
      if (issued.write !== null) {
        yield* commit.append({
          merchantId: invoice.merchantId,
          environment: invoice.environment,
          cause: noCause,
          writes: [issued.write],
          events: []
        }).pipe(Effect.catchTag(["Conflict", "Replayed"], (bug) => Effect.die(bug)))
      }
      if (token.address === null) yield* chains.reconcile(invoice.id, token.network, token.environment)
      const asked = issued.quote.estimated_token_amount_remaining
      const tokenAmount = asked === null ? null : parseUnits(asked, token.decimals) ?? null
      return {
        token,
        target,
        tokenAmount,
        paymentUri: tokenAmount === null ? null : driver.paymentUri(target, token, tokenAmount),
        quote: issued.quote,
        remaining: left
      }
    })

    const retry = Effect.fnUntraced(function*(paymentId: string) {
      const invoiceId = yield* invoices.invoiceOfPayment(paymentId)
      if (invoiceId === null) return yield* publicError("INVOICE_NOT_FOUND")
      const { aggregate } = yield* invoices.change(invoiceId, noCause, Effect.fnUntraced(function*({ invoice, payments }) {
        const payment = payments.find(({ id }) => id === paymentId)!
        if (payment.status !== "manual_retry") return yield* publicError("INVALID_TRANSITION")
        const token = payment.tokenId === null ? undefined : catalog.get(payment.tokenId)
        const priced = token === undefined
          ? null
          : yield* price(invoice, token, payment.units, payment.seenAt)
        if (priced === null) return yield* publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: 15 })
        const commands: ReadonlyArray<Command> = [
          { _tag: "Value", paymentId, ...priced },
          { _tag: "Confirm", paymentId, confirmations: payment.metadata.required_confirmations }
        ]
        return { commands }
      })).pipe(Effect.catchTag("Replayed", (bug) => Effect.die(bug)))
      return aggregate
    })

    yield* chains.onTransfer(yield* makeCredit)

    return Payments.of({ route, retry })
  }))
}

/** How often a payor's word that lost its row to another call is written anew before the payor is told to try again. */
const conflictRetries = 3

/** What payors tell about themselves: kept with the invoice, shown to nobody, read by receipts and refunds. */
export class PayorDetails extends Context.Service<PayorDetails, {
  /** Keeps the payor's address; the last one holds. */
  readonly tellEmail: (invoice: InvoiceState, email: string) => Effect.Effect<void, PublicError>
  /**
   * Keeps where refunds on a network may go; the last one holds. Errors: `UNSUPPORTED_NETWORK`, `WALLET_ADDRESS_INVALID`
   * (also for a token's own contract), `VALIDATION_ERROR` for a memo where the network has none.
   */
  readonly tellRefundAddress: (
    invoice: InvoiceState,
    told: { readonly network: string; readonly address: string; readonly memo: string | null }
  ) => Effect.Effect<void, PublicError>
  /** The payor's e-mail address, if one was told. */
  readonly email: (owner: InvoiceOwner) => Effect.Effect<string | null>
  /** Where the payor wants refunds on a network, if that was told. */
  readonly refundDestination: (owner: InvoiceOwner, network: Network) => Effect.Effect<RefundDestination | null>
}>()("tillwire/modules/payments/PayorDetails") {
  static readonly layer = Layer.effect(PayorDetails, Effect.gen(function*() {
    const actors = yield* Actors
    const catalog = yield* TokenCatalog
    const commit = yield* Commit
    const repo = yield* makeRepo

    /** Writes the row that `next` makes of the time, or nothing where it makes none. */
    const tell = (
      { environment, id, merchantId }: InvoiceState,
      next: Effect.Effect<((updatedAt: number) => Write) | null>
    ) => {
      const once = Effect.gen(function*() {
        const write = yield* next
        if (write === null) return
        const updatedAt = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        yield* commit.append({ merchantId, environment, cause: noCause, writes: [write(updatedAt)], events: [] })
      })
      return actors.send("payor-details", id, once).pipe(
        Effect.retry({ times: conflictRetries, while: (error) => error._tag === "Conflict" }),
        Effect.catchTags({
          Conflict: () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })),
          Replayed: (bug) => Effect.die(bug)
        })
      )
    }

    const tellEmail = (invoice: InvoiceState, email: string) => {
      const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
      return tell(invoice, Effect.map(repo.contact(owner), (known) =>
        known?.email === email
          ? null
          : (updatedAt) => contactWrite({ ...owner, email, version: (known?.version ?? 0) + 1 }, updatedAt)))
    }

    const tellRefundAddress = Effect.fnUntraced(function*(
      invoice: InvoiceState,
      { address: text, memo, network }: { readonly network: string; readonly address: string; readonly memo: string | null }
    ) {
      if (!isNetwork(network)) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
      const address = readAddress(network, invoice.environment, text)
      if (address === null || catalog.find(network, invoice.environment, address) !== undefined) {
        return yield* publicError("WALLET_ADDRESS_INVALID", { param: "address" })
      }
      if (memo !== null && !isMemo(network, memo)) {
        return yield* publicError("VALIDATION_ERROR", { message: "memo: not a memo of this network", param: "memo" })
      }
      const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
      yield* tell(invoice, Effect.map(repo.destinations(owner), (all) => {
        const known = all.find((one) => one.network === network)
        if (known?.address === address && known.memo === memo) return null
        const next = { ...owner, network, address, memo, version: (known?.version ?? 0) + 1 }
        return (updatedAt) => destinationWrite(next, updatedAt)
      }))
    })

    return PayorDetails.of({
      tellEmail,
      tellRefundAddress,
      email: (owner) => Effect.map(repo.contact(owner), (known) => known?.email ?? null),
      refundDestination: (owner, network) =>
        Effect.map(repo.destinations(owner), (all) => all.find((one) => one.network === network) ?? null)
    })
  }))
}

/** The tokens an address given out under a policy is not for. */
const refusedBy = ({ blocked, policy }: PolicyState): Iterable<number> => policy === "selective" ? blocked : []

/**
 * What a transfer is worth: by the quotes that held when it was seen, else at the spot price; null: no price now. Late
 * funds of an invoice with the policy `locked_rate` are worth what the last quote of their route said, though it ended.
 */
const makePricing = Effect.gen(function*() {
  const quotes = yield* Quotes
  const issued = yield* PaymentQuotes

  return Effect.fnUntraced(function*(invoice: InvoiceState, token: Token, units: bigint, seenAt: number) {
    const lapsed = invoice.policy.latePayment === "locked_rate" && seenAt > invoice.expiresAt
    const candidates = yield* issued.candidates(invoice.id, token.network, token.id, seenAt, lapsed)
    const spot = candidates.length > 0
      ? null
      : yield* quotes.spot(token).pipe(Effect.catchTag("PriceUnavailable", () => Effect.succeed(null)))
    return valuation(candidates, baseUnits(units), spot, token.decimals)
  })
})

/** Turns a journal entry into commands for its invoice; the entry is marked as dealt with in the same commit. */
const makeCredit = Effect.gen(function*() {
  const chains = yield* Chains
  const catalog = yield* TokenCatalog
  const invoices = yield* Invoices
  const price = yield* makePricing

  const arrivalOf = Effect.fnUntraced(function*(entry: JournalEntry, id: string, invoice: InvoiceState) {
    const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
    // Inactive only until its contract was asked, as after a start: judged now, it would be refused for good.
    if (token?.active === false && catalog.unattested(entry.network, entry.environment).some(({ id }) => id === token.id)) {
      return yield* publicError("NETWORK_DEGRADED")
    }
    const target = yield* chains.target(entry.invoiceId, familyOf(entry.network))
    const exception = verdict(token, entry.network, invoice.policy.acceptedNetworks, target?.refusedTokens ?? [])
    const seenAt = seenAtOf(entry.blockTime, entry.observedAt)
    const priced = token === undefined || exception !== null ? null : yield* price(invoice, token, entry.amount, seenAt)
    const metadata: PaymentMetadata = {
      quote: priced?.quote ?? null,
      confirmations: entry.confirmations,
      required_confirmations: depthOf(entry, invoice).blocks,
      block_number: Number(entry.height),
      exception,
      token: token === undefined
        ? null
        : { id: token.id, symbol: token.symbol, address: token.address, decimals: token.decimals }
    }
    const arrival: Arrival = {
      id,
      network: entry.network,
      tokenId: token?.id ?? null,
      tokenDecimals: token?.decimals ?? null,
      txHash: entry.kind === "direct" ? entry.txHash : null,
      sender: entry.from,
      units: entry.amount,
      amount: priced?.amount ?? usdMillis(0n),
      seenAt,
      metadata
    }
    return arrival
  })

  const plan = Effect.fnUntraced(function*(entry: JournalEntry, { invoice, payments }: Aggregate) {
    const paymentId = uuidOf(`payment:${entry.id}`)
    const known = payments.find(({ id }) => id === paymentId)
    const writes = [chains.handled(entry, depthOf(entry, invoice))]
    if (entry.status === "reverted") {
      const commands: ReadonlyArray<Command> = known === undefined ? [] : [{ _tag: "Revert", paymentId }]
      return { commands, writes }
    }
    // Included again before anyone was told that it had gone: what was counted is taken back first.
    const again = known !== undefined && known.status !== "reverted" &&
      (entry.status === "seen" || known.units !== entry.amount)
    const fresh = known === undefined || known.status === "reverted" || again
    const arrival = fresh ? yield* arrivalOf(entry, paymentId, invoice) : null
    const observe: ReadonlyArray<Command> = [
      ...(again ? [{ _tag: "Revert", paymentId } as const] : []),
      ...(arrival === null ? [] : [{ _tag: "Observe", arrival } as const])
    ]
    if (entry.status === "seen") return { commands: observe, writes }

    const confirm: Command = { _tag: "Confirm", paymentId, confirmations: entry.confirmations }
    const quoted = arrival?.metadata.quote ?? known?.metadata.quote ?? null
    const refused = (arrival ?? known)?.metadata.exception != null
    if (quoted !== null || refused) return { commands: [...observe, confirm], writes }
    const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
    const seenAt = known?.seenAt ?? seenAtOf(entry.blockTime, entry.observedAt)
    const priced = token === undefined ? null : yield* price(invoice, token, entry.amount, seenAt)
    if (priced !== null) {
      const valued: Command = { _tag: "Value", paymentId, ...priced }
      return { commands: [...observe, valued, confirm], writes }
    }
    if (entry.attempts + 1 < pricingTries) return yield* publicError("QUOTE_UNAVAILABLE")
    yield* Effect.logError("no price for a confirmed payment: an operator must retry it").pipe(
      Effect.annotateLogs({ payment_id: paymentId, invoice_id: invoice.id, attempts: entry.attempts + 1 })
    )
    const giveUp: Command = { _tag: "GiveUp", paymentId }
    return { commands: [...observe, giveUp], writes }
  })

  return (entry: JournalEntry) =>
    invoices.change(entry.invoiceId, noCause, (current) => plan(entry, current)).pipe(Effect.asVoid)
})

const depthOf = (entry: JournalEntry, invoice: InvoiceState) =>
  requiredDepth(entry.network, entry.environment, invoice.policy.confirmations, invoice.amount)
