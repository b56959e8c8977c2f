/**
 * Goal: what somebody saves is found again by that person and no other, or by everybody of the merchant, and by nobody
 * elsewhere. Method: the router with people of two merchants.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { callAs, codeAs, dataAs, instance, newColleague, newMerchant, signInByLink } from "./Deployment.ts"

const view = (more: object = {}) => ({ list: "payments", name: "Unpaid", query: "status=unpaid", ...more })

layer(instance(["devnet"]))("a saved view", (it) => {
  const shop = Effect.gen(function*() {
    const merchant = yield* newMerchant
    const owner = yield* signInByLink(merchant)
    const viewer = yield* newColleague(owner.session, merchant, "viewer", "viewer@shop.example")
    const developer = yield* newColleague(owner.session, merchant, "developer", "dev@shop.example")
    return { merchant, owner: owner.session, viewer: viewer.session, developer: developer.session }
  })

  it.effect("is its maker's own, or everybody's of the merchant, and nobody's elsewhere", () =>
    Effect.gen(function*() {
      const { developer, merchant, owner, viewer } = yield* shop
      const elsewhere = yield* shop
      const namesOf = (session: typeof owner, of = merchant, more = "") =>
        Effect.map(dataAs(session, of, "GET", `/team/views${more}`), ({ data }) => data.map(({ name }: any) => name))
      const own = yield* dataAs(viewer, merchant, "POST", "/team/views", view({ name: "Mine" }))
      assert.deepInclude(own, {
        object: "saved_view",
        list: "payments",
        query: "status=unpaid",
        shared: false,
        is_own: true
      })
      assert.strictEqual(
        yield* codeAs(viewer, merchant, "POST", "/team/views", view({ shared: true })),
        "403 PERMISSION_DENIED"
      )
      const shared = yield* dataAs(
        developer,
        merchant,
        "POST",
        "/team/views",
        view({ name: "Ours", shared: true, list: "todo" })
      )
      assert.deepStrictEqual(yield* namesOf(viewer), ["Ours", "Mine"])
      assert.deepStrictEqual(yield* namesOf(owner), ["Ours"])
      assert.deepStrictEqual(yield* namesOf(viewer, merchant, "?list=payments"), ["Mine"])
      assert.deepStrictEqual(yield* namesOf(elsewhere.owner, elsewhere.merchant), [])

      const remove = (session: typeof owner, id: string, of = merchant) =>
        codeAs(session, of, "DELETE", `/team/views/${id}`)
      assert.strictEqual(yield* remove(owner, own.id), "404 NOT_FOUND", "nobody learns that it is there")
      assert.strictEqual(yield* remove(viewer, shared.id), "404 NOT_FOUND")
      assert.strictEqual(yield* remove(elsewhere.owner, shared.id, elsewhere.merchant), "404 NOT_FOUND")
      assert.strictEqual(yield* remove(owner, shared.id), "200")
      assert.strictEqual(yield* remove(owner, shared.id), "404 NOT_FOUND")
      assert.strictEqual(yield* remove(viewer, own.id), "200")
      assert.deepStrictEqual(yield* namesOf(viewer), [])
      const sql = yield* SqlClient.SqlClient
      const kept = yield* sql`SELECT DISTINCT name, query FROM saved_views WHERE merchant_id = ${merchant}`
      assert.deepStrictEqual(kept, [{ name: "", query: "" }], "names and filters may tell of customers")
    }))

  it.effect("ends with the membership of who made it, and its entry in the log names no customer", () =>
    Effect.gen(function*() {
      const { developer, merchant, owner } = yield* shop
      const made = yield* dataAs(developer, merchant, "POST", "/team/views", view({ shared: true }))
      const { data: members } = yield* dataAs(owner, merchant, "GET", "/team/members")
      const { id } = members.find(({ role }: any) => role === "developer")
      assert.strictEqual(yield* codeAs(owner, merchant, "DELETE", `/team/members/${id}`), "200")
      const listed = yield* dataAs(owner, merchant, "GET", "/team/views")
      assert.deepStrictEqual(listed.data, [])
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql`SELECT name, query, status FROM saved_views WHERE id = ${made.id}`
      assert.deepStrictEqual(row, { name: "", query: "", status: "removed" })
      const [entry] = yield* sql`SELECT action, before, after FROM audit_entries
        WHERE merchant_id = ${merchant} AND subject ->> 'id' = ${made.id}`
      assert.deepStrictEqual(entry, {
        action: "saved_view.create",
        before: {},
        after: { list: "payments", shared: true }
      })
    }))

  it.effect("is one of fifty, also of many at once, and has a name of one line and filters only", () =>
    Effect.gen(function*() {
      const { merchant, viewer } = yield* shop
      const save = (more: object = {}) => codeAs(viewer, merchant, "POST", "/team/views", view(more))
      const wrong: ReadonlyArray<object> = [
        { name: "" },
        { name: "   " },
        { name: "two\nlines" },
        { name: "\u202eturned" },
        { name: "x".repeat(61) },
        { query: "a b" },
        { query: "?status=paid" },
        { query: "status=paid#top" },
        { query: `customer=${"x".repeat(500)}` },
        { query: `customer=${"é".repeat(100)}` },
        { query: "status=paid&CUSTOMER=c_1" },
        { query: "status=paid&status=open" },
        { query: "customer=c_1", list: "todo" },
        { list: "/evil" },
        { list: "team" }
      ]
      for (const more of wrong) assert.strictEqual(yield* save(more), "400 VALIDATION_ERROR", JSON.stringify(more))
      const codes = yield* Effect.all(Array.from({ length: 55 }, (_, n) => save({ name: `V${n}` })), {
        concurrency: 10
      })
      assert.lengthOf(codes.filter((code) => code === "200"), 50)
      assert.lengthOf(codes.filter((code) => code === "409 INVALID_TRANSITION"), 5)
      const pages = [yield* dataAs(viewer, merchant, "GET", "/team/views?limit=30")]
      pages.push(
        yield* dataAs(viewer, merchant, "GET", `/team/views?limit=30&starting_after=${pages[0].data.at(-1).id}`)
      )
      assert.deepStrictEqual(pages.map(({ data, has_more }) => [data.length, has_more]), [[30, true], [20, false]])
      assert.strictEqual(
        yield* codeAs(viewer, merchant, "GET", "/team/views?starting_after=mem_1"),
        "400 INVALID_CURSOR"
      )
      const odd = yield* callAs(viewer, merchant, "GET", "/team/views?list=keys")
      assert.strictEqual(odd.status, 400)
    }))
})
