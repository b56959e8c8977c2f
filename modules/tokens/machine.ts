/** What a merchant is shown of the catalogue. Pure. */
import { displayNumber } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { AcceptancePolicy, Token, TokenRecord } from "../../schemas/Token.ts"

/** A price to show, as `Quotes.latest` gives it. */
export interface ShownPrice {
  /** Decimal dollars per whole token. */
  readonly text: string
  readonly source: string
  /** Epoch seconds. */
  readonly at: number
}

/**
 * The plain list (API reference, "Tokens and acceptance policy"): under `accept_all`, the only policy so far, every
 * active token and none blocked. Inactive tokens are left out: the list's columns could not tell them from payable
 * ones, and the search shows them. The order of `tokens` is kept.
 */
export const tokenList = (
  environment: Environment,
  tokens: ReadonlyArray<Token>,
  priceOf: (token: Token) => ShownPrice | null
) => ({
  acceptance_policy: "accept_all" satisfies AcceptancePolicy as AcceptancePolicy,
  environment,
  tokens: tokens.filter(({ active }) => active).map((token): TokenRecord => ({
    id: token.id,
    token_symbol: token.symbol,
    token_name: token.name,
    network: token.network,
    network_environment: token.environment,
    is_blocked: false,
    price: shownPrice(priceOf(token))
  }))
})

const shownPrice = (price: ShownPrice | null): TokenRecord["price"] =>
  price === null
    ? null
    : { usd: displayNumber(price.text), last_updated_at: price.at, provider_type: price.source }
