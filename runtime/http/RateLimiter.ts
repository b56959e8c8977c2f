/**
 * Who may call how often: the limits of the settings over the windows of `RateLimits.ts`, and what answers say of it.
 */
import { Effect, Layer, Metric, Record } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { SqlClient } from "effect/sql"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { type AddressLimit, type Caller, RateLimiter, type RequestFacts, RequestInfo } from "../Http.ts"
import type { Leases } from "../Leases.ts"
import { type RateLimitResult, RateLimits, windowMillis } from "../RateLimits.ts"
import * as Database from "../ratelimits/Database.ts"
import * as Memory from "../ratelimits/Memory.ts"
import { Settings, type SettingsValue } from "../Settings.ts"
import { initializeSeries } from "../Telemetry.ts"
import { callerBehind, prefixesOf } from "./Addresses.ts"

/** Names of windows: those of addresses, of who proved who it is, and of webhook endpoints. */
type LimitName = AddressLimit | "key" | "merchant" | "session" | "endpoint"

/** Calls that make deliveries of an endpoint by hand, in a minute: more is no recovery but a load on the receiver. */
const endpointPerMinute = 10

/** Calls in a minute. Infinity: no limit, and nothing is counted. */
const limitsOf = ({ limits }: Pick<SettingsValue, "limits">): Readonly<Record<LimitName, number>> => ({
  key: limits.keyPerMinute,
  merchant: limits.merchantPerMinute ?? Infinity,
  session: limits.sessionPerMinute,
  payor: limits.payorPerMinute,
  anonymous: limits.anonymousPerMinute,
  nonce: limits.noncePerMinute,
  page: limits.pagePerMinute,
  claim: limits.claimPerMinute,
  link: limits.linkPerMinute,
  document: limits.documentPerMinute,
  badge: limits.badgePerMinute,
  endpoint: endpointPerMinute
})

/** Seconds of a window: by then all of it is free, so no answer names a later moment, whatever was rounded. */
const windowSeconds = windowMillis / 1000

const limited = Metric.counter("rate_limited_total", { description: "Calls refused by a limit", incremental: true })

/**
 * Whole seconds, at most {@link windowSeconds}; for a refused caller so many that the wait is over, because the edge
 * itself is not past it. Of a call that was accepted in the same instant, the answer's way to the caller is past the
 * edge.
 */
const secondsOf = ({ accepted, resetMillis }: RateLimitResult): number =>
  Math.min(windowSeconds, accepted ? Math.ceil(resetMillis / 1000) : Math.floor(resetMillis / 1000) + 1)

/** Waiting that long helps where too many calls are under way (modules/docs/reference/rate-limits.md#429). */
const inFlightSeconds = 1

const refusal = (name: string, seconds: number): PublicError =>
  publicError("RATE_LIMIT_EXCEEDED", {
    ...(name === "merchant"
      ? { message: "Too many requests by all keys of this merchant together: wait as long as Retry-After says" }
      : {}),
    details: { retry_after_seconds: seconds },
    retryAfterSeconds: seconds
  })

// oxlint-disable-next-line max-lines-per-function -- one function for each limit, over the same counters
const make = Effect.gen(function*() {
  const windows = yield* RateLimits
  const settings = yield* Settings
  const limits = limitsOf(settings)
  const limitTexts = Record.map(limits, String)
  const policies = Record.map(limits, (limit) => `${limit};w=${windowSeconds}`)
  const callerOf = callerBehind(settings.http.trustProxy)
  const inFlight = new Map<string, number>()
  /** The limits that a request was counted for by its address. */
  const countedAs = new WeakMap<HttpServerRequest.HttpServerRequest, Set<AddressLimit>>()

  /** The answer's headers (draft-ietf-httpapi-ratelimit-headers, its form with one header for each fact). */
  const tell = ({ answerHeaders }: RequestFacts, name: LimitName, remaining: number, seconds: number) => {
    answerHeaders["ratelimit-limit"] = limitTexts[name]
    answerHeaders["ratelimit-remaining"] = String(remaining)
    answerHeaders["ratelimit-reset"] = String(seconds)
    answerHeaders["ratelimit-policy"] = policies[name]
  }

  /** The same of a limit that is a plugin's own. */
  const tellOwn = ({ answerHeaders }: RequestFacts, perMinute: number, remaining: number, seconds: number) => {
    answerHeaders["ratelimit-limit"] = String(perMinute)
    answerHeaders["ratelimit-remaining"] = String(remaining)
    answerHeaders["ratelimit-reset"] = String(seconds)
    answerHeaders["ratelimit-policy"] = `${perMinute};w=${windowSeconds}`
  }

  yield* initializeSeries(limited, [...Object.keys(limitTexts), "in_flight"].map((limit) => ({ limit })))

  const refuse = (name: string, seconds: number) =>
    Effect.andThen(
      Metric.update(Metric.withAttributes(limited, { limit: name }), 1),
      Effect.fail(refusal(name, seconds))
    )

  /** Counts a call and goes on with `app`. Few steps: every request of a merchant takes them. */
  const counted = <A, E, R>(
    facts: RequestFacts,
    name: LimitName,
    who: string,
    app: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | PublicError, R> =>
    Effect.flatMap(windows.take(name, who, limits[name]), (verdict): Effect.Effect<A, E | PublicError, R> => {
      const seconds = secondsOf(verdict)
      tell(facts, name, verdict.remaining, seconds)
      return verdict.accepted ? app : refuse(name, seconds)
    })

  /**
   * Counts a call for the key's merchant, after the key's own limit accepted it: a key over its own limit uses up
   * nothing of the merchant's other keys. The `RateLimit-*` headers show whichever of the two limits leaves fewer
   * calls.
   */
  const countForMerchant = <A, E, R>(
    facts: RequestFacts,
    merchantId: number,
    app: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | PublicError, R> =>
    Effect.flatMap(
      windows.take("merchant", String(merchantId), limits.merchant),
      (verdict): Effect.Effect<A, E | PublicError, R> => {
        const seconds = secondsOf(verdict)
        const isTighter = !verdict.accepted || verdict.remaining < Number(facts.answerHeaders["ratelimit-remaining"])
        if (isTighter) tell(facts, "merchant", verdict.remaining, seconds)
        return verdict.accepted ? app : refuse("merchant", seconds)
      }
    )

  const count = (name: LimitName, who: string): Effect.Effect<void, PublicError> =>
    Effect.withFiber((fiber) => counted(fiber.getRef(RequestInfo), name, who, Effect.void))

  const leave = (credential: string): undefined => {
    const left = inFlight.get(credential)! - 1
    if (left === 0) inFlight.delete(credential)
    else inFlight.set(credential, left)
  }

  /** An interruption between entering and leaving cannot happen: both stand inside of `onExitPrimitive`. */
  const underWay = <A, E, R>(
    { credential, kind, merchantId }: Caller,
    app: Effect.Effect<A, E, R>,
    countCall: (
      facts: RequestFacts,
      app: Effect.Effect<A, E | PublicError, R>
    ) => Effect.Effect<A, E | PublicError, R> = (facts, app) => counted(facts, "key", credential, app)
  ): Effect.Effect<A, E | PublicError, R> => {
    let entered = false
    const isLimitedByMerchant = limits.merchant !== Infinity && kind === "key"
    const enter = Effect.withFiber((fiber): Effect.Effect<A, E | PublicError, R> => {
      const facts = fiber.getRef(RequestInfo)
      const running = inFlight.get(credential) ?? 0
      if (running >= settings.limits.keyInFlight) {
        tell(facts, "key", 0, inFlightSeconds)
        return refuse("in_flight", inFlightSeconds)
      }
      inFlight.set(credential, running + 1)
      entered = true
      return countCall(facts, isLimitedByMerchant ? countForMerchant(facts, merchantId, app) : app)
    })
    return Effect.onExitPrimitive(enter, () => entered ? leave(credential) : undefined)
  }

  /**
   * Counts in each range that the address belongs to, the narrowest first: a /64 over its own limit uses up nothing of
   * its neighbours'. The `RateLimit-*` headers show whichever limit leaves the fewest calls.
   */
  const address = (
    request: HttpServerRequest.HttpServerRequest,
    limit: AddressLimit
  ): Effect.Effect<void, PublicError> =>
    Effect.withFiber((fiber) => {
      const before = countedAs.get(request)
      if (before?.has(limit) === true) return Effect.void
      if (before === undefined) countedAs.set(request, new Set([limit]))
      else before.add(limit)
      const facts = fiber.getRef(RequestInfo)
      const prefixes = prefixesOf(callerOf(request) ?? "unknown")
      const countIn = (index: number, fewest: number): Effect.Effect<void, PublicError> => {
        const prefix = prefixes[index]
        if (prefix === undefined) return Effect.void
        return Effect.flatMap(windows.take(limit, prefix.name, limits[limit] * prefix.limitFactor), (verdict) => {
          const seconds = secondsOf(verdict)
          if (verdict.remaining < fewest) tell(facts, limit, verdict.remaining, seconds)
          return verdict.accepted ? countIn(index + 1, Math.min(fewest, verdict.remaining)) : refuse(limit, seconds)
        })
      }
      return countIn(0, Infinity)
    })

  const credentialWithin: RateLimiter["Service"]["credentialWithin"] = ({ name, perMinute }, caller, app) =>
    underWay(
      caller,
      app,
      (facts, app) =>
        Effect.flatMap(windows.take(name, caller.credential, perMinute), (verdict) => {
          const seconds = secondsOf(verdict)
          tellOwn(facts, perMinute, verdict.remaining, seconds)
          return verdict.accepted ? app : refuse(name, seconds)
        })
    )

  return RateLimiter.of({
    credential: (caller, app) => underWay(caller, app),
    credentialWithin,
    session: (session) => count("session", session),
    endpoint: (endpoint) => count("endpoint", endpoint),
    address,
    refuse: (request, why) => Effect.andThen(address(request, "anonymous"), Effect.fail(why))
  })
})

/** The windows of the settings' choice. */
const windows: Layer.Layer<RateLimits, never, SqlClient.SqlClient | Leases | Settings> = Layer.unwrap(
  Effect.map(
    Settings,
    ({ limits }): Layer.Layer<RateLimits, never, SqlClient.SqlClient | Leases> =>
      limits.store === "postgres" ? Database.layer : Memory.layer
  )
)

/** {@link RateLimiter} over windows of a test's own. */
export const layerOver = <E, R>(store: Layer.Layer<RateLimits, E, R>) =>
  Layer.provide(Layer.effect(RateLimiter, make), store)

/** Implements `RateLimiter`. */
export const layer: Layer.Layer<RateLimiter, never, SqlClient.SqlClient | Leases | Settings> = layerOver(windows)
