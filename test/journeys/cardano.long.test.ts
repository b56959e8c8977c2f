/**
 * Goal: ADA that moves on a Cardano chain becomes the right invoice state, and all three channels tell the same story.
 * Method: the journeys of every network on a chain whose ledger checks every transaction, behind Blockfrost's REST
 * paths, and those that only this family has.
 */
import { assert, layer } from "@effect/vitest"
import { bech32 } from "@scure/base"
import { Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { blockfrost, projectId } from "../support/cardano/Blockfrost.ts"
import { accountOf, type TestAccount } from "../support/cardano/Keys.ts"
import { Ledger, type RigOutput, type RigTransaction } from "../support/cardano/Ledger.ts"
import { rigAccount, rigXpub } from "../support/cardano/Rig.ts"
import { until } from "../support/Service.ts"
import { dollars, healthJourney, type JourneyNetwork, paid, paymentJourneys } from "./PaymentJourneys.ts"
import { assertEvents, assertStatus, readInvoice } from "./Shop.ts"
import { openInvoice, openTown, type Town } from "./Town.ts"

class CardanoTown extends Context.Service<
  CardanoTown,
  Town & {
    readonly ledger: Ledger
    readonly account: TestAccount
  }
>()("test/CardanoTown") {
  static readonly layer = Layer.effect(
    CardanoTown,
    Effect.gen(function*() {
      const ledger = new Ledger(() => Math.floor(Date.now() / 1000))
      const server = yield* blockfrost(ledger)
      const town = yield* openTown({
        prices: { cardano: "0.5" },
        chains: [{
          use: "cardano",
          options: {
            environment: "devnet",
            api: [{ url: server.url, projectId }],
            xpub: yield* rigXpub,
            pollMillis: 50
          }
        }]
      })
      town.service.guard(projectId)
      return { ...town, ledger, account: yield* rigAccount }
    })
  )
}

const ada = 1_000_000n

/** A payment in a block of its own. */
const pay = (...outputs: ReadonlyArray<RigOutput>) =>
  Effect.map(CardanoTown, ({ ledger }): RigTransaction => {
    const transaction = ledger.pay(outputs)
    ledger.mine()
    return transaction
  })

const cardano: JourneyNetwork<CardanoTown> = {
  name: "cardano",
  town: CardanoTown,
  symbol: "ADA",
  tokenAmount: (usdMillis) => `${dollars(usdMillis * 2n)}000`,
  pay: ({ temp_address: address }, usdMillis) =>
    Effect.map(pay({ address, lovelace: usdMillis * 2_000n }), ({ txHash }) => txHash),
  /** The link is CIP-13's, at an address of the owner's wallet. */
  assertShown: ({ payment_uri, temp_address: address }) =>
    Effect.map(CardanoTown, ({ account }) => {
      assert.strictEqual(address, account.address(0, "devnet"))
      assert.strictEqual(payment_uri, `web+cardano:${address}?amount=99.98`)
      const link = new URL(payment_uri)
      assert.deepStrictEqual([link.protocol, link.pathname, [...link.searchParams]], [
        "web+cardano:",
        address,
        [["amount", "99.98"]]
      ])
    }),
  payer: Effect.map(CardanoTown, ({ ledger }) => ledger.address),
  hasOwnBlocks: false,
  native: null,
  expiredForSeconds: 5,
  // An invoice expires once a block of a later time was read.
  reachExpiry: Effect.flatMap(CardanoTown, ({ ledger }) =>
    Effect.map(Effect.sleep(1_100), () => {
      ledger.mine()
    })),
  // The ADA that carries the asset pays nothing either.
  payUnlisted: (shown) =>
    Effect.map(CardanoTown, ({ ledger }) => {
      const names = new Map([["tUSD", 5_000_000n]])
      const output = { address: shown.temp_address, lovelace: 1_500_000n, assets: new Map([[ledger.policy, names]]) }
      const { txHash } = ledger.pay([output], { mint: names })
      ledger.mine()
      return { txHash, token: `${ledger.policy}${Buffer.from("tUSD").toString("hex")}` }
    }),
  payWithoutInvoice: {
    type: "unmatched_payment",
    // To an address that no invoice has yet.
    pay: () =>
      Effect.flatMap(
        CardanoTown,
        ({ account }) =>
          Effect.map(pay({ address: account.address(25, "devnet"), lovelace: 9n * ada }), ({ txHash }) => txHash)
      )
  },
  removePayment: {
    isSingle: false,
    prepare: Effect.void,
    remove: (txHash) =>
      Effect.map(CardanoTown, ({ ledger }) => {
        ledger.mine()
        const transaction = ledger.rollback(2).find((each) => each.txHash === txHash)!
        ledger.mine(3)
        return Effect.sync(() => {
          ledger.resubmit(transaction)
          ledger.mine()
        })
      })
  }
}

layer(CardanoTown.layer, { excludeTestServices: true })("on a Cardano chain", (it) => {
  paymentJourneys(it, cardano)

  it.effect("two outputs of one transaction pay an invoice together", () =>
    Effect.gen(function*() {
      const town = yield* CardanoTown
      const { invoice, shown } = yield* openInvoice(town, "cardano", "ADA", { amount_usd: 5 })
      const half = { address: shown.temp_address, lovelace: 5n * ada }
      yield* pay(half, half)
      const both = yield* until("both outputs", readInvoice(town.shop, invoice.id), ({ status }) => status === "paid")
      assert.include(both, { amount_paid: 5_000, amount_remaining: 0 })
    }))

  it.effect("a merchant's own account shows the addresses that its wallet shows, and is paid from the next invoice on", () =>
    Effect.gen(function*() {
      const town = yield* CardanoTown
      const { service, shop } = town
      const account = yield* Effect.promise(() => accountOf(randomBytes(16)))
      const put = (value: string) =>
        service.call("/api/v1/merchant/wallets/cardano", {
          method: "PUT",
          headers: { "x-api-key": shop.key },
          body: { kind: "xpub", value }
        })
      const secret = bech32.encode("acct_xsk", bech32.toWords(account.privateBytes), 1_000)
      const refused = yield* put(secret)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "PRIVATE")
      assert.notInclude(refused.text, secret.slice(9, 30))
      const written = yield* put(bech32.encode("acct_xvk", bech32.toWords(account.publicBytes), 1_000))
      assert.deepStrictEqual(
        assertStatus(200, written).first_addresses,
        [0, 1, 2].map((index) => account.address(index, "devnet"))
      )
      const { invoice, listener, shown } = yield* openInvoice(town, "cardano", "ADA", { amount_usd: 4 })
      assert.strictEqual(shown.temp_address, account.address(0, "devnet"))
      yield* pay({ address: shown.temp_address, lovelace: 8n * ada })
      yield* assertEvents(shop, invoice, listener, paid)
    }))

  it.effect("the provider's key is never printed", () =>
    Effect.map(CardanoTown, ({ service }) => assert.notInclude(service.output(), projectId)))

  healthJourney(it, cardano)
})
