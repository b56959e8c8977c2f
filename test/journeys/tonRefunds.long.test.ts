/**
 * Goal: refunds leave a merchant's own wallet on TON by one signature and are paid when the chain says so; that it was
 * signed twice, which nothing on TON prevents, is told at first sight.
 * Method: the whole service; the wallet is the contract W5 on the real virtual machine.
 */
import { layer } from "@effect/vitest"
import { Address, toNano } from "@ton/core"
import { Context, Effect, Layer } from "effect"
import { prices } from "../support/Service.ts"
import { onChainContent } from "../support/ton/Jetton.ts"
import { w5Wallet } from "../support/ton/W5.ts"
import { type TonJetton, TonRig } from "../support/TonRig.ts"
import { openRefundTown, refundBatches, type RefundNetwork, type RefundTown } from "./RefundBatches.ts"

/** The devnet catalogue's USDT. */
const usdt = "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"

/** `internal_transfer` of TEP-74: what brings jettons to a receiver's account of them. */
const internalTransfer = 0x178d4519

const wallet = w5Wallet(0x7e)
const from = wallet.address.toString({ bounceable: false, testOnly: true })

class TonTown extends Context.Service<
  TonTown,
  RefundTown & { readonly rig: TonRig; readonly jetton: TonJetton }
>()("test/TonRefundTown") {
  static readonly layer = Layer.effect(
    TonTown,
    Effect.gen(function*() {
      const rig = yield* Effect.promise(() => TonRig.make())
      const content = onChainContent({ symbol: "USDT", decimals: "6" })
      const jetton = yield* Effect.promise(() => rig.deployJetton(content, rig.payer, Address.parse(usdt)))
      yield* Effect.promise(() => wallet.place(rig, toNano("5")))
      // What a second signature will send too was there before the service looked.
      yield* Effect.promise(() => rig.mint(jetton, wallet.address, 100_000_000n))
      const { url } = yield* rig.serve()
      // A chain's blocks come by themselves: seconds of a block pass before the next has them.
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(200), Effect.sync(() => rig.mine()))))
      const town = yield* openRefundTown(
        {
          prices: { ...prices, "the-open-network": "2.5" },
          chains: [{ use: "ton", options: { environment: "devnet", api: [{ url }], pollMillis: 50 } }]
        },
        "ton",
        { kind: "address", value: from }
      )
      return { ...town, rig, jetton }
    })
  )
}

let receivers = 0

const ton: RefundNetwork<TonTown> = {
  name: "ton",
  town: TonTown,
  symbol: "USDT",
  unitsOf: (usdMillis) => usdMillis * 1_000n,
  from,
  pay: ({ memo, temp_address: to }, amount) =>
    Effect.flatMap(
      TonTown,
      ({ jetton, rig }) => Effect.promise(() => rig.payJetton(jetton, Address.parse(to), amount, { text: memo }))
    ),
  newReceiver: Effect.sync(() =>
    Address.parseRaw(`0:${(0xa0 + receivers++).toString(16).repeat(32)}`).toString({
      bounceable: false,
      testOnly: true
    })
  ),
  sign: (payload) =>
    Effect.flatMap(TonTown, ({ rig }) =>
      Effect.promise(async () => {
        const mined = await wallet.execute(rig, payload)
        const arrived = mined?.find(({ transaction: { inMessage } }) => {
          const body = inMessage?.body.beginParse()
          return body !== undefined && body.remainingBits >= 32 && body.loadUint(32) === internalTransfer
        })
        return arrived?.transaction.hash().toString("hex") ?? null
      })),
  heldBy: (address) =>
    Effect.flatMap(TonTown, ({ jetton, rig }) =>
      Effect.promise(async () => {
        const account = await jetton.walletOf(Address.parse(address))
        const { account: state } = (await rig.chain.getContract(account)).account
        if (state?.storage.state.type !== "active") return 0n
        return (await rig.chain.runGetMethod(account, "get_wallet_data")).stackReader.readBigNumber()
      })),
  isExecutedTwice: true,
  isSeenFirst: false,
  passValidity: Effect.map(TonTown, ({ rig }) => void rig.mine(400))
}

layer(TonTown.layer, { excludeTestServices: true })("refunds on TON", (it) => {
  refundBatches(it, ton)
})
