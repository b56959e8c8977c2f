/** Routes and transfers: gives an invoice an address and a quote, and turns transfers into payments of it. */
import { Clock, Context, Effect, Layer, Metric, type Scope, Semaphore } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import {
  type AllocatedTarget,
  type ChainDriver,
  Chains,
  type ContractToken,
  type JournalEntry,
  type ReceiveTarget
} from "../../runtime/Chains.ts"
import { Commit, noCause, retryConflicts, type Write } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { initializeSeries } from "../../runtime/Telemetry.ts"
import { PayorTickets } from "../../runtime/sockets/PayorTicket.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidOf } from "../../runtime/Uuid.ts"
import { readAddress } from "../../schemas/Address.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { InvoiceId } from "../../schemas/Ids.ts"
import {
  type BaseUnits,
  baseUnits,
  formatUnits,
  parseUnits,
  type UsdMillis,
  usdMillis,
  usdWire
} from "../../schemas/Money.ts"
import { Family, familyOf, type Network, requiredDepth } from "../../schemas/Network.ts"
import type { PaymentMetadata } from "../../schemas/Payment.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import { Merchants, PayorSessions } from "../auth/plugin.ts"
import {
  type Aggregate,
  amountRemaining,
  type Command,
  type IncomingTransfer,
  type InvoiceFact,
  Invoices,
  type InvoiceState,
  isPayable,
  lockedRoute,
  type PayorRecord,
  PayorRecords,
  type WithLastEvent
} from "../invoices/plugin.ts"
import { isRefused, payableToken, PaymentQuotes, valuation } from "../quotes/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { isBlocked, type PolicyState, TokenPolicies } from "../tokens/plugin.ts"
import type { AvailableToken, PaymentAddress, PaymentStatusReport, SessionDetails } from "./api.ts"
import {
  addressBody,
  detailsBody,
  estimateOf,
  isDustBeyondLimit,
  isMemo,
  isNetwork,
  isOffered,
  lockedRateAt,
  needsAgreement,
  needsPrice,
  type PayorSocket,
  rejectionReason,
  seenAtOf,
  sessionEnd,
  type SimulatedPayment,
  statusBody,
  tokenBody,
  type TokenQuery
} from "./rules.ts"
import { contactWrite, destinationWrite, type InvoiceOwner, makeRepo, type RefundDestination } from "./repo.ts"

/** An address an invoice can be paid at, and what to send there. */
export interface Route {
  readonly token: Token
  readonly target: ReceiveTarget
  /** Base units that pay what remains. Null while there is no price: the address is right all the same. */
  readonly tokenAmount: BaseUnits | null
  readonly paymentUri: string | null
  readonly quote: Quote
  readonly amountRemaining: UsdMillis
}

const routeAt = (
  invoice: InvoiceState,
  token: Token,
  target: AllocatedTarget,
  driver: ChainDriver,
  quote: Quote
): Route => {
  const quotedAmount = quote.estimated_token_amount_remaining
  const tokenAmount = quotedAmount === null ? null : parseUnits(quotedAmount, token.decimals) ?? null
  return {
    token,
    target,
    tokenAmount,
    paymentUri: tokenAmount === null ? null : driver.paymentUri(target, token, tokenAmount),
    quote,
    amountRemaining: amountRemaining(invoice)
  }
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
  /**
   * The route the payor was shown last, or is locked to, with its quote as it stands now: nothing is written, unless
   * another amount remains than that quote asks for; then a new one is issued and shown. Null where the payor was shown
   * none, or the invoice cannot be paid any more.
   */
  readonly currentRoute: (current: Aggregate) => Effect.Effect<Route | null, PublicError>
  /**
   * What an entry of the journal makes of its invoice, for a change of that invoice: its commands, and the entry as
   * dealt with. Reads only. Errors: `QUOTE_UNAVAILABLE` and `NETWORK_DEGRADED`, where it must be tried again.
   */
  readonly credit: (
    entry: JournalEntry,
    current: Aggregate
  ) => Effect.Effect<{ readonly commands: ReadonlyArray<Command>; readonly writes: ReadonlyArray<Write> }, PublicError>
  /**
   * Prices and counts a payment that is `manual_retry`, or prices one that came too late, for its refund. Errors:
   * `INVOICE_NOT_FOUND`, `INVALID_TRANSITION` for any other payment, `QUOTE_UNAVAILABLE`.
   */
  readonly retry: (paymentId: string) => Effect.Effect<Aggregate, PublicError>
}>()("tillwire/modules/payments/Payments") {
  static readonly layer = Layer.effect(
    Payments,
    Effect.gen(function*() {
      const chains = yield* Chains
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const catalog = yield* TokenCatalog
      const quotes = yield* PaymentQuotes
      const invoices = yield* Invoices
      const policies = yield* TokenPolicies
      const price = yield* makePricing

      /** The route at a quote of what remains now, which is shown to the payor with it. */
      const withNewQuote = Effect.fnUntraced(function*(
        invoice: InvoiceState,
        token: Token,
        target: AllocatedTarget,
        driver: ChainDriver
      ) {
        const issuedQuote = yield* quotes.issue({
          merchantId: invoice.merchantId,
          invoiceId: invoice.id,
          environment: invoice.environment,
          token,
          amountRemaining: amountRemaining(invoice),
          isShown: true
        })
        if (issuedQuote.write !== null) {
          yield* commit.append({
            merchantId: invoice.merchantId,
            environment: invoice.environment,
            cause: noCause,
            writes: [issuedQuote.write],
            events: []
          }).pipe(Effect.catchTag(["Conflict", "IdempotentReplay"], (bug) => Effect.die(bug)))
        }
        if (token.address === null) yield* chains.reconcile(invoice.id, token.network, token.environment)
        return routeAt(invoice, token, target, driver, issuedQuote.quote)
      })

      const route = Effect.fnUntraced(function*(current: Aggregate, network: string, tokenId: number) {
        const { invoice } = current
        const now = yield* clock.nowSeconds(invoice.merchantId, invoice.environment)
        const token = yield* payableToken(current, network, catalog.get(tokenId), now)
        const driver = chains.driver(token.network, token.environment)
        if (driver === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
        const { environment, id: invoiceId, merchantId } = invoice
        const owner = { merchantId, environment, family: familyOf(token.network) }
        const existingTarget = yield* chains.target(invoiceId, owner.family)
        const policy = yield* policies.get(merchantId, environment)
        if (isRefused(token, existingTarget, policy)) {
          return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
        }
        if (existingTarget === null && (yield* chains.wallet(owner)) === null) {
          return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
        }
        const status = chains.status(token.environment, merchantId).find((one) => one.network === token.network)
        if (status?.healthy === false) return yield* publicError("NETWORK_DEGRADED", { retryAfterSeconds: 15 })
        const target = existingTarget ??
          (yield* chains.allocate({ ...owner, invoiceId, refusedTokens: [...blockedTokensOf(policy)] }))
        // Another call may have been first, under a policy that was older or newer: what it kept holds.
        if (target.refusedTokens.includes(token.id)) {
          return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
        }
        return yield* withNewQuote(invoice, token, target, driver)
      })

      /** Active, or only waiting for its contract to be asked, as after a start. */
      const isUsable = (token: Token) =>
        token.active || catalog.unverifiedTokens(token.network, token.environment).some(({ id }) => id === token.id)

      const currentRoute = Effect.fnUntraced(function*(current: Aggregate) {
        const { invoice } = current
        const now = yield* clock.nowSeconds(invoice.merchantId, invoice.environment)
        const quote = isPayable(invoice, now) ? yield* quotes.current(invoice.id) : null
        if (quote === null) return null
        const routeLock = lockedRoute(current)
        const tokenId = routeLock?.tokenId ?? quote.supported_token_id
        const token = tokenId === null ? undefined : catalog.get(tokenId)
        const driver = token === undefined ? undefined : chains.driver(token.network, token.environment)
        if (token === undefined || driver === undefined || !isUsable(token)) return null
        const target = yield* chains.target(invoice.id, familyOf(token.network))
        if (target === null) return null
        const isQuoteCurrent = token.id === quote.supported_token_id &&
          quote.amount_remaining === usdWire(amountRemaining(invoice))
        return isQuoteCurrent
          ? routeAt(invoice, token, target, driver, quote)
          : yield* withNewQuote(invoice, token, target, driver)
      })

      const retry = Effect.fnUntraced(function*(paymentId: string) {
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
            return { commands }
          })
        ).pipe(Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)))
        return aggregate
      })

      const credit = yield* makeCredit
      const nameToken = yield* makeNameToken(invoices)
      yield* chains.onTransfer((entry) =>
        entry.invoiceId === null
          ? invoices.recordUnmatched(unmatchedPayment(entry, catalog), [
            chains.markHandled(entry, requiredDepth(entry.network, entry.environment, "final", 0n))
          ])
          : invoices.change(entry.invoiceId, noCause, (current) => credit(entry, current)).pipe(
            Effect.tap(({ aggregate }) => nameToken(entry, aggregate)),
            Effect.asVoid
          )
      )

      return Payments.of({ route, currentRoute, credit, retry })
    })
  )
}

/**
 * How often a payor's entry that lost its row to another call is written anew before the payor is told to try again.
 */
const conflictRetries = 3

/** For the hooks of an invoice: its payor said where refunds on a network may go. */
export interface RefundAddressFact extends InvoiceFact {
  readonly _tag: "RefundAddress"
  readonly destination: RefundDestination
}

/** Why an address of the service is no destination of a refund: the money would come back as another payment. */
export const receiveAddressMessage =
  "address: payments are received at it, so a refund would come back: give an address of the payor's own wallet"

/** What payors enter about themselves: kept with the invoice, shown to its merchant alone, read by refunds. */
export class PayorDetails extends Context.Service<PayorDetails, {
  /** Keeps the payor's address; the last one holds. */
  readonly saveEmail: (invoice: InvoiceState, email: string) => Effect.Effect<void, PublicError>
  /**
   * Keeps where refunds on a network may go, in a change of the invoice that tells its hooks so
   * ({@link RefundAddressFact}); the last one holds. Errors: `UNSUPPORTED_NETWORK`, `WALLET_ADDRESS_INVALID`
   * (also for a token's own contract and for an address that payments are received at), `VALIDATION_ERROR` for a memo
   * where the network has none.
   */
  readonly saveRefundAddress: (
    invoice: InvoiceState,
    refundAddress: { readonly network: string; readonly address: string; readonly memo: string | null }
  ) => Effect.Effect<void, PublicError>
  /** The payor's e-mail address, if there is one. */
  readonly email: (owner: InvoiceOwner) => Effect.Effect<string | null>
  /** Where the payor wants refunds on a network, if that is known. */
  readonly refundDestination: (owner: InvoiceOwner, network: Network) => Effect.Effect<RefundDestination | null>
  /** The same on every network, in no order. */
  readonly refundDestinations: (owner: InvoiceOwner) => Effect.Effect<ReadonlyArray<RefundDestination>>
}>()("tillwire/modules/payments/PayorDetails") {
  static readonly layer = Layer.effect(
    PayorDetails,
    Effect.gen(function*() {
      const actors = yield* Actors
      const catalog = yield* TokenCatalog
      const chains = yield* Chains
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const invoices = yield* Invoices
      const repo = yield* makeRepo

      /** Writes the row that `next` makes of the time, or nothing where it makes none. */
      const save = (
        { environment, id, merchantId }: InvoiceState,
        next: Effect.Effect<((updatedAt: number) => Write) | null>
      ) => {
        const once = Effect.gen(function*() {
          const write = yield* next
          if (write === null) return
          const updatedAt = yield* clock.nowSeconds(merchantId, environment)
          yield* commit.append({ merchantId, environment, cause: noCause, writes: [write(updatedAt)], events: [] })
        })
        return actors.send("payor-details", id, once).pipe(
          retryConflicts(conflictRetries),
          Effect.catchTags({
            Conflict: () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })),
            IdempotentReplay: (bug) => Effect.die(bug)
          })
        )
      }

      const saveEmail = (invoice: InvoiceState, email: string) => {
        const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
        return save(
          invoice,
          Effect.map(repo.contact(owner), (current) =>
            current?.email === email
              ? null
              : (updatedAt) => contactWrite({ ...owner, email, version: (current?.version ?? 0) + 1 }, updatedAt))
        )
      }

      const saveRefundAddress = Effect.fnUntraced(function*(
        invoice: InvoiceState,
        { address: text, memo, network }: {
          readonly network: string
          readonly address: string
          readonly memo: string | null
        }
      ) {
        if (!isNetwork(network)) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
        const address = readAddress(network, invoice.environment, text)
        if (address === null || catalog.find(network, invoice.environment, address) !== undefined) {
          return yield* publicError("WALLET_ADDRESS_INVALID", { param: "address" })
        }
        if (yield* chains.isReceiveAddress(network, invoice.environment, address)) {
          return yield* publicError("WALLET_ADDRESS_INVALID", { message: receiveAddressMessage, param: "address" })
        }
        if (memo !== null && !isMemo(network, memo)) {
          return yield* publicError("VALIDATION_ERROR", { message: "memo: not a memo of this network", param: "memo" })
        }
        const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
        yield* invoices.change(invoice.id, noCause, (_, updatedAt) =>
          Effect.map(repo.destinations(owner), (all) => {
            const current = all.find((one) => one.network === network)
            if (current?.address === address && current.memo === memo) return { commands: [] }
            const destination = { ...owner, network, address, memo, version: (current?.version ?? 0) + 1 }
            const facts: ReadonlyArray<RefundAddressFact> = [{ _tag: "RefundAddress", destination }]
            return { commands: [], writes: [destinationWrite(destination, updatedAt)], facts }
          })).pipe(Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)))
      })

      return PayorDetails.of({
        saveEmail,
        saveRefundAddress,
        email: (owner) => Effect.map(repo.contact(owner), (known) => known?.email ?? null),
        refundDestination: (owner, network) =>
          Effect.map(repo.destinations(owner), (all) => all.find((one) => one.network === network) ?? null),
        refundDestinations: repo.destinations
      })
    })
  )
}

/** Lets merchants read what payors entered. */
export const registerPayorRecords = Effect.gen(function*() {
  const repo = yield* makeRepo
  const records = yield* PayorRecords
  yield* records.register(Effect.fnUntraced(function*(merchantId: number, invoiceIds: ReadonlyArray<string>) {
    const [emails, destinations] = yield* Effect.all(
      [repo.emails(merchantId, invoiceIds), repo.destinationsOf(merchantId, invoiceIds)],
      { concurrency: 2 }
    )
    const byInvoice = Map.groupBy(destinations, ({ invoice_id }) => invoice_id)
    return new Map(invoiceIds.map((id): readonly [string, PayorRecord] => [id, {
      email: emails.get(id) ?? null,
      refundDestinations: (byInvoice.get(id) ?? []).map(({ address, memo, network }) => ({ network, address, memo }))
    }]))
  }))
})

/**
 * What payors read, by the API of a session and on the payment page alike. The bodies
 * are those of api.ts. Who asks has been let in by {@link PayorApi.open}, or by a check of the same pair.
 */
export class PayorApi extends Context.Service<PayorApi, {
  /** The invoice a session's pair opens. Errors: `SESSION_INVALID`, `SESSION_EXPIRED`. */
  readonly open: (session: {
    readonly sessionToken: string
    readonly signature: string
  }) => Effect.Effect<Aggregate, PublicError>
  /** The invoice of a session that was checked, while the session lives. Errors: as {@link open}. */
  readonly current: (invoiceId: InvoiceId) => Effect.Effect<Aggregate, PublicError>
  /**
   * The same, with an id to follow it from on the payor's socket (`since`): what is told after it is not in it yet. It
   * is the id of an event that the payor was told, so it tells nothing new. Null: only another look tells what was
   * missed.
   */
  readonly withLastEvent: (invoiceId: InvoiceId) => Effect.Effect<WithLastEvent, PublicError>
  /** `session-details`. */
  readonly details: (current: Aggregate) => Effect.Effect<typeof SessionDetails.Type>
  /** `available-tokens`. Errors: `NETWORK_REQUIRED` for the mode `network` without one. */
  readonly tokens: (
    current: Aggregate,
    query: TokenQuery
  ) => Effect.Effect<ReadonlyArray<typeof AvailableToken.Type>, PublicError>
  /**
   * What remains in each of these tokens at the last known price, as a decimal amount by token id. No quote: nothing
   * holds, and nobody is asked. A token without a price is not there.
   */
  readonly estimates: (
    current: Aggregate,
    tokens: ReadonlyArray<{ readonly id: number }>
  ) => ReadonlyMap<number, string>
  /** `payment-addresses`. Errors: those of {@link Payments.route}. */
  readonly address: (
    current: Aggregate,
    network: string,
    tokenId: number
  ) => Effect.Effect<typeof PaymentAddress.Type, PublicError>
  /** The same for the route shown last: {@link Payments.shown}. */
  readonly currentAddress: (current: Aggregate) => Effect.Effect<typeof PaymentAddress.Type | null, PublicError>
  /** A socket to follow an invoice with, also before a route is chosen. */
  readonly ticket: (invoice: InvoiceState) => Effect.Effect<PayorSocket>
  /** `payment-status`. */
  readonly status: (current: Aggregate) => typeof PaymentStatusReport.Type
}>()("tillwire/modules/payments/PayorApi") {
  static readonly layer = Layer.effect(
    PayorApi,
    Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      const chains = yield* Chains
      const clock = yield* MerchantClock
      const invoices = yield* Invoices
      const merchants = yield* Merchants
      const merchantSettings = yield* MerchantSettings
      const payments = yield* Payments
      const policies = yield* TokenPolicies
      const prices = yield* Prices
      const secrets = yield* Secrets
      const sessions = yield* PayorSessions
      const settings = yield* Settings

      /** Fails unless there is an invoice whose session lives. */
      const checkSession = Effect.fnUntraced(function*(aggregate: Aggregate | undefined) {
        if (aggregate === undefined) return yield* publicError("SESSION_INVALID")
        // A session ends by the system's clock: one that is ahead must not take a payor's way back.
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const end = sessionEnd(aggregate.invoice)
        return end !== null && now >= end ? yield* publicError("SESSION_EXPIRED") : aggregate
      })

      const current = (invoiceId: InvoiceId) =>
        Effect.flatMap(invoices.find(invoiceId), (aggregate) => checkSession(aggregate ?? undefined))

      const withLastEvent = Effect.fnUntraced(function*(invoiceId: InvoiceId) {
        const found = yield* invoices.findWithLastEvent(invoiceId)
        return { aggregate: yield* checkSession(found?.aggregate), lastEventId: found?.lastEventId ?? null }
      })

      const details = Effect.fnUntraced(function*(aggregate: Aggregate) {
        const { environment, id, merchantId } = aggregate.invoice
        const merchant = yield* merchants.get(merchantId)
        const { branding } = yield* merchantSettings.get(merchantId, environment)
        const routeLock = lockedRoute(aggregate)
        const target = routeLock === null ? null : yield* chains.target(id, familyOf(routeLock.network))
        const now = yield* clock.nowMillis(merchantId, environment)
        return detailsBody(aggregate, merchant, branding, target?.address ?? null, now)
      })

      /**
       * The invoice's address in each family in which it has one, null where it can get one; other families are not
       * there.
       */
      const targetsByFamily = Effect.fnUntraced(function*({ environment, id, merchantId }: InvoiceState) {
        const allocated = yield* chains.targets(id)
        const targets = new Map<Family, AllocatedTarget | null>(allocated)
        for (const family of Family.literals) {
          if (allocated.has(family)) continue
          if ((yield* chains.wallet({ merchantId, environment, family })) !== null) targets.set(family, null)
        }
        return targets
      })

      const tokens = Effect.fnUntraced(function*(aggregate: Aggregate, query: TokenQuery) {
        const { invoice } = aggregate
        const { environment, merchantId } = invoice
        if (query.mode === "network" && query.network === undefined) return yield* publicError("NETWORK_REQUIRED")
        const targets = yield* targetsByFamily(invoice)
        const policy = yield* policies.get(merchantId, environment)
        // By which prices are told to be old: they come by the system's clock.
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const unhealthy = chains.status(environment, merchantId).filter(({ healthy }) => !healthy)
        const unhealthyNetworks = new Set(unhealthy.map(({ network }) => network))
        return catalog.list(environment)
          .filter((token) => query.network === undefined || token.network === query.network)
          .filter((token) => isOffered(token, aggregate, targets, (id) => isBlocked(policy, id)))
          .map((token) =>
            tokenBody(invoice, token, {
              isMonitored: chains.driver(token.network, environment) !== undefined,
              hasWallet: targets.has(familyOf(token.network)),
              healthy: !unhealthyNetworks.has(token.network),
              spot: prices.latest(token),
              now
            })
          )
          .filter((token) => query.mode === "all" || token.is_monitored)
          .filter((token) => query.available_only !== "true" || token.unavailable_reason === null)
      })

      const estimates = ({ invoice }: Aggregate, requestedTokens: ReadonlyArray<{ readonly id: number }>) =>
        new Map(requestedTokens.flatMap(({ id }) => {
          const token = catalog.get(id)
          const spot = token === undefined ? null : prices.latest(token)
          return token === undefined || spot === null ? [] : [[id, estimateOf(invoice, spot, token.decimals)] as const]
        }))

      const ticket = Effect.fnUntraced(function*({ id, merchantId }: InvoiceState) {
        const { expiresAt, token } = yield* PayorTickets.mint({ invoiceId: id, merchantId }).pipe(
          Effect.provideService(Secrets, secrets)
        )
        return {
          token,
          endpoint: "/ws/payment",
          format: "event_v1",
          ws_url: `${settings.publicUrl.replace(/^http/, "ws")}/ws/payment?format=event_v1`,
          expires_at: expiresAt
        } as const
      })

      const withSocket = ({ invoice }: Aggregate, route: Route) =>
        Effect.map(ticket(invoice), (socket) => addressBody(route, socket))

      return PayorApi.of({
        open: ({ sessionToken, signature }) => Effect.flatMap(sessions.check(sessionToken, signature), current),
        current,
        withLastEvent,
        details,
        tokens,
        estimates,
        address: (aggregate, network, tokenId) =>
          Effect.flatMap(payments.route(aggregate, network, tokenId), (route) => withSocket(aggregate, route)),
        currentAddress: (aggregate) =>
          Effect.flatMap(
            payments.currentRoute(aggregate),
            (route) => route === null ? Effect.succeed(null) : withSocket(aggregate, route)
          ),
        ticket,
        status: statusBody
      })
    })
  )
}

/** Pays an invoice with play money. Errors: those of {@link Payments.route}, `INVOICE_NOT_PAYABLE`. */
export type Simulate = (current: Aggregate, what: SimulatedPayment) => Effect.Effect<void, PublicError>

/** Who can pay with play money, if anyone here can: a devnet module registers itself. */
export class SimulatedPayments extends Context.Service<SimulatedPayments, {
  /** Adds it for as long as the scope lives. One per deployment. */
  readonly register: (simulate: Simulate) => Effect.Effect<void, never, Scope.Scope>
  /** Null where nobody can. */
  readonly current: () => Simulate | null
}>()("tillwire/modules/payments/SimulatedPayments") {
  static readonly layer = Layer.sync(SimulatedPayments, () => {
    let simulator: Simulate | null = null
    return SimulatedPayments.of({
      current: () => simulator,
      register: (simulate) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (simulator !== null) return Effect.die(new Error("Two modules simulate payments"))
            simulator = simulate
            return Effect.void
          }),
          () =>
            Effect.sync(() => {
              simulator = null
            })
        )
    })
  })
}

/** The tokens an address given out under a policy is not for. */
const blockedTokensOf = ({ blockedTokens, policy }: PolicyState): Iterable<number> =>
  policy === "selective" ? blockedTokens : []

/**
 * What a transfer is worth: by the quotes that held when it was seen, else at the spot price; null: no price now. Late
 * funds of an invoice with the policy `locked_rate` are worth what the last quote of their route said, for the
 * time that {@link lockedRateAt} says; later ones get the spot price and `pricing_reason` says why.
 */
const makePricing = Effect.gen(function*() {
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

/** Contracts of unlisted tokens asked at once, and waiting to be asked; what is over that keeps no name. */
const nameReadConcurrency = 4
const maximumNameReads = 100

/** Time a node has to answer for a contract. */
const nameReadTimeout = "5 seconds"

/**
 * Asks the contract of an unlisted token what it is, beside the handling of transfers, which never waits for it:
 * whoever made the contract chooses how long it takes and what it says. A payment whose contract gives no answer keeps
 * its address.
 */
const makeNameToken = Effect.fnUntraced(function*(invoices: Invoices["Service"]) {
  const chains = yield* Chains
  const scope = yield* Effect.scope
  const semaphore = yield* Semaphore.make(nameReadConcurrency)
  let readsUnderWay = 0

  const name = Effect.fnUntraced(
    function*(invoiceId: string, paymentId: string, read: Effect.Effect<ContractToken, unknown>) {
      const token = yield* Effect.timeout(read, nameReadTimeout)
      const command: Command = { _tag: "NameToken", paymentId, ...token }
      yield* invoices.change(invoiceId, noCause, () => Effect.succeed({ commands: [command] }))
    }
  )

  return Effect.fnUntraced(function*(entry: JournalEntry, { invoice, payments }: Aggregate) {
    const paymentId = paymentIdOf(entry)
    const token = payments.find(({ id }) => id === paymentId)?.metadata.token ?? null
    const readToken = chains.driver(entry.network, entry.environment)?.readToken ?? null
    const isUnnamed = token !== null && token.id === null && token.symbol === null && token.decimals === null
    if (!isUnnamed || token.address === null || readToken === null || readsUnderWay >= maximumNameReads) return
    readsUnderWay += 1
    yield* semaphore.withPermits(1)(name(invoice.id, paymentId, readToken(token.address))).pipe(
      Effect.catchCause((cause) => Effect.logDebug("the contract of an unlisted token could not be read", cause)),
      Effect.ensuring(Effect.sync(() => {
        readsUnderWay -= 1
      })),
      Effect.forkIn(scope)
    )
  })
})

const dustOverLimit = Metric.counter("dust_transfers_over_limit_total", {
  description: "Transfers too small to count, beyond those that an invoice tells of",
  incremental: true
})

/** {@link Payments.credit}. */
const makeCredit = Effect.gen(function*() {
  yield* initializeSeries(dustOverLimit)
  const chains = yield* Chains
  const clock = yield* MerchantClock
  const catalog = yield* TokenCatalog
  const price = yield* makePricing

  /** A chain's times are the system's: what is seen now was seen now by the merchant's clock too. */
  const seenAtBy = ({ blockTime, observedAt }: JournalEntry, { environment, merchantId }: InvoiceState) =>
    seenAtOf(blockTime, observedAt) + clock.aheadSeconds(merchantId, environment)

  const incomingTransferOf = Effect.fnUntraced(function*(entry: JournalEntry, id: string, invoice: InvoiceState) {
    const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
    // Inactive only until its contract was asked, as after a start: judged now, it would be refused for good.
    if (
      token?.active === false &&
      catalog.unverifiedTokens(entry.network, entry.environment).some(({ id }) => id === token.id)
    ) {
      return yield* publicError("NETWORK_DEGRADED")
    }
    const target = yield* chains.target(invoice.id, familyOf(entry.network))
    const exception = rejectionReason(
      token,
      entry.network,
      invoice.policy.acceptedNetworks,
      target?.refusedTokens ?? []
    )
    const seenAt = seenAtBy(entry, invoice)
    const paymentValue = token === undefined || exception !== null
      ? null
      : yield* price(invoice, token, entry.amount, seenAt)
    const metadata: PaymentMetadata = {
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
      amount: paymentValue?.amount ?? usdMillis(0n),
      seenAt,
      metadata
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
    const arrival = isNew ? yield* incomingTransferOf(entry, paymentId, invoice) : null
    if (arrival !== null && previous === undefined && isDustBeyondLimit(arrival, payments)) {
      if (entry.status === "seen") yield* Metric.update(dustOverLimit, 1)
      return { commands: [], writes: [chains.markHandled(entry, depthOf(entry, invoice))] }
    }
    const threshold = chains.driver(entry.network, entry.environment)?.agreementAbove ?? null
    const agreement = needsAgreement(threshold, invoice.amount, valueOf(arrival ?? previous!))
    const writes = [chains.markHandled(entry, { ...depthOf(entry, invoice), agreement })]
    const observeCommands: ReadonlyArray<Command> = [
      ...(isReincluded ? [{ _tag: "Revert", paymentId } as const] : []),
      ...(arrival === null ? [] : [{ _tag: "Observe", transfer: arrival } as const])
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

/**
 * The exception of a transfer that pays no invoice. It opens at final depth only, because a person acts on it and an
 * earlier transfer may still be reverted.
 */
const unmatchedPayment = (entry: JournalEntry, catalog: TokenCatalog["Service"]) => {
  const token = catalog.find(entry.network, entry.environment, entry.tokenAddress)
  return {
    id: `exc_${uuidOf(`unmatched:${entry.id}`)}`,
    merchantId: entry.merchantId,
    environment: entry.environment,
    isOpen: entry.status === "confirmed",
    evidence: {
      network: entry.network,
      tx_hash: entry.txHash,
      address: readAddress(entry.network, entry.environment, entry.matchKey) ?? entry.matchKey,
      token: entry.tokenAddress,
      token_symbol: token?.symbol ?? null,
      token_amount: token === undefined ? entry.amount.toString() : formatUnits(entry.amount, token.decimals),
      token_amount_unit: token === undefined ? "base_units" : "token"
    }
  }
}

/** What a payment is worth; null while there is no price for it, zero where none is needed. */
const valueOf = (payment: Pick<IncomingTransfer, "amount" | "metadata">): UsdMillis | null =>
  needsPrice(payment) ? null : payment.amount

const depthOf = (entry: JournalEntry, invoice: InvoiceState) =>
  requiredDepth(entry.network, entry.environment, invoice.policy.confirmations, invoice.amount)
