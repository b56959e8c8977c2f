/**
 * Goal: somebody without a developer makes a payment link, puts it on a site and on paper, and turns it off; who only
 * looks changes nothing. Method: the service as it is started, signed in by its own `login` command, without a script.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { loginLink } from "../../journeys/LoginLink.ts"
import { assertStatus } from "../../journeys/Shop.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../../support/Service.ts"

class Town extends Context.Service<Town, {
  readonly service: Service
  readonly home: string
  readonly key: string
  readonly owner: string
  readonly viewer: string
}>()("test/links/Town") {}

const headersOf = (service: Service, cookies: string) => ({
  "content-type": "application/x-www-form-urlencoded",
  origin: new URL(service.url).origin,
  "sec-fetch-site": "same-origin",
  ...(cookies === "" ? {} : { cookie: cookies })
})

const send = (service: Service, cookies: string, path: string, fields: Readonly<Record<string, string>>) =>
  service.call(path, {
    method: "POST",
    headers: headersOf(service, cookies),
    body: new URLSearchParams(fields).toString()
  })

const cookiesOf = (
  { headers }: { readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>> }
) => [headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")

const town = Layer.effect(
  Town,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const config = configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] })
    const service = yield* startService({ directory, config })
    const { merchant_id: merchant, merchant_key: key } = yield* service.keys
    const home = `/dashboard/${merchant}/devnet`
    const url = yield* loginLink({ service, merchant })
    const token = new URL(url).hash.slice("#t=".length)
    const owner = cookiesOf(yield* send(service, "", "/dashboard/signin/link", { token, next: "" }))
    const drawn = yield* service.call(`${home}/team`, { headers: { cookie: owner } })
    const invited = yield* send(service, owner, `${home}/team`, {
      action: "invite",
      form_key: /name="form_key" value="([^"]+)"/.exec(drawn.text)?.[1] ?? "",
      role: "viewer",
      email: "viewer@shop.example"
    })
    const invitation = /#t=([\w-]+)/.exec(invited.text)?.[1] ?? ""
    const viewer = cookiesOf(yield* send(service, "", "/dashboard/invitation", { token: invitation, name: "A viewer" }))
    return Town.of({ service, home, key, owner, viewer })
  })
)

layer(town, { excludeTestServices: true })("payment links in the dashboard", (it) => {
  it.effect("are made, shown with code, button and poster, and turned off and on", () =>
    Effect.gen(function*() {
      const { home, key, owner, service } = yield* Town
      const see = (path: string) => service.call(path, { headers: { cookie: owner } })
      const list = yield* see(`${home}/links`)
      assert.include(list.text, "No payment links yet")
      const drawn = yield* see(`${home}/links/new`)
      const formKey = /name="form_key" value="([^"]+)"/.exec(drawn.text)![1]!
      const fields = {
        action: "create",
        form_key: formKey,
        title: "Workshop <1>",
        amount_usd: "49.99",
        maximum_payments: "20",
        expires_at: "2099-12-31"
      }
      for (
        const [wrong, message] of [
          [{ maximum_payments: "many" }, "whole number"],
          [{ minimum_amount: "1.005" }, "two digits for cents"],
          [{ expires_at: "31.12.2099" }, "such as 2026-12-31"],
          [{ amount_usd: "a lot" }, "two digits for cents"],
          [{ amount_usd: "1.000" }, "two digits for cents"]
        ] as const
      ) {
        const refused = yield* send(service, owner, `${home}/links/new`, {
          ...fields,
          form_key: randomUUID(),
          ...wrong
        })
        assert.include(refused.text, message)
        assert.include(refused.text, "value=\"Workshop &lt;1&gt;\"", "nothing is typed twice")
      }
      const made = yield* send(service, owner, `${home}/links/new`, fields)
      const again = yield* send(service, owner, `${home}/links/new`, fields)
      assert.strictEqual(made.status, 303, made.text)
      assert.strictEqual(again.headers.location, made.headers.location, "a form that is sent twice makes one link")
      const { data } = assertStatus(
        200,
        yield* service.call("/api/v1/payment-links", { headers: { "x-api-key": key } })
      )
      const [link] = data.data
      assert.deepInclude(link, {
        title: "Workshop <1>",
        amount: 49_990,
        maximum_payments: 20,
        expires_at: Date.UTC(2100, 0, 1) / 1_000
      })
      const shown = yield* see(made.headers.location!)
      assert.strictEqual(shown.status, 200, shown.text)
      assert.include(shown.text, "Workshop &lt;1&gt;")
      assert.include(shown.text, `&lt;a href=&quot;${link.url}&quot;&gt;Pay with crypto&lt;/a&gt;`)
      assert.include(shown.text, "<svg class=\"qr\"")
      const path = new URL(link.url).pathname
      for (const address of [path, `${path}/poster`, `${path}/poster?size=a6`]) {
        assert.include(shown.text, `href="${address}"`)
        assert.strictEqual((yield* service.call(address)).status, 200)
      }
      const place = `${home}/links/${link.id}`
      assert.include(shown.text, "Turn off")
      const off = yield* send(service, owner, place, { action: "off", form_key: randomUUID() })
      assert.include(off.headers.location, "notice=link_off")
      assert.include((yield* see(place)).text, "Turn on")
      const on = yield* send(service, owner, place, { action: "on", form_key: randomUUID() })
      assert.include(on.headers.location, "notice=link_on")
      assert.include((yield* see(`${home}/links`)).text, "0 of 20")
    }))

  it.effect("are only looked at by who may not make them", () =>
    Effect.gen(function*() {
      const { home, key, service, viewer } = yield* Town
      const body = { title: "Tea", amount_usd: 3 }
      const made = yield* service.call("/api/v1/payment-links", { headers: { "x-api-key": key }, body })
      const { data: { id } } = assertStatus(200, made)
      const see = (path: string) => service.call(path, { headers: { cookie: viewer } })
      const list = yield* see(`${home}/links`)
      assert.include(list.text, "Tea")
      assert.notInclude(list.text, "links/new")
      const shown = yield* see(`${home}/links/${id}`)
      assert.strictEqual(shown.status, 200)
      assert.notInclude(shown.text, "Turn off")
      const forged = yield* send(service, viewer, `${home}/links/${id}`, { action: "off", form_key: randomUUID() })
      assert.strictEqual(forged.status, 403)
      assert.strictEqual((yield* see(`${home}/links/new`)).status, 403)
      const creation = { action: "create", form_key: randomUUID(), title: "x", amount_usd: "1" }
      assert.strictEqual((yield* send(service, viewer, `${home}/links/new`, creation)).status, 403)
      const missing = yield* see(`${home}/links/plink_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10`)
      assert.strictEqual(missing.status, 404)
    }))
})
