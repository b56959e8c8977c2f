/** Tokens a payor may pay in (contract §2.7). */
import { Schema } from "effect"
import { EpochSeconds, TokenId } from "./Ids.ts"
import { Environment, Network } from "./Network.ts"

export const TokenType = Schema.Literals(["native", "erc20", "spl", "sui", "ton"])
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

/** What makes a token the same token: its address (`native` for the coin; lower-cased on EVM) on one network. */
export const tokenKey = (token: {
  readonly network: Network
  readonly environment: Environment
  readonly address: string | null
}): string => {
  const address = token.address ?? "native"
  return `${token.network}:${token.environment}:${address.startsWith("0x") && token.network !== "sui" ? address.toLowerCase() : address}`
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
  is_blocked: Schema.Boolean,
  price: Schema.NullOr(Schema.Struct({
    usd: Schema.Finite,
    last_updated_at: EpochSeconds,
    provider_type: Schema.String
  }))
}).annotate({ identifier: "SupportedToken" })
export type TokenRecord = typeof TokenRecord.Type
