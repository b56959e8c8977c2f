/** Play money: a payment is settled when the devnet simulator says so, or by itself. Never on mainnet. */
import { Effect, Layer, Schema } from "effect"
import * as Plugin from "../../../runtime/Plugin.ts"
import { Invoices } from "../../invoices/plugin.ts"
import { type SettlementReport, Settlements, type UnsettledPayment } from "../plugin.ts"

const name = "settlement/simulated"

const Options = Schema.Struct({
  /** Whether payments are settled as soon as they count; default false: they wait for the simulator. */
  auto: Schema.optionalKey(Schema.Boolean)
})

/** 64 hex digits that only this payment has. */
const transactionOf = (paymentId: string): string => `0x${paymentId.replaceAll("-", "").repeat(2)}`

export const plugin = Plugin.make({
  name,
  slot: "modules",
  environments: ["devnet"],
  options: Options,
  needs: { invoices: Invoices, settlement: Settlements },
  layer: ({ auto = false }) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const invoices = yield* Invoices
      const settlements = yield* Settlements

      const settle = Effect.fnUntraced(function*({ invoiceId, paymentId }: UnsettledPayment) {
        const found = yield* invoices.find(invoiceId)
        const network = found?.payments.find(({ id }) => id === paymentId)?.network
        const report: SettlementReport | null = network === undefined
          ? null
          : { _tag: "Settled", txHash: transactionOf(paymentId), network, amount: null }
        return report === null ? [] : [[paymentId, report] as const]
      })

      yield* settlements.register({
        name,
        environments: ["devnet"],
        firstStage: "sweep",
        firstCheckSeconds: auto ? () => 0 : null,
        nextCheckSeconds: () => 5,
        retriesFailures: true,
        settle: (payments) => Effect.map(Effect.forEach(payments, settle), (found) => new Map(found.flat()))
      })
    }))
})
