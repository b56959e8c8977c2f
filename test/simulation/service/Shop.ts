/** A merchant and its payors outside of the service: what they ask for, what they were told, and what they pay. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { hashUnder, tagUnder } from "../../../modules/auth/actor/KeyCreation.ts"
import { keyWrite, merchantWrite } from "../../../modules/auth/repo.ts"
import { formTaggedKey, newKey, newMerchant } from "../../../modules/auth/rules.ts"
import { fromMasters } from "../../../runtime/Secrets.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import type { Cluster } from "../Cluster.ts"
import { type Draws, drawsOf } from "../Draws.ts"
import type { World } from "../World.ts"
import { eurc, type ModelTransfer, unlisted, usdc } from "./Chain.ts"
import { environment, masterKey, network, rates, type Surroundings } from "./Deployment.ts"
import { Caller, type KnownInvoice, type Shop } from "./Caller.ts"
import { decide } from "./Decisions.ts"
import type { ServiceRequest } from "./Instances.ts"

export const merchantId = 1

/** Rows of the merchant and its key, as a first start would leave them. */
export const merchantRows = Effect.gen(function*() {
  const secrets = yield* Effect.orDie(fromMasters([Buffer.from(masterKey, "hex")]))
  const [pepper] = secrets.keys("pepper")
  const key = formTaggedKey("merchant", environment, "k".repeat(64), tagUnder(pepper))
  const state = newKey(
    { merchantId, name: "key", scope: "merchant", environment, expiresAt: null },
    { id: "key_of_the_merchant", key, hash: hashUnder(pepper, key) },
    newestVersion,
    1
  )
  return { key, writes: [merchantWrite(newMerchant(merchantId, "Shop", null, environment, 1)), keyWrite(state)] }
})

/** How a payor pays, and how often of all. */
const habits = [
  "exact",
  "exact",
  "exact",
  "in two parts",
  "a part",
  "too much",
  "twice",
  "late",
  "with a wrong token",
  "with a token on no list",
  "in a batch",
  "in vain",
  "not"
] as const

const unitsOf = (text: string, decimals: number): bigint => {
  const [whole = "0", fraction = ""] = text.split(".")
  return BigInt(whole + fraction.padEnd(decimals, "0").slice(0, decimals))
}

export interface ShopOptions {
  readonly world: World
  readonly cluster: Cluster<HttpRouter.HttpRouter>
  readonly places: number
  readonly surroundings: Surroundings
  readonly invoices: number
  readonly key: string
}

/** Registers an endpoint, and asks again with the same key until it is known which it is. */
const addEndpoint = (caller: Caller, shop: Shop, url: string, ordered: boolean) =>
  Effect.map(
    caller.ask({
      path: "/api/v1/webhooks",
      headers: { "x-api-key": shop.key, "idempotency-key": url },
      body: { url, enabled_events: ["*"], ordered }
    }),
    (answer) => {
      if (answer.status === 200 || answer.status === 201) shop.endpoints.set(url, answer.json.data.id)
      else shop.surprises.push(`an endpoint was refused: ${answer.status} ${answer.text}`)
    }
  )

/** Asks for an invoice, sometimes again though it was answered: the same call has the same answer. */
const makeInvoice = (caller: Caller, shop: Shop, draws: Draws, name: string, body: KnownInvoice["body"]) =>
  Effect.gen(function*() {
    const invoice: KnownInvoice = { name, body, ids: new Set(), session: {}, addresses: new Set(), paid: [] }
    shop.invoices.push(invoice)
    const request: ServiceRequest = {
      path: "/api/v1/invoices",
      headers: { "x-api-key": shop.key, "idempotency-key": name },
      body
    }
    for (let times = draws.happens(0.3) ? 2 : 1; times > 0; times--) {
      const answer = yield* caller.ask(request)
      if (answer.status !== 200) {
        shop.surprises.push(`an invoice was refused: ${answer.status} ${answer.text}`)
        continue
      }
      invoice.ids.add(answer.json.invoice_id)
      invoice.session = answer.json.payment_session_headers
    }
    return invoice
  })

/** Chooses a token and pays to the address it is shown. */
const payInvoice = (
  { surroundings }: ShopOptions,
  caller: Caller,
  shop: Shop,
  draws: Draws,
  invoice: KnownInvoice,
  tokens: ReadonlyMap<string, number>
) =>
  Effect.gen(function*() {
    const { chain } = surroundings
    const habit = draws.oneOf(habits)
    const symbol = draws.happens(0.7) ? "USDC" : "ETH"
    const payor = `0x${String(10 + shop.invoices.length).padStart(2, "0").repeat(20)}`
    const answer = yield* caller.ask({
      path: "/api/v1/payments/payment-addresses",
      headers: invoice.session,
      body: { network, token_id: tokens.get(symbol) }
    })
    if (answer.status === 409) return
    if (answer.status !== 200) {
      return void shop.surprises.push(`an address was refused: ${answer.status} ${answer.text}`)
    }
    const { estimated_token_amount: shown, temp_address: address } = answer.json
    invoice.addresses.add(String(address).toLowerCase())
    const [token, decimals] = symbol === "USDC" ? [usdc, 6] : [null, 18]
    // Without a price nothing is shown to pay; some pay all the same, by a price of their own.
    const dollars = BigInt(Number(invoice.body["amount_usd"]))
    const full = shown === null
      ? symbol === "USDC" ? dollars * 1_000_000n : dollars * 10n ** 18n / BigInt(rates["ethereum"]!)
      : unitsOf(String(shown), decimals)
    const transfer = (amount: bigint, of: string | null = token): ModelTransfer => ({
      token: of,
      from: payor,
      to: String(address).toLowerCase(),
      amount
    })
    const send = (transfers: ReadonlyArray<ModelTransfer>, isFailed = false) =>
      void invoice.paid.push(chain.send(transfers, isFailed))
    yield* Effect.sleep(draws.below(4_000))
    switch (habit) {
      case "exact":
        return send([transfer(full)])
      case "in two parts": {
        const part = full / 3n
        send([transfer(part)])
        yield* Effect.sleep(draws.below(12_000))
        return send([transfer(full - part)])
      }
      case "a part":
        return send([transfer(full / 2n)])
      case "too much":
        return send([transfer(full + full / 5n)])
      case "twice":
        send([transfer(full)])
        yield* Effect.sleep(draws.below(10_000))
        return send([transfer(full)])
      case "late":
        // An invoice that ends later is paid in time: nobody waits ten minutes for it.
        yield* Effect.sleep(invoice.body["expires_in"] === 60_000 ? 60_000 + draws.below(10_000) : 20_000)
        return send([transfer(full)])
      case "with a wrong token":
        return send([transfer(5_000_000n, eurc)])
      case "with a token on no list":
        return send([transfer(5_000_000n, unlisted)])
      case "in a batch": {
        const others = shop.invoices.filter(({ addresses }) => addresses.size > 0)
        const other = [...draws.oneOf(others).addresses][0]!
        return send([
          { token: usdc, from: payor, to: other, amount: 7_000_000n },
          { token: usdc, from: payor, to: String(address).toLowerCase(), amount: 9_000_000n }
        ])
      }
      case "in vain":
        return send([transfer(full)], true)
      case "not":
    }
  })

/** Ids of the tokens by their symbols: they are offered once a node has said how many decimals each contract has. */
const offeredTokens = (caller: Caller, shop: Shop): Effect.Effect<ReadonlyMap<string, number>> =>
  Effect.flatMap(
    caller.ask({ path: "/api/v1/merchant/tokens", headers: { "x-api-key": shop.key } }),
    ({ json }) => {
      const offered: ReadonlyArray<any> = json.tokens.filter((each: any) => each.network === network)
      const tokens = new Map<string, number>(offered.map((each) => [each.token_symbol, each.id]))
      return tokens.has("USDC") && tokens.has("ETH")
        ? Effect.succeed(tokens)
        : Effect.andThen(Effect.sleep(1_000), offeredTokens(caller, shop))
    }
  )

/** The whole business of a run; its record grows while it goes on. */
export const trade = (options: ShopOptions, shop: Shop): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { cluster, places, world } = options
    const { seed } = world.plan
    const callerOf = (name: string) =>
      new Caller(name, cluster, places, drawsOf(seed, `caller ${name}`), shop.surprises)
    const merchant = callerOf("merchant")
    yield* addEndpoint(merchant, shop, "https://shop.example/plain", false)
    yield* addEndpoint(merchant, shop, "https://shop.example/ordered", true)
    const tokens = yield* offeredTokens(merchant, shop)
    const payments = Effect.forEach(
      Array.from({ length: options.invoices }, (_, index) => index),
      (index) =>
        Effect.gen(function*() {
          const draws = drawsOf(seed, `invoice ${index}`)
          const caller = callerOf(`payor ${index}`.replace(" ", "-"))
          yield* Effect.sleep(draws.below(8_000))
          const invoice = yield* makeInvoice(caller, shop, draws, `invoice-${index}`, {
            amount_usd: 10 + draws.below(190),
            metadata: { index: String(index) },
            expires_in: draws.oneOf([60_000, 600_000, 600_000])
          })
          if (invoice.ids.size === 0) return
          yield* Effect.sleep(draws.below(2_000))
          yield* payInvoice(options, caller, shop, draws, invoice, tokens)
        }),
      { concurrency: "unbounded", discard: true }
    )
    if (options.invoices === 0) return
    yield* Effect.all([payments, decide(world, callerOf("decider"), shop)], { concurrency: "unbounded", discard: true })
  })
