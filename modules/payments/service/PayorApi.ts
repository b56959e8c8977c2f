/** What payors read: the session's bodies, by the API and on the payment page alike. */
import { Clock, Context, Effect, Layer } from "effect"
import { Availability } from "../../../runtime/Availability.ts"
import { type AllocatedTarget, Chains, type ReceivingObstacle, type WalletRef } from "../../../runtime/Chains.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { PayorTickets } from "../../../runtime/sockets/PayorTicket.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { InvoiceId } from "../../../schemas/Ids.ts"
import { type Environment, Family, familyOf } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import { Merchants, PayorSessions } from "../../auth/plugin.ts"
import { type Aggregate, Invoices, type InvoiceState, lockedRoute, type WithLastEvent } from "../../invoices/plugin.ts"
import { MerchantSettings } from "../../settings/plugin.ts"
import { isBlocked, requiresMemo, TokenPolicies } from "../../tokens/plugin.ts"
import type { AvailableToken, PaymentAddress, PaymentStatusReport, SessionDetails } from "../api.ts"
import {
  addressBody,
  brandingBody,
  detailsBody,
  errorForPayors,
  estimateOf,
  isOffered,
  type PayorSocket,
  sessionEnd,
  statusBody,
  tokenBody,
  type TokenQuery
} from "../rules.ts"
import { Payments } from "../service.ts"
import { InvoiceTerms, type PayorTerms } from "./InvoiceTerms.ts"
import { makeNetworkFees } from "./NetworkFees.ts"
import type { Route } from "./PaymentRoutes.ts"

/** What may stand against receiving is the same for all tokens of a network, but for its own coin. */
const obstacleKey = ({ address, network }: Token): string => `${network} ${address === null ? "coin" : "tokens"}`

/**
 * The invoice's address in each family in which it has one, else the wallet that it would get one from; families
 * without either are not there.
 */
const receiversByFamily = Effect.fnUntraced(function*(
  chains: Chains["Service"],
  { environment, id, merchantId }: InvoiceState
) {
  const targets = yield* chains.targets(id)
  const receivers = new Map<Family, AllocatedTarget | WalletRef>(targets)
  for (const family of Family.literals) {
    if (targets.has(family)) continue
    const wallet = yield* chains.wallet({ merchantId, environment, family })
    if (wallet !== null) receivers.set(family, wallet)
  }
  return { receivers, targets }
})

/** What stands against receiving, by network, and for its own coin apart. Asked once for each. */
const obstaclesFor = Effect.fnUntraced(function*(
  chains: Chains["Service"],
  receivers: ReadonlyMap<Family, AllocatedTarget | WalletRef>,
  tokens: ReadonlyArray<Token>
) {
  const obstacles = new Map<string, ReceivingObstacle | null>()
  for (const token of tokens) {
    const receiver = receivers.get(familyOf(token.network))
    const key = obstacleKey(token)
    if (receiver === undefined || obstacles.has(key)) continue
    const isCoin = token.address === null
    obstacles.set(key, yield* chains.obstacleTo(receiver, token.network, token.environment, isCoin))
  }
  return obstacles
})

/** Fails unless there is an invoice whose session lives. */
const checkSession = Effect.fnUntraced(function*(aggregate: Aggregate | undefined) {
  if (aggregate === undefined) return yield* publicError("SESSION_INVALID")
  // A session ends by the system's clock: a merchant's clock that is ahead must not end it early.
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const end = sessionEnd(aggregate.invoice)
  return end !== null && now >= end ? yield* publicError("SESSION_EXPIRED") : aggregate
})

/** Fails for a token that the shop of the invoice does not offer. Who has begun to pay may finish with it. */
const checkOffer = ({ offeredTokens }: PayorTerms, aggregate: Aggregate, tokenId: number) =>
  offeredTokens?.has(tokenId) === false && lockedRoute(aggregate) === null
    ? publicError("TOKEN_NOT_ACCEPTED", {
      message: "The shop does not offer this token for this invoice: choose one that available-tokens lists",
      param: "token_id"
    })
    : Effect.void

/** Makes sockets for payors to follow their invoice with. */
const makeTickets = Effect.gen(function*() {
  const secrets = yield* Secrets
  const settings = yield* Settings
  return Effect.fnUntraced(function*({ id, merchantId }: InvoiceState) {
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
  /** How a merchant shows itself to payors, also where there is no invoice. */
  readonly merchant: (
    merchantId: number,
    environment: Environment
  ) => Effect.Effect<Pick<typeof SessionDetails.Type, "merchant_name" | "branding">>
  /**
   * `available-tokens`, without fees: {@link withNetworkFees} adds them. Errors: `NETWORK_REQUIRED` for the mode
   * `network` without one.
   */
  readonly tokens: (
    current: Aggregate,
    query: TokenQuery
  ) => Effect.Effect<ReadonlyArray<typeof AvailableToken.Type>, PublicError>
  /**
   * The same with what a transfer of each takes, where that is known. Only for a list that is shown: gas prices are
   * read from the networks for it, and waited for a moment.
   */
  readonly withNetworkFees: (
    environment: Environment,
    tokens: ReadonlyArray<typeof AvailableToken.Type>
  ) => Effect.Effect<ReadonlyArray<typeof AvailableToken.Type>>
  /**
   * What remains in each of these tokens at the last known price, as a decimal amount by token id. No quote: nothing
   * holds, and nobody is asked. A token without a price is not there.
   */
  readonly estimates: (
    current: Aggregate,
    tokens: ReadonlyArray<{ readonly id: number }>
  ) => ReadonlyMap<number, string>
  /**
   * `payment-addresses`. Errors: those of `Payments.route`, in words that payors may read; `TOKEN_NOT_ACCEPTED` for
   * what {@link InvoiceTerms} does not offer, before anything was paid.
   */
  readonly address: (
    current: Aggregate,
    network: string,
    tokenId: number
  ) => Effect.Effect<typeof PaymentAddress.Type, PublicError>
  /** The same for the route shown last: `Payments.currentRoute`. */
  readonly currentAddress: (current: Aggregate) => Effect.Effect<typeof PaymentAddress.Type | null, PublicError>
  /** A socket to follow an invoice with, also before a route is chosen. */
  readonly ticket: (invoice: InvoiceState) => Effect.Effect<PayorSocket>
  /** `payment-status`. */
  readonly status: (current: Aggregate) => typeof PaymentStatusReport.Type
}>()("tillwire/modules/payments/PayorApi") {
  static readonly layer = Layer.effect(
    PayorApi,
    Effect.gen(function*() {
      const availability = yield* Availability
      const catalog = yield* TokenCatalog
      const chains = yield* Chains
      const clock = yield* MerchantClock
      const invoices = yield* Invoices
      const merchants = yield* Merchants
      const merchantSettings = yield* MerchantSettings
      const payments = yield* Payments
      const terms = yield* InvoiceTerms
      const policies = yield* TokenPolicies
      const prices = yield* Prices
      const sessions = yield* PayorSessions
      const networkFees = yield* makeNetworkFees
      const ticket = yield* makeTickets

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

      const merchant = Effect.fnUntraced(function*(merchantId: number, environment: Environment) {
        const found = yield* merchants.get(merchantId)
        const { branding } = yield* merchantSettings.get(merchantId, environment)
        return { merchant_name: found?.name ?? "", branding: brandingBody(branding) }
      })

      const tokens = Effect.fnUntraced(function*(aggregate: Aggregate, query: TokenQuery) {
        const { invoice } = aggregate
        const { environment, merchantId } = invoice
        if (query.mode === "network" && query.network === undefined) return yield* publicError("NETWORK_REQUIRED")
        const { receivers, targets } = yield* receiversByFamily(chains, invoice)
        const policy = yield* policies.get(merchantId, environment)
        const { offeredTokens } = yield* terms.of(invoice)
        const limits = { offeredTokens, isBlocked: (id: number) => isBlocked(policy, id) }
        // Prices carry the system's time, so their age is measured by it.
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const unhealthy = chains.status(environment, merchantId).filter(({ healthy }) => !healthy)
        const unhealthyNetworks = new Set(unhealthy.map(({ network }) => network))
        const isMonitored = ({ network }: Token) => chains.driver(network, environment) !== undefined
        const offered = catalog.list(environment)
          .filter((token) => query.network === undefined || token.network === query.network)
          .filter((token) => isOffered(token, aggregate, targets, limits))
          .filter((token) => availability.objectionTo(token) === null)
        const obstacles = yield* obstaclesFor(chains, receivers, offered.filter(isMonitored))
        return offered
          .map((token) =>
            tokenBody(invoice, token, {
              isMonitored: isMonitored(token),
              hasWallet: receivers.has(familyOf(token.network)),
              obstacle: obstacles.get(obstacleKey(token)) ?? null,
              needsMemo: requiresMemo(token, receivers.get(familyOf(token.network)) ?? null),
              healthy: !unhealthyNetworks.has(token.network),
              spot: prices.latest(token),
              now
            })
          )
          .filter((token) => query.mode === "all" || token.is_monitored)
          .filter((token) => query.available_only !== "true" || token.unavailable_reason === null)
      })

      const withNetworkFees = Effect.fnUntraced(function*(
        environment: Environment,
        listed: ReadonlyArray<typeof AvailableToken.Type>
      ) {
        const monitored = listed.flatMap(({ id, is_monitored }) => is_monitored ? catalog.get(id) ?? [] : [])
        const fees = yield* networkFees(environment, monitored)
        return listed.map((token) => ({ ...token, network_fee_usd: fees.get(token.id) ?? null }))
      })

      const estimates = ({ invoice }: Aggregate, requestedTokens: ReadonlyArray<{ readonly id: number }>) =>
        new Map(requestedTokens.flatMap(({ id }) => {
          const token = catalog.get(id)
          const spot = token === undefined ? null : prices.latest(token)
          return token === undefined || spot === null ? [] : [[id, estimateOf(invoice, spot, token.decimals)] as const]
        }))

      const withSocket = ({ invoice }: Aggregate, route: Route) =>
        Effect.map(ticket(invoice), (socket) => addressBody(route, socket))

      return PayorApi.of({
        open: ({ sessionToken, signature }) => Effect.flatMap(sessions.check(sessionToken, signature), current),
        current,
        withLastEvent,
        details,
        merchant,
        tokens,
        withNetworkFees,
        estimates,
        address: Effect.fnUntraced(function*(aggregate, network, tokenId) {
          yield* checkOffer(yield* terms.of(aggregate.invoice), aggregate, tokenId)
          const route = yield* Effect.mapError(payments.route(aggregate, network, tokenId), errorForPayors)
          return yield* withSocket(aggregate, route)
        }),
        currentAddress: (aggregate) =>
          Effect.flatMap(
            Effect.mapError(payments.currentRoute(aggregate), errorForPayors),
            (route) => route === null ? Effect.succeed(null) : withSocket(aggregate, route)
          ),
        ticket,
        status: statusBody
      })
    })
  )
}
