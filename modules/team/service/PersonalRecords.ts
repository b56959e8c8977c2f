/** Saved views in exports and erasures of a customer: its id is in their filters. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { PersonalData } from "../../../runtime/PersonalData.ts"
import { makeRepo } from "../repo.ts"

export const registerPersonalRecords = Effect.gen(function*() {
  const repo = yield* makeRepo
  yield* (yield* PersonalData).register({
    name: "team",
    records: ({ customerId, merchantId }) =>
      Effect.map(repo.viewsOfCustomer(merchantId, customerId), (views) => ({
        records: views.map(({ createdAt, id, list, name, query }) => ({
          kind: "saved_view",
          data: { id, list, name, query, created_at: createdAt }
        })),
        next: null
      })),
    obstacle: () => Effect.succeed(null),
    erase: Effect.fnUntraced(function*({ customerId, merchantId }) {
      yield* repo.eraseViewsOfCustomer(merchantId, customerId, yield* nowSeconds)
      return null
    })
  })
})
