/** A customer's cart, and what was priced for them, in exports and erasures. Nothing of it is money: rows are deleted. */
import { Effect } from "effect"
import { PersonalData } from "../../../runtime/PersonalData.ts"
import { makePersonalQueries } from "../repo.ts"

const recordOf = (kind: string) => (data: object) => ({ kind, data })

export const registerPersonalRecords = Effect.gen(function*() {
  const queries = yield* makePersonalQueries
  yield* (yield* PersonalData).register({
    name: "storefront",
    records: Effect.fnUntraced(function*(person) {
      const [carts, estimates, addresses] = yield* Effect.all([
        queries.cart(person),
        queries.estimates(person),
        queries.addresses(person)
      ])
      const records = [
        ...carts.map(recordOf("cart")),
        ...estimates.map(recordOf("checkout_estimate")),
        ...addresses.map(recordOf("checkout_address"))
      ]
      return { records, next: null }
    }),
    obstacle: () => Effect.succeed(null),
    erase: (erasure) => Effect.as(queries.remove(erasure), null)
  })
})
