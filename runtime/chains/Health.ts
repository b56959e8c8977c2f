/** How the networks are, and what was seen there and not dealt with, for health and metrics. */
import { Clock, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { nowSeconds } from "../Clock.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Chains, type NetworkCondition, type NetworkStatus } from "../Chains.ts"
import { Settings } from "../Settings.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** Milliseconds an entry may wait for its handler before somebody should look: many pauses of a try that failed. */
export const staleTransferMillis = 60_000

/**
 * Oldest unhandled entries that are looked at: more only wait behind them. Those of tokens that nobody lists are left
 * out: they are handled last, and a stranger may send so many that they wait.
 */
const scanLimit = 100

const conditions: ReadonlyArray<NetworkCondition> = ["ok", "silent", "frozen", "disagreement", "no_common_block"]

/** What a condition means for payments, and what to do; nothing of the nodes' addresses. */
export const conditionMessages: Readonly<Record<Exclude<NetworkCondition, "ok">, string>> = {
  silent: "no node answers, so no payment there is seen until one does. Check the nodes of this chain in the config.",
  frozen:
    "the newest block of its nodes does not move, so no payment there is seen until it does. Check the nodes, or add another.",
  disagreement:
    "its nodes are on different branches, so payments there are not confirmed and no invoice with an address there "
    + "expires until they agree. Find out which node is wrong, and replace it.",
  no_common_block:
    "none of the blocks that the service remembers is on the chain any more, or a node named a height that the chain "
    + "does not have, so nothing is followed. Make sure that its nodes are those of the right network and none is wrong, "
    + "then call chains.reanchor over RPC."
}

/** What is wrong with networks. Pure. */
export const networkFindings = (networks: ReadonlyArray<NetworkStatus>): ReadonlyArray<Finding> =>
  networks.flatMap(({ condition, environment, network }): ReadonlyArray<Finding> =>
    condition === "ok"
      ? []
      : [{ effect: "degraded", message: `${network} (${environment}): ${conditionMessages[condition]}` }]
  )

/** Entries that wait, by id and status, with the monotonic milliseconds of the look that first saw them so. */
export type WaitTimes = ReadonlyMap<string, number>

/**
 * What waits after a look that found `keys`: the time of each counts from the first look in a row that saw it. Pure.
 */
export const updateWaitTimes = (before: WaitTimes, keys: ReadonlyArray<string>, nowMillis: number): WaitTimes =>
  new Map(keys.map((key) => [key, before.get(key) ?? nowMillis]))

/** How long the one that has waited longest was seen to wait, in milliseconds; 0 where none waits. Pure. */
export const longestWait = (waitTimes: WaitTimes, nowMillis: number): number =>
  Math.max(0, ...[...waitTimes.values()].map((since) => nowMillis - since))

const conditionGauge = Metric.gauge("network_condition", {
  description: "1 for the condition a network is in: ok, silent, frozen, disagreement or no_common_block"
})
const headAgeGauge = Metric.gauge("network_head_age_seconds", {
  description:
    "Age of the newest block read, by its own time; before the first one, since this instance began to follow"
})
const cursorAgeGauge = Metric.gauge("network_cursor_age_seconds", {
  description: "Since the cursor was last stored; before the first time, since this instance began to follow"
})
const oldestUnhandledGauge = Metric.gauge("transfers_oldest_unhandled_seconds", {
  description: "How long the oldest transfer was seen to wait for being credited, or taken back; 0: none waits"
})
const unhandledGauge = Metric.gauge("transfers_unhandled", {
  description: `Transfers that wait for being credited, or taken back; ${scanLimit} is that many or more`
})

const updateNetworkMetrics = (status: NetworkStatus, beganAt: number, nowSeconds: number) => {
  const labels = { network: status.network, environment: status.environment }
  const age = (time: number | null) => Math.max(0, nowSeconds - (time ?? beganAt))
  return Effect.all([
    ...conditions.map((each) =>
      Metric.update(
        Metric.withAttributes(conditionGauge, { ...labels, condition: each }),
        each === status.condition ? 1 : 0
      )
    ),
    Metric.update(Metric.withAttributes(headAgeGauge, labels), age(status.headTime)),
    Metric.update(Metric.withAttributes(cursorAgeGauge, labels), age(status.cursorTime))
  ], { discard: true })
}

/** Tells health how the networks and their journal are. */
export const healthLayer: Layer.Layer<never, never, Health | Chains | Settings | SqlClient.SqlClient> = Layer
  .effectDiscard(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const chains = yield* Chains
      const health = yield* Health
      const environments: ReadonlyArray<Environment> = (yield* Settings).environments
      const beganAt = yield* nowSeconds
      let waitTimes: WaitTimes = new Map()

      yield* health.register({
        name: "networks",
        run: Effect.gen(function*() {
          const now = yield* nowSeconds
          const networks = environments.flatMap((environment) => chains.status(environment))
          yield* Effect.forEach(networks, (status) => updateNetworkMetrics(status, beganAt, now), { discard: true })
          return networkFindings(networks)
        })
      })
      yield* health.register({
        name: "transfers",
        run: Effect.gen(function*() {
          const rows = yield* sql<{ key: string }>`SELECT id || ' ' || status AS key FROM transfers
          WHERE status <> handled AND NOT unlisted ORDER BY observed_at LIMIT ${scanLimit}`
          const now = Number(yield* Clock.monotonicTimeNanos) / 1e6
          waitTimes = updateWaitTimes(waitTimes, rows.map(({ key }) => key), now)
          const longest = longestWait(waitTimes, now)
          yield* Metric.update(oldestUnhandledGauge, Math.floor(longest / 1000))
          yield* Metric.update(unhandledGauge, rows.length)
          return longest < staleTransferMillis ? [] : [{
            effect: "degraded" as const,
            message:
              `A transfer waits for being credited since ${Math.floor(longest / 1000)} s or longer, and ${rows.length} `
              + "with it: look in the log for transfers that fail."
          }]
        }).pipe(Effect.orDie)
      })
    })
  )
