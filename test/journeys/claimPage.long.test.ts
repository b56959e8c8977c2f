/**
 * Goal: whoever has the claim link of a refund, and nobody else, sees it and says once where it goes; every address
 * that would lose the money is refused with what to do; the page and its refusals tell strangers nothing.
 * Method: a running service behind https and a path, by forms as browsers without a script send them and by the calls
 * of the page's script, each test from addresses of its own; its output is searched for every token.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { ar } from "../../modules/checkout/pages/texts/ar.ts"
import { de } from "../../modules/checkout/pages/texts/de.ts"
import { en } from "../../modules/checkout/pages/texts/en.ts"
import { RefundsRpc } from "../../modules/refunds/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import {
  configOf,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../support/Service.ts"
import { asForm, screenIn } from "./Payor.ts"
import { assertStatus } from "./Shop.ts"
import { makeKey, signIn } from "./Tenants.ts"

const publicUrl = "https://pay.example/shop"

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const otherWallet = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
const listedWallet = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
const tonWallet = `0:${"5a".repeat(32)}`

/** USDC on the test network of Base. */
const usdcContract = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

class Deployed extends Context.Service<Deployed, {
  readonly service: Service
  readonly jwt: Readonly<Record<string, string>>
  readonly key: Readonly<Record<string, string>>
}>()("test/Deployed") {
  static readonly layer = Layer.effect(
    Deployed,
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const file = join(directory, "screened.txt")
      writeFileSync(file, `base ${listedWallet}\n`)
      const config = configOf({
        database: (yield* migratedDatabase).url,
        chains: [{ use: "simulated" }],
        http: { publicUrl, trustProxy: ["127.0.0.1"] },
        limits: { ...generousLimits, claimPerMinute: undefined }
      })
      const modules = config.modules.flatMap((entry: { readonly use: string }) =>
        entry.use === "identity"
          ? [{ ...entry, options: { signup: "open" } }]
          : entry.use === "payments"
          ? [{ use: "screening" }, { use: "screening/list", options: { file } }, entry]
          : [entry]
      )
      const service = yield* startService({ directory, config: { ...config, modules } })
      const session = yield* signIn(service, privateKeyToAccount(generatePrivateKey()))
      const jwt = { authorization: `Bearer ${session.access_token}` }
      const { key } = yield* makeKey(service, jwt, { scope: "merchant", environment: "devnet" })
      const branding = { name: "Blue Bottle Store", accent: "#0a7a4b", support_email: "help@shop.example" }
      const settings = { method: "PATCH", headers: { "x-api-key": key }, body: { branding } }
      assertStatus(200, yield* service.call("/api/v1/merchant/settings", settings))
      return { service, jwt, key: { "x-api-key": key } }
    })
  )
}

/** An address that nobody called from before. */
const newAddress = () => `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1`

const post = Effect.fnUntraced(function*(path: string, body: object, credential?: Readonly<Record<string, string>>) {
  const { key, service } = yield* Deployed
  const answer = yield* service.call(path, {
    headers: { ...credential ?? key, "idempotency-key": randomUUID() },
    body
  })
  return assertStatus(200, answer)
})

const read = Effect.fnUntraced(function*(path: string) {
  const { key, service } = yield* Deployed
  return assertStatus(200, yield* service.call(path, { headers: key }))
})

/** A refund of a paid invoice that waits for its payor. */
interface Waiting {
  readonly id: string
  readonly token: string
  readonly claimUrl: string
  readonly invoiceId: string
  /** Where the invoice was paid. */
  readonly receiveAddress: string
}

const waiting = (
  { fields = {}, network = "base", refund = {}, symbol = "USDC" }: {
    readonly fields?: object
    readonly network?: string
    readonly symbol?: string
    readonly refund?: object
  } = {}
) =>
  Effect.gen(function*() {
    const { service } = yield* Deployed
    const made = yield* post("/api/v1/invoices", { amount_usd: 25, invoice_title: "Blue T-shirt", ...fields })
    const headers = made.payment_session_headers
    const path = `/api/v1/payments/available-tokens?mode=network&network=${network}`
    const tokens = assertStatus(200, yield* service.call(path, { headers }))
    const token = tokens.find(({ token_symbol: name }: any) => name === symbol)
    const body = { network, token_id: token.id }
    const given = assertStatus(200, yield* service.call("/api/v1/payments/payment-addresses", { headers, body }))
    yield* post(`/api/v1/devnet/invoices/${made.invoice_id}/simulate`, { action: "pay" })
    const { data } = yield* post("/api/v1/refunds", {
      invoice_id: made.invoice_id,
      amount_mode: "full",
      reason: "requested_by_customer",
      fee_bearer: "payor",
      ...refund
    })
    const found = /^https:\/\/pay\.example\/shop\/claim\/(re_[0-9a-f-]{36})#t=([\w-]{43})$/.exec(data.claim_url)
    assert.isNotNull(found, data.claim_url)
    service.guard(found[2]!)
    const one: Waiting = {
      id: found[1]!,
      token: found[2]!,
      claimUrl: data.claim_url,
      invoiceId: made.invoice_id,
      receiveAddress: given.temp_address
    }
    return one
  })

/** What a browser in English gets from the page of a refund. */
const ask = (below: string, sent: TestRequest = {}, from = newAddress()) =>
  Effect.flatMap(Deployed, ({ service }) =>
    service.call(`/claim/${below}`, {
      ...sent,
      headers: { "x-forwarded-for": from, "accept-language": "en", ...sent.headers }
    }))

/** A form of the page, as its script sends it where `part` says so. */
const send = (
  { id }: Pick<Waiting, "id">,
  fields: Readonly<Record<string, string>>,
  { from = newAddress(), part = "document" }: { readonly from?: string; readonly part?: "document" | "fragment" } = {}
) => ask(part === "document" ? id : `${id}/state`, asForm(fields), from)

const open = (one: Waiting, part?: "fragment") =>
  send(one, { action: "open", token: one.token }, part === undefined ? {} : { part })

const withAddress = (
  one: Waiting,
  action: "check" | "edit" | "claim",
  address: string,
  more: Readonly<Record<string, string>> = {}
) => send(one, { action, token: one.token, address, ...more })

const unescaped = (text: string) =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&#39;", "'").replaceAll(
    "&amp;",
    "&"
  )

/** What a person reads. */
const textOf = ({ text }: TestResponse) =>
  unescaped(text.replaceAll(/<style>.*?<\/style>/g, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " "))

/** An address as it is shown, in pieces. */
const inPieces = (address: string) => address.match(/^0x.{4}|.{1,4}/g)!.join(" ")

/** A page or a fragment that no cache keeps, no frame shows and no other site hears of. */
const assertPage = (answer: TestResponse, status: number, screen: string, part = "document") => {
  const { headers, text } = answer
  assert.deepStrictEqual([answer.status, screenIn(answer)], [status, screen], text.slice(0, 400))
  assert.match(String(headers["content-security-policy"]), /^default-src 'none'; script-src 'self'; .*ancestors 'none'/)
  assert.deepInclude(headers, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex, nofollow",
    "x-content-type-options": "nosniff"
  })
  assert.isUndefined(headers["set-cookie"])
  assert.isUndefined(headers["location"])
  assert.notMatch(text, /(?:src|href|action)="(?!\/|mailto:|data:)/)
  assert.isTrue(text.startsWith(part === "document" ? "<!doctype html>" : "<section data-screen="))
}

const refundOf = ({ id }: Waiting) => Effect.map(read(`/api/v1/refunds/${id}`), ({ data }) => data)

const report = (one: Waiting, what: object) =>
  Effect.flatMap(Deployed, ({ service }) =>
    Effect.gen(function*() {
      const client = yield* RpcClient.make(RefundsRpc)
      yield* client["refunds.report"]({ refund_id: one.id, report: what } as never)
    }).pipe(
      Effect.scoped,
      Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) })),
      Effect.orDie
    ))

const approve = (one: Waiting) =>
  Effect.flatMap(Deployed, ({ jwt }) => post(`/api/v1/refunds/${one.id}/approve`, {}, jwt))

layer(Deployed.layer, { excludeTestServices: true })("the claim page", (it) => {
  it.effect("says nothing of a refund before its token is posted, and the same of one that is none", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const page = yield* ask(one.id)
      assertPage(page, 200, "open")
      assert.notMatch(page.text, /Blue Bottle|T-shirt|USDC|Base\b|25\.00/)
      const other = `re_${randomUUID()}`
      assert.strictEqual((yield* ask(other)).text, page.text.replaceAll(one.id, other))
    }))

  it.effect("takes the pasted link, shows the address a second time, and fixes it: without a script", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const opened = yield* send(one, { action: "open", token: one.claimUrl })
      assertPage(opened, 200, "address")
      const seen = textOf(opened)
      for (const words of ["Blue Bottle Store", "Blue T-shirt", en.testMode, en.claimFrom("Blue Bottle Store")]) {
        assert.include(seen, words)
      }
      assert.include(seen, `${en.claimAmount} 24.98 USDC`)
      assert.include(seen, `${en.claimFee} 0.02 USDC`)
      assert.include(seen, `${en.claimNetwork} Base ${en.claimReason} ${en.claimRequested}`)
      assert.include(opened.text, "0a7a4b")
      assert.include(opened.text, `<input type="hidden" name="token" value="${one.token}">`)

      const checked = yield* withAddress(one, "check", ` ${wallet.toLowerCase()} `)
      assertPage(checked, 200, "check")
      assert.include(textOf(checked), `${en.addressOn("Base")} ${inPieces(wallet)}`)
      assert.include(textOf(checked), en.claimCheck)
      assert.strictEqual((yield* refundOf(one)).status, "awaiting_destination")
      const edited = yield* withAddress(one, "edit", wallet)
      assertPage(edited, 200, "address")
      assert.include(edited.text, `value="${wallet}"`)

      const fixed = yield* withAddress(one, "claim", wallet)
      assertPage(fixed, 200, "approval")
      assert.include(textOf(fixed), en.claimApproval("Blue Bottle Store"))
      assert.include(textOf(fixed), inPieces(wallet))
      assert.notInclude(textOf(fixed), en.claimKept("Blue Bottle Store"))
      const refund = yield* refundOf(one)
      assert.deepInclude(refund, { status: "pending_approval", destination_address: wallet, claim_url: null })
      assertPage(yield* open(one), 200, "approval")
    }))

  it.effect("tells what became of it: approved, sent, paid; and no address changes it any more", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      yield* withAddress(one, "claim", wallet)
      yield* approve(one)
      assertPage(yield* open(one), 200, "processing")
      const late = yield* withAddress(one, "claim", otherWallet)
      assertPage(late, 200, "processing")
      assert.include(textOf(late), en.claimKept("Blue Bottle Store"))
      assert.include(textOf(late), inPieces(wallet))
      assert.strictEqual((yield* refundOf(one)).destination_address, wallet)
      const hash = `0x${"ab".repeat(32)}`
      yield* report(one, { status: "submitted", tx_hash: hash })
      assert.include((yield* open(one, "fragment")).text, hash)
      yield* report(one, { status: "failed", failure_code: "out_of_gas" })
      yield* post(`/api/v1/refunds/${one.id}/retry`, {})
      const simulated = yield* post(`/api/v1/devnet/refunds/${one.id}/simulate`, { outcome: "succeeded" })
      const paid = yield* open(one, "fragment")
      assertPage(paid, 200, "paid", "fragment")
      assert.include(textOf(paid), en.claimPaid("24.98 USDC", "Base"))
      assert.include(paid.text, simulated.data.tx_hash)
      assert.notInclude(paid.text, "basescan", "play money is in no explorer")
    }))

  it.effect("tells of a refund that failed or was canceled, and whom to ask", () =>
    Effect.gen(function*() {
      const failing = yield* waiting()
      yield* withAddress(failing, "claim", wallet)
      yield* approve(failing)
      yield* report(failing, { status: "failed", failure_code: "insufficient_funds" })
      const failed = yield* open(failing)
      assertPage(failed, 200, "failed")
      assert.notInclude(failed.text, "insufficient_funds")
      assert.include(failed.text, "mailto:help@shop.example?subject=")
      const canceling = yield* waiting()
      yield* post(`/api/v1/refunds/${canceling.id}/cancel`, {})
      assertPage(yield* open(canceling), 200, "canceled")
      const { data } = yield* post(`/api/v1/refunds/${failing.id}/claim-link`, {})
      const renewed = { ...failing, token: data.claim_url.split("#t=")[1] }
      assertPage(yield* open(renewed), 200, "address")
      assertPage(yield* open(failing), 404, "ended")
    }))

  it.effect("fixes one address where a form is sent twice, and says so to who sent another", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const same = yield* Effect.all([1, 2, 3].map(() => withAddress(one, "claim", wallet)), {
        concurrency: "unbounded"
      })
      for (const answer of same) {
        assertPage(answer, 200, "approval")
        assert.notInclude(textOf(answer), en.claimKept("Blue Bottle Store"))
      }
      const two = yield* waiting()
      const wallets = [wallet, otherWallet]
      const both = yield* Effect.all(wallets.map((address) => withAddress(two, "claim", address)), {
        concurrency: "unbounded"
      })
      const { destination_address: kept } = yield* refundOf(two)
      both.forEach((answer, index) => {
        assertPage(answer, 200, "approval")
        assert.include(textOf(answer), inPieces(kept))
        const isOther = wallets[index] !== kept
        assert.strictEqual(textOf(answer).includes(en.claimKept("Blue Bottle Store")), isOther)
      })
    }))

  it.effect("refuses each address that would lose the money, with what to do, and keeps what was typed", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const cases: ReadonlyArray<readonly [address: string, words: string]> = [
        ["", en.claimWrongAddress("Base")],
        ["me", en.claimWrongAddress("Base")],
        ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed", en.claimWrongAddress("Base")],
        [`0x${"0".repeat(40)}`, en.claimWrongAddress("Base")],
        ["7EqQdEULxWcraVx3mXKFjc84LhCkMGZCkRuDpvcMwJeK", en.claimOtherNetwork("Base")],
        [tonWallet, en.claimOtherNetwork("Base")],
        [one.receiveAddress, en.claimReceiveAddress("USDC", "Base")],
        [usdcContract, en.claimNoWallet("USDC", "Base")],
        [listedWallet, en.claimRefused("Blue Bottle Store")]
      ]
      for (const [address, words] of cases) {
        // The second look cannot be passed by.
        for (const action of ["check", "claim"] as const) {
          const answer = yield* withAddress(one, action, address)
          assertPage(answer, 200, "address")
          assert.include(textOf(answer), words, address)
          assert.match(answer.text, /name="address"[^>]* aria-invalid="true" aria-describedby="problem"/)
          assert.include(answer.text, `name="address" dir="ltr" required maxlength="200" value="${address}"`)
          assert.notMatch(textOf(answer), /list|screen|sanction/i)
        }
      }
      assert.deepInclude(yield* refundOf(one), { status: "awaiting_destination", destination_address: null })
    }))

  it.effect("asks for a memo only where the network has one", () =>
    Effect.gen(function*() {
      const one = yield* waiting({ network: "ton", symbol: "USDT" })
      const opened = yield* open(one)
      assert.include(textOf(opened), en.claimMemo)
      const refused = yield* withAddress(one, "check", tonWallet, { memo: "größe" })
      assertPage(refused, 200, "address")
      assert.include(textOf(refused), en.claimWrongMemo)
      assert.match(refused.text, /name="memo"[^>]* value="größe"[^>]* aria-invalid="true"/)
      const checked = yield* withAddress(one, "check", tonWallet, { memo: " 12345 " })
      assertPage(checked, 200, "check")
      assert.include(textOf(checked), `${en.memo} 12345`)
      assertPage(yield* withAddress(one, "claim", tonWallet, { memo: "12345" }), 200, "approval")

      const evm = yield* waiting()
      assert.notInclude((yield* open(evm)).text, "name=\"memo\"")
      assertPage(yield* withAddress(evm, "claim", wallet, { memo: "12345" }), 200, "approval")
    }))

  it.effect("opens by its own token alone, and ends for good after ten wrong ones", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* waiting(), yield* waiting()]
      assertPage(yield* send(one, { action: "open", token: two.token }), 404, "ended")
      // What cannot be a token is none that was tried.
      for (let tries = 0; tries < 12; tries++) {
        assertPage(yield* send(one, { action: "open", token: `no link ${tries}` }), 404, "ended")
      }
      for (let tries = 0; tries < 8; tries++) {
        assertPage(yield* send(one, { action: "claim", token: two.token, address: wallet }), 404, "ended")
      }
      assertPage(yield* open(one), 200, "address")
      assertPage(yield* send(one, { action: "open", token: two.token }), 404, "ended")
      assertPage(yield* open(one), 404, "ended")
      assertPage(yield* withAddress(one, "claim", wallet), 404, "ended")
      assertPage(yield* open(two), 200, "address")
      assert.strictEqual((yield* refundOf(one)).status, "awaiting_destination")
    }))

  it.effect("answers 20 calls of an address in a minute, and the 21st with a page that says to wait", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const from = newAddress()
      for (let calls = 0; calls < 10; calls++) {
        assertPage(yield* ask(one.id, {}, from), 200, "open")
        assertPage(
          yield* send(one, { action: "open", token: one.token }, { from, part: "fragment" }),
          200,
          "address",
          "fragment"
        )
      }
      const refused = yield* ask(one.id, {}, from)
      assertPage(refused, 429, "too_many")
      assert.match(String(refused.headers["retry-after"]), /^[1-9]\d?$/)
      assertPage(
        yield* send(one, { action: "open", token: one.token }, { from, part: "fragment" }),
        429,
        "too_many",
        "fragment"
      )
      assertPage(yield* ask(one.id), 200, "open")
    }))

  it.effect("shows nothing of the merchant's, no e-mail address and no other payment", () =>
    Effect.gen(function*() {
      const one = yield* waiting({
        fields: {
          customer_email: "ann@customer.example",
          customer_id: "cust_77",
          metadata: { margin: "secret-margin" }
        },
        refund: { reason: "other" }
      })
      for (const part of [undefined, "fragment"] as const) {
        const { text } = yield* open(one, part)
        assert.notMatch(text, /customer\.example|cust_77|secret-margin|0xFa|ab_|merchant_id|re_[0-9a-f-]{36}"[^>]*data/)
        assert.notInclude(text, one.receiveAddress)
        assert.notInclude(text, en.claimReason)
      }
    }))

  it.effect("speaks the language of the browser, and another that is chosen, with the token where no script holds it", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const german = yield* ask(one.id, { headers: { "accept-language": "de-AT,en;q=0.5" } })
      assert.include(textOf(german), de.claimOpenTitle)
      assert.include(german.text, `action="/shop/claim/${one.id}?lang=de"`)
      const arabic = yield* ask(`${one.id}?lang=ar`, asForm({ action: "open", token: one.token }))
      assert.match(arabic.text, /^<!doctype html><html lang="ar" dir="rtl">/)
      assert.include(arabic.text, ar.claimAddressTitle)
      const chosen = yield* send(one, { action: "language", lang: "de", token: one.token })
      assertPage(chosen, 200, "address")
      assert.include(textOf(chosen), de.claimAddressTitle)
      assert.include(chosen.text, `action="/shop/claim/${one.id}?lang=de"`)
      assert.include(textOf(yield* send(one, { action: "language", lang: "de" })), de.claimOpenTitle)
      const fragment = yield* ask(`${one.id}/state?lang=de`, asForm({ action: "open", token: one.token }))
      assert.include(textOf(fragment), de.claimAddressTitle)
      assert.notInclude(fragment.text, one.token, "the script has it")
    }))

  it.effect("refuses by pages that hold no token, whatever is asked", () =>
    Effect.gen(function*() {
      const one = yield* waiting()
      const good = { action: "open", token: one.token }
      const cases: ReadonlyArray<readonly [below: string, status: number, screen: string, sent: TestRequest]> = [
        [one.id, 403, "failed", { headers: { "x-api-key": "mk_test" } }],
        [one.id, 403, "failed", {
          ...asForm(good),
          headers: { ...asForm(good).headers, "sec-fetch-site": "cross-site" }
        }],
        [one.id, 403, "failed", {
          ...asForm(good),
          headers: { ...asForm(good).headers, origin: "https://evil.example" }
        }],
        [one.id, 400, "failed", asForm({ ...good, action: "approve" })],
        [one.id, 400, "failed", asForm(`action=open&token=${one.token}&token=${one.token}`)],
        [one.id, 400, "failed", asForm({ ...good, action: "check", address: "a".repeat(300) })],
        [one.id, 400, "failed", asForm({ ...good, action: "language", lang: "xx" })],
        [one.id, 404, "ended", asForm({ action: "open" })],
        [one.id, 413, "failed", asForm({ ...good, memo: "a".repeat(20_000) })],
        [one.id, 415, "failed", { body: good }],
        [one.id, 405, "failed", { method: "PUT" }],
        [`${one.id}/x?token=${one.token}`, 404, "ended", {}],
        ["re_nothing", 404, "ended", {}],
        [`re_nothing?t=${one.token}`, 404, "ended", asForm(good)],
        [`re_${randomUUID()}`, 404, "ended", asForm(good)]
      ]
      for (const [below, status, screen, sent] of cases) {
        const answer = yield* ask(below, sent)
        assertPage(answer, status, screen)
        assert.notInclude(answer.text, one.token, `${below} ${status}`)
      }
      const fragment = yield* ask(`${one.id}/state`, asForm({ action: "open", token: "none" }))
      assertPage(fragment, 404, "ended", "fragment")
      assertPage(yield* ask(`${one.id}/state`), 405, "failed", "fragment")
      assertPage(yield* open(one), 200, "address")
    }))
})

/** Modules that cannot be without `refunds`. */
const needRefunds = ["commerce", "storefront", "simulator", "exceptions", "batches", "exports", "retail"]

/** A service from whose config the modules named are left out. */
const startWithout = Effect.fnUntraced(function*(...gone: ReadonlyArray<string>) {
  const config = configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] })
  const modules = config.modules.filter(({ use }: { readonly use: string }) => !gone.includes(use.split("/")[0]!))
  return yield* startService({ directory: yield* temporaryDirectory, config: { ...config, modules } })
})

describe("a deployment without one of the modules of the claim page", () => {
  it.live("starts, and has no claim page where it has no refunds", () =>
    Effect.gen(function*() {
      const service = yield* startWithout("refunds", ...needRefunds)
      const answer = yield* service.call(`/claim/re_${randomUUID()}`, { headers: { "accept-language": "en" } })
      assertPage(answer, 404, "ended")
      assert.strictEqual((yield* service.call("/pay/none")).status, 401)
    }).pipe(Effect.scoped))

  it.live("starts, and serves refunds without a page where it has no checkout", () =>
    Effect.gen(function*() {
      const service = yield* startWithout("checkout", "links", "btcpay")
      assert.strictEqual((yield* service.call(`/claim/re_${randomUUID()}`)).status, 404)
      const headers = { "x-api-key": (yield* service.keys).merchant_key }
      assert.deepInclude(assertStatus(200, yield* service.call("/api/v1/refunds", { headers })).data, { data: [] })
    }).pipe(Effect.scoped))
})
