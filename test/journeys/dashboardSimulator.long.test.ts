/**
 * Goal: with play money a person without a wallet sees in the dashboard all that payments and chains can do, and with
 * real money there is nothing of it.
 * Method: the service as it is started with both environments, its pages asked for without the script.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { invoiceActions } from "../../modules/simulator/rules.ts"
import { openDashboard } from "./DashboardVisits.ts"

const idOf = (location: unknown): string => /payments\/([0-9a-f-]{36})/.exec(String(location))?.[1] ?? ""

it.live(
  "play money moves by buttons of the pages, for everybody who may make invoices, and on no other environment",
  () =>
    Effect.gen(function*() {
      const { joinAs, see, send, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const viewer = yield* joinAs(owner, "viewer")
      assert.include((yield* see(owner, "")).text, "Simulate a payment", "nothing was paid yet")
      const first = yield* send(owner, "/simulator", { action: "pay", amount_usd: "25", form_key: "first" })
      assert.strictEqual(first.status, 303, first.text)
      const again = yield* send(owner, "/simulator", { action: "pay", amount_usd: "25", form_key: "first" })
      assert.strictEqual(again.headers["location"], first.headers["location"], "the same form pays once")
      const invoice = idOf(first.headers["location"])
      const paid = yield* see(owner, `/payments/${invoice}?simulate=open`)
      assert.include(paid.text, "Paid")
      for (const action of invoiceActions) assert.include(paid.text, `name="simulate" value="${action}"`)
      assert.notInclude((yield* see(owner, "")).text, "Simulate a payment", "there are payments")

      const press = (who: string, button: string, fields: Readonly<Record<string, string>> = {}) =>
        send(who, `/payments/${invoice}`, { action: "simulate", simulate: button, ...fields })
      assert.strictEqual((yield* press(owner, "drop")).status, 303)
      assert.include((yield* see(owner, `/payments/${invoice}`)).text, "Undone by the network")
      assert.strictEqual((yield* press(owner, "pay", { route: "base nothing" })).status, 400)
      assert.strictEqual((yield* press(owner, "pay", { confirmations: "0" })).status, 303)
      assert.strictEqual((yield* press(owner, "confirm")).status, 303)
      assert.strictEqual((yield* press(owner, "duplicate")).status, 303)
      assert.include((yield* see(owner, `/payments/${invoice}`)).text, "Paid twice")
      const refused = yield* press(owner, "expire")
      assert.strictEqual(refused.status, 409)
      assert.match(refused.text, /role="alert"/)
      assert.strictEqual((yield* press(owner, "nothing")).status, 400)
      assert.strictEqual((yield* press(owner, "pay", { amount_usd: "a lot" })).status, 400)

      for (const hours of ["1", "12"]) {
        assert.strictEqual((yield* send(owner, "/simulator", { action: "advance", hours })).status, 303, hours)
      }
      assert.strictEqual((yield* send(owner, "/simulator", { action: "advance", hours: "9" })).status, 400)
      for (const mode of ["down", "lagging", "ok"]) {
        assert.strictEqual((yield* send(owner, "/simulator", { action: "fault", network: "base", mode })).status, 303)
      }

      const menu = `/devnet/simulator"`
      assert.include((yield* see(owner, "")).text, menu)
      assert.notInclude((yield* see(viewer, "")).text, menu)
      assert.strictEqual((yield* see(viewer, "/simulator")).status, 403)
      assert.strictEqual((yield* press(viewer, "pay")).status, 403)
      assert.notInclude((yield* see(viewer, `/payments/${invoice}?simulate=open`)).text, "name=\"simulate\"")

      for (const path of ["", "/payments"]) {
        assert.notInclude((yield* see(owner, path, "mainnet")).text, "/mainnet/simulator\"", path)
      }
      assert.notInclude((yield* see(owner, "", "mainnet")).text, "Simulate a payment")
      assert.strictEqual((yield* see(owner, "/simulator", "mainnet")).status, 404)
      const forms = [
        ["/simulator", { action: "pay", amount_usd: "25" }],
        ["/simulator", { action: "advance", hours: "1" }],
        [`/payments/${invoice}`, { action: "simulate", simulate: "pay" }],
        [`/payments/${invoice}`, { action: "advance", hours: "1" }]
      ] as const
      for (const [path, fields] of forms) {
        const answer = yield* send(owner, path, fields, "mainnet")
        assert.include([403, 404], answer.status, `${path} ${JSON.stringify(fields)}`)
      }
    }).pipe(Effect.scoped)
)

it.live("a refund of play money is paid out by a button of its page", () =>
  Effect.gen(function*() {
    const { see, send, signIn } = yield* openDashboard()
    const owner = yield* signIn()
    const paid = yield* send(owner, "/simulator", { action: "pay", amount_usd: "25" })
    const opened = yield* send(owner, `/payments/${idOf(paid.headers["location"])}/refund`, {
      action: "create",
      amount_mode: "full",
      amount_usd: "",
      where: "address",
      network: "base",
      address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      fee_bearer: "merchant",
      reason: "requested_by_customer"
    })
    const refund = /refunds\/(re_[\w-]+)/.exec(String(opened.headers["location"]))?.[1] ?? ""
    assert.notInclude((yield* see(owner, `/refunds/${refund}`)).text, "Simulate: paid out", "nobody has approved it")
    yield* send(owner, `/refunds/${refund}`, { action: "approve" })
    assert.include((yield* see(owner, `/refunds/${refund}`)).text, "Simulate: paid out")
    const done = yield* send(owner, `/refunds/${refund}`, { action: "simulate", outcome: "succeeded" })
    assert.strictEqual(done.status, 303, done.text)
    const after = (yield* see(owner, `/refunds/${refund}`)).text
    assert.include(after, "Done")
    assert.notInclude(after, "Simulate: paid out")
  }).pipe(Effect.scoped))

it.live("without the simulator in the config there is none of it", () =>
  Effect.gen(function*() {
    const { key, see, service, signIn } = yield* openDashboard((config) => ({
      ...config,
      modules: config.modules.filter(({ use }) => use !== "simulator")
    }))
    const owner = yield* signIn()
    const made = yield* service.call("/api/v1/invoices", {
      headers: { "x-api-key": key, "idempotency-key": "one" },
      body: { amount_usd: 5 }
    })
    assert.strictEqual((yield* see(owner, "/simulator")).status, 404)
    assert.notInclude((yield* see(owner, "")).text, "imulat")
    const { text } = yield* see(owner, `/payments/${JSON.parse(made.text).invoice_id}?simulate=open`)
    assert.notInclude(text, "name=\"simulate\"")
  }).pipe(Effect.scoped))
