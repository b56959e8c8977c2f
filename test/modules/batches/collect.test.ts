/**
 * Goal: what lies on addresses of invoices that are over is found, told with whom it pays, and collected by one batch
 * that is paid when the chain says so. Method: a whole devnet over HTTP; transfers on its simulated chains, and a
 * wallet of play money that signs what was given out.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import { CollectableList } from "../../../modules/batches/api/Collectable.ts"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { baseUnits, parseUnits } from "../../../schemas/Money.ts"
import { ReadBatch } from "../../../schemas/Batch.ts"
import { until } from "../../support/Service.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import { newAddress } from "../wallets/WalletService.ts"
import { ask, decodes, giveOut, mine, newShop, play, readUntil, send, type Shop } from "./BatchShop.ts"

/** A shop whose invoices are paid to addresses of a forwarder. */
const forwarderShop = Effect.gen(function*() {
  const shop = yield* newShop
  const payee = newAddress.evm()
  yield* putWallet(shop, "forwarder", payee)
  return { shop, payee }
})

const putWallet = Effect.fnUntraced(function*(shop: Shop, kind: string, value: string) {
  const answer = yield* (yield* DevnetService).call("/api/v1/merchant/wallets/evm", {
    method: "PUT",
    headers: { ...shop.person, "idempotency-key": randomUUID() },
    body: { kind, value }
  })
  assert.strictEqual(answer.status, 200, answer.text)
})

const tokenOf = Effect.fnUntraced(function*(symbol: string) {
  const { services } = yield* DevnetService
  const found = Context.get(services, TokenCatalog).list("devnet").find((each) =>
    each.network === "base" && each.symbol === symbol
  )
  assert(found !== undefined)
  return found
})

/** An invoice whose payor was shown an address on base, and has not paid. */
const newInvoice = Effect.fnUntraced(function*(shop: Shop, usd: number) {
  const made = yield* ask(shop.key, "/api/v1/invoices", { amount_usd: usd, accepted_networks: ["base"] })
  const { id } = yield* tokenOf("USDC")
  const shown = yield* (yield* DevnetService).call("/api/v1/payments/payment-addresses", {
    headers: made.payment_session_headers,
    body: { network: "base", token_id: id }
  })
  assert.strictEqual(shown.status, 200, shown.text)
  return { id: made.invoice_id as string }
})

/** Sends so much of a token of base to the address of an invoice. */
const pay = Effect.fnUntraced(function*(id: string, symbol: string, amount: string) {
  const { services } = yield* DevnetService
  const token = yield* tokenOf(symbol)
  const target = yield* Context.get(services, Chains).target(id, "evm")
  assert(target !== null)
  yield* Context.get(services, SimulatedChain).transfer({
    network: "base",
    to: target.matchKey,
    tokenAddress: token.address,
    amount: baseUnits(parseUnits(amount, token.decimals)!)
  })
  return target.address
})

const statusOf = (shop: Shop, id: string) =>
  Effect.map(ask(shop.key, `/api/v1/invoices/${id}`), (found): string => found.status)

const paidInvoice = Effect.fnUntraced(function*(shop: Shop, usd: number) {
  const { id } = yield* newInvoice(shop, usd)
  const address = yield* pay(id, "USDC", String(usd))
  yield* until(
    "the invoice is paid",
    Effect.andThen(mine("base", 1), statusOf(shop, id)),
    (status) => status === "paid"
  )
  return { id, address }
})

const collectable = (shop: Shop, query = "") => ask(shop.key, `/api/v1/collectable?network=base&${query}`)

const collect = (shop: Shop, more: object = {}) =>
  send(shop.key, "/api/v1/batches", { kind: "collect", network: "base", ...more })

layer(DevnetService.layer, { excludeTestServices: true })("what can be collected", (it) => {
  it.effect("is told by token with its addresses, and is gone when a batch has collected it", () =>
    Effect.gen(function*() {
      const { payee, shop } = yield* forwarderShop
      const paid = [yield* paidInvoice(shop, 5), yield* paidInvoice(shop, 7)]
      const list = yield* collectable(shop)
      yield* decodes(CollectableList, { success: true, data: list })
      assert.lengthOf(list.data, 1)
      assert.include(list.data[0], {
        symbol: "USDC",
        token_amount: "12.000000",
        amount: 12_000,
        addresses: 2,
        method: "collector",
        estimated_gas: "110000"
      })
      assert.notProperty(list.data[0], "sources")
      const { data: [expanded] } = yield* collectable(shop, "expand=addresses")
      assert.sameMembers(expanded.sources.map(({ address }: any) => address), paid.map(({ address }) => address))
      for (const source of expanded.sources) {
        const proof = yield* (yield* DevnetService).call(
          `/api/v1/merchant/wallets/evm/proof?address=${source.address}`,
          {
            headers: shop.key
          }
        )
        assert.deepInclude(proof.json, { payee, salt: source.salt })
      }
      const batch = okData(yield* collect(shop))
      assert.deepStrictEqual(
        [batch.status, batch.lines_total, batch.amount, batch.approvals_required, batch.from],
        ["ready", 2, 12_000, 0, null]
      )
      const given = okData(yield* giveOut(shop.key, batch))
      assert.isNull(given.valid_until)
      yield* play(shop, batch)
      const done = yield* readUntil(shop, batch, "paid")
      yield* decodes(ReadBatch, done)
      assert.sameMembers(
        done.lines.map(({ source_address }: any) => source_address),
        paid.map(({ address }) => address)
      )
      assert.deepStrictEqual([...new Set(done.lines.map(({ destination }: any) => destination.address))], [payee])
      assert.deepStrictEqual((yield* collectable(shop, "min_value=0")).data, [])
      assertRefused(yield* collect(shop), 400, "BATCH_EMPTY")
      for (const { id } of paid) assert.strictEqual(yield* statusOf(shop, id), "paid")
      const { services } = yield* DevnetService
      const check = yield* Context.get(services as unknown as Context.Context<Ledger>, Ledger).check(null)
      assert.deepStrictEqual(check.differences, [])
      // What comes later is there again.
      yield* pay(paid[0]!.id, "USDC", "3")
      yield* until("it is there", collectable(shop), ({ data }) => data[0]?.token_amount === "3.000000")
    }))

  it.effect("leaves out what an invoice may still be paid, what is worth too little, and other merchants' money", () =>
    Effect.gen(function*() {
      const { shop } = yield* forwarderShop
      const other = yield* newShop
      const open = yield* newInvoice(shop, 20)
      yield* pay(open.id, "USDC", "5")
      const small = yield* paidInvoice(shop, 0.5)
      yield* until(
        "the part is there",
        Effect.andThen(mine("base", 1), statusOf(shop, open.id)),
        (status) => status === "underpaid"
      )
      assert.deepStrictEqual((yield* collectable(shop)).data, [])
      const { data: [dust] } = yield* collectable(shop, "min_value=0.5&expand=addresses")
      assert.deepStrictEqual(dust.sources.map(({ address }: any) => address), [small.address])
      yield* ask(shop.key, `/api/v1/invoices/${open.id}/cancel`, {}).pipe(Effect.exit)
      assert.deepStrictEqual((yield* collectable(other, "min_value=0")).data, [])
      assertRefused(yield* send(shop.key, "/api/v1/collectable?min_value=1.2345"), 400, "VALIDATION_ERROR")
      assertRefused(yield* send(shop.key, "/api/v1/collectable?token_id=99999"), 404, "TOKEN_NOT_FOUND")
    }))

  it.effect("counts tokens that the invoice was not to be paid in, and is a file for the owner of the keys", () =>
    Effect.gen(function*() {
      const { shop } = yield* forwarderShop
      const { address, id } = yield* paidInvoice(shop, 5)
      yield* pay(id, "ETH", "0.01")
      const both = yield* until("both are there", collectable(shop), ({ data }) => data.length === 2)
      assert.sameMembers(both.data.map(({ symbol }: any) => symbol), ["USDC", "ETH"])
      const batch = okData(yield* collect(shop))
      assert.deepStrictEqual([batch.lines_total, batch.parts.length], [2, 1])
      const file = yield* send(shop.key, "/api/v1/collectable?network=base&format=csv")
      assert.strictEqual(file.headers["content-type"], "text/csv; charset=utf-8; header=present")
      const [head, ...lines] = file.text.trim().split("\r\n")
      assert.match(head!, /^network,token_id,symbol,token_address,address,index,token_amount,units,/u)
      assert.lengthOf(lines.filter((line) => line.includes(address)), 2)
    }))

  it.effect("still tells what lies on addresses of wallets that receive no more, and who moves it", () =>
    Effect.gen(function*() {
      const { payee, shop } = yield* forwarderShop
      yield* paidInvoice(shop, 5)
      yield* putWallet(shop, "pool", Array.from({ length: 5 }, newAddress.evm).join("\n"))
      yield* paidInvoice(shop, 7)
      const next = newAddress.evm()
      yield* putWallet(shop, "forwarder", next)
      yield* paidInvoice(shop, 9)
      const { data } = yield* collectable(shop, "expand=addresses")
      assert.sameDeepMembers(
        data.map(({ method, sources, token_amount }: any) => [
          method,
          token_amount,
          sources.map((source: any) => source.payee).toSorted()
        ]),
        [["owner", "7.000000", [null]], ["collector", "14.000000", [next, payee].toSorted()]]
      )
      const batch = okData(yield* collect(shop))
      assert.deepStrictEqual(batch.parts.map(({ lines }: any) => lines), [1, 1])
    }))

  it.effect("is collected on networks that have a collector only", () =>
    Effect.gen(function*() {
      const { shop } = yield* forwarderShop
      const refused = assertRefused(yield* collect(shop, { network: "sui" }), 400, "UNSUPPORTED_NETWORK")
      assert.match(refused.message, /collectable/u)
    }))
})
