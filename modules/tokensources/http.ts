/**
 * Token lists that others publish, in the form of tokenlists.org (Uniswap's): fetched at the start and every interval,
 * and believed as little as possible. Tokens of EVM networks only: the form names chains by EIP-155 ids.
 */
import { Effect, Layer, Ref, Result, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { readText } from "../../runtime/http/ResponseText.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { TokenCatalog, type TokenListing } from "../../runtime/TokenCatalog.ts"
import { readAddress } from "../../schemas/Address.ts"
import { Environment, evmChainIds, Network, networks } from "../../schemas/Network.ts"
import { tokenKey } from "../../schemas/Token.ts"
import { photoUriOf } from "./bundled.ts"

/** Seconds between two looks: by default, and at least. */
const defaultRefreshSeconds = 3_600
const minimumRefreshSeconds = 60

/** A look that takes longer has failed. */
const timeoutMillis = 15_000

/** Bytes of a list that are read at most; 10,000 tokens take about 4 MiB. */
const maximumListBytes = 8 * 1024 * 1024

/** Tokens of one list, other chains' included; a longer list is refused whole. */
const maximumListedTokens = 10_000

/** Price assets one entry may name by hand. */
const maximumAssets = 500

/** What wallets write for the coin itself where a token's address is due: no contract. */
const coinPlaceholder = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"

const isListUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hash, hostname, password, protocol, username } = new URL(text)
  const local = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"
  return (protocol === "https:" || (protocol === "http:" && local)) && username + password + hash === ""
}

const ListOptions = Schema.Struct({
  /** Names the source beside others, e.g. `uniswap`. */
  name: Schema.String.check(Schema.isPattern(/^[a-z0-9-]{1,32}$/, { message: "Expected a name like \"uniswap\"" })),
  /** Where the list is: https, or http on this machine. Redirects are not followed. */
  url: Schema.String.check(
    Schema.makeFilter((text: string) => isListUrl(text) || "Expected an https URL without credentials or a fragment")
  ),
  /** Seconds between two looks; default 3600. */
  refreshSeconds: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimumRefreshSeconds))),
  /** Whether its tokens may be paid in; default false: they are found by search and taken by nobody. */
  active: Schema.optionalKey(Schema.Boolean),
  /** Only tokens of these networks and environments; default all that the list names. */
  networks: Schema.optionalKey(Schema.NonEmptyArray(Network)),
  environments: Schema.optionalKey(Schema.NonEmptyArray(Environment)),
  /** What tokens are priced as: `<chain id>:<address>` -> asset id of the price sources. Others have no price. */
  assets: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.NonEmptyString).check(
      Schema.isMaxProperties(maximumAssets),
      Schema.makeFilter((assets: Readonly<Record<string, string>>) =>
        Object.keys(assets).every((token) => /^\d+:0x[0-9a-fA-F]{40}$/.test(token)) ||
        "Expected keys like <chain id>:<address>"
      )
    )
  )
})

/** Lists of one deployment, at most. */
const maximumLists = 10

const Options = Schema.Struct({
  /** In order of precedence: of a token on two lists the first one's entry holds. */
  lists: Schema.NonEmptyArray(ListOptions).check(
    Schema.isMaxLength(maximumLists),
    Schema.makeFilter((lists: ReadonlyArray<typeof ListOptions.Type>) =>
      new Set(lists.map(({ name }) => name)).size === lists.length || "Two lists have the same name"
    )
  )
})

/** The document as a whole (tokenlists.org, JSON schema); its tokens are judged one by one. */
const TokenList = Schema.fromJsonString(Schema.Struct({
  name: Schema.NonEmptyString,
  timestamp: Schema.NonEmptyString,
  version: Schema.Struct({ major: Schema.Int, minor: Schema.Int, patch: Schema.Int }),
  tokens: Schema.Array(Schema.Unknown).check(Schema.isMaxLength(maximumListedTokens))
}))

/** One token. ASCII only, so that no homograph, bidirectional mark or control character stands in what payors read. */
const ListedToken = Schema.Struct({
  chainId: Schema.Int,
  address: Schema.String,
  symbol: Schema.String.check(Schema.isPattern(/^[\w.$+-]{1,32}$/)),
  name: Schema.String.check(Schema.isPattern(/^[\x21-\x7e](?:[\x20-\x7e]{0,98}[\x21-\x7e])?$/)),
  decimals: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 36 }))
})

const decodeList = Schema.decodeUnknownResult(TokenList)
const decodeToken = Schema.decodeUnknownResult(ListedToken)

/** Networks by EIP-155 chain id. */
const chains = new Map(
  Environment.literals.flatMap((environment) =>
    networks.flatMap((network) => {
      const id = evmChainIds[environment][network]
      return id === undefined ? [] : [[id, { network, environment }] as const]
    })
  )
)

/** A list as the catalogue takes it, and how many of its entries could not be read. */
export interface ParsedList {
  readonly listings: ReadonlyArray<TokenListing>
  readonly skippedCount: number
}

const assetsOf = ({ assets = {} }: typeof ListOptions.Type): ReadonlyMap<string, string> =>
  new Map(Object.entries(assets).map(([token, asset]) => [token.toLowerCase(), asset]))

/** One entry: a listing, null for a token of a chain that is not asked for, undefined for one that cannot be read. */
const listingOf = (
  entry: unknown,
  options: typeof ListOptions.Type,
  assets: ReadonlyMap<string, string>
): TokenListing | null | undefined => {
  const decoded = decodeToken(entry)
  if (Result.isFailure(decoded)) return undefined
  const { chainId, decimals, name, symbol } = decoded.success
  const chain = chains.get(chainId)
  if (chain === undefined) return null
  const { environment, network } = chain
  if (options.networks?.includes(network) === false || options.environments?.includes(environment) === false) {
    return null
  }
  const address = readAddress(network, environment, decoded.success.address)
  if (address === null || address === coinPlaceholder) return undefined
  return {
    network,
    environment,
    symbol,
    name,
    address,
    decimals,
    type: "erc20",
    requiresMemo: false,
    asset: assets.get(`${chainId}:${address.toLowerCase()}`) ?? null,
    stable: false,
    active: options.active ?? false,
    photoUri: photoUriOf(symbol)
  }
}

/** Reads a document; a sentence for people where it is no token list. Of a token listed twice the first entry holds. */
export const readList = (text: string, options: typeof ListOptions.Type): ParsedList | string => {
  const document = decodeList(text)
  if (Result.isFailure(document)) return "it is no token list in the form of tokenlists.org, or too long a one"
  const assets = assetsOf(options)
  const found = new Map<string, TokenListing>()
  let skippedCount = 0
  for (const entry of document.success.tokens) {
    const listing = listingOf(entry, options, assets)
    if (listing === null) continue
    if (listing === undefined || found.has(tokenKey(listing))) skippedCount++
    else found.set(tokenKey(listing), listing)
  }
  return { listings: [...found.values()], skippedCount }
}

class ListError extends Schema.TaggedError<ListError>()("ListError", { reason: Schema.String }) {}

const listError = (reason: string) => new ListError({ reason })

const follow = Effect.fnUntraced(function*(options: typeof ListOptions.Type) {
  const catalog = yield* TokenCatalog
  const client = yield* HttpClient.HttpClient
  const source = `http:${options.name}`
  const etag = yield* Ref.make<string | undefined>(undefined)

  const fetchList = Effect.gen(function*() {
    const known = yield* Ref.get(etag)
    const response = yield* client.execute(HttpClientRequest.get(options.url, {
      headers: {
        accept: "application/json",
        "user-agent": "tillwire",
        ...(known === undefined ? {} : { "if-none-match": known })
      }
    }))
    if (response.status === 304 && known !== undefined) return null
    if (response.status !== 200) return yield* listError(`HTTP status ${response.status}`)
    return {
      text: yield* readText(
        response,
        maximumListBytes,
        () => listError(`it has more than ${maximumListBytes} bytes`)
      ),
      etag: response.headers["etag"]
    }
  }).pipe(
    Effect.catchTag("HttpClientError", (error) => Effect.fail(listError(error.message))),
    Effect.timeoutOrElse({
      duration: timeoutMillis,
      orElse: () => Effect.fail(listError(`no answer in ${timeoutMillis} ms`))
    })
  )

  const refresh = Effect.gen(function*() {
    const fetched = yield* fetchList
    if (fetched === null) return
    const list = readList(fetched.text, options)
    if (typeof list === "string") return yield* listError(list)
    yield* catalog.sync(source, list.listings)
    yield* Ref.set(etag, fetched.etag)
    yield* Effect.logInfo("token list read").pipe(
      Effect.annotateLogs({ source, tokens: list.listings.length, skipped: list.skippedCount })
    )
  }).pipe(
    Effect.catchTag(
      "ListError",
      ({ reason }) =>
        Effect.annotateLogs(Effect.logWarning(`token list not read: ${reason}; the last good one holds`), { source })
    ),
    Effect.catchCause((cause) => Effect.annotateLogs(Effect.logWarning("token list not taken over", cause), { source }))
  )

  yield* catalog.declare(source)
  const pause = Effect.sleep(`${options.refreshSeconds ?? defaultRefreshSeconds} seconds`)
  // Beside the start, which waits for nobody else's server: the tokens of the last good list are in the database.
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(refresh, pause)))
})

/** Source names `http:<name>`, one for each list. */
export const plugin = Plugin.make({
  name: "http",
  slot: "tokenSources",
  options: Options,
  layer: ({ lists }) => Layer.effectDiscard(Effect.forEach(lists, follow, { discard: true }))
})
