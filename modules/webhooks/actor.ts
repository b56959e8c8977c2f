/** Load, decide, commit: how a merchant's endpoints change. */
import { Clock, Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, type CommitCause, type Replayed, type ReplyWrite } from "../../runtime/Commit.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { uuidV4 } from "../../runtime/Uuid.ts"
import { Webhooks } from "../../runtime/Webhooks.ts"
import { type EndpointRow, endpointWrite } from "../../runtime/webhooks/Endpoints.ts"
import { secretBytes, secretOf } from "../../runtime/webhooks/Signature.ts"
import { publicError, PublicError } from "../../schemas/Errors.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { maximumEndpoints } from "../../schemas/Webhook.ts"
import { decideEndpoint, type EndpointRequest, mayAdd } from "./machine.ts"
import { countWrite, makeRepo } from "./repo.ts"

/**
 * How often a creation that lost its count row to another instance is decided anew: each loss means that another
 * creation won, and no more than the limit can.
 */
const conflictRetries = maximumEndpoints

export class Endpoints extends Context.Service<Endpoints, {
  /**
   * Makes an endpoint with a new secret; `reply` is made of both and lands in the same commit. The limit of 16 is exact
   * under any concurrency: one mailbox per merchant here, and a count row with a version over all instances. Errors:
   * `WEBHOOK_URL_INVALID`, `WEBHOOK_LIMIT_REACHED`, `ENVIRONMENT_FORBIDDEN`, `INVALID_ENVIRONMENT`, `*_NOT_ENABLED`,
   * `VALIDATION_ERROR`.
   */
  readonly create: (
    principal: Principal,
    request: EndpointRequest,
    cause: CommitCause,
    reply: (endpoint: EndpointRow, secret: string) => ReplyWrite | undefined
  ) => Effect.Effect<void, PublicError | Replayed>
}>()("tillwire/modules/webhooks/Endpoints") {
  static readonly layer = Layer.effect(Endpoints, Effect.gen(function*() {
    const actors = yield* Actors
    const commit = yield* Commit
    const secrets = yield* Secrets
    const webhooks = yield* Webhooks
    const { environments } = yield* Settings
    const repo = yield* makeRepo

    const create = Effect.fnUntraced(function*(
      principal: Principal,
      request: EndpointRequest,
      cause: CommitCause,
      reply: (endpoint: EndpointRow, secret: string) => ReplyWrite | undefined
    ) {
      const decided = decideEndpoint(principal, request, environments)
      if (decided instanceof PublicError) return yield* decided
      const { environment, url } = decided
      yield* webhooks.checkUrl(url, { merchantId: principal.merchantId, environment })
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const secret = secretOf(yield* Effect.sync(() => randomBytes(secretBytes)))
      const endpoint: EndpointRow = {
        ...decided,
        id: `we_${yield* uuidV4}`,
        merchantId: principal.merchantId,
        version: 1,
        status: "enabled",
        sealedSecret: secrets.seal("webhook", secret),
        sealedPreviousSecret: null,
        previousSecretExpiresAt: null,
        ordered: false,
        disabledReason: null,
        createdAt: now,
        updatedAt: now
      }
      const kept = reply(endpoint, secret)
      const add = Effect.gen(function*() {
        const count = yield* repo.count(principal.merchantId)
        if (!mayAdd(count.endpoints)) return yield* publicError("WEBHOOK_LIMIT_REACHED")
        yield* commit.append({
          merchantId: principal.merchantId,
          environment: principal.environment,
          cause,
          writes: [
            countWrite({ ...count, version: count.version + 1, endpoints: count.endpoints + 1 }),
            endpointWrite(endpoint)
          ],
          events: [],
          ...(kept === undefined ? {} : { reply: kept })
        })
      })
      yield* actors.send("webhooks", String(principal.merchantId), add).pipe(
        Effect.retry({ times: conflictRetries, while: (error) => error._tag === "Conflict" }),
        Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
      )
    })

    return Endpoints.of({ create })
  }))
}
