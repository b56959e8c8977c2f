/**
 * Goal: money that goes straight to the merchant's wallet is called settled when no reorganisation can take it back,
 * and not a block before. Method: the conformance suite of settlements; the journal and the cursor as the follower of a
 * network stores them.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { patienceSeconds, plugin } from "../../../../modules/settlement/drivers/direct.ts"
import { plugin as manual } from "../../../../modules/settlement/drivers/manual.ts"
import { Settlements } from "../../../../modules/settlement/plugin.ts"
import {
  change,
  confirmed,
  exceptionsOf,
  follower,
  journal,
  pay,
  paymentOf,
  report,
  reverted,
  runDue,
  seen,
  settlementConformance,
  type SettlementServices,
  settlementServices
} from "../../../conformance/settlements.ts"

const driver = plugin.layer({}) as Layer.Layer<never, unknown, SettlementServices>

settlementConformance({
  name: "settlement/direct",
  layer: driver,
  environments: ["devnet", "mainnet"],
  waitsIn: "mainnet",
  hasTransaction: false,
  settle: ({ entry }) => follower(entry, entry.height + 5_000n, entry.height + 20n)
})

/** Long enough for every look of the driver, and for nothing else. */
const look = Effect.andThen(TestClock.adjust("2 minutes"), runDue)

layer(driver.pipe(Layer.provideMerge(settlementServices)) as Layer.Layer<SettlementServices>)(
  "settlement/direct",
  (it) => {
    it.effect("waits for the network's own mark, however deep a payment is, and settles at it", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* follower(paid.entry, paid.entry.height + 90_000n, paid.entry.height - 1n)
        yield* look
        assert.deepInclude(yield* paymentOf(paid), {
          status: "confirmed",
          settlement_status: "pending",
          settlement: {
            summary_status: "pending",
            stage: "awaiting_confirmation",
            merchant_settlement_id: null,
            settlement_tx_hash: null,
            network: null,
            status: "queued"
          }
        })
        yield* follower(paid.entry, paid.entry.height + 90_000n, paid.entry.height)
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
      }))

    it.effect("without a mark it waits for the depth that stands for it: 900 blocks on base", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* follower(paid.entry, paid.entry.height + 898n, null)
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "pending" })
        yield* follower(paid.entry, paid.entry.height + 899n, null)
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
      }))

    it.effect("goes by where the transfer is now: one that a reorganisation moved waits for its new block", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* journal({ ...paid.entry, status: "reverted" })
        yield* change(paid, reverted(paid))
        yield* journal({ ...paid.entry, status: "seen", height: paid.entry.height + 50n })
        yield* change(paid, seen(paid), confirmed(paid))
        yield* follower(paid.entry, paid.entry.height + 400n, paid.entry.height + 49n)
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "pending" })
        // As deep as its policy asks by now, and not final.
        yield* journal({ ...paid.entry, height: paid.entry.height + 50n })
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "pending" })
        yield* follower(paid.entry, paid.entry.height + 400n, paid.entry.height + 50n)
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
      }))

    it.effect("on devnet, where the head is final, a reorganisation takes the settlement with the payment", () =>
      Effect.gen(function*() {
        const paid = yield* pay("devnet")
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
        yield* journal({ ...paid.entry, status: "reverted" })
        yield* change(paid, reverted(paid))
        assert.deepInclude(yield* paymentOf(paid), {
          status: "reverted",
          settlement_status: "failed",
          settled_amount: 0,
          settled_at: null
        })
        yield* journal({ ...paid.entry, height: paid.entry.height + 1n })
        yield* change(paid, seen(paid), confirmed(paid))
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
      }))

    it.effect("a transfer that left its chain below the final depth is an operator's", () =>
      Effect.gen(function*() {
        const paid = yield* pay("mainnet")
        yield* journal({ ...paid.entry, reorgedAfterFinality: true })
        yield* follower(paid.entry, paid.entry.height + 90_000n, paid.entry.height + 80_000n)
        yield* look
        assert.include(yield* paymentOf(paid), { settlement_status: "manual", settled_amount: null })
        assert.deepStrictEqual(yield* exceptionsOf(paid), ["settlement_failed"])
      }))

    it.effect("a transfer that was only reported is nobody's word for final: the reporter's, and after 2 days an operator's", () =>
      Effect.gen(function*() {
        const [said, silent] = [yield* pay("mainnet"), yield* pay("mainnet")]
        for (const { entry } of [said, silent]) yield* journal({ ...entry, confirmations: 0 })
        yield* follower(silent.entry, silent.entry.height + 90_000n, silent.entry.height + 80_000n)
        yield* look
        yield* report(said, { _tag: "Settled", txHash: null, network: "base", amount: null })
        assert.include(yield* paymentOf(said), { settlement_status: "settled" })
        yield* TestClock.adjust((patienceSeconds - 600) * 1_000)
        yield* runDue
        assert.include(yield* paymentOf(silent), { settlement_status: "pending" })
        yield* TestClock.adjust(600_000)
        yield* runDue
        assert.include(yield* paymentOf(silent), { settlement_status: "manual" })
      }))
  }
)

layer(settlementServices)("a deployment that changes how it settles", (it) => {
  it.effect("ends what the other driver began", () =>
    Effect.gen(function*() {
      const paid = yield* Effect.scoped(Effect.gen(function*() {
        yield* Layer.build(manual.layer({}) as Layer.Layer<never, unknown, SettlementServices>)
        return yield* pay("mainnet")
      }))
      assert.include(yield* paymentOf(paid), { settlement_status: "pending" })
      yield* follower(paid.entry, paid.entry.height + 90_000n, paid.entry.height)
      yield* Layer.build(driver)
      yield* runDue
      assert.include(yield* paymentOf(paid), { settlement_status: "settled" })
    }).pipe(Effect.scoped))

  it.effect("has another driver for each environment where they say so", () =>
    Effect.gen(function*() {
      yield* Layer.build(plugin.layer({ environment: "mainnet" }) as Layer.Layer<never, unknown, SettlementServices>)
      yield* Layer.build(manual.layer({ environment: "devnet" }) as Layer.Layer<never, unknown, SettlementServices>)
      const settlements = yield* Settlements
      assert.strictEqual(settlements.driver("mainnet")?.name, "settlement/direct")
      assert.strictEqual(settlements.driver("devnet")?.name, "settlement/manual")
    }).pipe(Effect.scoped))

  it.effect("has one driver for an environment", () =>
    Effect.gen(function*() {
      yield* Layer.build(driver)
      const second = yield* Effect.exit(
        Layer.build(manual.layer({}) as Layer.Layer<never, unknown, SettlementServices>)
      )
      assert.strictEqual(second._tag, "Failure")
      assert.strictEqual((yield* Settlements).driver("mainnet")?.name, "settlement/direct")
    }).pipe(Effect.scoped))
})
