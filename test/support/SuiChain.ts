/** The rig of Sui as a chain that suites try. */
import { Effect, Redacted, type Scope } from "effect"
import { disturbancesOf } from "../conformance/chains/Disturbances.ts"
import type { TestedChain } from "../conformance/chains.ts"
import { type Payment, suiCoin, usdcCoin } from "./sui/Ledger.ts"
import type { NodeFault } from "./sui/Node.ts"
import { payor, suiAddress, suiDriver, suiRig, suiTarget } from "./SuiRig.ts"

/** Addresses for invoices of a history. */
const pool = Array.from({ length: 1_000 }, (_, place) => suiAddress(place))

interface Fault {
  readonly fault?: NodeFault
  /** Checkpoints that the node is behind, and those that its index is behind its head. */
  readonly lag?: readonly [head: number, index: number]
}

/** What a node says below its watermark is whole, so it leaves nothing out that comes later. */
const faults = {
  lag: () => ({ lag: [2, 0] }),
  index_lag: () => ({ lag: [0, 3] }),
  duplicates: () => ({
    fault: ({ method }, answer) => {
      const { messages, ...rest } = answer()
      return method === "ListTransactions"
        ? { ...rest, messages: [...messages.slice(0, -1).flatMap((each) => [each, each]), ...messages.slice(-1)] }
        : { ...rest, messages }
    }
  }),
  cut: () => ({ fault: "cut" }),
  errors: () => ({ fault: { http: 503 } })
} satisfies Record<string, () => Fault>

export const suiChain: Effect.Effect<TestedChain, never, Scope.Scope> = Effect.gen(function*() {
  const rig = yield* suiRig()
  const value = Redacted.make(pool.join(" "))
  const openDriver = Effect.orDie(suiDriver(rig, [rig.node], { wallet: { kind: "pool", value } }))
  const driver = yield* openDriver
  const send = (payments: ReadonlyArray<Payment>) => Effect.sync(() => ({ txHash: rig.pay(...payments) }))
  return {
    driver,
    openDriver,
    target: suiTarget,
    unit: 1_000n,
    token: usdcCoin,
    pay: ({ address }, token, amount) => send([{ to: address, coinType: token ?? suiCoin, amount }]),
    mine: (blocks) => Effect.sync(() => rig.ledger.mine(blocks)),
    payMany: (to, amount) => send(to.map(({ address }) => ({ to: address, coinType: usdcCoin, amount }))),
    rollback: null,
    dropTransaction: null,
    disturbances: disturbancesOf<Fault>((fault) => {
      rig.node.set(fault?.fault ?? "through")
      rig.node.lag(...fault?.lag ?? [0, 0])
    }, faults),
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
