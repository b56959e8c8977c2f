/** What payors entered about themselves, in exports and erasures of a customer. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { PersonalData } from "../../../runtime/PersonalData.ts"
import { type HookInput, type HookResult, InvoiceHooks, isErasureFact } from "../../invoices/plugin.ts"
import { contactWrite, destinationWrite, makeRepo } from "../repo.ts"
import { makePersonalQueries } from "../repo/PersonalRecords.ts"

const partSize = 100

export const registerPersonalRecords = Effect.gen(function*() {
  const queries = yield* makePersonalQueries
  const repo = yield* makeRepo

  /** In the commit of the invoice. The rows stay without their values: they go on with their versions. */
  const onErasure = Effect.fnUntraced(function*({ before: { invoice }, facts }: HookInput) {
    if (!facts.some(isErasureFact)) return {} satisfies HookResult
    const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
    const [contact, destinations] = yield* Effect.all([repo.contact(owner), repo.storedDestinations(owner)])
    const now = yield* nowSeconds
    return {
      writes: [
        ...(contact === null || contact.email === null
          ? []
          : [contactWrite({ ...contact, version: contact.version + 1, email: null }, now)]),
        ...destinations.filter(({ address }) => address !== null).map((each) =>
          destinationWrite({ ...each, version: each.version + 1, address: null, memo: null }, now)
        )
      ]
    } satisfies HookResult
  })

  yield* (yield* InvoiceHooks).register({ name: "payors' personal data", run: onErasure })
  yield* (yield* PersonalData).register({
    name: "payments",
    records: Effect.fnUntraced(function*(person, after) {
      const { next, payors } = yield* queries.ofCustomer(person, after, partSize)
      return { records: payors.map((data) => ({ kind: "payor", data })), next }
    }),
    obstacle: () => Effect.succeed(null),
    // In the commits of the invoices.
    erase: () => Effect.succeed(null)
  })
})
