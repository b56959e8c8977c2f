/** Invoices between the wire and the actor: reads what was sent, says what was done. No rules of its own. */
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type CommitCause, noCause } from "../../runtime/Commit.ts"
import {
  CurrentPrincipal,
  Idempotency,
  jsonText,
  readEnvironment,
  replayed,
  RequestInfo
} from "../../runtime/Http.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError, validationError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { type InvoiceStatus, type InvoiceType, metadataLimits } from "../../schemas/Invoice.ts"
import { readInvoiceAmount, usdDecimal, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { Invoices, type NewInvoice } from "./actor.ts"
import { InvoiceFields, InvoicesApi, type InvoiceTotals, maximumSkipped, readStatusFilter } from "./api.ts"
import { invoiceObject, type InvoiceState, paymentObject } from "./machine.ts"
import type { InvoiceFilter, InvoicePage, Total } from "./repo.ts"
import { InvoicesRpc } from "./rpc.ts"

const decodeFields = Schema.decodeUnknownEffect(InvoiceFields)

/** Who the invoice is for. */
interface Owner {
  readonly merchantId: number
  readonly environment: Environment
  readonly commerce: boolean
}

/**
 * Reads the body of a new invoice, in the documented order: amount format, amount range, the other fields. Unknown
 * fields are ignored.
 */
const readNewInvoice = Effect.fnUntraced(function*(
  body: Readonly<Record<string, Schema.Json>>,
  owner: Owner
): Effect.fn.Return<NewInvoice, PublicError> {
  const amount = readInvoiceAmount(body)
  if (amount === "format") return yield* publicError("INVALID_AMOUNT_FORMAT")
  if (amount === "range") return yield* publicError("INVALID_AMOUNT_RANGE")
  const fields = yield* decodeFields(body).pipe(Effect.mapError(({ issue }) => validationError(issue)))
  const metadata = fields.metadata ?? {}
  yield* checkMetadata(metadata)
  return {
    ...owner,
    amount,
    expiresInMillis: fields.expires_in ?? null,
    customerId: fields.customer_id ?? null,
    metadata,
    details: {
      description: fields.description ?? null,
      title: fields.invoice_title ?? null,
      footer: fields.invoice_footer ?? null,
      customerEmail: fields.customer_email ?? null,
      returnUrl: fields.payment_return_url_enabled === false ? null : fields.payment_return_url ?? null,
      locale: fields.locale ?? null
    },
    toleranceBasisPoints: fields.payment_tolerance_bps ?? null,
    acceptedNetworks: fields.accepted_networks ?? null
  }
})

const checkMetadata = (metadata: Readonly<Record<string, Schema.Json>>): Effect.Effect<void, PublicError> => {
  const refuse = (message: string) => Effect.fail(publicError("VALIDATION_ERROR", { message, param: "metadata" }))
  const keys = Object.keys(metadata)
  if (keys.length > metadataLimits.keys) return refuse(`metadata may have at most ${metadataLimits.keys} keys`)
  if (keys.some((key) => key.length > metadataLimits.keyLength)) {
    return refuse(`a metadata key may have at most ${metadataLimits.keyLength} characters`)
  }
  return Buffer.byteLength(JSON.stringify(metadata)) > metadataLimits.bytes
    ? refuse(`metadata may have at most ${metadataLimits.bytes} bytes as JSON`)
    : Effect.void
}

/** A new invoice and the session its payor opens it with, as the body of the answer. */
const makeCreate = Effect.gen(function*() {
  const invoices = yield* Invoices
  const sessions = yield* PayorSessions
  const settings = yield* Settings

  const render = (invoice: InvoiceState) => {
    const { sessionToken, signature } = sessions.mint(invoice.id, invoice.createdAt * 1000)
    return JSON.stringify({
      invoice_id: invoice.id,
      payment_url: `${settings.publicUrl}/pay/${invoice.id}?session_token=${sessionToken}&signature=${signature}`,
      session_token: sessionToken,
      signature,
      expires_at: invoice.expiresAt,
      payment_session_headers: { "x-session-token": sessionToken, "x-signature": signature },
      invoice: invoiceObject(invoice)
    })
  }

  return Effect.fnUntraced(function*(
    body: Readonly<Record<string, Schema.Json>>,
    owner: Owner,
    cause: CommitCause,
    keep: (text: string) => ReturnType<Idempotency["Service"]["reply"]>
  ) {
    let text = ""
    yield* invoices.create(yield* readNewInvoice(body, owner), cause, (invoice) => {
      text = render(invoice)
      return keep(text)
    })
    return text
  })
})

/** An invoice this key may see, or as unknown as any other. */
const isVisible = (invoice: InvoiceState, principal: Principal, environment: Environment): boolean =>
  invoice.environment === environment && (principal.scope === "merchant" || invoice.type === "commerce")

export const handlers = HttpApiBuilder.group(InvoicesApi, "invoices", Effect.fn(function*(group) {
  const invoices = yield* Invoices
  const create = yield* makeCreate

  const visible = Effect.fnUntraced(function*(id: string, asked?: Environment) {
    const principal = yield* CurrentPrincipal
    const environment = yield* readEnvironment(principal, asked)
    const found = isUuid(id) ? yield* invoices.get(principal.merchantId, id) : null
    if (found !== null && isVisible(found.invoice, principal, environment)) return found.invoice
    const { invoices: [newest] } = yield* invoices.list(
      { merchantId: principal.merchantId, environment, commerceOnly: principal.scope === "commerce", customerId: id },
      { _tag: "Offset", offset: 0, limit: 1 }
    )
    return newest ?? (yield* publicError("INVOICE_NOT_FOUND"))
  })

  return group
    .handle("create", Effect.fnUntraced(function*({ payload }) {
      const principal = yield* CurrentPrincipal
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      const owner = {
        merchantId: principal.merchantId,
        environment: principal.environment,
        commerce: principal.scope === "commerce"
      }
      const cause = { requestId, idempotencyKey: idempotency.key }
      const text = yield* create(payload, owner, cause, (body) => idempotency.reply(200, body)).pipe(
        Effect.catchDefect((defect) =>
          Effect.logError("invoice creation failed", defect).pipe(
            Effect.andThen(Effect.fail(publicError("INVOICE_CREATE_FAILED")))
          )
        ),
        replayed
      )
      return jsonText(text)
    }))
    .handle("list", Effect.fnUntraced(function*({ query }) {
      const principal = yield* CurrentPrincipal
      const environment = yield* readEnvironment(principal, query.environment)
      const statuses = readStatusFilter(query.status)
      if (statuses === null) {
        return yield* publicError("VALIDATION_ERROR", { message: "status: Unknown invoice status", param: "status" })
      }
      const filter: InvoiceFilter = {
        ...sharedFilter(principal, environment, query),
        ...(statuses === "all" ? {} : { statuses }),
        ...(query.payer_wallet_address === undefined ? {} : { payerWalletAddress: query.payer_wallet_address }),
        ...(query.payer_wallet_network === undefined ? {} : { payerWalletNetwork: query.payer_wallet_network })
      }
      const page = yield* readPage(query)
      const [{ invoices: found, hasMore }, total] = yield* Effect.all(
        [invoices.list(filter, page), invoices.count(filter)],
        { concurrency: 2 }
      )
      return jsonText(JSON.stringify({
        object: "list",
        data: found.map(invoiceObject),
        has_more: hasMore,
        page: query.page ?? 1,
        limit: page.limit,
        total
      }))
    }))
    .handle("totals", Effect.fnUntraced(function*({ query }) {
      const principal = yield* CurrentPrincipal
      const environment = yield* readEnvironment(principal, query.environment)
      const byStatus = yield* invoices.totals(sharedFilter(principal, environment, query))
      return jsonText(JSON.stringify(totalsBody(byStatus)))
    }))
    .handle("get", Effect.fnUntraced(function*({ params, query }) {
      const invoice = yield* visible(params.customer_id, query.environment)
      return jsonText(JSON.stringify(invoiceObject(invoice)))
    }))
    .handle("cancel", Effect.fnUntraced(function*({ params }) {
      const principal = yield* CurrentPrincipal
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      const found = isUuid(params.id) ? yield* invoices.get(principal.merchantId, params.id) : null
      if (found === null || !isVisible(found.invoice, principal, principal.environment)) {
        return yield* publicError("INVOICE_NOT_FOUND")
      }
      const { aggregate } = yield* invoices.change(
        params.id,
        { requestId, idempotencyKey: idempotency.key },
        () =>
          Effect.succeed({
            commands: [{ _tag: "Cancel" } as const],
            reply: ({ invoice }) => idempotency.reply(200, JSON.stringify(invoiceObject(invoice)))
          })
      ).pipe(replayed)
      return jsonText(JSON.stringify(invoiceObject(aggregate.invoice)))
    }))
}))

/** The filters that the list and the totals share. */
const sharedFilter = (principal: Principal, environment: Environment, query: {
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

const noInvoices: Total = { count: 0, amount: usdMillis(0n), amountPaid: usdMillis(0n) }

/** Totals on the wire: every status is there, whether it has invoices or not. */
const totalsBody = (byStatus: ReadonlyMap<InvoiceStatus, Total>): typeof InvoiceTotals.Type => {
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

/** Pages by number, or by a cursor; both at once, or two cursors, are refused. */
const readPage = (query: {
  readonly page?: number
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
}): Effect.Effect<InvoicePage, PublicError> => {
  const limit = query.limit ?? 10
  const given = [query.page, query.starting_after, query.ending_before].filter((value) => value !== undefined)
  if (given.length > 1) return Effect.fail(publicError("INVALID_CURSOR"))
  if (query.starting_after !== undefined) return Effect.succeed({ _tag: "Older", id: query.starting_after, limit })
  if (query.ending_before !== undefined) return Effect.succeed({ _tag: "Newer", id: query.ending_before, limit })
  const offset = ((query.page ?? 1) - 1) * limit
  return offset <= maximumSkipped
    ? Effect.succeed({ _tag: "Offset", offset, limit })
    : Effect.fail(publicError("INVALID_PAGE", {
      message: `Pages reach ${maximumSkipped} invoices deep: go on with starting_after, the id of the last invoice you have`,
      param: "page"
    }))
}

export const rpcHandlers = Rpc.handlers(InvoicesRpc, Effect.gen(function*() {
  const invoices = yield* Invoices
  const create = yield* makeCreate

  return InvoicesRpc.of({
    "invoices.create": Effect.fnUntraced(function*({ merchant_id, environment, fields }) {
      const owner = { merchantId: merchant_id, environment, commerce: false }
      const text = yield* create(fields, owner, noCause, () => undefined).pipe(
        Effect.catchTag("Replayed", (impossible) => Effect.die(impossible))
      )
      return JSON.parse(text)
    }),
    "invoices.get": Effect.fnUntraced(function*({ merchant_id, invoice_id }) {
      const found = isUuid(invoice_id) ? yield* invoices.get(merchant_id, invoice_id) : null
      if (found === null) return yield* publicError("INVOICE_NOT_FOUND")
      return {
        invoice: invoiceObject(found.invoice) as never,
        payments: found.payments.map((payment) => paymentObject(found.invoice, payment)) as never
      }
    })
  })
}))
