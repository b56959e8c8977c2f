/** The SQL of endpoints as they are managed, and of their deliveries. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { deliveryQueries } from "./repo/DeliveryQueries.ts"
import { endpointQueries } from "./repo/EndpointQueries.ts"
import { failingEndpointQueries } from "./repo/FailingEndpoints.ts"
import { replayQueries } from "./repo/Replays.ts"

export type { Attempt, Delivery } from "./repo/DeliveryQueries.ts"
export { countWrite, type ManagedEndpoint, maximumDeleted } from "./repo/EndpointQueries.ts"
export type { EndpointFailure } from "./repo/FailingEndpoints.ts"
export type { Replay } from "./repo/Replays.ts"

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  ...endpointQueries(sql),
  ...deliveryQueries(sql),
  ...replayQueries(sql),
  ...failingEndpointQueries(sql)
}))

export type Repo = Effect.Success<typeof makeRepo>
