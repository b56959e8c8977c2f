/**
 * Who is calling: credentials of headers, checked by whoever owns them
 * (modules/docs/reference/authentication.md#which-credential-counts).
 */
import { Deferred, Effect, Layer, Scope } from "effect"
import type { Headers, HttpServerRequest } from "effect/http"
import type { Principal, SoleUse } from "../../schemas/Auth.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { AuditLog } from "../AuditLog.ts"
import { nowSeconds } from "../Clock.ts"
import type { Commit } from "../Commit.ts"
import { Credentials, type Grant, RateLimiter } from "../Http.ts"
import { localCallerOf } from "../LocalCalls.ts"
import { objectionToAct } from "../Rights.ts"
import { objectionToRight } from "../../schemas/Authorization.ts"
import { Settings } from "../Settings.ts"
import { maximumTokenLength } from "./AccessToken.ts"
import { callerBehind } from "./Addresses.ts"
import { admit } from "./Admission.ts"
import { makeRecordDenials } from "./Denials.ts"
import type { Call } from "./Operation.ts"
import { versionOf } from "./Versions.ts"

/** How long a credential that was found good is not looked up again; with it a revoked one is refused within 5 s. */
const cacheMillis = 2_000

/** Credentials of a kind cached at once; the oldest is forgotten first. */
const cacheCapacity = 10_000

/** Characters of a key, at most: ours have 46. What is longer is not looked at. */
const maximumKeyLength = 128

/**
 * Keys of which it is remembered whether they were good when they were last looked up; the oldest is forgotten first.
 */
const standingCapacity = 50_000

type Verify = (key: string) => Effect.Effect<Grant | null>
type VerifyBearer = (token: string) => Effect.Effect<Grant, PublicError>

/**
 * Look-ups of credentials, cached: one for each text at a time, in a fiber of its own, so that a caller that goes away
 * takes nobody with it. What is bad is never cached, and takes no place while it is looked up: it could push out what
 * is good. `effect/Cache` keeps neither promise. `needsAdmission`: which texts are let through by `admit` first.
 */
const makeCredentialCache = <E>(
  scope: Scope.Scope,
  ask: (text: string) => Effect.Effect<Grant | null, E>,
  needsAdmission: (text: string) => boolean = () => false
) => {
  const entries = new Map<string, { readonly grant: Grant; readonly untilMillis: number }>()
  const pending = new Map<string, Deferred.Deferred<Grant | null, E>>()

  const store = (text: string, grant: Grant, askedAtMillis: number): void => {
    entries.delete(text)
    if (entries.size >= cacheCapacity) entries.delete(entries.keys().next().value!)
    const untilMillis = Math.min(askedAtMillis + cacheMillis, grant.endsAtMillis ?? Infinity)
    entries.set(text, { grant, untilMillis })
  }

  const lookUp = (text: string, nowMillis: number): Effect.Effect<Grant | null, E> => {
    const running = pending.get(text)
    if (running !== undefined) return Deferred.await(running)
    const answer = Deferred.makeUnsafe<Grant | null, E>()
    pending.set(text, answer)
    return ask(text).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          pending.delete(text)
          if (exit._tag === "Success" && exit.value !== null) store(text, exit.value, nowMillis)
          Deferred.doneUnsafe(answer, exit)
        })
      ),
      Effect.forkIn(scope),
      Effect.andThen(Deferred.await(answer))
    )
  }

  return <E2 = never>(text: string, admit?: Effect.Effect<void, E2>): Effect.Effect<Grant | null, E | E2> =>
    Effect.clockWith((clock): Effect.Effect<Grant | null, E | E2> => {
      const nowMillis = clock.currentTimeMillisUnsafe()
      const hit = entries.get(text)
      if (hit !== undefined && nowMillis < hit.untilMillis) return Effect.succeed(hit.grant)
      const grant = Effect.suspend(() => lookUp(text, nowMillis))
      return admit !== undefined && needsAdmission(text) ? Effect.andThen(admit, grant) : grant
    })
}

/** Whether a key was good when it was last looked up, of as many as {@link standingCapacity}. */
const makeStandings = () => {
  const known = new Map<string, boolean>()
  return {
    note: (key: string, isGood: boolean): void => {
      if (known.get(key) === isGood) return
      known.delete(key)
      if (known.size >= standingCapacity) known.delete(known.keys().next().value!)
      known.set(key, isGood)
    },
    of: (key: string): boolean | undefined => known.get(key)
  }
}

const refuseToken = publicError("TOKEN_INVALID")

/** The registry of credential owners and the memory of good credentials. */
export const credentials: Layer.Layer<Credentials> = Layer.effect(
  Credentials,
  Effect.gen(function*() {
    const scope = yield* Scope.Scope
    const owners: Array<{ readonly verify: Verify; readonly isOurs: (key: string) => boolean }> = []
    const standings = makeStandings()
    let issuer: VerifyBearer = () => Effect.fail(refuseToken)

    const isOurs = (key: string): boolean => owners.some((owner) => owner.isOurs(key))

    const askOwners = Effect.fnUntraced(function*(key: string) {
      for (const { verify } of owners) {
        const grant = yield* verify(key)
        if (grant !== null) {
          standings.note(key, true)
          return grant
        }
      }
      // A key that ended still proves that it was ours; others could be any text, and would fill the memory.
      if (standings.of(key) !== undefined || isOurs(key)) standings.note(key, false)
      return null
    })
    const key = makeCredentialCache(scope, askOwners, (text) => !(standings.of(text) ?? isOurs(text)))
    const token = makeCredentialCache(scope, (text) => issuer(text))

    return Credentials.of({
      register: (verify, isOurs = () => false) => Effect.sync(() => void owners.push({ verify, isOurs })),
      registerBearer: (verify) => Effect.sync(() => void (issuer = verify)),
      verify: (text, admit) =>
        text.length === 0 || text.length > maximumKeyLength ? Effect.succeed(null) : key(text, admit),
      verifyBearer: (text) =>
        text.length > maximumTokenLength
          ? Effect.fail(refuseToken)
          : Effect.flatMap(token(text), (grant) => grant === null ? Effect.fail(refuseToken) : Effect.succeed(grant))
    })
  })
)

/**
 * Which credential a request is judged by, or why none. Two key headers never mean "the first one wins" by accident.
 */
export type PresentedCredential =
  | { readonly _tag: "Key"; readonly key: string; readonly alias: string | undefined; readonly viaAlias: boolean }
  | { readonly _tag: "Bearer"; readonly token: string }
  | { readonly _tag: "Refused"; readonly error: PublicError }

const bearerPattern = /^bearer\b *(\S*) *$/i

/** Reads the credential headers. A key header wins over `Authorization`. */
export const credentialOf = (headers: Headers.Headers): PresentedCredential => {
  const key = headers["x-api-key"]
  const alias = headers["x-commerce-api-key"]
  if (key !== undefined) return { _tag: "Key", key, alias, viaAlias: false }
  if (alias !== undefined) return { _tag: "Key", key: alias, alias, viaAlias: true }
  const authorization = headers["authorization"] ?? ""
  const token = authorization.length > maximumTokenLength + 7 ? "" : bearerPattern.exec(authorization)?.[1]
  if (token !== undefined && token !== "") return { _tag: "Bearer", token }
  return { _tag: "Refused", error: publicError(/^bearer\b/i.test(authorization) ? "TOKEN_INVALID" : "UNAUTHORIZED") }
}

const objectionToEnvironment = (
  environment: Environment,
  served: ReadonlySet<Environment>,
  param: string | null = null
): PublicError | undefined =>
  served.has(environment)
    ? undefined
    : publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED", { param })

/** What speaks against a known key in this request, if anything. */
export const objectionTo = (
  { scope, environment }: Principal,
  { key, alias, viaAlias }: Extract<PresentedCredential, { _tag: "Key" }>,
  served: ReadonlySet<Environment>
): PublicError | undefined => {
  if (viaAlias && scope !== "commerce") return publicError("SCOPE_MISMATCH")
  if (alias !== undefined && alias !== key && scope === "merchant") return publicError("AMBIGUOUS_CREDENTIALS")
  return objectionToEnvironment(environment, served)
}

/** A key for one use that is tried on a route of the API. */
const refuseUse = (use: SoleUse): PublicError =>
  publicError("CREDENTIAL_NOT_ALLOWED", {
    message: `This key is for the use ${use} alone: take another key for calls of the API`
  })

type Request = HttpServerRequest.HttpServerRequest

/**
 * Judges the key that a request presents: unknown, of the wrong scope or environment, or sent from elsewhere. A key
 * that nothing speaks for counts for the caller's address before it is looked up: 429 beyond that limit.
 */
export const makeKeyCheck = Effect.gen(function*() {
  const { verify } = yield* Credentials
  const rateLimiter = yield* RateLimiter
  const settings = yield* Settings
  const served = new Set(settings.environments)
  const callerOf = callerBehind(settings.http.trustProxy)
  return (
    request: Request,
    presented: Extract<PresentedCredential, { _tag: "Key" }>
  ): Effect.Effect<Grant, PublicError> =>
    Effect.flatMap(verify(presented.key, rateLimiter.address(request, "anonymous")), (grant) => {
      if (grant === null) return Effect.fail(publicError("API_KEY_INVALID"))
      const objection = objectionTo(grant, presented, served)
      if (objection !== undefined) return Effect.fail(objection)
      if (grant.admits?.(callerOf(request)) === false) return Effect.fail(publicError("IP_NOT_ALLOWED"))
      return grant.use === undefined ? Effect.succeed(grant) : Effect.fail(refuseUse(grant.use))
    })
})

/** Lets a merchant's call in: its caller, counted, in the environment that the call is in. */
export type LetMerchantIn = <A, E>(
  call: Call,
  act: (caller: Grant) => Effect.Effect<A, E>
) => Effect.Effect<A, E | PublicError>

/** Implements `MerchantAuth`: the credential, then the limits of whoever it is, then what the call names. */
export const makeLetMerchantIn: Effect.Effect<
  LetMerchantIn,
  never,
  AuditLog | Commit | Credentials | Settings | RateLimiter
> = Effect.gen(
  function*() {
    const recordDenials = yield* makeRecordDenials
    const { verifyBearer } = yield* Credentials
    const byKey = yield* makeKeyCheck
    const settings = yield* Settings
    const rateLimiter = yield* RateLimiter
    const served = new Set(settings.environments)

    type Authenticated = Effect.Effect<Grant, PublicError>

    /** A wallet's call is in the environment it names; a key's is in its own, whichever one it reads. */
    const callerIn = (grant: Grant, named: Environment | undefined): Grant | PublicError => {
      if (grant.kind === "key") return grant
      const environment = named ?? grant.environment
      const objection = objectionToEnvironment(environment, served, named === undefined ? null : "environment")
      return objection ?? { ...grant, environment }
    }

    const authenticate = (request: Request): Authenticated => {
      const localCaller = localCallerOf(request)
      if (localCaller !== undefined) return Effect.succeed(localCaller)
      const presented = credentialOf(request.headers)
      const found = presented._tag === "Key"
        ? byKey(request, presented)
        : presented._tag === "Bearer"
        ? verifyBearer(presented.token)
        : Effect.fail(presented.error)
      return Effect.catch(found, (error) => rateLimiter.refuse(request, error))
    }

    /**
     * Judged in the environment that the call reads or changes, because play money may be seen and moved by more people
     * than real money.
     */
    const withRight = (
      { operation: { hasOwnProof, right } }: Call,
      caller: Grant,
      environment: Environment
    ): Authenticated => {
      if (right === null) return Effect.succeed(caller)
      const objection = objectionToRight(caller, right, environment)
      if (objection !== undefined) return Effect.fail(objection)
      if (caller.moneyFrom === undefined && caller.freshUntil === undefined) return Effect.succeed(caller)
      return Effect.flatMap(nowSeconds, (now) => {
        const late = objectionToAct(caller, right, environment, now, hasOwnProof)
        return late === undefined ? Effect.succeed(caller) : Effect.fail(late)
      })
    }

    const admitted = (call: Call, grant: Grant): Authenticated =>
      Effect.flatMapEager(admit(call, grant), (named): Authenticated => {
        const caller = callerIn(grant, named)
        return isPublicError(caller) ? Effect.fail(caller) : withRight(call, caller, named ?? caller.environment)
      })

    return (call, act) =>
      Effect.flatMap(authenticate(call.request), (grant) => {
        call.facts.apiVersion = versionOf(call.request.headers, grant.apiVersion)
        const answer = Effect.flatMap(Effect.suspend(() => admitted(call, grant)), act)
        const outcome = grant.kind === "key" ? answer : recordDenials(call, grant, answer)
        // A page makes several calls of its own: it was counted itself.
        return localCallerOf(call.request) === undefined ? rateLimiter.credential(grant, outcome) : outcome
      })
  }
)
