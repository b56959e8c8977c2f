/**
 * Refunds of shops: the shop prints one link, and the buyer who opens it says where the money goes. They are made by
 * calls of the service's own API, so this module runs without the module refunds.
 */
import { Context, Effect, Layer, Result } from "effect"
import { RequestInfo } from "../../../runtime/Http.ts"
import { usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { Shop } from "../handlers/Access.ts"
import type { ShopRefusal } from "../handlers/Refusals.ts"
import type { FieldError, Fields } from "../rules/Requests.ts"
import { isRefundable, ordersIn, readRefundRequest, refundPart, wasPaid } from "../rules/Refunds.ts"
import { type FoundInvoice, ShopInvoices } from "../service.ts"
import { makeOwnApi } from "./OwnApi.ts"

/** The fields of a refund that plugins read: they print the link into the note of the order. */
export interface ShopRefund {
  readonly id: string
  readonly viewLink: string
}

const refundsPath = "/api/v1/refunds"

/** Invoices of one order that are searched for the paid one. A refund of an order with more of them is refused. */
const maximumInvoicesOfOrder = 100

const noSingleInvoice: FieldError = {
  path: "name",
  message: "No single paid invoice belongs to this refund. Make it in Tillwire."
}

export class ShopRefunds extends Context.Service<ShopRefunds, {
  /** Whether a module makes refunds. */
  readonly areServed: () => boolean
  readonly create: (shop: Shop, body: Fields) => Effect.Effect<ShopRefund | ReadonlyArray<FieldError>, ShopRefusal>
}>()("tillwire/modules/btcpay/ShopRefunds") {
  static readonly layer = Layer.effect(
    ShopRefunds,
    Effect.gen(function*() {
      const api = yield* makeOwnApi
      const invoices = yield* ShopInvoices

      /**
       * The invoice of the order that a name ends with: the only one with money that can be refunded, else the only one
       * that was paid. Null: there is none, or there are several.
       */
      const invoiceOf = Effect.fnUntraced(function*({ caller }: Shop, name: string) {
        const found = yield* invoices.receivedOfOrder(caller, ordersIn(name), maximumInvoicesOfOrder + 1)
        if (found.length > maximumInvoicesOfOrder) return null
        const refundable = found.filter(({ current }) => isRefundable(current))
        const [invoice, ...others] = refundable.length > 0
          ? refundable
          : found.filter(({ current }) => wasPaid(current))
        return invoice === undefined || others.length > 0 ? null : invoice
      })

      const open = Effect.fnUntraced(function*(
        shop: Shop,
        { current, row }: FoundInvoice,
        request: { readonly name: string; readonly amount: string }
      ) {
        const part = refundPart(current, row, request.amount)
        if (part === null) {
          return [{
            path: "amount",
            message:
              "More than one payment of the order holds, less what was refunded: lower the amount, or refund it in Tillwire."
          }]
        }
        const { requestId } = yield* RequestInfo
        const opened = yield* Effect.result(api.post(shop.caller, refundsPath, {
          invoice_id: current.invoice.id,
          invoice_payment_id: part.paymentId,
          amount_mode: "custom",
          amount: usdWire(usdMillis(part.usd)),
          reason: "requested_by_customer",
          fee_bearer: "merchant",
          destination: "claim"
        }, requestId))
        if (Result.isFailure(opened)) {
          const refused = opened.failure
          if (refused._tag === "OwnApiRefused") return [{ path: "amount", message: refused.message }]
          return yield* refused
        }
        const refund = opened.success
        return {
          id: String(refund["id"]),
          name: request.name,
          description: "",
          currency: row.currency.code,
          amount: request.amount,
          period: null,
          BOLT11Expiration: null,
          startsAt: Number(refund["created_at"]),
          expiresAt: null,
          autoApproveClaims: false,
          archived: false,
          viewLink: String(refund["claim_url"])
        }
      })

      return ShopRefunds.of({
        areServed: () => api.serves(refundsPath),
        create: Effect.fnUntraced(function*(shop, body) {
          const request = readRefundRequest(body)
          if (!("name" in request)) return request
          const invoice = yield* invoiceOf(shop, request.name)
          if (invoice === null) return [noSingleInvoice]
          const { code } = invoice.row.currency
          if (request.currency !== null && request.currency !== code) {
            return [{ path: "currency", message: `The order was paid in ${code}: refund it in that currency.` }]
          }
          return yield* open(shop, invoice, request)
        })
      })
    })
  )
}
