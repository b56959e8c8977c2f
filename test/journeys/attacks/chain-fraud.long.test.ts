/**
 * Goal: nobody is credited for what did not arrive, however the chain, the token or the price pretends.
 * Method: attack group L, each case by its number, against a running service on a real EVM node, with tokens that lie.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { getAddress } from "viem"
import { devnetXpub } from "../../../modules/chains/simulated.ts"
import { maximumDustPayments } from "../../../modules/payments/rules.ts"
import { plugin as bundled } from "../../../modules/tokensources/bundled.ts"
import { type Anvil, anvil, usdc } from "../../support/Anvil.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import {
  configOf,
  exchange,
  prices,
  type Service,
  startService,
  temporaryDirectory,
  until
} from "../../support/Service.ts"
import {
  asPayor,
  assertStatus,
  chooseToken,
  eventsOf,
  type Invoice,
  newInvoice,
  openShop,
  readInvoice,
  requestAddress,
  type Shop
} from "../Shop.ts"
import { assertHarmless, attack } from "./Assertions.ts"

const word = (value: number | bigint) => value.toString(16).padStart(2, "0")

/** keccak256("Transfer(address,address,uint256)"). */
const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

/** Bytes of the code that chooses between the two calls. */
const startBytes = 7

/**
 * Code of a token that has `decimals` and, asked to transfer a value, tells of `value >> shift`: with 1 it keeps half
 * as its fee. Less than 68 bytes of call data ask for the decimals.
 */
const tokenCode = (decimals: number, shift = 0): string => {
  const tell = `60243560${word(shift)}1c600052600435337f${transferTopic}60206000a3600160005260206000f3`
  const start = `6044361060${word(startBytes + tell.length / 2)}57`
  return `0x${start}${tell}5b60${word(decimals)}60005260206000f3`
}

const tokens = {
  TAX: { address: "0x1000000000000000000000000000000000000001", decimals: 6, code: tokenCode(6, 1) },
  WHOLE: { address: "0x1000000000000000000000000000000000000002", decimals: 0, code: tokenCode(0) },
  FINE: { address: "0x1000000000000000000000000000000000000003", decimals: 36, code: tokenCode(36) },
  /** Its contract says 18. */
  LIAR: { address: "0x1000000000000000000000000000000000000004", decimals: 6, code: tokenCode(18) },
  /** On nobody's list, under the symbol of one that is. */
  USDC: { address: "0x1000000000000000000000000000000000000005", decimals: 6, code: tokenCode(6) }
} as const

const extra = (["TAX", "WHOLE", "FINE", "LIAR"] as const).map((symbol) => ({
  network: "base",
  environment: "devnet",
  symbol,
  name: symbol,
  address: tokens[symbol].address,
  decimals: tokens[symbol].decimals,
  token_type: "erc20",
  asset: "usd-coin"
}))

class Town extends Context.Service<Town, {
  readonly node: Anvil
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/Town") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
      for (const { address, code } of Object.values(tokens)) yield* node.rpc("anvil_setCode", address, code)
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const { weth: _unpriced, ...known } = prices
      const config = configOf({
        database: database.url,
        receivers: [receiver.host],
        prices: known,
        // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
        chains: [
          {
            use: "evm",
            options: {
              network: "base",
              environment: "devnet",
              rpc: [node.url],
              xpub: devnetXpub,
              startIndex: 10,
              pollMillis: 25
            }
          },
          { use: "simulated", options: { networks: ["ethereum"] } }
        ]
      })
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, tokenSources: [{ use: "bundled", options: { extra } }] }
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { node, service, shop, sql }
    })
  )
}

const open = Effect.fnUntraced(function*(symbol = "USDC", fields: object = {}, network = "base") {
  const { shop } = yield* Town
  const invoice = yield* newInvoice(shop, { amount_usd: 20, ...fields })
  return { invoice, to: (yield* chooseToken(shop, invoice, symbol, network)).temp_address as string }
})

/** A call of `transfer(to, value)` on a token by the node's first account. */
const transfer = (at: string, to: string, value: bigint) =>
  Effect.flatMap(Town, ({ node }) => node.token("transfer", [to, value], { at }))

/** Status, exception and value of the invoice's payments, once there are `count`. */
const paymentsOf = (invoice: Invoice, count: number) =>
  Effect.gen(function*() {
    const { sql } = yield* Town
    const rows = yield* until(
      `${count} payments`,
      Effect.orDie(sql<any>`SELECT status, amount::text, metadata->>'exception' AS exception FROM invoice_payments
        WHERE invoice_id = ${invoice.id} AND status <> 'pending' ORDER BY amount, id`),
      (all) => all.length >= count
    )
    assert.lengthOf(rows, count)
    return rows.map(({ amount, exception, status }) => `${status} ${amount} ${exception ?? "none"}`)
  })

/** Lets everything that was sent so far be looked at: a good payment of another invoice, sent after it, is counted. */
const settled = Effect.gen(function*() {
  const { invoice, to } = yield* open()
  yield* transfer(usdc, to, 20_000_000n)
  yield* untilPaid(invoice)
})

const paidOf = (invoice: Invoice) =>
  Effect.flatMap(
    Town,
    ({ shop }) => Effect.map(readInvoice(shop, invoice.id), ({ amount_paid, status }) => ({ amount_paid, status }))
  )

const untilPaid = (invoice: Invoice, wanted: (found: any) => boolean = ({ status }) => status === "paid") =>
  Effect.flatMap(Town, ({ shop }) => until("the invoice is paid", readInvoice(shop, invoice.id), wanted))

const policy = (path: string, body: object, method = "POST") =>
  Effect.gen(function*() {
    const { service, shop } = yield* Town
    const sent = { method, headers: { "x-api-key": shop.key }, body }
    assertStatus(200, yield* attack(service, `/api/v1/merchant/tokens/${path}`, sent))
  })

/**
 * The node's first account, which holds the test tokens: by its public test phrase it is the service's first address
 * too.
 */
const minterAddress = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

const nothingPaid = { amount_paid: 0, status: "unpaid" }

layer(Town.layer, { excludeTestServices: true })("L. business abuse", (it) => {
  it.effect(
    "113. dust counts for nothing, is shown up to a limit, and the real payment still counts",
    () =>
      Effect.gen(function*() {
        const { node, shop } = yield* Town
        const { invoice, to } = yield* open()
        const grains = 300
        for (let sent = 0; sent < grains; sent += 100) {
          yield* node.token("transferMany", [Array.from({ length: 100 }, () => to), 1n, 0n], { gas: 10_000_000n })
        }
        assert.deepStrictEqual(
          [...new Set(yield* paymentsOf(invoice, maximumDustPayments))],
          ["rejected 0 below_dust"]
        )
        assert.deepStrictEqual(yield* paidOf(invoice), nothingPaid)
        yield* transfer(usdc, to, 20_000_000n)
        yield* untilPaid(invoice)
        const events = yield* eventsOf(shop, invoice.id)
        assert.isAtMost(events.filter(({ type }) => type === "invoice.updated").length, 1, "dust moves no invoice")
        const details = yield* asPayor(shop, invoice, "session-details")
        assert.strictEqual(details.amount_paid, 20_000)
        assert.strictEqual(details.payments.length, maximumDustPayments + 1)
      })
  )

  it.effect(
    "114. what only looks like a payment is not credited: look-alikes, failures, self-transfers, other networks",
    () =>
      Effect.gen(function*() {
        const { node, shop } = yield* Town
        const fake = yield* open()
        yield* transfer(tokens.USDC.address, fake.to, 20_000_000n)
        assert.deepStrictEqual(yield* paymentsOf(fake.invoice, 1), ["rejected 0 wrong_token"])

        const alike = yield* open()
        const address = "0x2000000000000000000000000000000000000009"
        yield* node.setCode(address)
        yield* node.token("mint", [alike.to, 20_000_000n], { at: address })
        assert.deepStrictEqual(yield* paymentsOf(alike.invoice, 1), ["rejected 0 wrong_token"])
        const path = `/api/v1/invoices/${alike.invoice.id}/payments`
        const read = Effect.map(shop.service.call(path, { headers: { "x-api-key": shop.key } }), (found) =>
          assertStatus(200, found).data[0])
        const named = yield* until("its contract has answered", read, ({ metadata }) =>
          metadata.token.decimals !== null)
        assert.deepStrictEqual(named.metadata.token, { id: null, symbol: "USDC", address, decimals: 6 })
        assert.include(named, { payer_amount_token: "20.000000", amount: 0, status: "rejected" })

        const liar = yield* open()
        yield* transfer(tokens.LIAR.address, liar.to, 20_000_000n)
        assert.deepStrictEqual(
          yield* paymentsOf(liar.invoice, 1),
          ["rejected 0 wrong_token"],
          "its contract contradicts the list"
        )

        const failed = yield* open()
        yield* node.rpc("anvil_setBalance", failed.to, "0x0")
        const poor = node.accounts[1]!
        yield* Effect.exit(node.rpc("eth_sendTransaction", {
          from: poor,
          to: usdc,
          gas: "0x30d40",
          data: `0xa9059cbb${failed.to.slice(2).toLowerCase().padStart(64, "0")}${word(20_000_000n).padStart(64, "0")}`
        }))
        yield* transfer(usdc, failed.to, 0n)

        const self = yield* open()
        yield* node.rpc("anvil_impersonateAccount", self.to)
        yield* node.rpc("anvil_setBalance", self.to, "0xde0b6b3a7640000")
        yield* node.rpc("eth_sendTransaction", { from: self.to, to: self.to, value: "0x2386f26fc10000" })
        yield* node.rpc("eth_sendTransaction", {
          from: self.to,
          to: tokens.TAX.address,
          gas: "0x30d40",
          data: `0xa9059cbb${self.to.slice(2).toLowerCase().padStart(64, "0")}${word(20_000_000n).padStart(64, "0")}`
        })

        const elsewhere = yield* open("USDC", { accepted_networks: ["ethereum"] }, "ethereum")
        yield* transfer(usdc, elsewhere.to, 20_000_000n)
        assert.deepStrictEqual(yield* paymentsOf(elsewhere.invoice, 1), ["rejected 0 wrong_network"])

        yield* settled
        for (const { invoice } of [fake, liar, failed, self, elsewhere]) {
          assert.deepStrictEqual(yield* paidOf(invoice), nothingPaid)
        }
        assert.deepStrictEqual(yield* paymentsOf(failed.invoice, 0), [])
        assert.deepStrictEqual(yield* paymentsOf(self.invoice, 0), [])
      })
  )

  it.effect("114. a token that keeps a fee pays what arrived, not what was sent", () =>
    Effect.gen(function*() {
      const { invoice, to } = yield* open("TAX")
      yield* transfer(tokens.TAX.address, to, 20_000_000n)
      yield* untilPaid(invoice, ({ amount_paid }) => amount_paid > 0)
      assert.deepStrictEqual(yield* paidOf(invoice), { amount_paid: 10_000, status: "underpaid" })
    }))

  it.effect(
    "114. a token blocked when the address was given out is refused, one blocked since is credited",
    () =>
      Effect.gen(function*() {
        const { service, shop } = yield* Town
        const before = yield* open("USDC")
        const list = yield* attack(service, "/api/v1/merchant/tokens/search?network=base&search=USDC", {
          headers: { "x-api-key": shop.key }
        })
        const blocked = assertStatus(200, list).tokens.find(({ token_symbol }: any) => token_symbol === "USDC").id
        yield* policy(`${blocked}/block`, { blocked: true })
        yield* policy("policy", { acceptance_policy: "selective" }, "PUT")
        const after = yield* open("ETH")
        const refused = yield* requestAddress(shop, after.invoice, { network: "base", token_id: blocked })
        assert.strictEqual(refused.json.code, "TOKEN_NOT_ACCEPTED")
        const again = assertStatus(
          200,
          yield* requestAddress(shop, before.invoice, { network: "base", token_id: blocked })
        )
        assert.strictEqual(again.temp_address, before.to, "an address given out before stays payable")
        yield* transfer(usdc, before.to, 20_000_000n)
        yield* transfer(usdc, after.to, 20_000_000n)
        assert.deepStrictEqual(yield* paymentsOf(after.invoice, 1), ["rejected 0 wrong_token"])
        assert.deepStrictEqual(yield* paymentsOf(before.invoice, 1), ["confirmed 20000 none"])
        yield* policy("policy", { acceptance_policy: "accept_all" }, "PUT")
        yield* transfer(usdc, after.to, 1_000_000n)
        assert.deepStrictEqual(
          yield* paymentsOf(after.invoice, 2),
          ["rejected 0 wrong_token", "rejected 0 wrong_token"],
          "what held when the address was given out holds"
        )
      })
  )

  it.effect(
    "115. without a price there is an address and a reason, and no amount made up",
    () =>
      Effect.gen(function*() {
        const { shop } = yield* Town
        const invoice = yield* newInvoice(shop, { amount_usd: 20 })
        const shown = yield* chooseToken(shop, invoice, "WETH")
        assert.include(shown, {
          quote_status: "unavailable",
          status_code: "quote_unavailable",
          estimated_token_amount: null,
          exchange_rate: null,
          payment_uri: null,
          retryable: true
        })
        assert.isAtLeast(shown.retry_after_seconds, 1)
        assert.isNotEmpty(shown.message)
        assert.match(shown.temp_address, /^0x[0-9a-fA-F]{40}$/)
      })
  )

  it.effect(
    "116. amounts are exact at every count of decimals, and round against the payor by one unit at most",
    () =>
      Effect.gen(function*() {
        const { shop } = yield* Town
        for (
          const [symbol, asked] of [["WHOLE", "21"], ["FINE", `20.5${"0".repeat(35)}`], ["TAX", "20.500000"]] as const
        ) {
          const invoice = yield* newInvoice(shop, { amount_usd: 20.5 })
          assert.strictEqual((yield* chooseToken(shop, invoice, symbol)).estimated_token_amount, asked)
        }
        const fine = yield* open("FINE", { amount_usd: 1_000_000 })
        yield* transfer(tokens.FINE.address, fine.to, 10n ** 42n)
        yield* untilPaid(fine.invoice)
        assert.strictEqual((yield* paidOf(fine.invoice)).amount_paid, 1_000_000_000)
        const huge = yield* open("WHOLE", { amount_usd: 20 })
        yield* transfer(tokens.WHOLE.address, huge.to, 20n)
        yield* untilPaid(huge.invoice)
      })
  )

  it.effect("116. a token of more decimals than amounts are kept in is refused with the config", () =>
    Effect.sync(() => {
      const [token] = extra
      for (
        const [decimals, fits] of [[0, true], [36, true], [37, false], [255, false], [-1, false], [1.5, false]] as const
      ) {
        const decoded = Schema.decodeUnknownExit(bundled.options!)({ extra: [{ ...token, decimals }] })
        assert.strictEqual(Exit.isSuccess(decoded), fits, String(decimals))
      }
    }))

  it.effect("117. an address is shown whole and checksummed, wherever it is shown", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const invoice = yield* newInvoice(shop, { amount_usd: 20 })
      const shown = yield* chooseToken(shop, invoice, "USDC")
      assert.strictEqual(getAddress(shown.temp_address), shown.temp_address)
      assert.include(shown.payment_uri, `address=${shown.temp_address}`)
      yield* transfer(usdc, shown.temp_address, 5_000_000n)
      yield* untilPaid(invoice, ({ status }) => status === "underpaid")
      assert.strictEqual((yield* asPayor(shop, invoice, "session-details")).locked_payment_address, shown.temp_address)
    }))

  it.effect("118. insides are behind a credential or nowhere, and errors are plain", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const metrics = yield* attack(service, "/metrics")
      assert.strictEqual(metrics.status, 401)
      assert.notInclude(metrics.text, "tillwire_")
      assert.strictEqual(
        (yield* attack(service, "/metrics", { headers: { authorization: "Bearer wrong" } })).status,
        401
      )
      for (
        const path of [
          "/debug",
          "/debug/pprof",
          "/.env",
          "/config",
          "/admin/v1/payments",
          "/rpc",
          "/server-status",
          "/actuator"
        ]
      ) {
        assert.strictEqual((yield* attack(service, path)).json.error.code, "NOT_FOUND", path)
      }
      const inside = yield* exchange(service.rpcUrl, "/rpc", { method: "POST", body: "{}" })
      assert.strictEqual(assertHarmless(inside, "/rpc").status, 401)
      assert.deepStrictEqual(
        service.errors().filter((line) => !line.includes("a token is not accepted") && !line.includes(minterAddress)),
        [],
        "nothing went wrong that an operator would be told of"
      )
    }))
})
