/**
 * The catalogue that comes with the service: the coin of each network, the tokens of `bundled.json`, one a line with
 * its source, and whatever the operator adds in `extra`.
 */
import { Effect, Layer, Schema } from "effect"
import bundledTokens from "./bundled.json" with { type: "json" }
import * as Plugin from "../../runtime/Plugin.ts"
import { TokenCatalog, type TokenListing } from "../../runtime/TokenCatalog.ts"
import { descriptorOf, Environment, Network, networks as everyNetwork } from "../../schemas/Network.ts"
import { tokenAddress, tokenKey, TokenType } from "../../schemas/Token.ts"

const environmentOrder: ReadonlyArray<Environment> = ["mainnet", "devnet"]

/** Tokens an operator may add by hand; more belong into a source of their own. */
const maximumExtra = 200

/** Facts of a token as the data file and the config state them. */
const commonFields = {
  network: Network,
  environment: Environment,
  symbol: Schema.String.check(Schema.isPattern(/^[\w.$+-]{1,32}$/, { message: "Expected a symbol like \"USDC\"" })),
  name: Schema.NonEmptyString.check(Schema.isMaxLength(100)),
  /** Contract, mint, coin type or jetton master; null for the native coin. */
  address: Schema.NullOr(Schema.String),
  decimals: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 36 })),
  token_type: TokenType
}

const BundledToken = Schema.Struct({
  ...commonFields,
  requires_memo: Schema.Boolean,
  supports_stable_settlement: Schema.Boolean,
  price_id_coingecko: Schema.NullOr(Schema.String),
  default_active: Schema.Boolean,
  source: Schema.String,
  notes: Schema.optionalKey(Schema.String)
})

const ExtraToken = Schema.Struct({
  ...commonFields,
  requires_memo: Schema.optionalKey(Schema.Boolean),
  /** A dollar stablecoin. */
  stable: Schema.optionalKey(Schema.Boolean),
  /** What it is priced as: a CoinGecko id that a price source knows; without one it has no price. */
  asset: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString)),
  active: Schema.optionalKey(Schema.Boolean)
}).check(Schema.makeFilter(({ address, network, token_type }) => {
  if (token_type === "native") return address === null || "The native coin has no address: write null"
  if (descriptorOf(network).family.tokenType !== token_type) return `A ${token_type} token cannot be on ${network}`
  return (address !== null && tokenAddress(network, address) !== null) || `This is no address of a ${token_type} token`
}))

const Options = Schema.Struct({
  /** Only tokens of these networks; default all of them. Ids stay, so a network may come back. */
  networks: Schema.optionalKey(Schema.NonEmptyArray(Network)),
  /** Tokens to add; one with the network, environment and address of a bundled token replaces it. */
  extra: Schema.optionalKey(Schema.Array(ExtraToken).check(Schema.isMaxLength(maximumExtra)))
})

/**
 * Where the tokens module serves the badge of a symbol. Never a picture of anybody else: who pays would be seen there.
 */
export const photoUriOf = (symbol: string): string => `/assets/tokens/${encodeURIComponent(symbol.toLowerCase())}.svg`

const bundledListing = (token: Omit<typeof BundledToken.Type, "source" | "notes">): TokenListing => ({
  network: token.network,
  environment: token.environment,
  symbol: token.symbol,
  name: token.name,
  address: token.address,
  decimals: token.decimals,
  type: token.token_type,
  requiresMemo: token.requires_memo,
  asset: token.price_id_coingecko,
  stable: token.supports_stable_settlement,
  active: token.default_active,
  photoUri: photoUriOf(token.symbol)
})

/** What an operator leaves out of an extra token: no memo, no price, not stable, active. */
const extraListing = (token: typeof ExtraToken.Type): TokenListing =>
  bundledListing({
    ...token,
    requires_memo: token.requires_memo ?? false,
    price_id_coingecko: token.asset ?? null,
    supports_stable_settlement: token.stable ?? false,
    default_active: token.active ?? true
  })

/** The coin of a network, which its descriptor has. */
const coinListing = (network: Network, environment: Environment): TokenListing => {
  const { asset, decimals, names, requiresMemo, symbol } = descriptorOf(network).coin
  return {
    network,
    environment,
    symbol,
    name: names[environment],
    address: null,
    decimals,
    type: "native",
    requiresMemo,
    asset,
    stable: false,
    active: true,
    photoUri: photoUriOf(symbol)
  }
}

/**
 * The coins of all networks and the tokens of the data file: by the network's name, mainnet first, the coin first. A
 * new database numbers its tokens in this order.
 */
const ownListings = (tokens: ReadonlyArray<typeof BundledToken.Type>): ReadonlyArray<TokenListing> =>
  everyNetwork.toSorted().flatMap((network) =>
    environmentOrder.flatMap((environment) => [
      coinListing(network, environment),
      ...tokens.filter((token) => token.network === network && token.environment === environment).map(bundledListing)
    ])
  )

/** The coins, every token of the data file and of `extra`, in that order, each once. */
export const listings = (
  tokens: ReadonlyArray<typeof BundledToken.Type>,
  { extra = [], networks }: typeof Options.Type
): ReadonlyArray<TokenListing> => {
  const kept = ownListings(tokens).filter(({ network }) => networks === undefined || networks.includes(network))
  const all = [...kept, ...extra.map(extraListing)]
  return [...new Map(all.map((listing) => [tokenKey(listing), listing])).values()]
}

/** The data file, checked. A line that cannot be read is a bug of ours. */
export const readBundled = Schema.decodeUnknownEffect(Schema.Array(BundledToken))(bundledTokens).pipe(Effect.orDie)

/** Source name `bundled`. */
export const plugin = Plugin.make({
  name: "bundled",
  slot: "tokenSources",
  options: Options,
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      yield* catalog.sync("bundled", listings(yield* readBundled, options))
    }))
})
