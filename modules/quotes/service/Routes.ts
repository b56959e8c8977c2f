/** Routes of an invoice: which token of which network it can be paid by, and which a price may be asked for. */
import { Effect } from "effect"
import { Availability } from "../../../runtime/Availability.ts"
import { type AllocatedTarget, Chains } from "../../../runtime/Chains.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { awaitsContractRead, TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { familyOf } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import { type Aggregate, isPayable, lockedRoute } from "../../invoices/plugin.ts"
import { isBlocked, type PolicyState, TokenPolicies } from "../../tokens/plugin.ts"
import { routeFault } from "../rules.ts"

/** A token for the checks of a route: one whose contract was not asked yet, as after a start, counts as active. */
export const listedToken = (catalog: TokenCatalog["Service"], tokenId: number): Token | undefined => {
  const token = catalog.get(tokenId)
  return token !== undefined && awaitsContractRead(catalog, token) ? { ...token, active: true } : token
}

/** Whether a {@link listedToken} is active in the catalogue as well. Until then nothing is promised for it. */
export const isActiveToken = (catalog: TokenCatalog["Service"], tokenId: number): boolean =>
  catalog.get(tokenId)?.active === true

/**
 * The token of a route that the invoice can be paid by at `now`. Errors: `UNSUPPORTED_NETWORK`, `TOKEN_NOT_ACCEPTED`,
 * `TOKEN_NETWORK_MISMATCH`, `INVOICE_NOT_PAYABLE`, `ROUTE_LOCKED`.
 */
export const payableToken = Effect.fnUntraced(function*(
  current: Aggregate,
  network: string,
  token: Token | undefined,
  now: number
): Effect.fn.Return<Token, PublicError> {
  const { invoice } = current
  const { acceptedNetworks } = invoice.policy
  const fault = routeFault({ network, token, environment: invoice.environment, acceptedNetworks })
  if (fault !== null || token === undefined) {
    return yield* publicError(fault?.code ?? "TOKEN_NOT_ACCEPTED", { param: fault?.param ?? "token_id" })
  }
  if (!isPayable(invoice, now)) return yield* publicError("INVOICE_NOT_PAYABLE")
  const routeLock = lockedRoute(current)
  return routeLock === null || (routeLock.network === token.network && routeLock.tokenId === token.id)
    ? token
    : yield* publicError("ROUTE_LOCKED")
})

/**
 * Whether the merchant refuses `token`: as it did when the address was given out, and as it does now where there is
 * none yet (modules/docs/reference/tokens.md#acceptance-policy).
 */
export const isRefused = (token: Token, target: AllocatedTarget | null, policy: PolicyState): boolean =>
  target === null ? isBlocked(policy, token.id) : target.refusedTokens.includes(token.id)

/**
 * The token of a route a merchant may ask a price for: {@link payableToken}, on a network that is served, and not one
 * that the operator has disabled or the merchant refuses; it may wait for its contract ({@link isActiveToken}). Errors:
 * those, `UNSUPPORTED_NETWORK`, `TOKEN_NOT_ACCEPTED`.
 */
export const makePriceableToken = Effect.gen(function*() {
  const availability = yield* Availability
  const clock = yield* MerchantClock
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const policies = yield* TokenPolicies

  return Effect.fnUntraced(function*(
    current: Aggregate,
    network: string,
    tokenId: number
  ): Effect.fn.Return<Token, PublicError> {
    const { environment, id, merchantId } = current.invoice
    const now = yield* clock.nowSeconds(merchantId, environment)
    const token = yield* payableToken(current, network, listedToken(catalog, tokenId), now)
    if (chains.driver(token.network, environment) === undefined) {
      return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    }
    const objection = availability.objectionTo(token)
    if (objection !== null) return yield* objection
    const allocated = yield* chains.target(id, familyOf(token.network))
    return isRefused(token, allocated, yield* policies.get(merchantId, environment))
      ? yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      : token
  })
})
