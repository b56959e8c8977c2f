/**
 * The part of a price driver that is the same whoever is asked: one bounded GET, a pause where the provider asks for
 * one, and numbers read as the text they were sent as, so that no float ever stands between a provider and a price.
 */
import { Clock, DateTime, Effect, Option, Result, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { readText } from "../http/ResponseText.ts"
import { PriceSourceError } from "../Prices.ts"
import { compareRates, isWithin, midpoint, plainDecimal, type Rate, readRate } from "../../schemas/Money.ts"
import { Environment } from "../../schemas/Network.ts"

/** Milliseconds an answer may take. */
export const answerTimeoutMillis = 5_000

/** Bytes of an answer that are read at most; twenty pairs take about 6 KiB. */
export const maximumAnswerBytes = 262_144

/** Seconds a provider is left alone that answers 429, or 503 with a pause, without saying for how long. */
const defaultPauseSeconds = 60

/** Seconds a provider is left alone at most, whatever it asks for. */
const maximumPauseSeconds = 3_600

/** Milliseconds before a name that a provider did not know is asked for again. */
export const unlistedMillis = 3_600_000

/** Ask over bid, in basis points, beyond which a book is too empty for its middle to mean anything. */
export const maximumBookBasisPoints = 200n

/** Names that the options of a driver may add, at most. */
const maximumAssets = 200

/** Options that every provider takes. `name` is what the provider calls an asset. */
export const httpSourceOptions = <S extends Schema.Codec<string, string>>(name: S) => ({
  /** Where the API is; for a proxy, or tests. */
  baseUrl: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s?#]+$/))),
  /** The provider's names of further assets, or other names of known ones: asset id -> name. */
  assets: Schema.optionalKey(Schema.Record(Schema.String, name).check(Schema.isMaxProperties(maximumAssets))),
  environments: Schema.optionalKey(Schema.NonEmptyArray(Environment))
})

/** The environments of a provider whose options name none: real prices serve both. */
export const everyEnvironment = ["devnet", "mainnet"] as const

/** An answer of a status the caller expects; every number in `json` is the text it was sent as. */
export interface PriceResponse {
  readonly status: number
  readonly json: unknown
}

export interface PriceRequest {
  readonly url: string
  readonly params?: ReadonlyArray<readonly [name: string, value: string]>
  readonly headers?: Readonly<Record<string, string>>
  /** Statuses whose body means something besides 200. */
  readonly readable?: ReadonlyArray<number>
}

/** Keeps what a JSON number was written as; `JSON.parse` would make a double of it. */
const numberText = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" ? context?.source ?? String(value) : value

/** JSON with every number as its own text; a failure when it is none. */
export const exactJson = (text: string): Result.Result<unknown, unknown> =>
  Result.try(() => JSON.parse(text, numberText as (key: string, value: unknown) => unknown))

/** An epoch second written as a JSON number; undefined when it is none. */
export const epochSeconds = (text: string): number | undefined =>
  /^\d{1,12}$/.test(text) ? Number.parseInt(text, 10) : undefined

/** The exact middle of a book; undefined when a side is missing, unreadable, or the book is crossed or too wide. */
export const bookMiddle = (bidText: string | undefined, askText: string | undefined): Rate | undefined => {
  const bid = readRate(bidText ?? "")
  const ask = readRate(askText ?? "")
  if (ask === undefined || bid === undefined || compareRates(bid, ask) > 0) return undefined
  return isWithin(ask, bid, maximumBookBasisPoints) ? midpoint(bid, ask) : undefined
}

/** A price sent as a JSON number or a decimal string, as a plain decimal; undefined when it is no positive number. */
export const positiveDecimal = (text: string): string | undefined => {
  const plain = plainDecimal(text)
  return plain === undefined || readRate(plain) === undefined ? undefined : plain
}

/** Seconds of a `Retry-After`, which is a number of them or a date; at least 1 and at most an hour. */
const pauseSeconds = (header: string | undefined, nowMillis: number): number => {
  const requestedSeconds = header === undefined
    ? undefined
    : /^\d{1,9}$/.test(header.trim())
    ? Number.parseInt(header, 10)
    : Option.getOrUndefined(
      Option.map(DateTime.make(header), (date) => Math.ceil((DateTime.toEpochMillis(date) - nowMillis) / 1000))
    )
  return Math.min(Math.max(requestedSeconds ?? defaultPauseSeconds, 1), maximumPauseSeconds)
}

/** Whether an answer asks to be left alone: too many requests, a ban, not served here, or an outage with an end. */
const asksForPause = (status: number, headers: Readonly<Record<string, string | undefined>>): boolean =>
  status === 429 || status === 418 || status === 451 || (status === 503 && headers["retry-after"] !== undefined)

/**
 * A provider to ask. `get` fails with `PriceSourceError` for every status that is not 200 or `readable`, an answer of
 * more than {@link maximumAnswerBytes}, one that is no JSON, or none in {@link answerTimeoutMillis}. After a 429, 418,
 * 451, or a 503 with `Retry-After`, it fails without asking until the pause is over: as long as the provider says, a
 * minute where it does not, an hour for 451. Redirects are not followed.
 */
export const makePriceClient = Effect.fnUntraced(function*(name: string) {
  const client = yield* HttpClient.HttpClient
  const failure = (reason: string) => new PriceSourceError({ source: name, reason })
  let pausedUntil = 0

  const get = Effect.fnUntraced(
    function*(
      { headers = {}, params = [], readable = [], url }: PriceRequest
    ): Effect.fn.Return<PriceResponse, PriceSourceError> {
      const now = yield* Clock.currentTimeMillis
      if (now < pausedUntil) {
        return yield* failure(`left alone for ${Math.ceil((pausedUntil - now) / 1000)} s more, as it asked`)
      }
      const response = yield* client.execute(HttpClientRequest.get(url, {
        urlParams: params,
        headers: { accept: "application/json", "user-agent": "tillwire", ...headers }
      })).pipe(Effect.catchTag("HttpClientError", (error) => Effect.fail(failure(error.message))))
      const { status } = response
      if (asksForPause(status, response.headers)) {
        const seconds = status === 451 ? maximumPauseSeconds : pauseSeconds(response.headers["retry-after"], now)
        pausedUntil = now + seconds * 1000
        return yield* failure(`HTTP status ${status}: left alone for ${seconds} s`)
      }
      if (status !== 200 && !readable.includes(status)) return yield* failure(`HTTP status ${status}`)
      const text = yield* readText(
        response,
        maximumAnswerBytes,
        () => failure(`answer of more than ${maximumAnswerBytes} bytes`)
      ).pipe(
        Effect.catchTag("HttpClientError", (error) => Effect.fail(failure(error.message)))
      )
      const json = exactJson(text)
      return Result.isSuccess(json) ? { status, json: json.success } : yield* failure("answer that cannot be read")
    },
    Effect.timeoutOrElse({
      duration: answerTimeoutMillis,
      orElse: () => Effect.fail(failure(`no answer in ${answerTimeoutMillis} ms`))
    })
  )

  return { get, failure }
})

/** Names a provider does not know, each for {@link unlistedMillis}. */
export const makeUnlistedNames = () => {
  const until = new Map<string, number>()
  return {
    has: (name: string, nowMillis: number): boolean => (until.get(name) ?? 0) > nowMillis,
    add: (name: string): Effect.Effect<void> =>
      Effect.map(Clock.currentTimeMillis, (now) => void until.set(name, now + unlistedMillis))
  }
}

/**
 * Asks for `names` together where the provider refuses a whole request for one name it does not know, answered by null:
 * halves are asked until the unknown one is alone, which `unlistedNames` then remembers.
 */
export const requestWithBisect = Effect.fnUntraced(function*<A>(
  names: ReadonlyArray<string>,
  request: (names: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, A> | null, PriceSourceError>,
  unlistedNames: ReturnType<typeof makeUnlistedNames>
): Effect.fn.Return<ReadonlyMap<string, A>, PriceSourceError> {
  const found = yield* request(names)
  if (found !== null) return found
  const half = names.length >> 1
  if (half === 0) {
    yield* Effect.forEach(names, unlistedNames.add, { discard: true })
    return new Map()
  }
  const left = yield* requestWithBisect(names.slice(0, half), request, unlistedNames)
  const right = yield* requestWithBisect(names.slice(half), request, unlistedNames)
  return new Map([...left, ...right])
})
