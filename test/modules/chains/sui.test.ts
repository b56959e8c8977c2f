/**
 * Goal: exactly the payments that happened on Sui are seen, whatever its nodes do.
 * Method: a ledger behind nodes that speak gRPC-Web by the types of Sui's SDK; the conformance suite, then Sui's own
 * ways to go wrong.
 */
import { Effect } from "effect"
import { chainConformance } from "../../conformance/chains.ts"
import { payor, suiDriver, suiRig, suiTarget } from "../../support/SuiRig.ts"
import { type Payment, suiCoin, usdcCoin } from "../../support/sui/Ledger.ts"

chainConformance(
  "sui on a ledger of our own",
  Effect.gen(function*() {
    const rig = yield* suiRig()
    const driver = yield* Effect.orDie(suiDriver(rig, [rig.node]))
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
)
