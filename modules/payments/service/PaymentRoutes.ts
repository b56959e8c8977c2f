/** The route of an invoice: its address for a token, and a quote of what remains to be paid. */
import { Clock, Effect } from "effect"
import type { Availability } from "../../../runtime/Availability.ts"
import type { AllocatedTarget, ChainDriver, Chains, ReceiveTarget } from "../../../runtime/Chains.ts"
import { MachineClock, machineMillis } from "../../../runtime/Clock.ts"
import { type Commit, noCause } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { awaitsContractRead, type TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { type BaseUnits, parseUnits, type UsdMillis, usdWire } from "../../../schemas/Money.ts"
import { familyOf } from "../../../schemas/Network.ts"
import { paymentLinkOf } from "../../../schemas/PaymentLink.ts"
import type { Quote } from "../../../schemas/Quote.ts"
import type { Token } from "../../../schemas/Token.ts"
import { type Aggregate, amountRemaining, type InvoiceState, isPayable, lockedRoute } from "../../invoices/plugin.ts"
import { isActiveToken, isRefused, listedToken, payableToken, type PaymentQuotes } from "../../quotes/plugin.ts"
import type { MerchantSettings } from "../../settings/plugin.ts"
import type { PolicyState, TokenPolicies } from "../../tokens/plugin.ts"
import { paymentWords } from "./PaymentWords.ts"

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

const routeAt = Effect.fnUntraced(function*(
  { settings }: RoutesContext,
  invoice: InvoiceState,
  token: Token,
  target: AllocatedTarget,
  driver: ChainDriver,
  quote: Quote
) {
  const quotedAmount = quote.estimated_token_amount_remaining
  const tokenAmount = quotedAmount === null ? null : parseUnits(quotedAmount, token.decimals) ?? null
  const { branding } = yield* settings.get(invoice.merchantId, invoice.environment)
  const route: Route = {
    token,
    target,
    tokenAmount,
    paymentUri: tokenAmount === null
      ? null
      : driver.paymentUri(target, token, tokenAmount, paymentWords(branding.name, invoice.details)),
    quote,
    amountRemaining: amountRemaining(invoice)
  }
  return route
})

/** The services a route is made of. */
export interface RoutesContext {
  readonly availability: Availability["Service"]
  readonly chains: Chains["Service"]
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly catalog: TokenCatalog["Service"]
  readonly quotes: PaymentQuotes["Service"]
  readonly policies: TokenPolicies["Service"]
  readonly settings: MerchantSettings["Service"]
  /** When this instance started, by the machine's clock. */
  readonly startedAtMillis: number
}

/** The tokens an address given out under a policy is not for. */
const blockedTokensOf = ({ blockedTokens, policy }: PolicyState): Iterable<number> =>
  policy === "selective" ? blockedTokens : []

/** The route at a quote of what remains now, which is shown to the payor with it. */
const withNewQuote = Effect.fnUntraced(function*(
  context: RoutesContext,
  invoice: InvoiceState,
  token: Token,
  target: AllocatedTarget,
  driver: ChainDriver
) {
  const { chains, commit, quotes } = context
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
  return yield* routeAt(context, invoice, token, target, driver, issuedQuote.quote)
})

/**
 * Milliseconds after the start of this instance until which a payor waits for the contract of a token to be read, and
 * the pause between two looks at the catalogue. Contracts are read within seconds of a start.
 */
const contractReadWaitMillis = 5_000
const pollMillis = 50

/** Waits for the contract of a token that is being read after a start; answers {@link isActiveToken}. */
export const awaitContractRead = Effect.fnUntraced(function*(
  { catalog, startedAtMillis }: Pick<RoutesContext, "catalog" | "startedAtMillis">,
  tokenId: number
) {
  const monotonicMillis = yield* machineMillis
  const pause = Effect.provideService(Effect.sleep(pollMillis), Clock.Clock, yield* MachineClock)
  while (!isActiveToken(catalog, tokenId)) {
    const token = catalog.get(tokenId)
    const isRead = token === undefined || !awaitsContractRead(catalog, token)
    if (isRead || monotonicMillis() - startedAtMillis >= contractReadWaitMillis) return false
    yield* pause
  }
  return true
})

/** `reason`: for the log. */
const degraded = (reason: string) => publicError("NETWORK_DEGRADED", { retryAfterSeconds: 15, reason })

/** `Payments.route`. */
export const routeFor = Effect.fnUntraced(function*(
  context: RoutesContext,
  current: Aggregate,
  network: string,
  tokenId: number
) {
  const { availability, catalog, chains, clock, policies } = context
  const { invoice } = current
  const now = yield* clock.nowSeconds(invoice.merchantId, invoice.environment)
  const token = yield* payableToken(current, network, listedToken(catalog, tokenId), now)
  // A payor must not send what may turn out to be another token.
  if (!(yield* awaitContractRead(context, tokenId))) {
    return yield* degraded(`the contract of token ${tokenId} was not read, or has other decimals than the list`)
  }
  const driver = chains.driver(token.network, token.environment)
  if (driver === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
  const objection = availability.objectionTo(token)
  if (objection !== null) return yield* objection
  const { environment, id: invoiceId, merchantId } = invoice
  const owner = { merchantId, environment, family: familyOf(token.network) }
  const existingTarget = yield* chains.target(invoiceId, owner.family)
  const policy = yield* policies.get(merchantId, environment)
  if (isRefused(token, existingTarget, policy)) {
    return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
  }
  const receiver = existingTarget ?? (yield* chains.wallet(owner))
  if (receiver === null) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
  const obstacle = yield* chains.obstacleTo(receiver, token.network, environment, token.address === null)
  if (obstacle === "NETWORK_DEGRADED") return yield* degraded(`${token.network} does not say what contracts it has`)
  if (obstacle !== null) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
  const status = chains.status(token.environment, merchantId).find((one) => one.network === token.network)
  if (status?.healthy === false) return yield* degraded(`${token.network} is ${status.condition}`)
  const target = existingTarget ??
    (yield* chains.allocate({
      ...owner,
      invoiceId,
      refusedTokens: [...blockedTokensOf(policy)],
      isOfStranger: paymentLinkOf(invoice.metadata) !== null
    }))
  // Another call may have been first, under a policy that was older or newer: what it kept holds.
  if (target.refusedTokens.includes(token.id)) {
    return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
  }
  return yield* withNewQuote(context, invoice, token, target, driver)
})

/** `Payments.currentRoute`. */
export const currentRoute = Effect.fnUntraced(function*(context: RoutesContext, current: Aggregate) {
  const { availability, catalog, chains, clock, quotes } = context
  const { invoice } = current
  const now = yield* clock.nowSeconds(invoice.merchantId, invoice.environment)
  const quote = isPayable(invoice, now) ? yield* quotes.current(invoice.id) : null
  if (quote === null) return null
  const routeLock = lockedRoute(current)
  const tokenId = routeLock?.tokenId ?? quote.supported_token_id
  const token = tokenId === null ? undefined : listedToken(catalog, tokenId)
  const driver = token === undefined ? undefined : chains.driver(token.network, token.environment)
  if (token?.active !== true || driver === undefined) return null
  const target = yield* chains.target(invoice.id, familyOf(token.network))
  if (target === null) return null
  const isQuoteCurrent = token.id === quote.supported_token_id &&
    quote.amount_remaining === usdWire(amountRemaining(invoice))
  // What the payor was promised is shown as it was; of what an operator has disabled nothing new is promised.
  if (!isQuoteCurrent && availability.objectionTo(token) !== null) return null
  return yield* isQuoteCurrent
    ? routeAt(context, invoice, token, target, driver, quote)
    : withNewQuote(context, invoice, token, target, driver)
})
