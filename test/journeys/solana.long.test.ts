/**
 * Goal: money that moves on Solana becomes the right invoice state, and all three channels tell the same story.
 * Method: the journeys of every network on the real token programs behind JSON-RPC, and those that only this family
 * has.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { getBase58Encoder } from "@solana/kit"
import { prices } from "../support/Service.ts"
import { SolanaLedger } from "../support/SolanaLedger.ts"
import { newAddress, openBank, type Payment, type SolanaBank, usdc } from "../support/SolanaPayments.ts"
import { solanaNode } from "../support/SolanaRig.ts"
import { dollars, healthJourney, type JourneyNetwork, paid, paymentJourneys } from "./PaymentJourneys.ts"
import { assertEvents, assertStatus, chooseToken, transferTypes } from "./Shop.ts"
import { openInvoice, openTown, type Town } from "./Town.ts"

/** Slots come four times as often as they do: a look finds what was paid a moment ago. */
const slotMillis = 100

/** Slots behind the newest one from which on a slot is final, as on the real chain. */
const finalityDepth = 31

class SolanaTown extends Context.Service<
  SolanaTown,
  Town & {
    readonly ledger: SolanaLedger
    readonly bank: SolanaBank
    readonly wallet: string
  }
>()("test/SolanaTown") {
  static readonly layer = Layer.effect(
    SolanaTown,
    Effect.gen(function*() {
      const ledger = new SolanaLedger(() => Date.now() / 1000)
      const bank = yield* openBank(ledger)
      const node = yield* solanaNode(ledger)
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => ledger.advance()), Schedule.spaced(slotMillis)))
      const wallet = yield* newAddress
      const town = yield* openTown({
        prices: { ...prices, solana: "200" },
        chains: [{
          use: "solana",
          options: {
            environment: "devnet",
            rpc: [node.url],
            address: wallet,
            genesisHash: ledger.genesisHash,
            pollMillis: 50
          }
        }]
      }, {
        tokenSources: [{
          use: "bundled",
          options: {
            extra: [{
              network: "solana",
              environment: "devnet",
              symbol: "FEEUSD",
              name: "Dollar with a fee",
              address: bank.feeToken,
              decimals: 6,
              token_type: "spl",
              stable: true,
              asset: "usd-coin"
            }]
          }
        }]
      })
      return { ...town, ledger, bank, wallet }
    })
  )
}

/**
 * A payment link as a wallet reads it, by the words of the Solana Pay specification 1.1 and no code of the service:
 * `solana:<recipient>?amount=<amount>&spl-token=<mint>&reference=<key>…&label=…&message=…&memo=…`.
 */
const readLink = (text: string) => {
  const url = new URL(text)
  assert.strictEqual(url.protocol, "solana:")
  const references = url.searchParams.getAll("reference")
  for (const key of [url.pathname, ...references]) assert.lengthOf([...getBase58Encoder().encode(key)], 32)
  const amount = url.searchParams.get("amount")!
  assert.match(amount, /^(0|[1-9]\d*)(\.\d+)?$/)
  return {
    recipient: url.pathname,
    amount,
    token: url.searchParams.get("spl-token"),
    references,
    memo: url.searchParams.get("memo")
  }
}

type Link = ReturnType<typeof readLink>

const unitsOf = (amount: string, decimals: number): bigint => {
  const [whole, fraction = ""] = amount.split(".")
  return BigInt(whole! + fraction.padEnd(decimals, "0"))
}

/** Pays as a wallet that was given the link. */
const payLink = (link: Link, more: Partial<Payment> = {}) =>
  Effect.flatMap(SolanaTown, ({ bank }) =>
    bank.pay({
      to: link.recipient,
      token: link.token,
      amount: unitsOf(link.amount, link.token === null ? 9 : 6),
      references: link.references,
      ...link.memo === null ? {} : { memo: link.memo },
      ...more
    }))

const solana: JourneyNetwork<SolanaTown> = {
  name: "solana",
  town: SolanaTown,
  symbol: "USDC",
  tokenAmount: (usdMillis) => `${dollars(usdMillis)}000`,
  pay: (shown, usdMillis) => payLink({ ...readLink(shown.payment_uri), amount: dollars(usdMillis) }),
  assertShown: ({ memo, payment_uri, temp_address: address }) =>
    Effect.map(SolanaTown, ({ wallet }) => {
      const link = readLink(payment_uri)
      assert.deepInclude(link, { recipient: wallet, amount: "49.99", token: usdc, memo })
      assert.lengthOf(link.references, 1)
      assert.strictEqual(address, wallet)
    }),
  payer: Effect.map(SolanaTown, ({ bank }) => bank.payer.address),
  hasOwnBlocks: true,
  native: {
    symbol: "SOL",
    usdMillis: 7_010,
    assertShown: ({ payment_uri: link }) =>
      Effect.sync(() => assert.deepInclude(readLink(link), { amount: "0.03505", token: null })),
    // By the reference alone: not every wallet sends a link's memo.
    pay: ({ payment_uri: link }) => payLink({ ...readLink(link), amount: "0.03505", token: null, memo: null })
  },
  // More than the time in which a node's index may not show a payment yet.
  expiredForSeconds: 60,
  reachExpiry: Effect.void,
  payUnlisted: (shown) =>
    Effect.flatMap(
      SolanaTown,
      ({ bank }) =>
        Effect.map(payLink({ ...readLink(shown.payment_uri), token: bank.unlistedToken }), (txHash) => ({
          txHash,
          token: bank.unlistedToken
        }))
    ),
  payWithoutInvoice: {
    type: "missing_memo",
    pay: ({ temp_address: to }) =>
      Effect.flatMap(SolanaTown, ({ bank }) => bank.pay({ to, token: usdc, amount: 5_000_000n }))
  },
  removePayment: {
    isSingle: true,
    // Nothing becomes final until the transaction has left the chain, however slow this machine is.
    prepare: Effect.map(SolanaTown, ({ ledger }) => {
      ledger.finalityDepth = 10_000
    }),
    remove: (txHash) =>
      Effect.map(SolanaTown, ({ ledger }) => {
        const transaction = ledger.drop(txHash)
        ledger.finalityDepth = finalityDepth
        return Effect.sync(() => ledger.include(transaction))
      })
  }
}

layer(SolanaTown.layer, { excludeTestServices: true })("on Solana", (it) => {
  paymentJourneys(it, solana)

  it.effect("a memo that was typed by hand pays an invoice, without the link", () =>
    Effect.gen(function*() {
      const town = yield* SolanaTown
      const { bank, shop, wallet } = town
      const { invoice, listener, shown } = yield* openInvoice(town, "solana", "USDC", { amount_usd: 6 })
      const memo = shown.memo.toLowerCase().replace(/(.{4})(?=.)/g, "$1-")
      yield* bank.pay({ to: wallet, token: usdc, amount: 6_000_000n, memo })
      const { last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 6_000 })
    }))

  it.effect("of a Token-2022 token that keeps a fee, what arrived counts", () =>
    Effect.gen(function*() {
      const town = yield* SolanaTown
      const { shop } = town
      const { invoice, listener, shown } = yield* openInvoice(town, "solana", "FEEUSD", { amount_usd: 10 })
      const link = readLink(shown.payment_uri)
      yield* payLink(link)
      const first = ["invoice.created", ...transferTypes("invoice.partial_payment")]
      const partial = yield* assertEvents(shop, invoice, listener, first)
      assert.include(partial.last.data.object, { status: "underpaid", amount_paid: 9_900, amount_remaining: 100 })
      const again = yield* chooseToken(shop, invoice, "FEEUSD", "solana")
      assert.include(again, { temp_address: link.recipient, memo: link.memo })
      yield* payLink({ ...readLink(again.payment_uri), amount: "0.2" })
      const { last } = yield* assertEvents(shop, invoice, listener, [
        ...first,
        "invoice_payment.created",
        "invoice_payment.updated",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid",
        "invoice.overpaid"
      ])
      assert.include(last.data.object, { status: "paid", amount_paid: 10_098 })
    }))

  it.effect("a token account given as a wallet is refused, and the wallet that owns it is taken", () =>
    Effect.gen(function*() {
      const town = yield* SolanaTown
      const { bank, service, shop } = town
      const own = yield* newAddress
      yield* bank.send([yield* bank.createAccount(own, usdc)])
      const put = (value: string) =>
        service.call("/api/v1/merchant/wallets/solana", {
          method: "PUT",
          headers: { "x-api-key": shop.key },
          body: { kind: "address", value }
        })
      const refused = yield* put(yield* bank.tokenAccount(own, usdc))
      assert.deepStrictEqual([refused.status, refused.json.code], [400, "WALLET_INVALID"])
      assert.match(refused.text, /token account/)
      assert.deepStrictEqual(assertStatus(200, yield* put(own)).first_addresses, [own])
      const { invoice, listener, shown } = yield* openInvoice(town, "solana", "USDC", { amount_usd: 3 })
      const link = readLink(shown.payment_uri)
      assert.strictEqual(link.recipient, own)
      yield* payLink(link)
      yield* assertEvents(shop, invoice, listener, paid)
    }))

  healthJourney(it, solana)
})
