/**
 * A customer's invoices, for exports and erasures. Hooks erase what other modules keep of an invoice, in its commit.
 */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import { type Erasure, PersonalData, type PersonalDataKeeper } from "../../../runtime/PersonalData.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { HashOf } from "../../../schemas/PersonalData.ts"
import { Invoices } from "../actor.ts"
import { type Aggregate, erasureObstacle, invoiceObject, paymentObject } from "../machine.ts"
import { redactException, redactInvoice, redactPayment } from "../machine/Erasure.ts"
import { makePersonalQueries } from "../repo/PersonalRecords.ts"
import type { InvoiceFact } from "./Hooks.ts"

/** For hooks: the personal data of the invoice's customer goes; `hashOf` gives what stands in its place. */
export interface ErasureFact extends InvoiceFact {
  readonly _tag: "Erasure"
  readonly hashOf: HashOf
}

export const isErasureFact = (fact: InvoiceFact): fact is ErasureFact => fact._tag === "Erasure"

/** Invoices of one part. Their events are read or rewritten with them. */
const partSize = 20

/** Erased side by side: their commits share flushes, and calls of others go between them. */
const invoicesAtOnce = 4

/** All of an invoice that is not in a field of its own elsewhere. */
const recordsOf = ({ exceptions, invoice, payments }: Aggregate) => [
  { kind: "invoice", data: { ...invoiceObject(invoice), details: invoice.details } },
  ...payments.map((payment) => ({ kind: "invoice_payment", data: paymentObject(invoice, payment) })),
  ...exceptions.map((exception) => ({ kind: "exception", data: { ...exception, invoiceId: invoice.id } }))
]

export const registerPersonalRecords = Effect.gen(function*() {
  const invoices = yield* Invoices
  const personalData = yield* PersonalData
  const queries = yield* makePersonalQueries

  /** Once it is over for the invoice, its events follow: no event of it with the person's data can come after them. */
  const eraseInvoice = Effect.fnUntraced(function*({ hashOf, merchantId }: Erasure, id: string) {
    const fact: ErasureFact = { _tag: "Erasure", hashOf }
    const { aggregate } = yield* invoices.change(id, noCause, (current) => {
      const obstacle = erasureObstacle(current)
      return obstacle === null
        ? Effect.succeed({ commands: [{ _tag: "Erase" as const, hashOf }], facts: [fact] })
        : Effect.fail(publicError("INVALID_TRANSITION", { message: obstacle }))
    }).pipe(dieOnReplay)
    const { exceptions, invoice, payments } = aggregate
    yield* personalData.events.redact(merchantId, id, [
      { object: "invoice", id },
      ...payments.map((payment) => ({ object: "invoice_payment", id: payment.id })),
      ...exceptions.flatMap((exception) => exception.id === null ? [] : [{ object: "exception", id: exception.id }]),
      ...(invoice.orderId === null ? [] : [{ object: "commerce_order", id: invoice.orderId }])
    ], hashOf)
  })

  const keeper: PersonalDataKeeper = {
    name: "invoices",
    records: Effect.fnUntraced(function*(person, after) {
      const ids = yield* queries.ofCustomer(person, [person.customerId], { after, until: null, limit: partSize })
      const parts = yield* Effect.forEach(ids, (id) =>
        Effect.gen(function*() {
          const found = yield* invoices.get(person.merchantId, id)
          const events = yield* personalData.events.ofInvoice(person.merchantId, id)
          return [
            ...(found === null ? [] : recordsOf(found)),
            ...events.map((data) => ({ kind: "event", data }))
          ]
        }))
      return { records: parts.flat(), next: ids.length < partSize ? null : ids.at(-1)! }
    }),
    obstacle: Effect.fnUntraced(function*(person) {
      const id = yield* queries.firstUnderWay(person)
      const found = id === null ? null : yield* invoices.get(person.merchantId, id)
      return found === null ? null : erasureObstacle(found)
    }),
    erase: Effect.fnUntraced(function*(erasure, after) {
      // Also those that are erased already: a process may have ended before it came to their events.
      const names = [erasure.customerId, ...personalData.anonymousIds(erasure)]
      const ids = yield* queries.ofCustomer(erasure, names, { after, until: erasure.until, limit: partSize })
      yield* Effect.forEach(ids, (id) => eraseInvoice(erasure, id), { concurrency: invoicesAtOnce, discard: true })
      if (ids.length === partSize) return ids.at(-1)!
      yield* personalData.events.forgetSums(erasure)
      return null
    })
  }
  yield* personalData.register(keeper)
  yield* personalData.registerObject("invoice", redactInvoice)
  yield* personalData.registerObject("invoice_payment", redactPayment)
  yield* personalData.registerObject("exception", redactException)
})
