/**
 * The routes `/ws/merchant/events` and `/ws/commerce/events`: who may listen, and to what
 * (modules/docs/reference/websockets.md#streams).
 */
import { Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type Credentials, RateLimiter, revocableAs, Revocations } from "../Http.ts"
import { credentialOf, makeKeyCheck } from "../http/Authentication.ts"
import { makeOriginCheck } from "../http/Origins.ts"
import { queryOf } from "../http/Query.ts"
import { hasUnknownVersion, versionOf } from "../http/Versions.ts"
import { Settings } from "../Settings.ts"
import { Sockets } from "../Sockets.ts"
import { authorityOf, keyWithAuthority } from "../Rights.ts"
import { objectionToFilters } from "../../schemas/Authorization.ts"
import type { CredentialKind, KeyScope } from "../../schemas/Auth.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { rightsOfFilters } from "../../schemas/EventRights.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Authority } from "../../schemas/Roles.ts"
import { absentTypes, type EventStreamName, readStreamQuery } from "./Filters.ts"
import { objectionToHandshake, refuseUpgrade } from "./Upgrade.ts"

/** The address of each stream. */
export const eventStreamPaths = {
  merchant: "/ws/merchant/events",
  commerce: "/ws/commerce/events"
} as const satisfies Readonly<Record<EventStreamName, string>>

/** What opens a stream: a key, or a ticket that stands for one. */
export interface StreamGrant {
  readonly merchantId: number
  readonly scope: KeyScope
  readonly environment: Environment
  readonly apiVersion: string
  /** Whose connections are counted together. */
  readonly credential: string
  /** What ends the stream when it ends. */
  readonly revocableAs: string
  readonly kind: CredentialKind
  readonly authority: Authority
}

/** Uses up a ticket. Fails with `TOKEN_INVALID` or `TOKEN_EXPIRED`. */
export type RedeemTicket = (ticket: string) => Effect.Effect<StreamGrant, PublicError>

/** The environment a stream is of: only a merchant's own stream may name another than the credential's. */
const environmentOf = (
  stream: EventStreamName,
  { environment: own }: StreamGrant,
  requested: Environment | null
): Environment | PublicError =>
  requested === null || requested === own || stream === "merchant"
    ? requested ?? own
    : publicError("ENVIRONMENT_FORBIDDEN")

/**
 * What ends a stream. One that carries more than everybody may read ends also when its key may do something else: the
 * roles of people change, and their sessions end with them.
 */
const endingOf = ({ authority, kind, revocableAs: id }: StreamGrant, filters: ReadonlyArray<string>): string =>
  kind === "key" && rightsOfFilters(filters).length > 1 ? keyWithAuthority(id, authority) : id

/**
 * What to mount at the path of `stream`. Refuses before the upgrade, as wrapped errors: 403 `ORIGIN_NOT_ALLOWED` to
 * pages of other origins, what is wrong with the parameters, and what `MerchantAuth` refuses keys with;
 * `TOKEN_INVALID`, `TOKEN_EXPIRED` and `API_KEY_INVALID` for a ticket, the last one where the key behind it has ended;
 * `SCOPE_MISMATCH` for the other stream's; `PERMISSION_DENIED` for events that require a right which the caller has
 * not; `AMBIGUOUS_CREDENTIALS` for a key beside a ticket. A ticket is used up where a request of its owner is refused,
 * and else only by a stream.
 */
export const makeEventsRoute = (stream: EventStreamName, redeem: RedeemTicket) =>
  Effect.gen(function*() {
    const checkKey = yield* makeKeyCheck
    const revocations = yield* Revocations
    const rateLimiter = yield* RateLimiter
    const sockets = yield* Sockets
    const { http, publicUrl } = yield* Settings
    const isAllowed = makeOriginCheck(publicUrl, http.allowedOrigins)

    const grantByKey = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const presented = credentialOf(request.headers)
      if (presented._tag !== "Key") {
        return yield* publicError("UNAUTHORIZED", {
          message: "This stream takes an API key in x-api-key, or a `token` from POST /api/v1/ws/token"
        })
      }
      const grant = yield* checkKey(request, presented)
      const named = revocableAs(grant)
      return named === null
        ? yield* publicError("UNAUTHORIZED")
        : { ...grant, revocableAs: named, authority: authorityOf(grant) } satisfies StreamGrant
    })

    /**
     * A ticket may be older than the end of its key, and a key may come from the cache: a stream lives long.
     */
    const findGrant = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, ticket: string | null) {
      const grant: StreamGrant = yield* ticket === null ? grantByKey(request) : redeem(ticket)
      if (yield* revocations.isGood(grant.revocableAs)) return grant
      return yield* publicError(grant.revocableAs.startsWith("key_") ? "API_KEY_INVALID" : "TOKEN_INVALID")
    })

    /** Everything that can be judged before a credential is looked at: a ticket is not used up by a mistake. */
    const readRequest = (request: HttpServerRequest.HttpServerRequest) => {
      const { origin } = request.headers
      if (origin !== undefined && !isAllowed(origin)) return publicError("ORIGIN_NOT_ALLOWED")
      if (hasUnknownVersion(request.headers)) return publicError("INVALID_VERSION")
      const parameters = queryOf(request.url)
      const query = readStreamQuery(stream, parameters)
      if (query instanceof PublicError) return query
      const objection = objectionToHandshake(request)
      if (objection !== undefined) return objection
      const ticket = parameters.get("token")
      return ticket !== null && credentialOf(request.headers)._tag === "Key"
        ? publicError("AMBIGUOUS_CREDENTIALS", { message: "Send a key or `token`, not both" })
        : { ...query, ticket }
    }

    const serve = Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const streamRequest = readRequest(request)
      if (streamRequest instanceof PublicError) return yield* rateLimiter.refuse(request, streamRequest)
      const { filters, since, ticket } = streamRequest
      const grant = yield* Effect.catch(findGrant(request, ticket), (error) => rateLimiter.refuse(request, error))
      const environment = environmentOf(stream, grant, streamRequest.environment)
      if (grant.scope !== stream) return yield* publicError("SCOPE_MISMATCH")
      if (environment instanceof PublicError) return yield* environment
      const types = filters.types ?? absentTypes
      const denial = objectionToFilters({ ...grant.authority, kind: grant.kind }, types, environment, "types")
      if (denial !== undefined) return yield* denial
      const { credential, merchantId } = grant
      const opened = sockets.serveEvents({
        stream,
        merchantId,
        environment,
        credential,
        revocableAs: endingOf(grant, types),
        apiVersion: versionOf(request.headers, grant.apiVersion),
        filters,
        since
      })
      // A ticket was counted when it was made; without one, the stream was opened by a key.
      return yield* ticket === null ? rateLimiter.credential({ credential, merchantId, kind: "key" }, opened) : opened
    })

    return Effect.catch(serve, (error: PublicError) => refuseUpgrade(error)) as Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      never,
      HttpServerRequest.HttpServerRequest
    >
  }) satisfies Effect.Effect<unknown, never, Credentials | Revocations | Settings | Sockets | RateLimiter>
