/** The merchant's events as they come, oldest first, from a place that a caller remembers. */
import { Effect } from "effect"
import { call, type Connection } from "./Connection.ts"
import { commandFailed } from "./Failure.ts"

type EventList = Effect.Success<ReturnType<typeof readPage>>
export type FeedEvent = EventList["data"][number]

/** Events that a look back reads, at most: more are a matter of a replay, not of a terminal. */
export const maximumCatchUp = 10_000

/** Events of a page: the most that the API gives. */
const pageSize = 100

const readPage = (connection: Connection, query: Readonly<Record<string, string | number>>) =>
  Effect.map(
    call(connection, (client, signal) => client.get("/api/v1/events", { query: query as {}, signal })),
    ({ data }) => data
  )

/** Types that a list of events is filtered by; empty: all but those that come only where they are named. */
export interface FeedFilter {
  readonly types: string | undefined
}

const filterOf = ({ types }: FeedFilter) => types === undefined ? {} : { type: types }

/** The id of the newest event there is, of any type: a position from which nothing later is missed. */
export const newestId = (connection: Connection) =>
  Effect.map(readPage(connection, { limit: 1 }), ({ data }) => data[0]?.id)

/** Events of `seconds` or later, oldest first. */
export const eventsFrom = Effect.fnUntraced(function*(connection: Connection, seconds: number, filter: FeedFilter) {
  const events: Array<FeedEvent> = []
  let cursor: string | undefined
  for (;;) {
    const page = yield* readPage(connection, {
      ...filterOf(filter),
      "created[gte]": seconds,
      limit: pageSize,
      ...(cursor === undefined ? {} : { starting_after: cursor })
    })
    events.push(...page.data)
    cursor = page.data.at(-1)?.id
    if (!page.has_more || cursor === undefined) return events.toReversed()
    if (events.length >= maximumCatchUp) {
      return yield* commandFailed("failed", `more than ${maximumCatchUp} events are that young`, "Name a later time.")
    }
  }
})

/** At most a page of the events after the one with `id`, oldest first; fewer than a page: there are no more yet. */
export const eventsAfter = (connection: Connection, id: string, filter: FeedFilter) =>
  Effect.map(
    readPage(connection, { ...filterOf(filter), ending_before: id, limit: pageSize }),
    ({ data, has_more }) => ({ events: data.toReversed(), hasMore: has_more })
  )
