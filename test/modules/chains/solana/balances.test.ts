/**
 * Goal: what wallets hold on Solana is read as it stood in one finalized slot, and a spend is seen.
 * Method: the real runtime and token programs in process behind JSON-RPC, with nodes that disagree or move meanwhile.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ChainDriver } from "../../../../runtime/Chains.ts"
import { openSolana, unit } from "../../../support/SolanaChain.ts"
import { newAddress, usdc } from "../../../support/SolanaPayments.ts"

const finalSlots = 60

/** What the driver says; it can always tell. */
const balancesOf = ({ finalBalances }: ChainDriver, ...asked: Parameters<NonNullable<ChainDriver["finalBalances"]>>) =>
  Effect.map(finalBalances!(...asked), (found) => found!)

describe("what wallets of Solana hold", () => {
  it.live("shows that its owner sent something, of the coin and of a token apart", () =>
    Effect.gen(function*() {
      const { bank, driver, ledger, wallet } = yield* openSolana()
      const owner: string = bank.payer.address
      const before = yield* balancesOf(driver, [owner], [usdc])
      yield* bank.pay({ to: wallet, token: usdc, amount: 7n * unit })
      ledger.advance(finalSlots)
      const after = yield* balancesOf(driver, [owner], [usdc])
      assert.deepStrictEqual([after.hasSent, before.balances[0]! - after.balances[0]!], [true, 7n * unit])
      assert.isTrue((yield* balancesOf(driver, [owner], [null])).hasSent)
      const received = yield* balancesOf(driver, [wallet], [null, usdc])
      assert.deepStrictEqual([received.balances.map(BigInt), received.hasSent], [[0n, 7n * unit], false])
    }).pipe(Effect.scoped))

  it.live("is the sum of more wallets than one call has room for, unless something comes meanwhile", () =>
    Effect.gen(function*() {
      const { bank, driver, ledger, node } = yield* openSolana()
      const wallets = yield* Effect.forEach(Array.from({ length: 120 }), () => newAddress)
      yield* bank.pay({ to: wallets[0]!, token: null, amount: 3n * unit })
      yield* bank.pay({ to: wallets[119]!, token: null, amount: 4n * unit })
      ledger.advance(finalSlots)
      const found = yield* balancesOf(driver, wallets, [null])
      assert.deepStrictEqual(found.balances.map(BigInt), [7n * unit])
      let calls = 0
      node.set(({ method, params }, answer) => {
        if (method !== "getMultipleAccounts") return undefined
        const result: any = answer()
        // Each answer after the first is of a wallet that was paid since.
        if (params[0].includes(wallets[0]) && ++calls > 1) result.value[1].lamports += 1_000
        return { result }
      })
      assert.match((yield* Effect.flip(balancesOf(driver, wallets, [null]))).reason, /changed while/u)
    }).pipe(Effect.scoped))

  it.live("is nothing where two endpoints do not agree, and of the older block where they do", () =>
    Effect.gen(function*() {
      const { driver, ledger, nodes, pay, target, wallet } = yield* openSolana({}, 2)
      yield* pay(target(0), null, 5n * unit)
      ledger.advance(finalSlots)
      const whole = yield* balancesOf(driver, [wallet], [null])
      assert.deepStrictEqual(whole.balances.map(BigInt), [5n * unit])
      nodes[1]!.set(({ method }, answer) => {
        if (method !== "getMultipleAccounts") return undefined
        const result: any = answer()
        for (const account of result.value.slice(1)) if (account !== null) account.lamports -= 1
        return { result }
      })
      assert.match((yield* Effect.flip(balancesOf(driver, [wallet], [null]))).reason, /different balances/u)
      nodes[1]!.set(() => "cut")
      assert.deepStrictEqual((yield* balancesOf(driver, [wallet], [null])).balances.map(BigInt), [5n * unit])
    }).pipe(Effect.scoped))

  it.live("leaves out a token account that belongs to somebody else now, and a token without a mint", () =>
    Effect.gen(function*() {
      const { driver, ledger, node, pay, target, wallet } = yield* openSolana()
      yield* pay(target(0), usdc, 5n * unit)
      ledger.advance(finalSlots)
      assert.deepStrictEqual((yield* balancesOf(driver, [wallet], [usdc])).balances.map(BigInt), [5n * unit])
      assert.deepStrictEqual((yield* balancesOf(driver, [wallet], [yield* newAddress])).balances.map(BigInt), [0n])
      node.set(({ method, params }, answer) => {
        const result: any = answer()
        if (method !== "getMultipleAccounts" || params[1].commitment !== "finalized") return undefined
        const data = Buffer.from(result.value[1].data[0], "base64")
        data[ownerAt] = data[ownerAt]! ^ 1
        result.value[1].data[0] = data.toString("base64")
        return { result }
      })
      assert.deepStrictEqual((yield* balancesOf(driver, [wallet], [usdc])).balances.map(BigInt), [0n])
    }).pipe(Effect.scoped))
})

/** Where the owner begins in a token account. */
const ownerAt = 32
