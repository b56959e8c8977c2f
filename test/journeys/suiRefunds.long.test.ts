/**
 * Goal: refunds leave a merchant's own wallet on Sui by one signature, once, and are paid when the chain says so.
 * Method: the whole service; the wallet is Sui's own SDK, and a ledger of coins with versions executes what it signs.
 */
import { layer } from "@effect/vitest"
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519"
import { Context, Effect, Layer } from "effect"
import { prices } from "../support/Service.ts"
import { suiCoin, usdcCoin } from "../support/sui/Ledger.ts"
import { suiAddress, type SuiRig, suiRig } from "../support/SuiRig.ts"
import { openRefundTown, refundBatches, type RefundNetwork, type RefundTown } from "./RefundBatches.ts"

const wallet = Ed25519Keypair.fromSecretKey(new Uint8Array(32).fill(0x5a))
const from = wallet.toSuiAddress()

/** What invoices are paid to: the wallet that pays back, and others of its owner. */
const pool = [from, ...Array.from({ length: 9 }, (_, place) => suiAddress(place))]

class SuiTown extends Context.Service<SuiTown, RefundTown & { readonly rig: SuiRig }>()("test/SuiRefundTown") {
  static readonly layer = Layer.effect(
    SuiTown,
    Effect.gen(function*() {
      const rig = yield* suiRig()
      for (const balance of [3n, 1n]) rig.coins.give(from, suiCoin, balance * 1_000_000_000n)
      rig.coins.give(from, usdcCoin, 100_000_000n)
      const town = yield* openRefundTown(
        {
          prices: { ...prices, sui: "3.5" },
          chains: [{
            use: "sui",
            options: {
              environment: "devnet",
              rpc: [{ url: rig.node.url }],
              chainId: rig.ledger.chainId,
              pollMillis: 25
            }
          }]
        },
        "sui",
        { kind: "pool", value: pool.join(" "), linked: from }
      )
      return { ...town, rig }
    })
  )
}

let receivers = 0

const sui: RefundNetwork<SuiTown> = {
  name: "sui",
  town: SuiTown,
  symbol: "USDC",
  unitsOf: (usdMillis) => usdMillis * 1_000n,
  from,
  pay: ({ temp_address: to }, amount) => Effect.map(SuiTown, ({ rig }) => rig.pay({ to, coinType: usdcCoin, amount })),
  newReceiver: Effect.sync(() => suiAddress(1_000 + receivers++)),
  sign: (payload) =>
    Effect.flatMap(SuiTown, ({ rig }) =>
      Effect.promise(async () => {
        const { digest, transaction } = JSON.parse(payload)
        const bytes = Buffer.from(transaction, "base64")
        const { signature } = await wallet.signTransaction(bytes)
        const result = await rig.coins.submit(bytes, signature)
        rig.ledger.mine(1)
        return typeof result === "string" ? null : digest
      })),
  heldBy: (address) => Effect.map(SuiTown, ({ rig }) => rig.ledger.balanceOf(address, usdcCoin)),
  isExecutedTwice: false,
  isSeenFirst: false,
  // An export ends with the epoch that is next to the running one, at the latest.
  passValidity: Effect.map(SuiTown, ({ rig }) => {
    rig.ledger.changeEpoch()
    rig.ledger.changeEpoch()
  })
}

layer(SuiTown.layer, { excludeTestServices: true })("refunds on Sui", (it) => {
  refundBatches(it, sui)
})
