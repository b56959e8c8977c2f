/**
 * Goal: a payor sees whom an address pays where the merchant wants it, and can compute the address again; nobody else's
 * payee, and no seed, is ever told. Method: a whole devnet over HTTP, the page as a browser without a script gets it,
 * and viem, which computes addresses by itself.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { encodeAbiParameters, getContractAddress, type Hex, keccak256 } from "viem"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { ServiceInfo } from "../../../runtime/boot.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { makePayor } from "../../journeys/Payor.ts"
import { ask, newShop, type Shop } from "../batches/BatchShop.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"
import { newAddress } from "../wallets/WalletService.ts"

const write = (by: Readonly<Record<string, string>>, method: string, path: string, body: object) =>
  Effect.gen(function*() {
    const headers = { ...by, "idempotency-key": randomUUID() }
    return okData(yield* (yield* DevnetService).call(path, { method, headers, body }))
  })

/** Sets the wallet of a family as the merchant's person, and gives what the recovery document says of it. */
const forwarderTo = Effect.fnUntraced(function*({ person }: Shop, payee: string) {
  yield* write(person, "PUT", "/api/v1/merchant/wallets/evm", { kind: "forwarder", value: payee })
  const { wallets: [recovery] } = yield* ask(person, "/api/v1/merchant/wallets/evm/recovery")
  return recovery
})

const brand = ({ key }: Shop, branding: object) => write(key, "PATCH", "/api/v1/merchant/settings", { branding })

/** The page of a new invoice of a shop on which the payor has chosen USDC on a network. */
const pageOf = Effect.fnUntraced(function*({ key }: Shop, network = "base") {
  const { services } = yield* DevnetService
  const made = yield* ask(key, "/api/v1/invoices", { amount_usd: 5, accepted_networks: [network] })
  const token = Context.get(services, TokenCatalog).list("devnet").find((each) =>
    each.network === network && each.symbol === "USDC"
  )
  const base = Context.get(services as unknown as Context.Context<ServiceInfo>, ServiceInfo).url
  const { origin } = new URL(made.payment_url)
  const payor = makePayor(base, origin)
  yield* payor.open(made.payment_url)
  const page = yield* payor.send(`/pay/${made.invoice_id}`, { action: "choose", token: String(token!.id) })
  assert.strictEqual(page.status, 200, page.text)
  return { page: page.text, payor, path: `/pay/${made.invoice_id}` }
})

const hasProof = (page: string) => page.includes("<details id=\"payee\"")

/** What the page gives to copy, by its name. */
const values = (page: string) =>
  new Map(
    [...page.matchAll(/<span class="soft">([^<]*)<\/span>.*?data-copy="([^"]*)"/gs)].map(([, name, value]) =>
      [name!, value!] as const
    )
  )

layer(DevnetService.layer, { excludeTestServices: true })("the proof of the payee", (it) => {
  it.effect("is shown where the merchant wants it, and gives the very address in every language", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const payee = newAddress.evm()
      const { seed } = yield* forwarderTo(shop, payee)
      const before = yield* pageOf(shop)
      assert.isFalse(hasProof(before.page))
      assert.notInclude(before.page.toLowerCase(), payee.toLowerCase(), "nobody asked for it")

      yield* brand(shop, { show_payee_proof: true })
      const { page, path, payor } = yield* pageOf(shop)
      const shown = values(page)
      assert.strictEqual(shown.get("payee"), payee)
      const salted = encodeAbiParameters([{ type: "address" }, { type: "bytes32" }], [
        shown.get("payee") as Hex,
        shown.get("salt") as Hex
      ])
      const address = getContractAddress({
        opcode: "CREATE2",
        from: shown.get("collector") as Hex,
        salt: keccak256(salted),
        bytecodeHash: shown.get("init_code_hash") as Hex
      })
      assert.strictEqual(shown.get("Address on Base"), address)
      assert.notInclude(page, seed.slice(2), "the seed would tell all addresses of the merchant")
      for (const { locale } of languages) {
        const other = yield* payor.open(`${path}?lang=${locale}`)
        assert.isTrue(hasProof(other.text), locale)
      }

      yield* brand(shop, { show_payee_proof: null })
      assert.isFalse(hasProof((yield* payor.open(path)).text), "it ends with the setting")
    }))

  it.effect("is of the address shown: none for another kind of wallet, another network, or a wallet of now", () =>
    Effect.gen(function*() {
      const [shop, other] = [yield* newShop, yield* newShop]
      yield* brand(shop, { show_payee_proof: true })
      assert.isFalse(hasProof((yield* pageOf(shop)).page), "the deployment's own wallet is nobody's payee")
      const [first, second] = [newAddress.evm(), newAddress.evm()]
      yield* forwarderTo(shop, first)
      const earlier = yield* pageOf(shop)
      assert.isFalse(hasProof((yield* pageOf(shop, "solana")).page))
      yield* forwarderTo(shop, second)
      assert.strictEqual(values((yield* earlier.payor.open(earlier.path)).text).get("payee"), first)
      assert.strictEqual(values((yield* pageOf(shop)).page).get("payee"), second)
      yield* forwarderTo(other, newAddress.evm())
      assert.isFalse(hasProof((yield* pageOf(other)).page), "one merchant's choice is not another's")
    }))
})
