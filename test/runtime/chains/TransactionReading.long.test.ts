/**
 * Goal: what a transaction brought to an address that is none of ours is read from the chain, whole and only there.
 * Method: real PostgreSQL, commit log and leases; simulated chains that are read by block and by account.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { make as makeSimulated } from "../../../modules/chains/simulated.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { familyOf, familyRecord, type Network } from "../../../schemas/Network.ts"
import { tokenAddress } from "../../../schemas/Token.ts"
import { freshDatabase } from "../../support/Database.ts"
import { eventually, follow, inInstance, usdc } from "./ChainsInstance.ts"

const addresses = {
  base: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  sui: `0x${"5a".repeat(32)}`
} as const

const keyOf = (network: Network, address: string) =>
  familyRecord(familyOf(network)).accountKey(readAddress(network, "devnet", address)!)

describe("a transaction of somebody else's", () => {
  for (const network of ["base", "sui"] as const) {
    it.live(`is read with all that it brought to the address, and no more: ${network}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const database = yield* freshDatabase
        yield* inInstance(
          database,
          Effect.gen(function*() {
            const chains = yield* Chains
            const { drivers, service } = yield* makeSimulated({ networks: [network], blockMillis: 200 })
            yield* follow(drivers)
            const address = readAddress(network, "devnet", addresses[network])!
            const to = keyOf(network, address)
            const token = network === "base" ? usdc : null
            const { txHash } = yield* service.transaction(network, [
              { network, to, tokenAddress: token, amount: baseUnits(5n) },
              { network, to: "somebody else", tokenAddress: token, amount: baseUnits(7n) },
              { network, to, tokenAddress: null, amount: baseUnits(6n) }
            ])
            yield* service.transfer({ network, to, tokenAddress: null, amount: baseUnits(9n) })
            const read = (height: bigint) =>
              chains.readTransaction({ network, environment: "devnet", txHash, height, address, tokenAddress: token })
            const height = yield* eventually(Effect.gen(function*() {
              const head = chains.status("devnet")[0]?.head ?? 0n
              for (let each = head; each > 0n && each > head - 100n; each--) {
                const found = yield* Effect.orElseSucceed(read(each), () => null)
                if (found?._tag === "Transaction" && found.isFinal && found.transfers.length > 0) return each
              }
              return undefined
            }))
            const reading = yield* Effect.orDie(read(height))
            assert.strictEqual(reading._tag, "Transaction")
            if (reading._tag !== "Transaction") return
            assert.isTrue(reading.isFinal)
            assert.deepStrictEqual(
              reading.transfers.map(({ amount, memos, tokenAddress: moved }) => ({ amount, memos, moved })),
              [
                { amount: 5n, memos: [], moved: token === null ? null : tokenAddress(network, token) },
                { amount: 6n, memos: [], moved: null }
              ] as never
            )
            assert.lengthOf(new Set(reading.transfers.map(({ index }) => index)), 2)
            assert.deepStrictEqual(yield* Effect.orDie(read(height + 1_000n)), {
              _tag: "Unreadable",
              reason: "not_reached"
            })
            const other = { network: "ethereum", environment: "devnet", txHash, height, address, tokenAddress: null }
            assert.deepStrictEqual(yield* Effect.orDie(chains.readTransaction(other as never)), {
              _tag: "Unreadable",
              reason: "not_followed"
            })
          })
        )
      })))
  }
})
