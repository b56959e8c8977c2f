/** Who is calling: API keys from headers, checked by whoever owns them (API reference, "Authentication and keys"). */
import { Clock, Deferred, Effect, Layer, Scope } from "effect"
import { type Headers, HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Credentials, CurrentPrincipal, MerchantAuth, RequestInfo } from "../Http.ts"
import { Settings } from "../Settings.ts"
import { versionOf } from "./Versions.ts"

/** How long a key that was found good is not looked up again; with it a revoked key is refused within 5 s. */
const cacheMillis = 2_000

/** Keys remembered at once; the oldest is forgotten first. */
const cacheCapacity = 10_000

/** Characters of a key, at most: ours have 46. What is longer is not looked at. */
const maximumKeyLength = 128

type Verify = (key: string) => Effect.Effect<Principal | null>

/** The registry of key owners and the memory of good keys. A bad key is never remembered: it could fill the memory. */
export const credentials: Layer.Layer<Credentials> = Layer.effect(
  Credentials,
  Effect.gen(function*() {
    const scope = yield* Scope.Scope
    const owners: Array<Verify> = []
    const known = new Map<string, { readonly principal: Principal; readonly until: number }>()
    const underWay = new Map<string, Deferred.Deferred<Principal | null>>()

    const remember = (key: string, principal: Principal, now: number): void => {
      known.delete(key)
      if (known.size >= cacheCapacity) known.delete(known.keys().next().value!)
      known.set(key, { principal, until: now + cacheMillis })
    }

    const askOwners = Effect.fnUntraced(function*(key: string) {
      for (const verify of owners) {
        const principal = yield* verify(key)
        if (principal !== null) return principal
      }
      return null
    })

    /** One look-up per key at a time, in a fiber of its own: a caller that goes away takes nobody with it. */
    const lookUp = (key: string, now: number): Effect.Effect<Principal | null> => {
      const running = underWay.get(key)
      if (running !== undefined) return Deferred.await(running)
      const done = Deferred.makeUnsafe<Principal | null>()
      underWay.set(key, done)
      return askOwners(key).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            underWay.delete(key)
            if (exit._tag === "Success" && exit.value !== null) remember(key, exit.value, now)
            Deferred.doneUnsafe(done, exit)
          })
        ),
        Effect.forkIn(scope),
        Effect.andThen(Deferred.await(done))
      )
    }

    return Credentials.of({
      register: (verify) => Effect.sync(() => void owners.push(verify)),
      verify: (key) =>
        key.length === 0 || key.length > maximumKeyLength
          ? Effect.succeed(null)
          : Effect.flatMap(Clock.currentTimeMillis, (now) => {
            const hit = known.get(key)
            return hit !== undefined && now < hit.until ? Effect.succeed(hit.principal) : lookUp(key, now)
          })
    })
  })
)

/** Which key a request is judged by, or why none. Two key headers never mean "the first one wins" by accident. */
export type Presented =
  | { readonly _tag: "Key"; readonly key: string; readonly alias: string | undefined; readonly viaAlias: boolean }
  | { readonly _tag: "Refused"; readonly error: PublicError }

/** Reads the credential headers. A key header wins over `Authorization`; no bearer token is issued yet. */
export const presentedBy = (headers: Headers.Headers): Presented => {
  const key = headers["x-api-key"]
  const alias = headers["x-commerce-api-key"]
  if (key !== undefined) return { _tag: "Key", key, alias, viaAlias: false }
  if (alias !== undefined) return { _tag: "Key", key: alias, alias, viaAlias: true }
  const bearer = /^bearer\b/i.test(headers["authorization"] ?? "")
  return { _tag: "Refused", error: publicError(bearer ? "TOKEN_INVALID" : "UNAUTHORIZED") }
}

/** What speaks against a known key in this request, if anything. */
export const objectionTo = (
  { scope, environment }: Principal,
  { key, alias, viaAlias }: Extract<Presented, { _tag: "Key" }>,
  served: ReadonlySet<Environment>
): PublicError | undefined => {
  if (viaAlias && scope !== "commerce") return publicError("SCOPE_MISMATCH")
  if (alias !== undefined && alias !== key && scope === "merchant") return publicError("AMBIGUOUS_CREDENTIALS")
  if (served.has(environment)) return undefined
  return publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED")
}

/**
 * What stands behind `MerchantAuth`. It is declared with two security schemes, for the reference; both run the same
 * check, and the second run of a refused request answers what the first one found.
 */
export const merchantAuth: Layer.Layer<MerchantAuth, never, Credentials | Settings> = Layer.effect(
  MerchantAuth,
  Effect.gen(function*() {
    const { verify } = yield* Credentials
    const served = new Set((yield* Settings).environments)
    const refused = new WeakMap<object, PublicError>()

    const authenticate = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Principal, PublicError> => {
      const before = refused.get(request)
      if (before !== undefined) return Effect.fail(before)
      const fail = (error: PublicError) => {
        refused.set(request, error)
        return Effect.fail(error)
      }
      const presented = presentedBy(request.headers)
      if (presented._tag === "Refused") return fail(presented.error)
      return Effect.flatMap(verify(presented.key), (principal) => {
        if (principal === null) return fail(publicError("API_KEY_INVALID"))
        const objection = objectionTo(principal, presented, served)
        return objection === undefined ? Effect.succeed(principal) : fail(objection)
      })
    }

    const check = (app: Effect.Effect<HttpServerResponse.HttpServerResponse, never, CurrentPrincipal>) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.flatMap(authenticate(request), (principal) =>
          Effect.flatMap(RequestInfo, (facts) => {
            facts.apiVersion = versionOf(request.headers, principal.apiVersion)
            return Effect.provideService(app, CurrentPrincipal, principal)
          })))

    return MerchantAuth.of({ apiKey: check as never, commerceKey: check as never })
  })
)
