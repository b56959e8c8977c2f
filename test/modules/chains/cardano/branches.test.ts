/**
 * Goal: a reorganisation that nobody can follow stops following with a reason, and one server's branch takes nothing
 * back, however deep it is and however long the others are silent.
 * Method: chains that leave each other at depths around what is kept, seen by one server or by all.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { ringSize } from "../../../../runtime/chains/Points.ts"
import { blockfrost } from "../../../support/cardano/Blockfrost.ts"
import { driverOn } from "../../../support/cardano/Rig.ts"
import { ada, amounts, followUntil, has, pay, reaches, town, untold } from "../../../support/cardano/Town.ts"

/** Blocks after which a payment is confirmed, and more. */
const settled = 20

describe("branches of Cardano", () => {
  it.live(
    "a rollback of all blocks that are kept but one is followed, and its payments are taken back",
    () =>
      Effect.gen(function*() {
        const made = yield* town()
        const { driver, ledger, start, watch } = made
        ledger.mine(10)
        pay(made, 0, 5n * ada)
        ledger.mine(ringSize - 2)
        const before = yield* followUntil(driver, start, watch, reaches(ledger))
        assert.deepStrictEqual(amounts(before), [5n * ada])
        ledger.rollback(ringSize - 1)
        ledger.mine(ringSize)
        const after = yield* followUntil(
          driver,
          before,
          watch,
          (story) => story.rollbacks > 0 && reaches(ledger)(story)
        )
        assert.deepStrictEqual([amounts(after), after.rollbacks], [[], 1])
      }).pipe(Effect.scoped)
  )

  it.live(
    "a rollback of more blocks than are kept stops with a reason, and takes nothing back by itself",
    () =>
      Effect.gen(function*() {
        const made = yield* town()
        const { driver, ledger, start, watch } = made
        ledger.mine(10)
        pay(made, 0, 5n * ada)
        ledger.mine(ringSize + 2)
        const before = yield* followUntil(driver, start, watch, reaches(ledger))
        ledger.rollback(ringSize + 1)
        ledger.mine(ringSize + 3)
        const told: Array<string> = []
        const error = yield* Effect.flip(Stream.runDrain(
          Stream.tap(driver.follow(before.points, watch), (event) => Effect.sync(() => told.push(event._tag)))
        ))
        assert.strictEqual(error.condition, "no_common_block")
        assert.include(error.reason, "chains.reanchor")
        assert.notInclude(told, "Rollback")
        assert.notInclude(told, "Forward")
      }).pipe(Effect.scoped)
  )

  it.live(
    "a deep branch that one server alone shows is not followed while the other is silent, and not after",
    () =>
      Effect.gen(function*() {
        const made = yield* town()
        const { ledger, server, watch } = made
        const second = yield* blockfrost(ledger)
        const driver = yield* driverOn([server, second], {}, { absenceMillis: 0 })
        const fork = yield* town().pipe(Effect.map((other) => other.ledger))
        pay(made, 0, 5n * ada)
        ledger.mine(settled)
        const before = yield* followUntil(driver, untold, watch, reaches(ledger))
        const start = { ...before, transfers: new Map([["kept", { amount: 5n * ada } as never]]) }
        fork.mine(ledger.tip.height + 5)
        second.set("cut")
        server.lead(fork)
        let looks = 0
        const silent = yield* followUntil(driver, start, watch, ({ failures, rollbacks }) => {
          looks += 1
          return rollbacks > 0 || failures.length >= 5 || looks > 500
        })
        assert.deepStrictEqual([silent.rollbacks, amounts(silent)], [0, [5n * ada]])
        second.set("right")
        pay(made, 1, 6n * ada)
        const after = yield* followUntil(driver, silent, watch, has(2))
        assert.deepStrictEqual([after.rollbacks, amounts(after)], [0, [5n * ada, 6n * ada]])
      }).pipe(Effect.scoped)
  )
})
