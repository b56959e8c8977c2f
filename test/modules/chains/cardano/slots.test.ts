/**
 * Goal: no server can make an export on Cardano valid for longer than it says. Method: times of slots that others have
 * published, and a server that counts slots otherwise.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { mainnetMagic, slotAt, slotZeroOf, wrongSlots } from "../../../../modules/chains/cardano/Slots.ts"
import { type Api, readNetwork } from "../../../../modules/chains/cardano/Api.ts"
import { DriverError, type DriverErrorKind } from "../../../../runtime/Chains.ts"
import { blockfrost, erasOf } from "../../../support/cardano/Blockfrost.ts"
import { Ledger } from "../../../support/cardano/Ledger.ts"
import { driverOn } from "../../../support/cardano/Rig.ts"

const slotsOfEpoch = 432_000

describe("a slot of Cardano", () => {
  it("has the time that was announced for it", () => {
    /** First slots of mainnet's epochs, and when the hard forks at them were, by their announcements. */
    const forks = [
      [208, "2020-07-29T21:44:51Z"], // Shelley
      [236, "2020-12-16T21:44:51Z"], // Allegra
      [251, "2021-03-01T21:44:51Z"], // Mary
      [290, "2021-09-12T21:44:51Z"], // Alonzo
      [365, "2022-09-22T21:44:51Z"], // Vasil
      [507, "2024-09-01T21:44:51Z"], // Chang
      [537, "2025-01-29T21:44:51Z"] // Plomin
    ] as const
    for (const [epoch, time] of forks) {
      const slot = 4_492_800 + (epoch - 208) * slotsOfEpoch
      assert.strictEqual(slotAt(mainnetMagic, Date.parse(time) / 1_000), BigInt(slot), time)
    }
    // Epoch 225 as Blockfrost's description shows it; zero times of Lucid, and preprod's epoch 65 as Mesh has it.
    assert.strictEqual(slotAt(mainnetMagic, 1_603_403_091), BigInt(4_492_800 + 17 * slotsOfEpoch))
    assert.strictEqual(slotAt(1, 1_655_769_600), 86_400n)
    assert.strictEqual(slotAt(1, 1_682_121_600), 26_438_400n)
    assert.strictEqual(slotAt(2, 1_666_656_000), 0n)
    assert.isNull(slotAt(42, 1_682_467_200))
  })

  it("is counted as the network's own genesis and eras say", () => {
    assert.isNull(
      wrongSlots(mainnetMagic, slotZeroOf(1_506_203_091, erasOf({ time: 89_856_000, slot: 4_492_800, epoch: 208 })))
    )
    assert.isNull(wrongSlots(1, slotZeroOf(1_654_041_600, erasOf({ time: 1_728_000, slot: 86_400, epoch: 4 }))))
    assert.isNull(wrongSlots(2, slotZeroOf(1_666_656_000, erasOf({ time: 0, slot: 0, epoch: 0 }))))
    assert.isNull(slotZeroOf(1, erasOf({ time: 0, slot: 0, epoch: 0 }).slice(0, 1)))
    assert.isNull(wrongSlots(1, null))
    assert.isNull(wrongSlots(42, 5))
    assert.match(wrongSlots(1, 5)!, /from 5, and the network with the magic number 1 counts them from 1655683200/)
  })

  it.live("is compared at the start: a server that counts otherwise is refused, one that says nothing is not", () =>
    Effect.gen(function*() {
      const server = yield* blockfrost(new Ledger())
      yield* driverOn([server])
      server.set(({ path }, answer) => path === "/network/eras" ? { status: 404, body: {} } : answer())
      yield* driverOn([server])
      const wrong = erasOf({ time: 1_728_000, slot: 86_399, epoch: 4 })
      server.set(({ path }, answer) => path === "/network/eras" ? { status: 200, body: wrong } : answer())
      const { message } = yield* Effect.flip(driverOn([server]))
      assert.match(message, /counts its slots from 1655683201/)
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void>)

  it.effect("is compared later where a server fails for a moment, because it has not said that it tells nothing", () =>
    Effect.gen(function*() {
      const readWith = (kind: DriverErrorKind) => {
        const api: Pick<Api, "find" | "get" | "name" | "network"> = {
          name: "api 1 of 1",
          network: "cardano",
          get: () => Effect.succeed({ network_magic: 1, system_start: 1_654_041_600 } as never),
          find: () => Effect.fail(new DriverError({ network: "cardano", reason: "no eras", kind }))
        }
        return readNetwork(api as Api)
      }
      for (const kind of ["unavailable", "timeout", "unanswered", "rate_limited"] as const) {
        assert.strictEqual((yield* Effect.flip(readWith(kind))).kind, kind)
      }
      assert.deepStrictEqual(yield* readWith("refused"), { magic: 1, slotZero: null })
    }))
})
