/** How every screen of the payment page comes about: by what merchants, payors and chains do. */
import { Effect } from "effect"
import type { Screen } from "../../modules/checkout/rules.ts"
import { assertStatus, mainUsdc, type PayableInvoice, PaymentPageService, strangeToken } from "./PaymentPageService.ts"

const dollars = (amount: number): bigint => BigInt(amount) * 1_000_000n

/** An invoice of 25 dollars for which `amount` dollars were sent, once that is counted. */
const sent = (amount: number, status: string, key?: string) =>
  Effect.gen(function*() {
    const { payableInvoice, choose, details, pay } = yield* PaymentPageService
    const made = yield* payableInvoice({ payment_return_url: "https://shop.example/done" }, key)
    const { temp_address } = yield* choose(made)
    yield* pay(temp_address, dollars(amount))
    yield* details(made, ({ invoice_status }) => invoice_status === status)
    return made
  })

/** Ends an invoice's time. */
const expire = ({ id, key }: PayableInvoice) =>
  Effect.gen(function*() {
    const { service } = yield* PaymentPageService
    const ended = { headers: { "x-api-key": key, "idempotency-key": id }, body: { action: "expire" } }
    assertStatus(200, yield* service().call(`/api/v1/devnet/invoices/${id}/simulate`, ended))
  })

/** A new invoice in each screen, and nothing else done to it. */
export const reachScreen: Readonly<Record<Screen, Effect.Effect<PayableInvoice, never, PaymentPageService>>> = {
  choose: Effect.flatMap(PaymentPageService, ({ payableInvoice }) => payableInvoice()),
  waiting: Effect.gen(function*() {
    const { payableInvoice, choose } = yield* PaymentPageService
    const made = yield* payableInvoice()
    yield* choose(made)
    return made
  }),
  quote_ended: Effect.gen(function*() {
    const { payableInvoice, choose, sql } = yield* PaymentPageService
    const made = yield* payableInvoice()
    yield* choose(made, "ETH")
    yield* Effect.orDie(
      sql`UPDATE quotes SET valid_until = created_at - 5, created_at = created_at - 305 WHERE invoice_id = ${made.id}`
    )
    return made
  }),
  // What has no price has no quote: it is chosen on the page, whose address then says so.
  no_price: Effect.flatMap(PaymentPageService, ({ payableInvoice }) => payableInvoice()),
  confirming: Effect.gen(function*() {
    const { payableInvoice, choose, details, mainNode, merchant } = yield* PaymentPageService
    const made = yield* payableInvoice({}, yield* merchant({}, { environment: "mainnet" }))
    const { temp_address } = yield* choose(made)
    yield* mainNode.token("transfer", [temp_address, dollars(25)], { at: mainUsdc })
    yield* details(made, ({ payments }) => payments.length === 1)
    return made
  }),
  partial: sent(10, "underpaid"),
  paid: sent(25, "paid"),
  overpaid: sent(30, "paid"),
  expired: Effect.gen(function*() {
    const { payableInvoice, merchant } = yield* PaymentPageService
    const made = yield* payableInvoice({}, yield* merchant({ branding: { allow_restart: true } }))
    yield* expire(made)
    return made
  }),
  late: Effect.gen(function*() {
    const { payableInvoice, choose, details, merchant, pay, sql } = yield* PaymentPageService
    const key = yield* merchant({ late_payment_policy: "manual", branding: { support_email: "help@shop.example" } })
    const made = yield* payableInvoice({}, key)
    const { temp_address } = yield* choose(made)
    yield* expire(made)
    // Blocks tell whole seconds: what came in the very second of the end would not be late.
    yield* Effect.orDie(sql`UPDATE invoices SET expires_at = expires_at - 60 WHERE id = ${made.id}`)
    yield* pay(temp_address, dollars(25))
    yield* details(made, ({ payments }) => payments.length === 1)
    return made
  }),
  expired_partial: Effect.gen(function*() {
    const { merchant } = yield* PaymentPageService
    const made = yield* sent(10, "underpaid", yield* merchant({ underpaid_grace_seconds: 0 }))
    yield* expire(made)
    return made
  }),
  canceled: Effect.gen(function*() {
    const { payableInvoice, service } = yield* PaymentPageService
    const made = yield* payableInvoice()
    const headers = { "x-api-key": made.key, "idempotency-key": made.id }
    assertStatus(200, yield* service().call(`/api/v1/invoices/${made.id}/cancel`, { method: "POST", headers }))
    return made
  }),
  reversed: Effect.gen(function*() {
    const { details, node } = yield* PaymentPageService
    const made = yield* sent(25, "paid")
    yield* node.reorg(1)
    yield* details(made, ({ invoice_status }) => invoice_status === "unpaid")
    return made
  }),
  rejected: Effect.gen(function*() {
    const { payableInvoice, choose, details, node } = yield* PaymentPageService
    const made = yield* payableInvoice()
    const { temp_address } = yield* choose(made)
    yield* node.token("transfer", [temp_address, dollars(25)], { at: strangeToken })
    yield* details(made, ({ payments }) => payments.length === 1)
    return made
  })
}
