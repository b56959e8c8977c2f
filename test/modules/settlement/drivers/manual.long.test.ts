/**
 * Goal: where nobody here moves money, what is reported moves settlements, step by step, and nothing else does.
 * Method: the conformance suite of settlements; reports as the internal port hands them over.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { plugin } from "../../../../modules/settlement/drivers/manual.ts"
import {
  change,
  eventsOf,
  exceptionsOf,
  pay,
  paymentOf,
  refusal,
  report,
  reverted,
  settlementConformance,
  type SettlementServices,
  settlementServices
} from "../../../conformance/settlements.ts"

const driver = plugin.layer({}) as Layer.Layer<never, unknown, SettlementServices>

settlementConformance({
  name: "settlement/manual",
  layer: driver,
  environments: ["devnet", "mainnet"],
  waitsIn: "mainnet",
  hasTransaction: true,
  settle: (paid) => report(paid, { _tag: "Settled", txHash: "0xforwarded", network: "base", amount: null })
})

layer(driver.pipe(Layer.provideMerge(settlementServices)) as Layer.Layer<SettlementServices>)(
  "settlement/manual",
  (it) => {
    it.effect("shows each stage as it is reported, and an operator's review and retry", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* report(paid, { _tag: "Submitted", stage: "sweep", txHash: "0xa", network: "base" })
        yield* report(paid, { _tag: "Confirming", stage: "sweep", txHash: "0xa", network: "base" })
        yield* report(paid, { _tag: "Submitted", stage: "transfer", txHash: "0xb", network: "bsc" })
        yield* report(paid, { _tag: "Review", reason: "the bridge is slow" })
        yield* report(paid, { _tag: "Retry" })
        yield* report(paid, { _tag: "Settled", txHash: "0xc", network: "bsc", amount: null })
        const told = (yield* eventsOf(paid)).slice(1).map((
          { object }
        ) => [
          object.settlement_status,
          object.settlement.stage,
          object.settlement.status,
          object.settlement.settlement_tx_hash
        ])
        assert.deepStrictEqual(told, [
          ["pending", "sweep", "queued", null],
          ["processing", "sweep", "submitted", "0xa"],
          ["processing", "sweep", "confirming", "0xa"],
          ["processing", "transfer", "submitted", "0xb"],
          ["manual", "transfer", "failed", "0xb"],
          ["processing", "transfer", "submitted", null],
          ["settled", "final", "settled", "0xc"]
        ])
        assert.deepStrictEqual(yield* exceptionsOf(paid), ["settlement_failed"])
      }))

    it.effect("a failure is an operator's at once: nothing here could try again", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* report(paid, { _tag: "Failed", reason: "no gas" })
        assert.include(yield* paymentOf(paid), { settlement_status: "manual" })
      }))

    it.effect("money that was forwarded is told as failed while the payor's transfer is taken back", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* report(paid, { _tag: "Settled", txHash: "0xforwarded", network: "base", amount: null })
        yield* change(paid, reverted(paid))
        assert.include(yield* paymentOf(paid), { status: "reverted", settlement_status: "failed", settled_amount: 0 })
        assert.strictEqual(yield* refusal(paid, { _tag: "Retry" }), "INVALID_TRANSITION")
      }))
  }
)
