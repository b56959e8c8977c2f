/**
 * Funds go straight to the merchant's own wallet: a payment is settled once its transfer is final on its chain, by no
 * transaction of its own. Confirmed by the invoice's policy is not enough: a reorganisation may still take it back.
 */
import { Effect, Layer } from "effect"
import { Chains } from "../../../runtime/Chains.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { paymentIdOf } from "../../payments/plugin.ts"
import { DriverOptions, environmentsOf, type SettlementReport, Settlements, type UnsettledPayment } from "../plugin.ts"

const name = "settlement/direct"

/**
 * Seconds a payment may wait for finality before an operator is asked: 2 days. The slowest network, Cardano, takes 12
 * hours (2,160 blocks of 20 s); an outage of a network is given a day besides, as expiry gives it.
 */
export const patienceSeconds = 172_800

/** Seconds between two looks, at least and at most: in between, a quarter of the time a payment has waited. */
const minimumCheckSeconds = 5
const maximumCheckSeconds = 60

const nextCheckSeconds = (waitingSeconds: number): number =>
  Math.min(maximumCheckSeconds, Math.max(minimumCheckSeconds, Math.floor(waitingSeconds / 4)))

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: DriverOptions,
  needs: { settlement: Settlements },
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      const settlements = yield* Settlements

      const settle = Effect.fnUntraced(function*(payments: ReadonlyArray<UnsettledPayment>) {
        const transfers = yield* chains.finality([...new Set(payments.map(({ invoiceId }) => invoiceId))])
        const transferOf = new Map(transfers.map((transfer) => [paymentIdOf(transfer), transfer]))
        return new Map(
          payments.flatMap(({ paymentId, waitingSeconds }): ReadonlyArray<readonly [string, SettlementReport]> => {
            const transfer = transferOf.get(paymentId)
            if (transfer?.finality === "final") {
              return [[paymentId, { _tag: "Settled", txHash: null, network: transfer.network, amount: null }]]
            }
            if (transfer?.finality === "reorged_after_finality") {
              return [[paymentId, { _tag: "Review", reason: "its transfer left the chain below its final depth" }]]
            }
            if (waitingSeconds < patienceSeconds) return []
            const reason = transfer?.finality === "reported"
              ? "nobody here follows its network: whoever reported the transfer must say that it is final"
              : "its transfer did not become final within 2 days"
            return [[paymentId, { _tag: "Review", reason }]]
          })
        )
      })

      yield* settlements.register({
        name,
        environments: environmentsOf(options),
        firstStage: "awaiting_confirmation",
        firstCheckSeconds: () => 0,
        nextCheckSeconds,
        retriesFailures: true,
        settle
      })
    }))
})
