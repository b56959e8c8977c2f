/** Lists and totals: their filters, their pages and the body of the totals. */
import { Effect } from "effect"
import { CurrentPrincipal, readEnvironment } from "../../../runtime/Http.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import { InvoiceStatus, type InvoiceType } from "../../../schemas/Invoice.ts"
import { usdDecimal, usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type InvoiceTotals, type ListQuery, maximumSkipped, readStatusFilter } from "../api.ts"
import type { PaymentState } from "../machine.ts"
import type { InvoiceFilter, InvoicePage, Total } from "../repo.ts"

/** Entries of a list where the caller does not say. */
export const defaultLimit = 10

/** Nothing was created in a span that ends before it begins. Fails with `VALIDATION_ERROR`. */
export const checkSpan = (
  query: { readonly created_gte?: number; readonly created_lte?: number }
): Effect.Effect<void, PublicError> =>
  query.created_gte !== undefined && query.created_lte !== undefined && query.created_gte > query.created_lte
    ? Effect.fail(publicError("VALIDATION_ERROR", {
      message: `created_gte must be at or before created_lte: ${query.created_gte} is after ${query.created_lte}`,
      param: "created_gte"
    }))
    : Effect.void

export const readFilter = Effect.fnUntraced(function*(query: ListQuery, customerId: string | undefined) {
  const principal = yield* CurrentPrincipal
  const environment = yield* readEnvironment(principal, query.environment)
  yield* checkSpan(query)
  const statuses = readStatusFilter(query.status)
  if (statuses === null) {
    return yield* invalidParameter("status", `a comma list of ${InvoiceStatus.literals.join(", ")}, or all`)
  }
  const filter: InvoiceFilter = {
    ...sharedFilter(principal, environment, query),
    ...(customerId === undefined ? {} : { customerId }),
    ...(statuses === "all" ? {} : { statuses }),
    ...(query.payer_wallet_address === undefined ? {} : { payerWalletAddress: query.payer_wallet_address }),
    ...(query.payer_wallet_network === undefined ? {} : { payerWalletNetwork: query.payer_wallet_network })
  }
  return filter
})

/** The filters that the list and the totals share. */
export const sharedFilter = (principal: Principal, environment: Environment, query: {
  readonly invoice_type?: InvoiceType
  readonly customer_id?: string
  readonly created_gte?: number
  readonly created_lte?: number
}): InvoiceFilter => ({
  merchantId: principal.merchantId,
  environment,
  commerceOnly: principal.scope === "commerce",
  ...(query.invoice_type === undefined ? {} : { type: query.invoice_type }),
  ...(query.customer_id === undefined ? {} : { customerId: query.customer_id }),
  ...(query.created_gte === undefined ? {} : { createdFrom: query.created_gte }),
  ...(query.created_lte === undefined ? {} : { createdTo: query.created_lte })
})

/** Pages by number, or by a cursor; both at once, or two cursors, are refused. */
export const readPage = (query: {
  readonly page?: number
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
}): Effect.Effect<InvoicePage, PublicError> => {
  const limit = query.limit ?? defaultLimit
  const given = [query.page, query.starting_after, query.ending_before].filter((value) => value !== undefined)
  if (given.length > 1) {
    return Effect.fail(publicError("INVALID_CURSOR", { message: "Send one of page, starting_after and ending_before" }))
  }
  if (query.starting_after !== undefined) return Effect.succeed({ _tag: "Older", id: query.starting_after, limit })
  if (query.ending_before !== undefined) return Effect.succeed({ _tag: "Newer", id: query.ending_before, limit })
  const offset = ((query.page ?? 1) - 1) * limit
  return offset <= maximumSkipped
    ? Effect.succeed({ _tag: "Offset", offset, limit })
    : Effect.fail(publicError("INVALID_PAGE", {
      message:
        `Pages reach ${maximumSkipped} invoices deep: go on with starting_after, the id of the last invoice you have`,
      param: "page"
    }))
}

/** Which payments of an invoice are asked for. */
export interface PaymentsPage {
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
}

/** The page of an invoice's payments, newest first, that a cursor means; null for two cursors or an unknown payment. */
export const pageOfPayments = (payments: ReadonlyArray<PaymentState>, query: PaymentsPage) => {
  const { ending_before: before, limit = defaultLimit, starting_after: after } = query
  const cursor = after ?? before
  const at = payments.findIndex(({ id }) => id === cursor)
  if ((after !== undefined && before !== undefined) || (cursor !== undefined && at === -1)) return null
  if (before !== undefined) return { payments: payments.slice(Math.max(0, at - limit), at), hasMore: at > limit }
  return { payments: payments.slice(at + 1, at + 1 + limit), hasMore: payments.length > at + 1 + limit }
}

const noInvoices: Total = { count: 0, amount: usdMillis(0n), amountPaid: usdMillis(0n) }

/** Totals on the wire: every status is there, whether it has invoices or not. */
export const totalsBody = (byStatus: ReadonlyMap<InvoiceStatus, Total>): typeof InvoiceTotals.Type => {
  const wire = ({ amount, amountPaid, count }: Total) => ({
    count,
    amount: usdWire(amount),
    amount_decimal: usdDecimal(amount),
    amount_paid: usdWire(amountPaid),
    amount_paid_decimal: usdDecimal(amountPaid)
  })
  const of = (status: InvoiceStatus) => wire(byStatus.get(status) ?? noInvoices)
  const all = [...byStatus.values()].reduce((sum, total) => ({
    count: sum.count + total.count,
    amount: usdMillis(sum.amount + total.amount),
    amountPaid: usdMillis(sum.amountPaid + total.amountPaid)
  }), noInvoices)
  return {
    object: "invoice_totals",
    currency: "usd",
    amount_unit: "usd_millis",
    totals: {
      all: wire(all),
      paid: of("paid"),
      unpaid: of("unpaid"),
      underpaid: of("underpaid"),
      expired: of("expired"),
      canceled: of("canceled")
    }
  }
}
