/** What addresses hold at the newest final block, by two endpoints where there are as many. */
import { Clock, Effect } from "effect"
import { DriverError, type FinalBalances } from "../Chains.ts"
import { isExpectedToAnswer } from "./EndpointPool.ts"
import type { Endpoints, NodeEndpoint } from "./Endpoints.ts"

const hasSameBalances = (one: FinalBalances, other: FinalBalances): boolean =>
  one.balances.every((balance, place) => balance === other.balances[place])

/**
 * Balances that two endpoints name differently are none: one of them is wrong, or something moves right now. Where only
 * one answers, or can tell (null: it cannot), its word is taken. Of two that agree the older block is told: both have
 * passed it.
 */
export const readAgreedBalances = <Client extends NodeEndpoint>(
  endpoints: Pick<Endpoints<Client>, "attempt" | "endpoints" | "pool" | "withFailover">,
  read: (endpoint: Client) => Effect.Effect<FinalBalances | null, DriverError>
): Effect.Effect<FinalBalances | null, DriverError> =>
  Effect.gen(function*() {
    const nowMillis = yield* Clock.currentTimeMillis
    const [first, second] = endpoints.endpoints.filter(({ place }) =>
      isExpectedToAnswer(endpoints.pool(), place, nowMillis)
    )
    if (first === undefined || second === undefined) return yield* endpoints.withFailover(read)
    const readFrom = (endpoint: Client) => Effect.result(endpoints.attempt(endpoint, read))
    const [one, other] = yield* Effect.all([readFrom(first), readFrom(second)], { concurrency: 2 })
    if (one._tag === "Failure") return yield* Effect.fromResult(other)
    if (other._tag === "Failure" || other.success === null) return one.success
    if (one.success === null) return other.success
    if (!hasSameBalances(one.success, other.success)) {
      return yield* new DriverError({
        network: first.network,
        reason: "two endpoints name different balances of a wallet: one of them is wrong, or something moves right now"
      })
    }
    const [older, newer] = one.success.point.height <= other.success.point.height
      ? [one.success, other.success]
      : [other.success, one.success]
    return { ...older, hasSent: older.hasSent || newer.hasSent }
  })
