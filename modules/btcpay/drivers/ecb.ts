/**
 * Exchange rates for shops: the euro reference rates of the European Central Bank, of about 30 currencies, published
 * each working day at 16:00 in Frankfurt. The document is {@link publishedUrl}: a `Cube` with the day, and in it one
 * for each currency, with the amount of that currency that one euro is.
 *
 * The last good document is kept in the database, so that a start needs no answer of the bank, and several instances
 * ask it once.
 */
import { Effect, Layer, Ref, Result, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { SqlClient } from "effect/sql"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { readText } from "../../../runtime/http/ResponseText.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { compareRates, type Rate, readRate } from "../../../schemas/Money.ts"
import { type FiatRate, FiatRates, maximumRateAgeSeconds } from "../plugin.ts"

const name = "btcpay/ecb"

const publishedUrl = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"

/** Seconds between two reads of the document: it changes once on a working day. */
export const refreshSeconds = 6 * 3_600

/** Seconds after which a failed read is repeated. */
export const retrySeconds = 600

/** Milliseconds for the bank's answer. A longer read has failed and is repeated after {@link retrySeconds}. */
const timeoutMillis = 15_000

/** Bytes of the document that are read at most; it has 2 KB. */
const maximumBytes = 65_536

/** A document with fewer currencies is not the bank's: there have been 30 and more since 2011. */
const minimumCurrencies = 10

/** Seconds after midnight UTC from which a day's rates hold: the bank publishes them at 14:00 or 15:00 UTC. */
const publishedAtSeconds = 16 * 3_600

/** Percent by which a rate may differ from the last one. With more the document is taken for a mistake and left out. */
const maximumChangePercent = 30n

/** What a document says. */
export interface ReferenceRates {
  /** Epoch seconds. */
  readonly asOf: number
  /** Dollars of a unit of each currency, the euro among them. */
  readonly usdPer: ReadonlyMap<string, Rate>
}

const overRate = (a: Rate, b: Rate): Rate => ({
  numerator: a.numerator * b.denominator,
  denominator: a.denominator * b.numerator
})

/** Reads a document; what is wrong with it as text. Pure. */
export const readReferenceRates = (text: string): ReferenceRates | string => {
  const days = [...text.matchAll(/<Cube\s+time=["'](\d{4}-\d{2}-\d{2})["']\s*>/gu)]
  if (days.length !== 1) return `it has rates of ${days.length} days and not of one`
  const midnight = Date.parse(`${days[0]![1]!}T00:00:00Z`) / 1_000
  if (!Number.isInteger(midnight)) return `${days[0]![1]!} is no day`
  const perEuro = new Map<string, Rate>()
  for (
    const [, code, rateText] of text.matchAll(
      /<Cube\s+currency=["']([A-Z]{3})["']\s+rate=["']([\d.]{1,24})["']\s*\/>/gu
    )
  ) {
    const rate = readRate(rateText!)
    if (rate === undefined || perEuro.has(code!)) return `its rate of ${code!} cannot be read, or stands there twice`
    perEuro.set(code!, rate)
  }
  const dollars = perEuro.get("USD")
  if (dollars === undefined) return "it has no rate of the dollar"
  if (perEuro.size < minimumCurrencies) {
    return `it has ${perEuro.size} currencies, and there are at least ${minimumCurrencies}`
  }
  const usdPer = new Map([...perEuro].map(([code, rate]) => [code, overRate(dollars, rate)]))
  return { asOf: midnight + publishedAtSeconds, usdPer: usdPer.set("EUR", dollars) }
}

/** By more than {@link maximumChangePercent} up or down. */
const isFarFrom = (rate: Rate, last: Rate): boolean => {
  const share = (percent: bigint): Rate => ({
    ...last,
    numerator: last.numerator * percent,
    denominator: last.denominator * 100n
  })
  return compareRates(rate, share(100n + maximumChangePercent)) > 0 ||
    compareRates(rate, share(100n - maximumChangePercent)) < 0
}

/**
 * Why a document is not believed after the last one; null: it is. Once the last one is too old to price by, there is
 * nothing to compare with. Pure.
 */
export const objectionToRates = (
  { asOf, usdPer }: ReferenceRates,
  last: ReferenceRates | null,
  now: number
): string | null => {
  if (asOf - publishedAtSeconds > now) return "it is of a day to come"
  if (last === null || now - last.asOf > maximumRateAgeSeconds) return null
  if (asOf < last.asOf) return "it is older than the last one"
  const far = [...usdPer].find(([code, rate]) => {
    const before = last.usdPer.get(code)
    return before !== undefined && isFarFrom(rate, before)
  })
  return far === undefined ? null : `its rate of ${far[0]} is more than ${maximumChangePercent} % from the last one`
}

const isDocumentUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hostname, password, protocol, username } = new URL(text)
  const isLocal = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"
  return (protocol === "https:" || protocol === "http:" && isLocal) && username + password === ""
}

const Options = Schema.Struct({
  /** URL of a mirror of the document: https, or http on this machine. Default: the bank's own. */
  url: Schema.optionalKey(Schema.String.check(
    Schema.makeFilter((text: string) =>
      isDocumentUrl(text) || "Expected an https URL without credentials, or http on this machine"
    )
  ))
})

/** The rates could not be read or are not believed: `reason` says why. */
class RatesReadError extends Schema.TaggedError<RatesReadError>()("RatesReadError", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

const readError = (reason: string) => new RatesReadError({ reason })

interface StoredRow {
  readonly document: string
  readonly read_at: bigint
}

const make = ({ url = publishedUrl }: typeof Options.Type) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const client = yield* HttpClient.HttpClient
    const current = yield* Ref.make<ReferenceRates | null>(null)

    const fetchDocument = Effect.gen(function*() {
      const response = yield* client.execute(
        HttpClientRequest.get(url, { headers: { accept: "application/xml", "user-agent": "tillwire" } })
      )
      if (response.status !== 200) return yield* readError(`HTTP status ${response.status}`)
      return yield* readText(response, maximumBytes, () => readError(`it has more than ${maximumBytes} bytes`))
    }).pipe(
      Effect.catchTag("HttpClientError", (error) => Effect.fail(readError(error.message))),
      Effect.timeoutOrElse({
        duration: timeoutMillis,
        orElse: () => Effect.fail(readError(`no answer in ${timeoutMillis} ms`))
      })
    )

    /** The document in the database, whichever instance read it, and when; null: there is none that can be read. */
    const readStored = Effect.map(
      sql<StoredRow>`SELECT document, read_at FROM btcpay_fiat_rates WHERE source = ${name}`,
      ([row]) => {
        const rates = row === undefined ? "" : readReferenceRates(row.document)
        return row === undefined || typeof rates === "string" ? null : { rates, readAt: Number(row.read_at) }
      }
    )

    /** Reads the document where it is due, and answers the seconds until it is due again. */
    const refresh = Effect.gen(function*() {
      const now = yield* nowSeconds
      const stored = yield* readStored
      if (stored !== null) yield* Ref.set(current, stored.rates)
      if (stored !== null && now - stored.readAt < refreshSeconds) return refreshSeconds - (now - stored.readAt)
      const document = yield* fetchDocument
      const rates = readReferenceRates(document)
      if (typeof rates === "string") return yield* readError(rates)
      const objection = objectionToRates(rates, stored?.rates ?? null, now)
      if (objection !== null) return yield* readError(objection)
      yield* sql`INSERT INTO btcpay_fiat_rates (source, document, read_at) VALUES (${name}, ${document}, ${now})
        ON CONFLICT (source) DO UPDATE SET document = excluded.document, read_at = excluded.read_at`
      yield* Ref.set(current, rates)
      yield* Effect.logInfo("exchange rates read", { source: name, currencies: rates.usdPer.size })
      return refreshSeconds
    }).pipe(
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logWarning(
            `exchange rates not read from ${url}: the last ones hold until they are ${
              maximumRateAgeSeconds / 86_400
            } days old`,
            cause
          ),
          retrySeconds
        )
      )
    )

    // The database is read before the instance is ready, so that it has rates at once. The bank is not waited for.
    yield* Effect.flatMap(Effect.result(readStored), (stored) =>
      Result.isSuccess(stored) && stored.success !== null ? Ref.set(current, stored.success.rates) : Effect.void)
    yield* Effect.forkScoped(Effect.forever(Effect.flatMap(refresh, (seconds) =>
      Effect.sleep(seconds * 1_000))))

    yield* (yield* FiatRates).register({
      name: "ecb",
      usdPer: (code) =>
        Effect.map(Ref.get(current), (rates): FiatRate | null => {
          const rate = rates?.usdPer.get(code)
          return rates === null || rate === undefined ? null : { rate, asOf: rates.asOf }
        })
    })
  })

export const plugin = Plugin.make({
  name,
  slot: "modules",
  needs: { btcpay: FiatRates },
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
