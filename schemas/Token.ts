/** Tokens a payor may pay in (modules/docs/reference/tokens.md#token-records). */
import { Schema } from "effect"
import { EpochSeconds, TokenId } from "./Ids.ts"
import { descriptorOf, Environment, Network, networkFamilies } from "./Network.ts"

/** `native` is the coin of a network; each family names the type of its other tokens. */
export const TokenType = Schema.Literals([
  "native",
  ...networkFamilies.flatMap(({ tokenType }) => tokenType === null ? [] : [tokenType]).toSorted()
])
export type TokenType = typeof TokenType.Type

/** One token of the catalogue, as the service knows it. */
export const Token = Schema.Struct({
  id: TokenId,
  network: Network,
  environment: Environment,
  symbol: Schema.String,
  name: Schema.String,
  /** Contract, mint, coin type or jetton master in its display form; `null` for the native coin. */
  address: Schema.NullOr(Schema.String),
  decimals: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 36 })),
  type: TokenType,
  requiresMemo: Schema.Boolean,
  /** What it is priced as, e.g. `usd-coin`: the asset id of price sources (CoinGecko's ids); `null`: no price. */
  asset: Schema.NullOr(Schema.String),
  /** A dollar stablecoin, for settlement and for the one-dollar price. */
  stable: Schema.Boolean,
  active: Schema.Boolean,
  photoUri: Schema.String
})
export type Token = typeof Token.Type

/** What the address of a native coin is shown, found and kept as where it must be a text. */
export const nativeAddress = "native"

/** Characters of a token's address, at most: a Sui coin type of 326 is the longest. */
const maximumTokenAddressLength = 400

/**
 * The address of a token in the one spelling of its family, in which drivers tell of it; null when it is none.
 *
 * @example
 * tokenAddress("sui", "0x2::sui::SUI")
 * // => "0x0000000000000000000000000000000000000000000000000000000000000002::sui::SUI"
 */
export const tokenAddress = (network: Network, text: string): string | null =>
  text.length > maximumTokenAddressLength ? null : descriptorOf(network).family.tokenAddress(text)

/** What makes a token the same token: its address, in whatever spelling, on one network; `native` for the coin. */
export const tokenKey = (token: {
  readonly network: Network
  readonly environment: Environment
  readonly address: string | null
}): string => {
  const { address, environment, network } = token
  const { tokenKey } = descriptorOf(network).family
  return `${network}:${environment}:${address === null ? nativeAddress : tokenKey(address)}`
}

export const AcceptancePolicy = Schema.Literals(["accept_all", "selective", "accept_none"])
export type AcceptancePolicy = typeof AcceptancePolicy.Type

/** The list columns of a token record. `price.usd` is a JSON number for display; no amount is computed from it. */
export const TokenRecord = Schema.Struct({
  id: TokenId,
  token_symbol: Schema.String,
  token_name: Schema.String,
  network: Network,
  network_environment: Environment,
  is_blocked: Schema.Boolean.annotate({ description: "Not offered to payors, by the merchant's acceptance policy" }),
  price: Schema.NullOr(Schema.Struct({
    usd: Schema.Finite.annotate({ description: "US dollars per whole token, for display" }),
    last_updated_at: EpochSeconds,
    provider_type: Schema.String
  }))
}).annotate({
  identifier: "SupportedToken",
  examples: [{
    id: TokenId.make(7),
    token_symbol: "USDC",
    token_name: "USD Coin",
    network: "base",
    network_environment: "devnet",
    is_blocked: false,
    price: { usd: 1, last_updated_at: 1_766_320_400, provider_type: "kraken" }
  }]
})
export type TokenRecord = typeof TokenRecord.Type

/** The search columns: the list's, and what tells two tokens of one symbol apart. */
export const FoundToken = Schema.Struct({
  ...TokenRecord.fields,
  token_address: Schema.String.annotate({
    description: "Contract, mint, coin type or jetton master; `native` for the network's own coin"
  }),
  token_decimals: Schema.Int,
  token_type: TokenType,
  requires_memo: Schema.Boolean,
  photo_uri: Schema.String.annotate({
    description:
      "Path of a picture, below this service's address: a badge of the symbol's letters as SVG, for any page to show"
  }),
  supports_stable_settlement: Schema.Boolean,
  is_active: Schema.Boolean,
  is_monitored: Schema.Boolean.annotate({ description: "Payments on its network are watched for" })
}).annotate({ identifier: "FoundToken" })
export type FoundToken = typeof FoundToken.Type
