/**
 * Funds go straight to the merchant's own wallet: a payment is settled once its transfer is final on its chain, by no
 * transaction of its own. Confirmed by the invoice's policy is not enough: a reorganisation may still take it back.
 */
import { Effect, Layer } from "effect"
import { Chains } from "../../runtime/Chains.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { paymentIdOf } from "../payments/plugin.ts"
import { DriverOptions, environmentsOf, type SettlementReport, Settlements, type Unsettled } from "../settlement/plugin.ts"

const name = "settlements/direct"

/**
 * Seconds a payment may wait for finality before an operator is asked: 2 days. The slowest network, Cardano, takes 12
 * hours (2,160 blocks of 20 s); an outage of a network is given a day besides, as expiry gives it.
 */
export const patienceSeconds = 172_800

/** Seconds between two looks, at least and at most: in between, a quarter of the time a payment has waited. */
const shortestLookSeconds = 5
const longestLookSeconds = 60

const lookAgainSeconds = (waited: number): number =>
  Math.min(longestLookSeconds, Math.max(shortestLookSeconds, Math.floor(waited / 4)))

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: DriverOptions,
  needs: { settlement: Settlements },
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      const settlements = yield* Settlements

      const settle = Effect.fnUntraced(function*(asked: ReadonlyArray<Unsettled>) {
        const transfers = yield* chains.finality([...new Set(asked.map(({ invoiceId }) => invoiceId))])
        const transferOf = new Map(transfers.map((transfer) => [paymentIdOf(transfer), transfer]))
        return new Map(asked.flatMap(({ paymentId, waited }): ReadonlyArray<readonly [string, SettlementReport]> => {
          const transfer = transferOf.get(paymentId)
          if (transfer?.finality === "final") {
            return [[paymentId, { _tag: "Settled", txHash: null, network: transfer.network, amount: null }]]
          }
          if (transfer?.finality === "doubted") {
            return [[paymentId, { _tag: "Review", reason: "its transfer left the chain below its final depth" }]]
          }
          if (waited < patienceSeconds) return []
          const reason = transfer?.finality === "reported"
            ? "nobody here follows its network: whoever reported the transfer must say that it is final"
            : "its transfer did not become final within 2 days"
          return [[paymentId, { _tag: "Review", reason }]]
        }))
      })

      yield* settlements.register({
        name,
        environments: environmentsOf(options),
        firstStage: "awaiting_confirmation",
        firstAskSeconds: () => 0,
        askAgainSeconds: lookAgainSeconds,
        retries: true,
        settle
      })
    }))
})
