/**
 * Goal: money that was sent before an invoice had its address is not the invoice's, and money sent after it always is,
 * however far the follower lags behind and however wrong the clocks are.
 * Method: real PostgreSQL and commit log; a simulated chain whose blocks reach the follower late or with other times.
 */
import { indexedWalletOf, readingBlocks } from "../../support/Drivers.ts"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type ChainDriver, Chains } from "../../../runtime/Chains.ts"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { freshDatabase } from "../../support/Database.ts"
import { allocate, eventually, follow, inInstance, invoiceId, markHandled, usdc } from "./ChainsInstance.ts"

/** A driver whose chain's clock differs from the service's by so many seconds, and whose blocks wait for `gate`. */
const shifted = (driver: ChainDriver, offset: number, gate: () => Effect.Effect<void>): ChainDriver => ({
  ...driver,
  follow: (recent, watch) =>
    Stream.tap(
      Stream.map(driver.follow(recent, watch), (event) =>
        event._tag === "Forward" ? { ...event, time: event.time + offset } : event),
      gate
    ),
  ...readingBlocks(
    driver,
    (readBlock) => (height, anchor, watch) =>
      Effect.map(readBlock(height, anchor, watch), (block) => ({ ...block, time: block.time + offset }))
  )
})

const entryOf = (txHash: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ invoice_id: string | null; status: string; handled: string }>`
      SELECT invoice_id, status, handled FROM transfers WHERE tx_hash = ${txHash}`
    return rows.find(({ handled, status }) => status === "confirmed" && handled === status)
  })

const payTo = (chain: Effect.Success<ReturnType<typeof makeSimulated>>["service"], to: string, txHash: string) =>
  chain.transfer({ network: "base", to, tokenAddress: usdc, amount: baseUnits(5n), txHash })

/**
 * Clock of the chain against the service's, in seconds, beyond what clocks may differ where only they can be compared.
 */
const offsets = [0, -5_000, 5_000]

describe("a transfer", () => {
  it.live(
    "mined before an invoice had its address is not the invoice's, and one in the very next block is",
    () =>
      Effect.forEach(offsets, (offset) =>
        Effect.gen(function*() {
          const database = yield* freshDatabase
          const { drivers: [driver], service } = yield* makeSimulated({ networks: ["base"], blockMillis: 3_600_000 })
          yield* inInstance(
            database,
            Effect.gen(function*() {
              const chains = yield* Chains
              let gate: Deferred.Deferred<void> | null = null
              yield* markHandled
              yield* follow([shifted(driver!, offset, () => gate === null ? Effect.void : Deferred.await(gate))])
              const head = Effect.sync(() => chains.status("devnet")[0]!.head ?? undefined)
              const first = yield* eventually(head)
              // Further ahead than is watched: nobody sees it when it is mined.
              const early = indexedWalletOf(driver!).derive(60).matchKey
              yield* payTo(service, early, "0xearly")
              yield* payTo(service, early, "0xtold")
              yield* service.mine("base", 70)
              yield* eventually(
                Effect.map(head, (height) => height !== undefined && height >= first + 71n ? height : undefined)
              )
              const given: Array<string> = []
              for (let number = 0; number <= 60; number++) given.push((yield* allocate(number)).matchKey)
              assert.strictEqual(given[60], early)
              yield* payTo(service, early, "0xhonest")
              const honest = yield* eventually(entryOf("0xhonest"))
              assert.strictEqual(honest.invoice_id, invoiceId(60), `offset ${offset}`)
              yield* chains.rescan("base", "devnet", first, first + 1n)
              const found = yield* eventually(entryOf("0xearly"))
              assert.isNull(found.invoice_id, `offset ${offset}`)

              // Told of by an operator who takes it for the invoice's, it is in the same place.
              yield* chains.report({
                network: "base",
                environment: "devnet",
                txHash: "0xtold",
                index: 1,
                kind: "direct",
                matchKey: early,
                tokenAddress: usdc,
                amount: baseUnits(5n),
                from: null,
                point: { height: first + 2n, hash: "0x" },
                time: 1
              })
              const told = yield* eventually(entryOf("0xtold"))
              assert.isNull(told.invoice_id, `offset ${offset}`)

              // A follower that stands still while the chain goes on: what it knew last was the head then.
              gate = yield* Deferred.make<void>()
              yield* service.mine("base", 90)
              const late = (yield* allocate(100)).matchKey
              yield* payTo(service, late, "0xlag")
              yield* Deferred.succeed(gate, undefined)
              const lag = yield* eventually(entryOf("0xlag"))
              assert.strictEqual(lag.invoice_id, invoiceId(100), `offset ${offset}`)
            })
          )
        }).pipe(Effect.scoped), { discard: true })
  )
})
