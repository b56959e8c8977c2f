/**
 * Goal: whoever is erased is in no saved view either. Method: the router, with views of two customers whose ids begin
 * alike.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { customerPath, CustomerTown, erased, ok } from "./CustomerTown.ts"

layer(CustomerTown.layer, { excludeTestServices: true })(
  "the saved views of a customer",
  (it) => {
    it.effect("who is erased are removed, and those of others stay", () =>
      Effect.gen(function*() {
        const { mine } = yield* CustomerTown
        const customer = `customer-${randomUUID()}`
        const { invoice_id: id } = yield* ok(mine.merchant, "/api/v1/invoices", {
          amount_usd: 20,
          customer_id: customer
        })
        yield* ok(mine.merchant, `/api/v1/invoices/${id}/cancel`, {})
        for (const [name, id] of [["Hers", customer], ["Another's", `${customer}_2`]] as const) {
          const query = `status=paid&customer=${encodeURIComponent(id)}`
          yield* ok(mine.jwt, "/api/v1/team/views", { list: "payments", name, query })
        }
        yield* ok(mine.jwt, customerPath(customer, "erase"), {}, { "idempotency-key": randomUUID() })
        yield* erased(mine, customer)
        const views = yield* ok(mine.jwt, "/api/v1/team/views?list=payments")
        assert.deepStrictEqual(views.data.map(({ name }: any) => name), ["Another's"])
      }))
  }
)
