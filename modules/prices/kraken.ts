/**
 * Prices of the exchange Kraken: the exact middle of best bid and ask of each pair against the dollar.
 * Source: Kraken REST API, "Get Ticker Information" (public, no key, about one request a second). It gives no
 * timestamp, so a price holds from when it was asked for. Prices are strings there; no float is ever read.
 */
import { Clock, Effect, Layer, Result, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as Plugin from "../../runtime/Plugin.ts"
import { type PricePoint, PriceSourceFailed, Quotes } from "../../runtime/Quotes.ts"
import { compareRates, isWithin, midpoint, rateText, readRate } from "../../schemas/Money.ts"
import { Environment } from "../../schemas/Network.ts"

/**
 * Kraken's name of each asset. Wrapped coins are redeemable one to one by their contract and priced as the coin.
 * An asset absent here, or a pair Kraken does not list, simply gets no price from this source.
 */
const krakenAssets: Readonly<Record<string, string>> = {
  "ethereum": "ETH",
  "weth": "ETH",
  "usd-coin": "USDC",
  "tether": "USDT",
  "dai": "DAI",
  "paypal-usd": "PYUSD",
  "euro-coin": "EURC",
  "solana": "SOL",
  "avalanche-2": "AVAX",
  "wrapped-avax": "AVAX",
  "binancecoin": "BNB",
  "wbnb": "BNB",
  "cardano": "ADA",
  "sui": "SUI",
  "the-open-network": "TON",
  "wrapped-bitcoin": "WBTC"
}

const timeoutMillis = 5_000

/** Bytes of an answer that are read at most; 20 pairs take about 6 KiB. */
const maximumAnswerBytes = 262_144

/** Pairs in one request: the URL stays under 1 KiB. */
const maximumPairs = 50

/** Milliseconds before a pair that Kraken did not know is asked for again. */
const unlistedMillis = 3_600_000

/** Ask over bid, in basis points, beyond which the book is too empty for its middle to mean anything. */
const maximumSpreadBasisPoints = 200n

const AssetName = Schema.String.check(Schema.isPattern(/^[A-Z0-9]{1,12}$/, { message: "Expected a name like \"ETH\"" }))

const Options = Schema.Struct({
  /** Where the API is; for a proxy, or tests. */
  baseUrl: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s?#]+$/))),
  /** Kraken names of further assets, or other names of known ones: asset id -> name, e.g. `{ "bitcoin": "XBT" }`. */
  assets: Schema.optionalKey(Schema.Record(Schema.String, AssetName).check(Schema.isMaxProperties(maximumPairs))),
  environments: Schema.optionalKey(Schema.NonEmptyArray(Environment))
})

const Side = Schema.NonEmptyArray(Schema.String)
const Ticker = Schema.Struct({ a: Side, b: Side })
const Answer = Schema.fromJsonString(Schema.Struct({
  error: Schema.Array(Schema.String),
  result: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}))

const decodeAnswer = Schema.decodeUnknownResult(Answer)
const decodeTicker = Schema.decodeUnknownResult(Ticker)

/** Names under which Kraken answers for a pair: older assets get an X in front, the dollar a Z. */
const resultKeys = (name: string): ReadonlyArray<string> => [`${name}USD`, `X${name}ZUSD`, `${name}ZUSD`, `X${name}USD`]

/** The middle of a book as text; undefined when the book is missing, unreadable, crossed or too wide. */
const middle = (book: unknown): string | undefined => {
  const ticker = decodeTicker(book)
  if (Result.isFailure(ticker)) return undefined
  const ask = readRate(ticker.success.a[0])
  const bid = readRate(ticker.success.b[0])
  if (ask === undefined || bid === undefined || compareRates(bid, ask) > 0) return undefined
  return isWithin(ask, bid, maximumSpreadBasisPoints) ? rateText(midpoint(bid, ask)) : undefined
}

const failed = (reason: string) => new PriceSourceFailed({ source: "kraken", reason })

/** The body as text; fails when it is larger than {@link maximumAnswerBytes} instead of reading on. */
const boundedText = (response: HttpClientResponse.HttpClientResponse) =>
  response.stream.pipe(
    Stream.runFoldEffect(
      () => ({ chunks: [] as Array<Uint8Array>, bytes: 0 }),
      ({ bytes, chunks }, chunk) =>
        bytes + chunk.length > maximumAnswerBytes
          ? Effect.fail(failed(`answer of more than ${maximumAnswerBytes} bytes`))
          : Effect.sync(() => {
            chunks.push(chunk)
            return { chunks, bytes: bytes + chunk.length }
          })
    ),
    Effect.map(({ chunks }) => Buffer.concat(chunks).toString("utf8"))
  )

/** Books by Kraken's key; `undefined` when Kraken refused the request because it does not know one of the pairs. */
const books = (body: string): Effect.Effect<Readonly<Record<string, unknown>> | undefined, PriceSourceFailed> => {
  const answer = decodeAnswer(body)
  if (Result.isFailure(answer)) return Effect.fail(failed("answer that cannot be read"))
  const { error, result } = answer.success
  if (error.some((text) => text.includes("Unknown asset pair"))) return Effect.succeed(undefined)
  return error.length > 0 || result === undefined
    ? Effect.fail(failed(error.join(", ").slice(0, 200) || "answer without a result"))
    : Effect.succeed(result)
}

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const quotes = yield* Quotes
    const client = yield* HttpClient.HttpClient
    const names = new Map(Object.entries({ ...krakenAssets, ...options.assets }))
    const unlistedUntil = new Map<string, number>()
    const url = `${(options.baseUrl ?? "https://api.kraken.com").replace(/\/+$/, "")}/0/public/Ticker`

    const request = (pairs: ReadonlyArray<string>) =>
      client.execute(HttpClientRequest.get(url, {
        urlParams: { pair: pairs.map((name) => `${name}USD`).join(",") },
        headers: { accept: "application/json", "user-agent": "tillwire" }
      })).pipe(
        Effect.filterOrFail(({ status }) => status === 200, ({ status }) => failed(`HTTP status ${status}`)),
        Effect.flatMap(boundedText),
        Effect.catchTag("HttpClientError", (error) => Effect.fail(failed(error.message))),
        Effect.flatMap(books)
      )

    /** Kraken refuses a whole request for one unknown pair, so halves are tried until the unknown one is alone. */
    const ask = (pairs: ReadonlyArray<string>): Effect.Effect<Readonly<Record<string, unknown>>, PriceSourceFailed> =>
      Effect.flatMap(request(pairs), (found) => {
        if (found !== undefined) return Effect.succeed(found)
        const half = pairs.length >> 1
        if (half === 0) {
          return Effect.map(Clock.currentTimeMillis, (now) => {
            for (const pair of pairs) unlistedUntil.set(pair, now + unlistedMillis)
            return {}
          })
        }
        return Effect.zipWith(ask(pairs.slice(0, half)), ask(pairs.slice(half)), (a, b) => ({ ...a, ...b }))
      })

    const prices = Effect.fnUntraced(function*(assets: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      const wanted = new Set(assets.flatMap((asset) => {
        const name = names.get(asset)
        return name === undefined || (unlistedUntil.get(name) ?? 0) > now ? [] : [name]
      }))
      if (wanted.size === 0) return []
      const found = new Map(Object.entries(yield* ask([...wanted].slice(0, maximumPairs))))
      const at = Math.floor(now / 1000)
      return assets.flatMap((asset): ReadonlyArray<PricePoint> => {
        const name = names.get(asset)
        const key = name === undefined ? undefined : resultKeys(name).find((candidate) => found.has(candidate))
        const rate = key === undefined ? undefined : middle(found.get(key))
        return rate === undefined ? [] : [{ asset, rate, at }]
      })
    }, Effect.timeoutOrElse({
      duration: timeoutMillis,
      orElse: () => Effect.fail(failed(`no answer in ${timeoutMillis} ms`))
    }))

    yield* quotes.register({ name: "kraken", environments: options.environments ?? ["devnet", "mainnet"], prices })
  })

/** Bid-ask middles from Kraken's public API. Source name `kraken`. */
export const plugin = Plugin.make({
  name: "kraken",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
