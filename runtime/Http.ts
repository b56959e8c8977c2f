/**
 * The HTTP port as plugins see it: error families, who is calling, idempotency. Definitions only, so that clients may
 * import an `api.ts` that names them; `http/` implements them.
 *
 * A group puts its family on last: `group.middleware(MerchantAuth).middleware(Flat)`; the last one is outermost.
 */
import { Context, Effect, Schema, SchemaGetter } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { nowSeconds } from "./Clock.ts"
import { RequestInfo } from "./http/RequestInfo.ts"
import type { IdempotentCall, ReplyWrite } from "./Commit.ts"
import type { Principal, SoleUse } from "../schemas/Auth.ts"
import type { Environment } from "../schemas/Network.ts"
import type { WireObject } from "../schemas/WireObject.ts"
import { downgrade } from "../schemas/Version.ts"
import {
  errorBody,
  type ErrorCode,
  errorCodes,
  type ErrorFamily,
  FlatErrorBody,
  meaningOf,
  PublicError,
  publicError,
  statusOf,
  WrappedErrorBody
} from "../schemas/Errors.ts"

export { type ErrorForm, plainErrors, type RequestFacts, RequestInfo } from "./http/RequestInfo.ts"

/**
 * Answers a wrapped 200 with `render` of what `act` made, and of now, epoch seconds; kept for a repeat together with
 * the change, as `act` does with its call.
 */
export const answerIdempotently = Effect.fnUntraced(function*<A, E>(
  act: (call: IdempotentCall<A>) => Effect.Effect<A, E>,
  render: (made: A, now: number) => object
) {
  const idempotency = yield* Idempotency
  const { requestId } = yield* RequestInfo
  const now = yield* nowSeconds
  const text = (made: A) => JSON.stringify({ success: true, data: render(made, now) })
  const made = yield* act({
    cause: { requestId, idempotencyKey: idempotency.key },
    reply: (made) => idempotency.reply(200, text(made))
  })
  return jsonText(text(made))
})

/** A credential that was found good: its principal, and what binds it beyond that. */
export interface Grant extends Principal {
  /** Epoch milliseconds at which it ends by itself; absent: never. */
  readonly endsAtMillis?: number
  /** What its owner calls a key. Absent: it is no key. */
  readonly keyName?: string
  /** What alone a key is for: every other route refuses it. Absent: for all that its permissions allow. */
  readonly use?: SoleUse
  /** Whether it may be used from an address (null: unknown); absent: from any. */
  readonly admits?: (address: string | null) => boolean
  /**
   * The session of a person, `ses_<uuid>` of a wallet's token or `tms_<uuid>` of the dashboard: what a logout ends, and
   * `Revocations` tells of. Absent for keys.
   */
  readonly session?: string
  /**
   * What `Revocations` is asked beside the session, after a space: the membership at this merchant, of a person whose
   * session is for several. Absent: the session is for one.
   */
  readonly membership?: string
  /** Epoch seconds from which on it may move money on mainnet; absent: at any time, as where there is no mainnet. */
  readonly moneyFrom?: number
  /** Epoch seconds until which a person has just proved who it is; absent: a key, or where there is no mainnet. */
  readonly freshUntil?: number
}

/** The merchant behind a request, put there by {@link MerchantAuth}. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Grant>()(
  "tillwire/runtime/Http/CurrentPrincipal"
) {}

/**
 * The code for a parameter of a query, path or body that its schema refuses, where `VALIDATION_ERROR` is not exact
 * enough. An endpoint or group adds its own by annotation; these hold everywhere.
 *
 * @example
 * HttpApiEndpoint.get("retrieve", "/:eventId", { … }).annotate(ParameterCodes, { eventId: "INVALID_EVENT_ID" })
 */
export const ParameterCodes = Context.Reference<Readonly<Record<string, ErrorCode>>>(
  "tillwire/runtime/Http/ParameterCodes",
  { defaultValue: () => ({}) }
)

/** Codes of {@link ParameterCodes} for the query parameters that mean the same on every list. */
export const listParameterCodes: Readonly<Record<string, ErrorCode>> = {
  limit: "INVALID_LIMIT",
  offset: "INVALID_OFFSET",
  page: "INVALID_PAGE",
  environment: "INVALID_ENVIRONMENT",
  starting_after: "INVALID_CURSOR",
  ending_before: "INVALID_CURSOR"
}

/**
 * What becomes of a query parameter that an endpoint below `/api/` does not know. The name that was meant, or those
 * there are, is told either way: `refused` with `VALIDATION_ERROR`, or, for endpoints whose clients were written before
 * there was a complete list of names, `warned` of by the header `X-Service-Warning` and otherwise ignored.
 */
export const UnknownParameters = Context.Reference<"refused" | "warned">("tillwire/runtime/Http/UnknownParameters", {
  defaultValue: () => "refused"
})

/** Marks endpoints whose path names a person: where the idempotency key of a call is kept, a hash stands for the path. */
export const PersonalPath = Context.Reference<boolean>("tillwire/runtime/Http/PersonalPath", {
  defaultValue: () => false
})

/**
 * Marks a group whose answers hold secrets, or depend on more than the right of its routes: a repeat by another
 * credential is another call, and is never given the stored answer.
 */
export const PrivateReplies = Context.Reference<boolean>("tillwire/runtime/Http/PrivateReplies", {
  defaultValue: () => false
})

/**
 * Marks a group that pages of any origin may call without credentials: answers carry `Access-Control-Allow-Origin: *`
 * and preflights are answered (modules/docs/reference/payor-sessions.md#rules-of-all-payor-calls).
 */
export const AnyOrigin = Context.Reference<boolean>("tillwire/runtime/Http/AnyOrigin", { defaultValue: () => false })

/**
 * Marks a group of pages whose forms send `application/x-www-form-urlencoded`: what is wrong with a request's body,
 * version or address is for its handlers to say, as a page; they read the body by `readForm` of `http/Body.ts`.
 */
export const TakesForms = Context.Reference<boolean>("tillwire/runtime/Http/TakesForms", { defaultValue: () => false })

/**
 * A refusal as it is shown at an address: HTML for people who came by a browser, or JSON of another shape for programs
 * that know no other; and headers beside those that every refusal has.
 */
export type ErrorPage =
  & { readonly headers: Readonly<Record<string, string>> }
  & ({ readonly html: string } | { readonly json: object })

/** What is known of a refused request: nothing of it was checked, and its headers may have come in part. */
export type RefusedRequest = Pick<HttpServerRequest.HttpServerRequest, "method" | "url" | "cookies"> & {
  readonly headers: Readonly<Record<string, string | undefined>>
}

/** Renders the refusal of a request. */
export type RenderErrorPage = (error: PublicError, request: RefusedRequest) => ErrorPage

/** How the refusal of a request looks. */
export interface PageChoice {
  /** Undefined: no page is registered for it, so its body is JSON. */
  readonly render: RenderErrorPage | undefined
  /** Whether another `Accept` would have been answered in another form. */
  readonly dependsOnAccept: boolean
}

/**
 * Pages in place of error bodies, for addresses that people open, and bodies of other shapes, for programs of another
 * protocol. A module that serves a path registers how a refusal looks there; whatever refuses a request of such an
 * address, the module or the runtime before it, answers with the refusal's own status and headers and with the page.
 */
export class ErrorPages extends Context.Service<ErrorPages, {
  /** `render` is asked for `path`, which is as routes name it, and for everything below it. */
  readonly register: (path: `/${string}`, render: RenderErrorPage) => Effect.Effect<void>
  /**
   * `render` is asked for the addresses of nobody else, for callers that take HTML rather than JSON (`Accept`): people
   * who mistyped an address. Errors below `/api` and `/ws` are JSON for everybody.
   */
  readonly registerForBrowsers: (render: RenderErrorPage) => Effect.Effect<void>
  readonly choose: (request: Pick<RefusedRequest, "url" | "headers">) => PageChoice
}>()("tillwire/runtime/Http/ErrorPages") {}

/** Marks a group whose security schemes are sent together: all of them, where schemes are otherwise alternatives. */
export const RequiresAllSchemes = Context.Reference<boolean>("tillwire/runtime/Http/RequiresAllSchemes", {
  defaultValue: () => false
})

/** Marks an endpoint whose answer carries an `ETag`, and is 304 to a caller whose `If-None-Match` names it. */
export const ConditionalGet = Context.Reference<boolean>("tillwire/runtime/Http/ConditionalGet", {
  defaultValue: () => false
})

/**
 * Headers of merchants' credentials, which must not come near a payment page: it is read by strangers
 * (modules/docs/reference/payor-sessions.md#the-session).
 */
export const merchantCredentials: ReadonlyArray<string> = ["x-api-key", "x-commerce-api-key", "authorization"]

/** Renders errors, schema errors included, as `{error, code}`. */
export class FlatErrors extends HttpApiMiddleware.Service<FlatErrors>()("tillwire/runtime/Http/FlatErrors") {}

/** Renders errors, schema errors included, as `{success:false, error:{…}}`. */
export class WrappedErrors extends HttpApiMiddleware.Service<WrappedErrors>()("tillwire/runtime/Http/WrappedErrors") {}

/**
 * Provides {@link CurrentPrincipal}. Requires an API key or the access token of a wallet, resolved by the rules of
 * modules/docs/reference/authentication.md#which-credential-counts. Fails with one of {@link authenticationErrors}.
 */
export class MerchantAuth extends HttpApiMiddleware.Service<MerchantAuth, { provides: CurrentPrincipal }>()(
  "tillwire/runtime/Http/MerchantAuth",
  {
    security: {
      apiKey: HttpApiSecurity.apiKey({ key: "x-api-key", in: "header" }),
      commerceKey: HttpApiSecurity.apiKey({ key: "x-commerce-api-key", in: "header" }),
      bearer: HttpApiSecurity.bearer
    }
  }
) {}

/**
 * What a stream is opened by that outlives its opening: `key_<uuid>`, the `ses_<uuid>` of a wallet's token, or the
 * `tms_<uuid>` of a person with its membership. Null for a wallet whose issuer names no session.
 */
export const revocableAs = ({ credential, kind, membership, session }: Grant): string | null => {
  if (kind === "key") return credential
  return session === undefined || membership === undefined ? session ?? null : `${session} ${membership}`
}

/** Limits of calls per address (modules/docs/reference/rate-limits.md#the-limits), as the settings name them. */
export type AddressLimit = "anonymous" | "badge" | "claim" | "document" | "link" | "nonce" | "page" | "payor"

/** The limit {@link Anonymous} holds a group or an endpoint to. */
export const AddressLimitOf = Context.Reference<AddressLimit>("tillwire/runtime/Http/AddressLimitOf", {
  defaultValue: () => "anonymous"
})

/**
 * For groups that ask for no credential: limits their calls per address. `health`, metrics and the payment page's
 * assets have no such limit.
 */
export class Anonymous extends HttpApiMiddleware.Service<Anonymous>()("tillwire/runtime/Http/Anonymous") {}

/** Whom a call with a valid credential counts for. */
export interface Caller extends Pick<Principal, "credential" | "kind"> {
  readonly merchantId: number
}

/**
 * Holds callers to their limits. What was counted is told in the answer's `RateLimit-*` headers, the last count if
 * there were several; a caller over a limit is refused with `RATE_LIMIT_EXCEEDED`. A route that `HttpApi` does not know
 * calls it by itself.
 */
export class RateLimiter extends Context.Service<RateLimiter, {
  /**
   * Runs `app` as a call with a valid credential: it counts for the credential and, if it is a key and the deployment
   * limits merchants, for all keys of its merchant together.
   */
  readonly credential: <A, E, R>(
    caller: Caller,
    app: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | PublicError, R>
  /** The same with a limit of a plugin's own in place of that of keys. `name`: of its windows, and in metrics. */
  readonly credentialWithin: <A, E, R>(
    limit: { readonly name: string; readonly perMinute: number },
    caller: Caller,
    app: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | PublicError, R>
  /** Counts a call of a payment session. */
  readonly session: (session: string) => Effect.Effect<void, PublicError>
  /**
   * Counts a call from the request's address, once for each limit however often it is asked for. Calls with a
   * credential that proves itself are not counted so: many callers may share an address.
   */
  readonly address: (
    request: HttpServerRequest.HttpServerRequest,
    limit: AddressLimit
  ) => Effect.Effect<void, PublicError>
  /** Counts deliveries that somebody asks for by hand, of one webhook endpoint: 10 a minute. */
  readonly endpoint: (endpoint: string) => Effect.Effect<void, PublicError>
  /** Counts a call whose credential was no good, and fails with `why`, or over the limit with that. */
  readonly refuse: (
    request: HttpServerRequest.HttpServerRequest,
    why: PublicError
  ) => Effect.Effect<never, PublicError>
}>()("tillwire/runtime/Http/RateLimiter") {}

/** What {@link MerchantAuth} may answer, for the errors of every endpoint behind it. */
export const authenticationErrors = [
  "UNAUTHORIZED",
  "API_KEY_INVALID",
  "TOKEN_INVALID",
  "TOKEN_EXPIRED",
  "SCOPE_MISMATCH",
  "PERMISSION_DENIED",
  "FRESH_PROOF_REQUIRED",
  "IP_NOT_ALLOWED",
  "AMBIGUOUS_CREDENTIALS",
  "INVALID_ENVIRONMENT",
  "ENVIRONMENT_FORBIDDEN",
  "MAINNET_NOT_ENABLED",
  "DEVNET_NOT_ENABLED",
  "RATE_LIMIT_EXCEEDED"
] as const satisfies ReadonlyArray<ErrorCode>

/** The idempotency of the request being served. */
export class Idempotency extends Context.Service<Idempotency, {
  /** The caller's key, or null when none was sent. */
  readonly key: string | null
  /**
   * What to put into the commit so that a repeat gets this very body: `undefined` when no key was sent. A handler that
   * then answers with the same status and body has stored its reply; any other answer worth keeping (2xx, 409, 410,
   * 422) is stored by a commit of its own after the handler. Pipe a commit that carries it through `dieOnReplay`
   * (`runtime/Commit.ts`). Where the commit stores what the body is made of, `reference` is kept in the body's place: a
   * kind of {@link ReplyRenderers}, a space, and the renderer's parameters, which hold no secret.
   */
  readonly reply: (status: number, body: string, reference?: ReplyReference) => ReplyWrite | undefined
}>()("tillwire/runtime/Http/Idempotency") {}

/** `<kind> <parameters>`: how a stored reply is rendered again. */
export type ReplyReference = `${string} ${string}`

/**
 * The bytes that a first call was answered with; undefined where the key they need is no longer configured. They must
 * never change for parameters that were once given out: an answer of another form is another kind.
 */
export type RenderReply = (merchantId: number, parameters: string) => Effect.Effect<string | undefined>

/** How modules render stored replies again that are not stored whole: by kind, `<what>_v<form>`. */
export class ReplyRenderers extends Context.Service<ReplyRenderers, {
  readonly register: (kind: string, render: RenderReply) => Effect.Effect<void>
  /** The answer that a {@link ReplyReference} stands for. A kind that no loaded module has is a defect. */
  readonly render: (merchantId: number, reference: string) => Effect.Effect<string | undefined>
}>()("tillwire/runtime/Http/ReplyRenderers") {}

/** Accepts `Idempotency-Key` on a write: replays, refuses another body, waits for a first request under way. */
export class Idempotent extends HttpApiMiddleware.Service<Idempotent, {
  requires: CurrentPrincipal
  provides: Idempotency
}>()("tillwire/runtime/Http/Idempotent") {}

/** As {@link Idempotent}, and fails with `IDEMPOTENCY_KEY_MISSING` without a key. */
export class IdempotencyRequired extends HttpApiMiddleware.Service<IdempotencyRequired, {
  requires: CurrentPrincipal
  provides: Idempotency
}>()("tillwire/runtime/Http/IdempotencyRequired") {}

/**
 * Marks an endpoint whose handler changes nothing but by one commit, which carries the reply of {@link Idempotency}: no
 * counter, no quote, no call to another service before it. Such a call is made without looking up a stored reply: the
 * commit itself finds the repeat and writes nothing, and the stored reply is looked up where the call is refused.
 */
export const ActsByOneCommit = Context.Reference<boolean>("tillwire/runtime/Http/ActsByOneCommit", {
  defaultValue: () => false
})

/** Tells that a credential ended, to what was opened by it and is still open. */
export class Revocations extends Context.Service<Revocations, {
  /** The owner of the ids that begin with `<kind>_`: answers those that are still good. */
  readonly register: (
    kind: "key" | "ses" | "tms",
    good: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  ) => Effect.Effect<void>
  /**
   * Returns within 5 s of the end of a key (`key_<uuid>`) or of a session (`ses_<uuid>`, `tms_<uuid>`) that was good
   * when it was called, on whichever instance it ended; `unknown` within 5 s of losing the database, when nobody can
   * tell any more.
   *
   * @example
   * const closing = Effect.flatMap(revocations.awaitEnd(key), (how) => end(credentialEnding(key, how)))
   * yield* Effect.raceFirst(serve(stream), closing)
   */
  readonly awaitEnd: (id: string) => Effect.Effect<"ended" | "unknown">
  /** Whether a key or session is good now: its owner is asked. */
  readonly isGood: (id: string) => Effect.Effect<boolean>
}>()("tillwire/runtime/Http/Revocations") {}

/** Checks credentials; the modules that own them register themselves here. */
export class Credentials extends Context.Service<Credentials, {
  /**
   * `verify` answers null for an unknown, revoked or expired key. Cached by the caller for at most 2 s. `isOurs` says
   * without a look-up whether the key proves by itself that it was made here; absent: none does.
   */
  readonly register: (
    verify: (key: string) => Effect.Effect<Grant | null>,
    isOurs?: (key: string) => boolean
  ) => Effect.Effect<void>
  /**
   * Null for an unknown, revoked or expired key. Before a key is looked up that nothing speaks for, neither its own
   * proof nor that it was good before, `admit` is asked, and its failure is the answer: wrong keys cost no look-up
   * each.
   */
  readonly verify: <E = never>(key: string, admit?: Effect.Effect<void, E>) => Effect.Effect<Grant | null, E>
  /**
   * The owner of access tokens: `verify` fails with `TOKEN_INVALID` or `TOKEN_EXPIRED`. The environment of what it
   * answers is the merchant's default. Cached by the caller for at most 2 s.
   */
  readonly registerBearer: (verify: (token: string) => Effect.Effect<Grant, PublicError>) => Effect.Effect<void>
  /** Fails with `TOKEN_INVALID`, also where nobody issues tokens, or `TOKEN_EXPIRED`. */
  readonly verifyBearer: (token: string) => Effect.Effect<Grant, PublicError>
}>()("tillwire/runtime/Http/Credentials") {}

/** An error as a client reads it. A code that only a newer service knows stands in `details.code`. */
export const readError = (
  code: string,
  more: Parameters<typeof publicError>[1] & { readonly message: string }
): PublicError =>
  (errorCodes as ReadonlyArray<string>).includes(code)
    ? publicError(code as ErrorCode, more)
    : publicError("INTERNAL_ERROR", { message: `${code}: ${more.message}`, details: { code } })

const codesKey = "tillwire/errorCodes"

/** Codes of calls that name the environment in which they act. */
export const environmentErrors = [
  "INVALID_ENVIRONMENT",
  "ENVIRONMENT_FORBIDDEN",
  "MAINNET_NOT_ENABLED",
  "DEVNET_NOT_ENABLED"
] as const

/** Codes of a merchant's lists that are read in pages and name their environment. */
export const listErrors = [
  "SCOPE_MISMATCH",
  "VALIDATION_ERROR",
  "INVALID_LIMIT",
  "INVALID_CURSOR",
  ...environmentErrors
] as const

/**
 * The errors of an endpoint, one schema per HTTP status, for the types and the reference. A handler fails with
 * `publicError(code)`; the family middleware renders it.
 *
 * @example
 * HttpApiEndpoint.get("get", "/:id", { …, error: errors("flat", "INVOICE_NOT_FOUND", "SERVICE_UNAVAILABLE") })
 */
export const errors = (family: ErrorFamily, ...codes: ReadonlyArray<ErrorCode>) => {
  const byStatus = Map.groupBy(codes, statusOf)
  return [...byStatus].map(([status, group]) => {
    const description = group.map((code) => `\`${code}\`: ${meaningOf(code)}.`).join("\n")
    const body: Schema.Codec<typeof FlatErrorBody.Type | typeof WrappedErrorBody.Type> = family === "flat"
      ? FlatErrorBody
      : WrappedErrorBody
    return body.pipe(
      Schema.decodeTo(Schema.instanceOf(PublicError), {
        decode: SchemaGetter.transform((wire) =>
          "success" in wire
            ? readError(wire.error.code, wire.error)
            : readError(wire.code, { message: wire.error })
        ),
        encode: SchemaGetter.transform((error: PublicError) => errorBody(error, family, "req_none") as never)
      })
    ).annotate({ httpApiStatus: status, description, [codesKey]: group })
  })
}

/** The codes behind one schema of {@link errors}. */
export const codesOf = (schema: Schema.Top): ReadonlyArray<ErrorCode> =>
  (Schema.resolveAnnotations(schema)?.[codesKey] ?? []) as ReadonlyArray<ErrorCode>

/** A response of exactly this JSON text: what was frozen is sent as it is, not encoded again. */
export const jsonText = (text: string, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(text, { status, contentType: "application/json" })

/**
 * An object as the version of this request shows it. Whatever a handler renders of an invoice payment passes through
 * it.
 */
export const toRequestVersion = (object: WireObject): Effect.Effect<WireObject> =>
  Effect.map(RequestInfo, ({ apiVersion }) => downgrade(object, apiVersion))

/**
 * The environment a read is about: the caller's own, or the other one where a merchant-scope key names it. A wallet's
 * call, and every write, is in the environment it names before any handler runs, and whether a caller has the right of
 * its route was judged in the one it reads. Fails with `ENVIRONMENT_FORBIDDEN`.
 */
export const readEnvironment = (
  principal: Principal,
  requested: Environment | undefined
): Effect.Effect<Environment, PublicError> =>
  requested === undefined || requested === principal.environment || principal.scope === "merchant"
    ? Effect.succeed(requested ?? principal.environment)
    : Effect.fail(publicError("ENVIRONMENT_FORBIDDEN"))

/** Fails with `SCOPE_MISMATCH` unless the caller's key is of merchant scope. */
export const requireMerchantScope = Effect.flatMap(
  CurrentPrincipal,
  (principal) => principal.scope === "merchant" ? Effect.succeed(principal) : Effect.fail(publicError("SCOPE_MISMATCH"))
)

/** Fails with `CREDENTIAL_NOT_ALLOWED` unless a person signed in: who finds a key must not act in a person's name. */
export const requirePerson = Effect.flatMap(
  requireMerchantScope,
  (principal) =>
    principal.kind === "wallet"
      ? Effect.succeed(principal)
      : Effect.fail(publicError("CREDENTIAL_NOT_ALLOWED", {
        message: "Only a person may do this: sign in with a wallet and send that token, not an API key"
      }))
)
