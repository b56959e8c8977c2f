/**
 * A chain of Sui to make things happen on: a ledger of our own behind nodes that speak gRPC-Web. No node of Sui can be
 * run here, so this shows that the driver reads the interface right, and not that providers keep it.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Redacted, type Scope } from "effect"
import { makeDriver, type SuiOptions } from "../../modules/chains/sui.ts"
import type { ReceiveTarget } from "../../runtime/Chains.ts"
import { Coins } from "./sui/Coins.ts"
import { Ledger, type LedgerOptions, type Payment, suiCoin, usdcCoin } from "./sui/Ledger.ts"
import { suiNode, type SuiNodeRig } from "./sui/Node.ts"

/** An address of digits, for receivers and payors. */
export const suiAddress = (place: number): string => `0x${(place + 0xa11ce).toString(16).padStart(64, "0")}`

export const suiTarget = (invoice: number): ReceiveTarget => {
  const address = suiAddress(invoice)
  return { address, matchKey: address, memo: null }
}

/** Who pays; has plenty of everything. */
export const payor = `0x${"c".repeat(64)}`

export interface SuiRig {
  readonly ledger: Ledger
  /** What wallets own, and how it is spent. */
  readonly coins: Coins
  readonly node: SuiNodeRig
  /** Another endpoint of the same chain. */
  readonly addNode: Effect.Effect<SuiNodeRig, never, Scope.Scope>
  /** Pays and makes the checkpoint; answers the digest. */
  readonly pay: (...payments: ReadonlyArray<Payment>) => string
}

export const suiRig = (
  options: LedgerOptions = {}
): Effect.Effect<SuiRig, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ledger = new Ledger(options)
    ledger.mint(payor, suiCoin, 10n ** 18n)
    ledger.mint(payor, usdcCoin, 10n ** 18n)
    const coins = new Coins(ledger)
    return {
      ledger,
      coins,
      node: yield* suiNode(ledger, coins),
      addNode: suiNode(ledger, coins),
      pay: (...payments) => {
        const digest = ledger.transfer(payor, payments)
        for (const { amount, coinType, to } of payments) coins.receive(to, coinType, amount)
        ledger.mine(1)
        return digest
      }
    }
  })

/** A driver on these nodes. The client lives as long as the test. */
export const suiDriver = (
  { ledger }: SuiRig,
  nodes: ReadonlyArray<Pick<SuiNodeRig, "url">>,
  more: Partial<SuiOptions> = {},
  absence: Parameters<typeof makeDriver>[1] = {}
) =>
  Effect.flatMap(Layer.build(NodeHttpClient.layerUndici), (client) =>
    Effect.provide(
      makeDriver({
        environment: "devnet",
        rpc: nodes.map(({ url }) => ({ url: Redacted.make(url) })) as never,
        chainId: ledger.chainId,
        pollMillis: 20,
        ...more
      }, absence),
      client
    ))
