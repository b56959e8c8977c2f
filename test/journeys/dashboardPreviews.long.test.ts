/**
 * Goal: who decides how the payment page looks and what it offers sees it before customers do, and the frame that shows
 * it can do nothing.
 * Method: the service as it is started, its pages asked for without the script.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { screens } from "../../modules/checkout/rules.ts"
import { until } from "../support/Service.ts"
import { openDashboard } from "./DashboardVisits.ts"

const frameOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<iframe [^>]*src="\/dashboard\/\d+\/devnet([^"]*)" sandbox/g)].map(([, path]) =>
    path!.replaceAll("&amp;", "&")
  )

const policyOf = (headers: Readonly<Record<string, unknown>>) => String(headers["content-security-policy"])

it.live(
  "the payment page is previewed in each state, language and theme, also with a look that is not saved",
  () =>
    Effect.gen(function*() {
      const { joinAs, see, send, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const page = yield* see(owner, "/branding?state=paid&lang=de&theme=dark&name=A+%3Cb%3E+shop&accent=%230a7a4b")
      assert.include(policyOf(page.headers), "frame-src 'self'")
      assert.notInclude(policyOf((yield* see(owner, "/limits")).headers), "frame-src")
      const [frame] = frameOf(page.text)
      const drawn = yield* see(owner, frame!)
      assert.strictEqual(drawn.status, 200)
      assert.include(drawn.text, "<html lang=\"de\"")
      assert.include(drawn.text, "A &lt;b&gt; shop")
      assert.include(drawn.text, "data-screen=\"paid\"")
      assert.include(drawn.text, "color-scheme:dark")
      assert.notInclude(drawn.text, "<script")
      const policy = policyOf(drawn.headers)
      for (const part of ["frame-ancestors 'self'", "default-src 'none'", "sandbox"]) assert.include(policy, part)
      assert.isUndefined(drawn.headers["x-frame-options"])
      for (const state of screens) {
        const { status, text } = yield* see(owner, `/branding/preview?state=${state}`)
        assert.strictEqual(status, 200, state)
        assert.include(text, `data-screen="${state}"`)
      }
      const odd = yield* see(owner, "/branding/preview?state=%3Cscript%3E&lang=xx&accent=red%3B%7D&theme=neon")
      assert.strictEqual(odd.status, 200)
      assert.notInclude(odd.text, "red;")
      assert.include((yield* see(owner, "/branding/preview")).text, "Demo Store", "nothing was saved by looking")
      assert.strictEqual((yield* see("", "/branding/preview")).status, 303)
      const saved = yield* send(owner, "/branding", { action: "save", name: "Blue Bottle", accent: "#0a7a4b" })
      assert.strictEqual(saved.status, 303, saved.text)
      assert.include((yield* see(owner, "/branding/preview")).text, "Blue Bottle")
      const viewer = yield* joinAs(owner, "viewer")
      const read = yield* see(viewer, "/branding?state=paid")
      assert.notInclude(read.text, "value=\"save\"")
      assert.strictEqual((yield* see(viewer, frameOf(read.text)[0]!)).status, 200)
    }).pipe(Effect.scoped)
)

it.live(
  "a box says whether payors see whom an address pays, and stays as it was where the form is refused",
  () =>
    Effect.gen(function*() {
      const { joinAs, key, see, send, service, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const isShown = Effect.map(
        service.call("/api/v1/merchant/settings", { headers: { "x-api-key": key } }),
        ({ json }) => (json.data ?? json).branding.show_payee_proof
      )
      const ticked = /name="show_payee_proof" value="true" checked/
      const look = { name: "Blue Bottle", accent: "#0a7a4b" }
      const save = (more: Readonly<Record<string, string>>) =>
        send(owner, "/branding", { action: "save", ...look, ...more })
      assert.notMatch((yield* see(owner, "/branding")).text, ticked, "off by default")
      const tick = { show_payee_proof: "true" }
      assert.match((yield* save({ ...tick, preview: "1" })).text, ticked)
      assert.isFalse(yield* isShown, "a look saves nothing")
      const refused = yield* save({ ...tick, accent: "no colour" })
      assert.strictEqual(refused.status, 400)
      assert.match(refused.text, ticked)
      assert.strictEqual((yield* save(tick)).status, 303)
      assert.isTrue(yield* isShown)
      assert.match((yield* see(owner, "/branding")).text, ticked)
      assert.notMatch((yield* save({ preview: "1" })).text, ticked)
      assert.strictEqual((yield* save({})).status, 303)
      assert.isFalse(yield* isShown)
      const viewer = yield* joinAs(owner, "viewer")
      assert.strictEqual((yield* send(viewer, "/branding", { action: "save", ...look, ...tick })).status, 403)
      assert.isFalse(yield* isShown)
    }).pipe(Effect.scoped)
)

it.live(
  "a domain is named as people type it; the page says what to publish there, and what its check found",
  () =>
    Effect.gen(function*() {
      const { joinAs, see, send, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const name = (domain: string) => send(owner, "/branding", { action: "save_domain", domain })
      assert.notInclude((yield* see(owner, "/branding")).text, "tillwire.json")
      const refused = yield* name("127.0.0.1")
      assert.isAtLeast(refused.status, 400)
      assert.include(refused.text, "role=\"alert\"")
      const hostile = yield* name("\"><script>alert(1)</script>")
      assert.isAtLeast(hostile.status, 400)
      assert.notInclude(hostile.text, "<script>alert")
      assert.strictEqual((yield* name(" https://Bücher.invalid/shop?a=b ")).status, 303)
      const named = (yield* see(owner, "/branding")).text
      assert.include(named, "https://xn--bcher-kva.invalid/.well-known/tillwire.json")
      assert.include(named, "_tillwire.xn--bcher-kva.invalid")
      assert.match(named, /merchant_id=\d+ pay_host=/)
      assert.include(named, "Not verified")
      const checked = yield* until(
        "the check",
        Effect.map(see(owner, "/branding"), ({ text }) => text),
        (text) => text.includes("the address is not public")
      )
      assert.include(checked, "Last check")
      const read = yield* see(yield* joinAs(owner, "viewer"), "/branding")
      assert.include(read.text, "xn--bcher-kva.invalid")
      assert.notInclude(read.text, "save_domain")
      assert.strictEqual((yield* name("")).status, 303)
      assert.notInclude((yield* see(owner, "/branding")).text, "tillwire.json")
    }).pipe(Effect.scoped)
)

it.live(
  "tokens are chosen after a look at what the customer would see, one by one or a network at once",
  () =>
    Effect.gen(function*() {
      const { joinAs, key, see, send, service, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const page = yield* see(owner, "/tokens")
      assert.include(page.text, "Open payment pages keep what they offered.")
      const ids = [...page.text.matchAll(/name="accepted" value="(\d+)"/g)].map(([, id]) => id!)
      assert.isAbove(ids.length, 10)
      const offer = (text: string) => [...text.matchAll(/<b>([A-Z]+)<\/b> <small>/g)].map(([, symbol]) => symbol)
      const before = offer((yield* see(owner, frameOf(page.text)[0]!)).text)
      assert.include(before, "USDC")
      assert.include(before, "ETH")

      const found = yield* service.call("/api/v1/merchant/tokens/search?limit=200", { headers: { "x-api-key": key } })
      const usdc = found.json.tokens.filter(({ token_symbol }: { token_symbol: string }) => token_symbol === "USDC")
        .map(({ id }: { id: number }) => String(id))
      const query = new URLSearchParams([["policy", "selective"], ...usdc.map((id: string) => ["accepted", id])])
      const draft = yield* see(owner, `/tokens?${query}`)
      const [now, then] = frameOf(draft.text)
      assert.deepStrictEqual(offer((yield* see(owner, now!)).text), before)
      assert.deepStrictEqual([...new Set(offer((yield* see(owner, then!)).text))], ["USDC"])
      const none = yield* see(owner, "/tokens/preview?policy=accept_none")
      assert.deepStrictEqual(offer(none.text), [])

      const policy = () =>
        Effect.map(
          service.call("/api/v1/merchant/tokens/policy", { headers: { "x-api-key": key } }),
          ({ json }) => json
        )
      assert.strictEqual((yield* policy()).acceptance_policy, "accept_all", "nothing was saved by looking")
      const saved = yield* send(owner, "/tokens", { action: "save", policy: "selective", accepted: usdc[0] })
      assert.strictEqual(saved.status, 303, saved.text)
      const after = yield* policy()
      assert.strictEqual(after.acceptance_policy, "selective")
      assert.strictEqual(after.blocked_token_ids.length, ids.length - 1)
      const shown = yield* see(owner, "/tokens")
      assert.match(shown.text, new RegExp(`name="accepted" value="${usdc[0]}"[^>]*checked`))
      assert.include(shown.text, `value="${ids[0]}"`, "what is turned off can be turned on again")

      assert.strictEqual((yield* send(owner, "/tokens", { action: "bulk", network: "", blocked: "false" })).status, 303)
      assert.deepStrictEqual((yield* policy()).blocked_token_ids, [])
      yield* send(owner, "/tokens", { action: "bulk", network: "solana", blocked: "true" })
      const solana = found.json.tokens.filter(({ network }: { network: string }) => network === "solana")
      assert.strictEqual((yield* policy()).blocked_token_ids.length, solana.length)

      const viewer = yield* joinAs(owner, "viewer")
      const read = (yield* see(viewer, "/tokens")).text
      assert.notInclude(read, "name=\"accepted\"")
      assert.strictEqual((yield* see(viewer, frameOf(read)[0]!)).status, 200)
      assert.strictEqual(
        (yield* send(viewer, "/tokens", { action: "bulk", network: "", blocked: "true" })).status,
        403
      )
    }).pipe(Effect.scoped)
)

it.live("without the payment page in the config there is nothing to preview", () =>
  Effect.gen(function*() {
    const { see, signIn } = yield* openDashboard((config) => ({
      ...config,
      modules: config.modules.filter(({ use }) => !["btcpay", "checkout", "links"].includes(use))
    }))
    const owner = yield* signIn()
    for (const path of ["/branding", "/tokens"]) {
      const { status, text } = yield* see(owner, path)
      assert.strictEqual(status, 200)
      assert.notInclude(text, "<iframe")
      assert.strictEqual((yield* see(owner, `${path}/preview`)).status, 404)
    }
  }).pipe(Effect.scoped))
