/**
 * Goal: refunds leave a merchant's own wallet on Cardano by one signature, once, and are paid when the chain says so.
 * Method: the whole service; the wallet is Strica's library, and a ledger that checks every transaction executes what
 * it signs.
 */
import { layer } from "@effect/vitest"
import { ed25519 } from "@noble/curves/ed25519.js"
import { bech32 } from "@scure/base"
import { Context, Effect, Layer } from "effect"
import { blockfrost, projectId } from "../support/cardano/Blockfrost.ts"
import { accountOf } from "../support/cardano/Keys.ts"
import { enterpriseAddress, Ledger } from "../support/cardano/Ledger.ts"
import { readPayout, readSigned, signPayout } from "../support/cardano/SignedPayout.ts"
import { openRefundTown, refundBatches, type RefundNetwork, type RefundTown } from "./RefundBatches.ts"

const account = await accountOf(new Uint8Array(16).fill(0x3d))
/** Where invoices are paid to, one after the other; the first one pays back, and its wallet has the keys of all. */
const addresses = Array.from({ length: 10 }, (_, index) => account.address(index, "devnet"))
const from = addresses[0]!

/** Of the stake key that is the second half of each of them: it stands for them all. */
const rewardAddress = bech32.encode(
  "stake_test",
  bech32.toWords(
    Uint8Array.of(0xe0, ...bech32.fromWords(bech32.decode(from as `addr_test1${string}`, 200).words).slice(29))
  )
)

/** Blocks until an export of five minutes is over: a block of the rig takes 20 slots. */
const longBlocks = 20

class CardanoTown extends Context.Service<CardanoTown, RefundTown & { readonly ledger: Ledger }>()(
  "test/CardanoRefundTown"
) {
  static readonly layer = Layer.effect(
    CardanoTown,
    Effect.gen(function*() {
      const ledger = new Ledger(() => Math.floor(Date.now() / 1000))
      const server = yield* blockfrost(ledger)
      const town = yield* openRefundTown(
        {
          prices: { cardano: "0.5" },
          chains: [{
            use: "cardano",
            options: { environment: "devnet", api: [{ url: server.url, projectId }], pollMillis: 50 }
          }]
        },
        "cardano",
        {
          kind: "xpub",
          value: bech32.encode("acct_xvk", bech32.toWords(account.publicBytes), 1_000),
          linked: rewardAddress
        }
      )
      return { ...town, ledger }
    })
  )
}

const cardano: RefundNetwork<CardanoTown> = {
  name: "cardano",
  town: CardanoTown,
  symbol: "ADA",
  unitsOf: (usdMillis) => usdMillis * 2_000n,
  from,
  pay: ({ temp_address: address }, lovelace) =>
    Effect.map(CardanoTown, ({ ledger }) => {
      ledger.pay([{ address, lovelace }])
      ledger.mine()
    }),
  newReceiver: Effect.sync(() => enterpriseAddress(ed25519.getPublicKey(ed25519.utils.randomSecretKey()))),
  sign: (payload) =>
    Effect.map(CardanoTown, ({ ledger }) => {
      const outputs = new Map(
        ledger.blocks.flatMap(({ transactions }) => transactions).flatMap(({ outputs: made, txHash }) =>
          made.map(({ address }, index) => [`${txHash}#${index}`, address] as const)
        )
      )
      const spent = new Set(readPayout(payload).inputs.map(({ index, txHash }) => outputs.get(`${txHash}#${index}`)))
      const signers = [...addresses.entries()].flatMap(([place, address]) =>
        spent.has(address) ? [account.signer(place)] : []
      )
      const transaction = readSigned(signPayout(payload, ...signers), from)
      const refusal = ledger.submit(transaction)
      ledger.mine()
      return refusal === null ? transaction.txHash : null
    }),
  heldBy: (address) =>
    Effect.map(
      CardanoTown,
      ({ ledger }) => ledger.tip.unspent(address).reduce((sum, { lovelace }) => sum + lovelace, 0n)
    ),
  isExecutedTwice: false,
  isSeenFirst: false,
  passValidity: Effect.map(CardanoTown, ({ ledger }) => ledger.mine(longBlocks))
}

layer(CardanoTown.layer, { excludeTestServices: true })("refunds on Cardano", (it) => {
  refundBatches(it, cardano)
})
