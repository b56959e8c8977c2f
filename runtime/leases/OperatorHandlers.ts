/** {@link OperatorInstancesApi} over the table of leases, by the database's clock. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Leases } from "../Leases.ts"
import * as Operations from "../Operations.ts"
import { OperatorInstancesApi } from "./OperatorApi.ts"

/** Leases that one answer shows: a deployment has some dozens. */
const maximumLeases = 1_000

export const handlers = Operations.group(
  OperatorInstancesApi,
  "operatorInstances",
  Effect.fn(function*(group) {
    const sql = yield* SqlClient.SqlClient
    const leases = yield* Leases

    /** A holder is the instance's id, `:` and a number of its own. */
    const heldLeases = sql<{
      readonly instance: string
      readonly name: string
      readonly seconds_left: number
      readonly seconds_since_progress: number | null
    }>`
      SELECT split_part(holder, ':', 1) AS instance, name,
        ceil(extract(epoch FROM until - clock_timestamp()))::float8 AS seconds_left,
        greatest(0, floor(extract(epoch FROM clock_timestamp() - progressed_at)))::float8 AS seconds_since_progress
      FROM leases WHERE until > clock_timestamp() ORDER BY instance, name LIMIT ${maximumLeases}`.pipe(Effect.orDie)

    return group.handle(
      "list",
      Effect.fnUntraced(function*() {
        const found = yield* heldLeases
        const heldHere = new Set(
          (yield* leases.statuses).filter(({ isHeldHere }) => isHeldHere).map(({ name }) => name)
        )
        const data = [...Map.groupBy(found, ({ instance }) => instance)].map(([id, held]) => ({
          object: "instance" as const,
          id,
          answers_here: held.some(({ name }) => heldHere.has(name)),
          leases: held.map(({ name, seconds_left, seconds_since_progress }) => ({
            name,
            seconds_left,
            seconds_since_progress
          }))
        }))
        return { success: true as const, data: { object: "list" as const, data, has_more: false } }
      })
    )
  })
)
