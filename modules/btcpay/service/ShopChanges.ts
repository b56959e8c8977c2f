/** Changes the row of a shop's invoice and sends its webhooks, in the commit that changes the invoice. */
import { Effect } from "effect"
import type { WebhookMessage } from "../../../runtime/Commit.ts"
import { storeIdOf } from "../../../schemas/Auth.ts"
import type { Aggregate, HookInput } from "../../invoices/plugin.ts"
import { type Repo, shopInvoiceWrite } from "../repo.ts"
import { btcpay } from "../rules.ts"
import { allEvents, orderIdOf } from "../rules/Requests.ts"
import { eventsOf, flagsAfter, type ShopEvent, type ShopState, stateOf } from "../rules/Statuses.ts"
import { methodOfPayment, webhookData } from "../rules/Wire.ts"
import type { Methods } from "./Methods.ts"
import { makeTargetOf } from "./PaymentRoutes.ts"

const isSameState = (a: ShopState, b: ShopState): boolean =>
  a.status === b.status && a.additionalStatus === b.additionalStatus

export const makeShopChanges = Effect.fnUntraced(function*(methods: Methods, repo: Repo) {
  const targetOf = yield* makeTargetOf

  const messageOf = (
    event: ShopEvent,
    current: Aggregate,
    now: number,
    destination: string
  ): WebhookMessage => {
    const { environment, merchantId } = current.invoice
    const payment = "payment" in event
      ? { methodId: methodOfPayment(event.payment, methods.idsIn(environment)), destination }
      : null
    return {
      format: btcpay,
      type: event.type,
      filters: [event.type, allEvents],
      data: webhookData(event, current, storeIdOf(merchantId, environment), now, payment)
    }
  }

  /** The invoice hook: changes the row of the shop's invoice and queues its webhooks, in the invoice's own commit. */
  const runHook = Effect.fnUntraced(function*({ before, decision, now }: HookInput) {
    // No shop makes the invoice of an order of the commerce API, so nothing is read for one.
    const row = before.invoice.orderId === null ? yield* repo.find(before.invoice.id) : null
    if (row === null) return {}
    const after = decision.next
    const events = eventsOf({ before, after, flags: row.flags })
    const messages = yield* Effect.forEach(events, (event) =>
      Effect.map(
        "payment" in event ? targetOf(after.invoice.id, event.payment) : Effect.succeed(""),
        (destination) => messageOf(event, after, now, destination)
      ))
    const flags = flagsAfter(row.flags, before, after)
    const state = stateOf(after, flags)
    const orderId = orderIdOf(after.invoice.metadata)
    const isChanged = !isSameState(state, row.state) || orderId !== row.orderId ||
      JSON.stringify(flags) !== JSON.stringify(row.flags)
    return {
      messages,
      writes: isChanged ? [shopInvoiceWrite({ ...row, version: row.version + 1, flags, state, orderId })] : []
    }
  })

  return { messageOf, runHook }
})
