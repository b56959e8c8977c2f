/** Webhooks between the operator API and the services. */
import { Effect } from "effect"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import { Commit, dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { type OperatorAct, operatorWrites } from "../../../runtime/OperatorRoutes.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { type EventId, eventIdOf } from "../../../schemas/Ids.ts"
import { unknownCursor } from "../../../schemas/Page.ts"
import { Deliveries } from "../actor.ts"
import { failingObject } from "../handlers.ts"
import { OperatorWebhooksApi } from "../operator.ts"
import { makeRepo } from "../repo.ts"
import { defaultFailing } from "../rules.ts"

/** A merchant, and one of its endpoints. */
const cursorPattern = /^(\d{1,9}):(we_[0-9a-f-]{36})$/u

export const operatorHandlers = Operations.group(
  OperatorWebhooksApi,
  "operatorWebhooks",
  Effect.fn(function*(group) {
    const auditLog = yield* AuditLog
    const commit = yield* Commit
    const deliveries = yield* Deliveries
    const repo = yield* makeRepo
    const { environments } = yield* Settings

    /**
     * Keeps an act before it is done: deliveries are queued by no commit, so the entry cannot be in theirs, and an act
     * without its entry would be worse than an entry of an act that a crash prevented.
     */
    const keep = Effect.fnUntraced(function*(act: OperatorAct) {
      const writes = yield* operatorWrites(auditLog, act)
      yield* dieOnReplay(commit.append({
        merchantId: act.merchantId,
        environment: act.environment,
        cause: noCause,
        writes,
        events: []
      })).pipe(Effect.catchTag("Conflict", (bug) => Effect.die(bug)))
    })

    return group
      .handle(
        "failing",
        Effect.fnUntraced(function*({ query }) {
          const { limit = defaultFailing, merchant_id: merchantId = null, starting_after: cursor } = query
          const place = cursor === undefined ? undefined : cursorPattern.exec(cursor)
          if (place === null) return yield* unknownCursor(query, "a merchant's id, a colon and an endpoint's id")
          const after = { merchantId: Number(place?.[1] ?? 0), endpointId: place?.[2] ?? "" }
          const found = yield* repo.failingEndpoints({ merchantId, after, limit })
          const data = found.slice(0, limit)
            .map((each) => ({ object: "failing_endpoint" as const, ...failingObject(each) }))
          return { success: true as const, data: { object: "list" as const, data, has_more: found.length > limit } }
        })
      )
      .handle(
        "replay",
        Effect.fnUntraced(function*({ payload }) {
          const { endpoint_id: endpointId, merchant_id: merchantId } = payload
          const all = yield* repo.endpoints(merchantId)
          const chosen = all.filter(({ id, status }) =>
            endpointId === undefined ? status === "enabled" : id === endpointId
          )
          if (chosen.length === 0) return yield* publicError("WEBHOOK_NOT_FOUND")
          const request = {
            fromEventId: payload.from_event_id ?? undefined,
            createdFrom: payload.created_gte ?? undefined,
            createdTo: payload.created_lte ?? undefined,
            types: payload.types ?? undefined,
            onlyFailed: payload.only_failed ?? true
          }
          const endpoints = yield* Effect.forEach(chosen, (endpoint) =>
            Effect.gen(function*() {
              const replay = yield* deliveries.replayForOperator(
                endpoint,
                request,
                keep({
                  merchantId,
                  environment: endpoint.environment ?? environments[0],
                  action: "webhook_endpoint.replay",
                  subject: { object: "webhook_endpoint", id: endpoint.id },
                  before: {},
                  after: {
                    from_event_id: request.fromEventId ?? null,
                    created_gte: request.createdFrom ?? null,
                    created_lte: request.createdTo ?? null,
                    types: request.types ?? null,
                    only_failed: request.onlyFailed
                  }
                })
              )
              return {
                endpoint_id: endpoint.id,
                queued: replay.queued,
                has_more: replay.next !== undefined,
                next_event_id: replay.next === undefined ? null : eventIdOf(replay.next)
              }
            }))
          return {
            success: true as const,
            data: {
              object: "webhook_replay" as const,
              merchant_id: merchantId,
              queued: endpoints.reduce((sum, { queued }) => sum + queued, 0),
              has_more: endpoints.some((each) => each.has_more),
              endpoints
            }
          }
        })
      )
      .handle(
        "retry",
        Effect.fnUntraced(function*({ params, payload: { merchant_id: merchantId } }) {
          const { eventId, id } = yield* deliveries.redeliverForOperator(
            merchantId,
            params.delivery_id,
            (endpoint) =>
              keep({
                merchantId,
                environment: endpoint.environment ?? environments[0],
                action: "webhook_delivery.retry",
                subject: { object: "webhook_delivery", id: params.delivery_id },
                before: {},
                after: { endpoint_id: endpoint.id }
              })
          )
          return {
            success: true as const,
            data: {
              object: "webhook_delivery" as const,
              delivery_id: `whd_${id}`,
              event_id: eventId as EventId
            }
          }
        })
      )
  })
)
