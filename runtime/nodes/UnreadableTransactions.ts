/** The count of transactions that a network lists and that no endpoint can show: an operator has to look at each. */
import { Effect, Metric } from "effect"
import type { Network } from "../../schemas/Network.ts"
import { initializeSeries } from "../Telemetry.ts"

const unreadable = Metric.counter("chain_transactions_unreadable_total", {
  description: "Transactions that no endpoint could show in a readable form, so that nothing they pay was credited",
  incremental: true
})

/** The series of a network from the start on, for alerts on its growth. */
export const unreadableFromZero = (network: Network): Effect.Effect<void> => initializeSeries(unreadable, [{ network }])

/** One more transaction of a network was given up. */
export const countUnreadable = (network: Network): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(unreadable, { network }), 1)
