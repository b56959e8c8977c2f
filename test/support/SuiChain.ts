/** The rig of Sui as a chain that suites try. */
import { Effect, Redacted, type Scope } from "effect"
import type { TestedChain } from "../conformance/chains.ts"
import { type Payment, suiCoin, usdcCoin } from "./sui/Ledger.ts"
import { payor, suiAddress, suiDriver, suiRig, suiTarget } from "./SuiRig.ts"

/** Addresses for invoices of a history. */
const pool = Array.from({ length: 1_000 }, (_, place) => suiAddress(place))

export const suiChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.gen(function*() {
  const rig = yield* suiRig()
  const value = Redacted.make(pool.join(" "))
  const driver = yield* Effect.orDie(suiDriver(rig, [rig.node], { wallet: { kind: "pool", value } }))
  const send = (payments: ReadonlyArray<Payment>) => Effect.sync(() => ({ txHash: rig.pay(...payments) }))
  return {
    driver,
    target: suiTarget,
    unit: 1_000n,
    token: usdcCoin,
    pay: ({ address }, token, amount) => send([{ to: address, coinType: token ?? suiCoin, amount }]),
    mine: (blocks) => Effect.sync(() => rig.ledger.mine(blocks)),
    payMany: (to, amount) => send(to.map(({ address }) => ({ to: address, coinType: usdcCoin, amount }))),
    rollback: null,
    dropTransaction: null,
    shared: null,
    payWithFee: null,
    payInVain: ({ address }, amount) =>
      Effect.sync(() => {
        const txHash = rig.ledger.transfer(payor, [{ to: address, coinType: suiCoin, amount }], true)
        rig.ledger.mine(1)
        return { txHash }
      })
  }
})
