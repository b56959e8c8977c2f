/**
 * Goal: who looks for the same payments every day saves the list once, and a name or a filter that somebody else chose
 * does nothing but stand there. Method: the service as it is started, its pages asked for without the script.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Cookies, openDashboard, servedPages } from "./DashboardVisits.ts"

const hostile = "\"><img src=x onerror=alert(1)> {{7*7}}"

it.live(
  "a list is saved with its filters, alone or for all, and removed, without a script",
  () =>
    Effect.gen(function*() {
      const { joinAs, see, send, service, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const viewer = yield* joinAs(owner, "viewer")
      const textOf = (who: Cookies, path: string) => Effect.map(see(who, path), ({ text }) => text)
      const save = (who: Cookies, path: string, name: string, more: Readonly<Record<string, string>> = {}) =>
        send(who, path, { action: "save_view", name, ...more })

      const closed = yield* textOf(viewer, "/payments?status=paid")
      assert.match(closed, /href="[^"]*\/payments\?status=paid&amp;views=open" aria-expanded="false"/)
      assert.notInclude(closed, "save_view")
      assert.include(yield* textOf(viewer, "/payments?views=open"), "No views of this list yet")

      const saved = yield* save(viewer, "/payments?status=paid&customer=c%261&after=cursor&evil=1", "Paid by c&1")
      assert.strictEqual(saved.status, 303, saved.text)
      assert.match(saved.headers.location!, /\/payments\?status=paid&customer=c%261&views=open&notice=saved$/)
      const list = yield* textOf(viewer, "/payments?views=open")
      assert.include(list, "<bdi>Paid by c&amp;1</bdi>")
      assert.match(list, /href="[^"]*\/devnet\/payments\?status=paid&amp;customer=c%261"/)
      assert.match(
        yield* textOf(viewer, "/payments?status=paid&customer=c%261&views=open"),
        /customer=c%261" aria-current="page"/
      )
      assert.notInclude(yield* textOf(owner, "/payments?views=open"), "Paid by c")
      assert.notInclude(yield* textOf(viewer, "/todo?views=open"), "Paid by c", "another list has views of its own")

      assert.notInclude(list, "name=\"shared\"", "a viewer shares nothing")
      const forged = yield* save(viewer, "/payments", "All", { shared: "1" })
      assert.strictEqual(forged.status, 403)
      assert.notInclude(yield* textOf(owner, "/payments?views=open"), ">All</bdi>")
      const served = new Set((yield* servedPages(service)).map(({ path }) => `/${path}`))
      const lists = [
        "/payments?status=paid",
        "/todo?status=resolved",
        "/refunds?status=succeeded",
        "/events?type=invoice.*",
        "/audit?action=key.create"
      ]
      for (const path of lists.filter((each) => served.has(each.split("?")[0]!))) {
        assert.strictEqual((yield* save(owner, path, hostile, { shared: "1" })).status, 303, path)
        const shown = yield* textOf(viewer, `${path}&views=open`)
        assert.notInclude(shown, "<img src=x")
        assert.include(shown, "&lt;img src=x onerror=alert(1)&gt;", path)
        assert.include(shown, "Shared")
        const row = shown.slice(shown.indexOf("&lt;img src=x")).split("</li>")[0]!
        assert.notInclude(row, "remove_view", "who may not remove it sees no button")
      }
      const nameless = yield* save(owner, "/payments?status=paid", " ")
      assert.strictEqual(nameless.status, 400)
      assert.include(nameless.text, "id=\"name-fault\"", "what is wrong stands beside the name")

      assert.strictEqual((yield* save(owner, "/payments?status=expired", "Failed")).status, 303)
      const failed = yield* textOf(owner, "/payments?views=open")
      const id = />Failed<[^]*?name="id" value="(view_[^"]+)"/.exec(failed)![1]!
      assert.strictEqual((yield* send(viewer, "/payments", { action: "remove_view", id })).status, 404)
      assert.strictEqual((yield* send(owner, "/payments", { action: "remove_view", id })).status, 303)
      assert.notInclude(yield* textOf(owner, "/payments?views=open"), ">Failed</bdi>")
    }).pipe(Effect.scoped)
)
