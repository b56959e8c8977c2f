/**
 * Goal: play money settles when the simulator says so, or by itself where it was told to.
 * Method: the conformance suite of settlements, twice.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { plugin } from "../../../../modules/settlement/drivers/simulated.ts"
import {
  pay,
  paymentOf,
  report,
  runDue,
  settlementConformance,
  type SettlementServices,
  settlementServices
} from "../../../conformance/settlements.ts"

const driver = (auto: boolean) => plugin.layer({ auto }) as Layer.Layer<never, unknown, SettlementServices>

settlementConformance({
  name: "settlement/simulated",
  layer: driver(false),
  environments: ["devnet"],
  waitsIn: "devnet",
  hasTransaction: true,
  settle: (paid) => report(paid, { _tag: "Settled", txHash: "0xplay", network: "base", amount: null })
})

layer(driver(true).pipe(Layer.provideMerge(settlementServices)) as Layer.Layer<SettlementServices>)(
  "settlement/simulated, auto",
  (it) => {
    it.effect("settles each payment by itself, by a transaction of its own, and never one of mainnet", () =>
      Effect.gen(function*() {
        const [one, other, real] = [yield* pay("devnet"), yield* pay("devnet"), yield* pay("mainnet")]
        yield* runDue
        const hashes = [yield* paymentOf(one), yield* paymentOf(other)].map((payment: any) => {
          assert.include(payment, { settlement_status: "settled", settled_amount: 50_000 })
          return payment.settlement.settlement_tx_hash
        })
        assert.match(hashes[0], /^0x[0-9a-f]{64}$/)
        assert.notStrictEqual(hashes[0], hashes[1])
        assert.include(yield* paymentOf(real), { settlement_status: null, settlement: null })
      }))
  }
)
