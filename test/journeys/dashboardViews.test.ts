/**
 * Goal: who looks for the same payments every day saves the list once, and a name or a filter that somebody else chose
 * does nothing but stand there. Method: the service as it is started, its pages asked for without the script.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Cookies, openDashboard } from "./DashboardVisits.ts"

const hostile = "\"><img src=x onerror=alert(1)> {{7*7}}"

it.live(
  "a list is saved with its filters, alone or for all, and removed, without a script",
  () =>
    Effect.gen(function*() {
      const { joinAs, key, see, send, service, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const viewer = yield* joinAs(owner, "viewer")
      const textOf = (who: Cookies, path: string) => Effect.map(see(who, path), ({ text }) => text)
      const save = (who: Cookies, path: string, name: string, more: Readonly<Record<string, string>> = {}) =>
        send(who, path, { action: "save_view", view_name: name, ...more })

      const saved = yield* save(viewer, "/payments?status=paid&customer=c%261&after=cursor&evil=1", "Paid by c&1")
      assert.strictEqual(saved.status, 303, saved.text)
      assert.match(saved.headers.location!, /\/payments\?status=paid&customer=c%261&notice=saved$/)
      const list = yield* textOf(viewer, "/payments")
      assert.include(list, "<bdi>Paid by c&amp;1</bdi>")
      assert.match(list, /href="[^"]*\/devnet\/payments\?status=paid&amp;customer=c%261"/)
      assert.match(yield* textOf(viewer, "/payments?status=paid&customer=c%261"), /customer=c%261" aria-current="page"/)
      assert.notInclude(yield* textOf(owner, "/payments"), "Paid by c")
      assert.notInclude(yield* textOf(viewer, "/refunds"), "Paid by c", "another list has views of its own")

      assert.notInclude(list, "name=\"shared\"", "a viewer shares nothing")
      assert.strictEqual((yield* save(viewer, "/payments", "All", { shared: "1" })).status, 403)
      for (const path of ["/payments?status=paid", "/todo?status=resolved", "/refunds?status=paid"]) {
        assert.strictEqual((yield* save(owner, path, hostile, { shared: "1" })).status, 303, path)
        const shown = yield* textOf(viewer, path)
        assert.notInclude(shown, "<img src=x")
        assert.include(shown, "&lt;img src=x onerror=alert(1)>")
        assert.include(shown, "Shared")
        assert.notMatch(shown, /value="remove_view"[^]*onerror/, "who may not remove it sees no button")
      }
      assert.isAtLeast((yield* save(owner, "/payments", " ")).status, 400)

      const made = yield* service.call("/api/v1/webhooks", {
        method: "POST",
        headers: { "x-api-key": key },
        body: { url: "https://shop.example/hook", enabled_events: ["*"] }
      })
      const endpoint = made.json.data.id
      assert.strictEqual((yield* save(owner, `/webhooks/${endpoint}?status=failed`, "Failed")).status, 303)
      const deliveries = yield* textOf(owner, `/webhooks/${endpoint}`)
      assert.include(deliveries, `/webhooks/${endpoint}?status=failed"`)

      const id = /name="id" value="(view_[^"]+)"/.exec(deliveries)![1]!
      assert.strictEqual((yield* send(viewer, "/payments", { action: "remove_view", id })).status, 404)
      assert.strictEqual((yield* send(owner, `/webhooks/${endpoint}`, { action: "remove_view", id })).status, 303)
      assert.notInclude(yield* textOf(owner, `/webhooks/${endpoint}`), ">Failed</bdi>")
    }).pipe(Effect.scoped),
  120_000
)
