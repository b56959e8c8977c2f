/** Between the wire and the stored texts. */
import { Effect, Queue, Stream } from "effect"
import type { CommittedEvent } from "../../runtime/Commit.ts"
import { EventBus } from "../../runtime/EventBus.ts"
import { CurrentPrincipal, jsonText, RequestInfo } from "../../runtime/Http.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { objectionToFilters } from "../../schemas/Authorization.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { eventText } from "../../schemas/Event.ts"
import { rightOfEvent } from "../../schemas/EventRights.ts"
import { compareEventPositions, type EventPosition, type MerchantId, readEventId } from "../../schemas/Ids.ts"
import { mayDo } from "../../schemas/Roles.ts"
import { anyType, selects } from "../../schemas/Webhook.ts"
import { EventsApi } from "./api.ts"
import { readPage } from "./rules.ts"
import * as Repo from "./repo.ts"
import { EventsRpc, type StreamedEvent } from "./rpc.ts"
import * as Operations from "../../runtime/Operations.ts"

export const handlers = Operations.group(
  EventsApi,
  "events",
  Effect.fnUntraced(function*(group) {
    const repo = yield* Repo.make
    const reads = yield* readsOf(Repo.make)
    return group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* CurrentPrincipal
          const page = readPage(principal, query)
          if (page instanceof PublicError) return yield* page
          const filters = query.type?.split(",") ?? [anyType]
          const denial = objectionToFilters(principal, filters, page.environment ?? null, "type")
          if (denial !== undefined) return yield* denial
          const { apiVersion } = yield* RequestInfo
          const isBehindFirst = page.direction === "older" && page.cursor !== undefined
          const { data, hasMore } = yield* reads.page(isBehindFirst, (from) => from.page(page, apiVersion))
          return jsonText(
            `{"success":true,"data":{"object":"list","data":[${data.join(",")}],"has_more":${hasMore}}}`
          )
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params }) {
          const principal = yield* CurrentPrincipal
          const { environment, merchantId, scope } = principal
          const position = readEventId(params.eventId)
          if (position === undefined) return yield* publicError("INVALID_EVENT_ID", { param: "eventId" })
          const { apiVersion } = yield* RequestInfo
          const row = yield* repo.event(merchantId, position, scope === "commerce" ? environment : null)
          if (row === undefined || !mayDo(principal, rightOfEvent(row.type), row.environment)) {
            return yield* publicError("EVENT_NOT_FOUND")
          }
          return jsonText(`{"success":true,"data":${Repo.textOf(row, apiVersion)}}`)
        })
      )
  })
)

/** Events that the stream reads at a time. */
const streamPage = 100

const firstPosition: EventPosition = { ms: 0n, seq: 0n }

const streamedEventOf = (event: CommittedEvent): StreamedEvent => ({
  id: event.id,
  merchant_id: event.merchantId as MerchantId,
  environment: event.environment,
  type: event.type,
  text: eventText(event, event.pendingWebhooks)
})

/**
 * The events of a merchant after a position that filters of types select, for ever. Rows are the truth and the bus only
 * says when to look again, so nothing is skipped however slow the reader is, and one waiting signal is all it holds.
 */
export const follow = (
  bus: typeof EventBus.Service,
  merchantId: number,
  after: EventPosition,
  filters: ReadonlyArray<string> = [anyType]
): Stream.Stream<CommittedEvent> =>
  Stream.unwrap(Effect.gen(function*() {
    const wakeUps = yield* Queue.sliding<void>(1)
    yield* bus.subscribe(`events.stream:${merchantId}`, (events) =>
      events.some((event) => event.merchantId === merchantId) ? Queue.offer(wakeUps, undefined) : Effect.void)

    const next = (position: EventPosition): Effect.Effect<readonly [ReadonlyArray<CommittedEvent>, EventPosition]> =>
      Effect.flatMap(bus.readAfter({ merchantId, position, limit: streamPage }), (events) => {
        const last = events.at(-1)
        return last === undefined
          ? Effect.andThen(
            Queue.take(wakeUps),
            Effect.suspend(() =>
              next(position)
            )
          )
          : Effect.succeed([events, last.position] as const)
      })

    return Stream.filter(
      Stream.flattenIterable(Stream.unfold(after, next)),
      ({ type }) => selects(filters, type)
    )
  }))

/** Where a stream begins, or why it cannot: it tells every event after its cursor, so none of them may be gone. */
const startOf = (bus: typeof EventBus.Service, merchantId: number, after: string | undefined) =>
  Effect.gen(function*() {
    if (after === undefined) return firstPosition
    const position = readEventId(after)
    if (position === undefined) return yield* publicError("INVALID_CURSOR", { param: "after" })
    if (compareEventPositions(position, yield* bus.prunedPosition(merchantId)) < 0) {
      return yield* publicError("INVALID_CURSOR", {
        message:
          "Events after this one were removed after 365 days: load the objects anew, then follow from the first event kept",
        param: "after"
      })
    }
    return position
  })

/** The calls of `EventsRpc`. */
export const rpcHandlers = Effect.gen(function*() {
  const bus = yield* EventBus
  return EventsRpc.of({
    "events.stream": ({ after, merchant_id, types }) =>
      Stream.unwrap(
        Effect.map(startOf(bus, merchant_id, after), (position) =>
          Stream.map(follow(bus, merchant_id, position, types), streamedEventOf))
      )
  })
})
