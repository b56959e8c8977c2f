/**
 * Goal: what a wallet holds is told only of a block up to which its transfers are known.
 * Method: real PostgreSQL and a follower; what the driver says that wallets hold is the test's.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, MutableRef } from "effect"
import { type ChainDriver, Chains } from "../../../runtime/Chains.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { ledgerWallet, makeAccountLedger } from "../../support/AccountLedger.ts"
import { freshDatabase } from "../../support/Database.ts"
import { eventually, follow, inInstance, invoiceId, markHandled } from "./ChainsInstance.ts"

const environment = "devnet" as const
const network = "solana" as const

const balances = Effect.flatMap(
  Chains,
  (chains) => chains.walletBalances({ network, environment, fingerprint: ledgerWallet.fingerprint, tokens: [null] })
)

/** Follows a ledger whose driver offers what `more` says, and pays an invoice of its wallet. */
const withPayment = <E>(
  more: Partial<ChainDriver>,
  work: (height: bigint) => Effect.Effect<void, E, Chains>
) =>
  Effect.gen(function*() {
    const database = yield* freshDatabase
    const ledger = yield* makeAccountLedger()
    yield* inInstance(
      database,
      Effect.gen(function*() {
        const chains = yield* Chains
        assert.deepStrictEqual(yield* balances, { _tag: "Unreadable", reason: "not_followed" })
        yield* follow([{ ...ledger.driver, ...more }])
        yield* markHandled
        const { matchKey } = yield* chains.allocate({
          merchantId: 1,
          environment,
          family: "solana",
          invoiceId: invoiceId(1)
        })
        const { at: { height } } = yield* ledger.pay(matchKey, 5n)
        yield* eventually(Effect.map(chains.transfers(invoiceId(1)), (journal) => journal.length > 0 || undefined))
        yield* work(height)
      })
    )
  }).pipe(Effect.scoped)

describe("what a wallet holds now", () => {
  it.live("is told with its block, of all its addresses, and not of a block that was not read yet", () => {
    const height = MutableRef.make(0n)
    const asked = MutableRef.make<ReadonlyArray<string>>([])
    const finalBalances: ChainDriver["finalBalances"] = (addresses) =>
      Effect.sync(() => {
        MutableRef.set(asked, addresses)
        const point = { height: MutableRef.get(height), hash: "slot", time: 1_000 }
        return { point, balances: [baseUnits(5n)], hasSent: false }
      })
    return withPayment({ finalBalances }, (paidAt) =>
      Effect.gen(function*() {
        MutableRef.set(height, paidAt)
        const found = yield* balances
        assert.deepStrictEqual(found, {
          _tag: "Balances",
          point: { height: paidAt, hash: "slot", time: 1_000 },
          balances: [baseUnits(5n)],
          forwarded: [baseUnits(0n)],
          hasSent: false
        })
        assert.deepStrictEqual(MutableRef.get(asked), [ledgerWallet.address])
        MutableRef.set(height, paidAt + 1_000_000n)
        const refused = yield* Effect.flip(balances)
        assert.match(refused.reason, /transfers are read up to/u)
      }))
  })

  it.live("is told by no driver that reads none", () =>
    withPayment({}, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* balances, { _tag: "Unreadable", reason: "not_offered" })
      })))
})
