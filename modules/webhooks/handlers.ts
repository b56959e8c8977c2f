/** Wire to actor and back. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentPrincipal, Idempotency, jsonText, RequestInfo } from "../../runtime/Http.ts"
import type { EndpointRow } from "../../runtime/webhooks/Endpoints.ts"
import { Endpoints } from "./actor.ts"
import { WebhooksApi } from "./api.ts"

const createdText = (endpoint: EndpointRow, secret: string): string =>
  JSON.stringify({
    success: true,
    data: {
      id: endpoint.id,
      object: "webhook_endpoint",
      url: endpoint.url,
      status: endpoint.status,
      enabled_events: endpoint.filters,
      environment: endpoint.environment,
      api_version: endpoint.apiVersion,
      description: endpoint.description,
      secret,
      previous_secret_expires_at: endpoint.previousSecretExpiresAt,
      consecutive_failures: 0,
      disabled_reason: endpoint.disabledReason,
      created_at: endpoint.createdAt,
      updated_at: endpoint.updatedAt
    }
  })

export const handlers = HttpApiBuilder.group(WebhooksApi, "webhooks", Effect.fn(function*(group) {
  const endpoints = yield* Endpoints

  return group.handle("create", Effect.fnUntraced(function*({ payload }) {
    const principal = yield* CurrentPrincipal
    const idempotency = yield* Idempotency
    const { apiVersion, requestId } = yield* RequestInfo
    let text = ""
    yield* endpoints.create(
      principal,
      {
        url: payload.url,
        enabledEvents: payload.enabled_events,
        environment: payload.environment,
        description: payload.description ?? null,
        apiVersion: payload.api_version ?? apiVersion
      },
      { requestId, idempotencyKey: idempotency.key },
      (endpoint, secret) => {
        text = createdText(endpoint, secret)
        return idempotency.reply(200, text)
      }
    ).pipe(
      // The idempotency middleware takes it from here and answers with the first reply.
      Effect.catchTag("Replayed", (lost) => Effect.die(lost))
    )
    return jsonText(text)
  }))
}))
