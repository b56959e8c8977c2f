/** A customer's orders, in exports and erasures. */
import { Effect } from "effect"
import { type Person, PersonalData } from "../../../runtime/PersonalData.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { type HookInput, type HookResult, InvoiceHooks, isErasureFact } from "../../invoices/plugin.ts"
import { orderObject, type OrderState } from "../machine.ts"
import { erase, erasureObstacle, redactOrder } from "../machine/Erasure.ts"
import { makePersonalQueries, orderWrite, type Repo } from "../repo.ts"

/** Orders of one part. */
const partSize = 100

/** All of an order that its wire form leaves out, beside it. */
const recordOf = (order: OrderState) => ({
  kind: "commerce_order",
  data: {
    ...orderObject(order),
    address: order.address,
    metadata: order.metadata,
    refund_destination: order.refundDestination,
    refund_destinations: order.refunds.map(({ destination, id }) => ({ refund_id: id, destination }))
  }
})

/** In the commit of the invoice: the order's part of it goes too, and the order must be over. */
const onErasure = (repo: Repo) =>
  Effect.fnUntraced(function*({ before: { invoice }, facts }: HookInput) {
    const fact = facts.find(isErasureFact)
    if (fact === undefined || invoice.orderId === null) return {} satisfies HookResult
    const order = yield* repo.get(invoice.merchantId, invoice.orderId)
    if (order === null) return {} satisfies HookResult
    const obstacle = erasureObstacle(order)
    if (obstacle !== null) return yield* publicError("INVALID_TRANSITION", { message: obstacle })
    const erased = erase(order, fact.hashOf)
    const isErased = JSON.stringify(orderWrite(erased)) === JSON.stringify(orderWrite(order))
    return { writes: isErased ? [] : [orderWrite({ ...erased, version: order.version + 1 })] } satisfies HookResult
  })

export const registerPersonalRecords = Effect.fnUntraced(function*(repo: Repo) {
  const queries = yield* makePersonalQueries
  const personalData = yield* PersonalData
  yield* (yield* InvoiceHooks).register({ name: "orders' personal data", run: onErasure(repo) })
  yield* personalData.registerObject("commerce_order", redactOrder)
  yield* personalData.register({
    name: "commerce",
    records: Effect.fnUntraced(function*(person: Person, after: string | null) {
      const orders = yield* queries.ofCustomer(person, after, partSize)
      return { records: orders.map(recordOf), next: orders.length < partSize ? null : orders.at(-1)!.id }
    }),
    obstacle: Effect.fnUntraced(function*(person: Person) {
      const open = yield* queries.firstOpen(person)
      return open === null ? null : erasureObstacle(open)
    }),
    // In the commits of the invoices.
    erase: () => Effect.succeed(null)
  })
})
