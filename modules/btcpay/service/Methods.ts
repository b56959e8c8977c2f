/** The payment methods of a store: the tokens that its merchant accepts, on networks with a wallet. */
import { Effect } from "effect"
import { Availability } from "../../../runtime/Availability.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type Environment, familyOf } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import type { QuoteRow } from "../../quotes/plugin.ts"
import { isBlocked, TokenPolicies } from "../../tokens/plugin.ts"
import { methodIds } from "../rules/Methods.ts"

/** One way to pay, by its id. */
export interface ShopMethod {
  readonly id: string
  readonly token: Token
}

export const makeMethods = Effect.gen(function*() {
  const availability = yield* Availability
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const policies = yield* TokenPolicies

  /** Ids of all tokens of the catalogue: one that is no longer accepted keeps its own. */
  const idsIn = (environment: Environment): ReadonlyMap<number, string> => methodIds(catalog.list(environment))

  /** Sorted by id. */
  const list = Effect.fnUntraced(function*(merchantId: number, environment: Environment) {
    const policy = yield* policies.get(merchantId, environment)
    const ids = idsIn(environment)
    const accepted = catalog.list(environment).filter((token) =>
      token.active && !isBlocked(policy, token.id) && chains.driver(token.network, environment) !== undefined &&
      availability.objectionTo(token) === null
    )
    const families = [...new Set(accepted.map(({ network }) => familyOf(network)))]
    const wallets = yield* Effect.filter(
      families,
      (family) => Effect.map(chains.wallet({ merchantId, environment, family }), (wallet) => wallet !== null)
    )
    return accepted
      .filter(({ network }) => wallets.includes(familyOf(network)))
      .map((token): ShopMethod => ({ id: ids.get(token.id)!, token }))
      .toSorted((a, b) => a.id < b.id ? -1 : 1)
  })

  /** Whether a network that the store receives on can be paid on now. */
  const isReady = (merchantId: number, environment: Environment, methods: ReadonlyArray<ShopMethod>): boolean => {
    const unhealthy = new Set(
      chains.status(environment, merchantId).filter(({ healthy }) => !healthy).map(({ network }) => network)
    )
    return methods.some(({ token }) => !unhealthy.has(token.network))
  }

  /** What a wallet opens to pay by a quote; empty where nothing can be opened. */
  const linkOf = Effect.fnUntraced(function*({ environment, invoiceId, network, tokenAmount, tokenId }: QuoteRow) {
    const target = yield* chains.target(invoiceId, familyOf(network))
    const token = catalog.get(tokenId)
    if (target === null || token === undefined) return ""
    const words = { label: null, message: null }
    return chains.driver(network, environment)?.paymentUri(target, token, tokenAmount, words) ?? ""
  })

  return { idsIn, linkOf, list, isReady, symbolOf: (tokenId: number) => catalog.get(tokenId)?.symbol }
})

export type Methods = Effect.Success<typeof makeMethods>
