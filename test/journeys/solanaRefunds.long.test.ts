/**
 * Goal: refunds leave a merchant's own wallet on Solana by one signature, once, and are paid when the chain says so.
 * Method: the whole service; the wallet is `@solana/kit`, and the real token programs execute what it signs.
 */
import { layer } from "@effect/vitest"
import { ed25519 } from "@noble/curves/ed25519.js"
import { base58 } from "@scure/base"
import {
  generateKeyPairSigner,
  getTransactionDecoder,
  getTransactionEncoder,
  type KeyPairSigner,
  signTransaction
} from "@solana/kit"
import { Context, Effect, Layer, Schedule } from "effect"
import { prices } from "../support/Service.ts"
import { SolanaLedger } from "../support/SolanaLedger.ts"
import { openBank, type SolanaBank, usdc } from "../support/SolanaPayments.ts"
import { solanaNode } from "../support/SolanaRig.ts"
import { openRefundTown, refundBatches, type RefundNetwork, type RefundTown } from "./RefundBatches.ts"

/** Slots come four times as often as they do: a look finds what was paid a moment ago. */
const slotMillis = 100

/** More slots than an export is valid for, with those until a slot is final and those that an index may be late. */
const longSlots = 260

/** The wallet, whose key the service never sees: made with the module, because its address names it to the tests. */
const wallet: KeyPairSigner = await generateKeyPairSigner()

class SolanaTown extends Context.Service<
  SolanaTown,
  RefundTown & { readonly ledger: SolanaLedger; readonly bank: SolanaBank }
>()("test/SolanaRefundTown") {
  static readonly layer = Layer.effect(
    SolanaTown,
    Effect.gen(function*() {
      const ledger = new SolanaLedger(() => Date.now() / 1000)
      const bank = yield* openBank(ledger)
      ledger.fund(wallet.address, 1_000_000_000n)
      const node = yield* solanaNode(ledger)
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => ledger.advance()), Schedule.spaced(slotMillis)))
      const town = yield* openRefundTown(
        {
          prices: { ...prices, solana: "200" },
          chains: [{
            use: "solana",
            options: { environment: "devnet", rpc: [node.url], genesisHash: ledger.genesisHash, pollMillis: 50 }
          }]
        },
        "solana",
        { kind: "address", value: wallet.address }
      )
      return { ...town, ledger, bank }
    })
  )
}

const solana: RefundNetwork<SolanaTown> = {
  name: "solana",
  town: SolanaTown,
  symbol: "USDC",
  unitsOf: (usdMillis) => usdMillis * 1_000n,
  from: wallet.address,
  pay: ({ memo, temp_address: to }, amount) =>
    Effect.flatMap(SolanaTown, ({ bank }) => bank.pay({ to, token: usdc, amount, memo })),
  newReceiver: Effect.sync(() => base58.encode(ed25519.getPublicKey(ed25519.utils.randomSecretKey()))),
  sign: (payload) =>
    Effect.flatMap(SolanaTown, ({ ledger }) =>
      Effect.promise(async () => {
        const transaction = getTransactionDecoder().decode(Buffer.from(JSON.parse(payload).transaction, "base64"))
        const signed = await signTransaction([wallet.keyPair], transaction as never)
        const wire = Uint8Array.from(getTransactionEncoder().encode(signed as never))
        try {
          const signature = ledger.execute(wire)
          // Confirmed, and not final for three seconds.
          ledger.advance(2)
          return signature
        } catch {
          return null
        }
      })),
  heldBy: (address) =>
    Effect.flatMap(SolanaTown, ({ bank, ledger }) =>
      Effect.map(bank.tokenAccount(address, usdc), (account) => {
        const data = ledger.account(account)?.data
        return data === undefined ? 0n : Buffer.from(data).readBigUInt64LE(64)
      })),
  isExecutedTwice: false,
  isSeenFirst: true,
  passValidity: Effect.map(SolanaTown, ({ ledger }) => ledger.advance(longSlots))
}

layer(SolanaTown.layer, { excludeTestServices: true })("refunds on Solana", (it) => {
  refundBatches(it, solana)
})
