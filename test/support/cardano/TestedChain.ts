/** A Cardano chain as a rig of the conformance suite. */
import { Effect, type Scope } from "effect"
import type { TestedChain } from "../../conformance/chains.ts"
import { indexedWalletOf } from "../Drivers.ts"
import { blockfrost } from "./Blockfrost.ts"
import { Ledger, type RigOutput, type RigTransaction } from "./Ledger.ts"
import { driverOn } from "./Rig.ts"

/** The ledger lets no output hold less than about 1 ADA. */
const unit = 1_000_000n

export const cardanoChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.gen(function*() {
  const ledger = new Ledger()
  const server = yield* blockfrost(ledger)
  const driver = yield* Effect.orDie(driverOn([server]))
  const wallet = indexedWalletOf(driver)
  let last: RigTransaction | null = null
  const mined = (outputs: ReadonlyArray<RigOutput>) =>
    Effect.sync(() => {
      last = ledger.pay(outputs)
      ledger.mine()
      return { txHash: last.txHash }
    })
  return {
    driver,
    target: wallet.derive,
    unit,
    token: null,
    pay: ({ address }, _token, amount) => mined([{ address, lovelace: amount }]),
    payMany: (to, amount) => mined(to.map(({ address }) => ({ address, lovelace: amount }))),
    mine: (blocks) => Effect.sync(() => ledger.mine(blocks)),
    rollback: {
      drop: (depth) =>
        Effect.sync(() => {
          ledger.rollback(depth)
          ledger.mine(depth)
        }),
      reinclude: (depth) =>
        Effect.sync(() => {
          ledger.rollback(depth)
          ledger.mine(depth)
          ledger.resubmit(last!)
          ledger.mine()
        })
    },
    dropTransaction: null,
    shared: null,
    payWithFee: null,
    payInVain: ({ address }, amount) =>
      Effect.sync(() => {
        const transaction = ledger.insertFailed(address, amount)
        ledger.mine()
        return { txHash: transaction.txHash }
      })
  }
})
