/** Invoices between the wire and the actor: reads what was sent, says what was done. No rules of its own. */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../runtime/Commit.ts"
import { CurrentPrincipal, Idempotency, jsonText, readEnvironment, RequestInfo } from "../../runtime/Http.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Invoices, type PayorRecord, PayorRecords } from "./actor.ts"
import { InvoicesApi, type ListQuery } from "./api.ts"
import {
  type Aggregate,
  type Command,
  invoiceObject,
  type InvoiceState,
  mergeMetadata,
  newestFirst,
  paymentObject
} from "./machine.ts"
import { InvoicesRpc } from "./rpc.ts"
import { checkMetadata, makeDraft } from "./handlers/Creation.ts"
import { type Extras, makeExpand, readExtras, wirePayments } from "./handlers/Expansions.ts"
import {
  checkSpan,
  pageOfPayments,
  type PaymentsPage,
  readFilter,
  readPage,
  sharedFilter,
  totalsBody
} from "./handlers/Lists.ts"
import * as Operations from "../../runtime/Operations.ts"

/** An invoice this key may see, or as unknown as any other. */
const isVisible = (invoice: InvoiceState, principal: Principal, environment: Environment): boolean =>
  invoice.environment === environment && (principal.scope === "merchant" || invoice.type === "commerce")

/** Invoices as this caller sees them: whatever it may not see is as unknown as what is not there. */
const makeVisible = Effect.gen(function*() {
  const invoices = yield* Invoices

  const findById = Effect.fnUntraced(function*(id: string, requestedEnvironment?: Environment) {
    const principal = yield* CurrentPrincipal
    const environment = yield* readEnvironment(principal, requestedEnvironment)
    // A merchant's own customer id may look like ours in upper case: it is looked for as it was sent, after this.
    const found = isUuid(id.toLowerCase()) ? yield* invoices.get(principal.merchantId, id.toLowerCase()) : null
    return found !== null && isVisible(found.invoice, principal, environment) ? found : null
  })

  return {
    /** By id. Fails with `INVOICE_NOT_FOUND`, `ENVIRONMENT_FORBIDDEN`. */
    byId: Effect.fnUntraced(function*(id: string, requestedEnvironment?: Environment) {
      return (yield* findById(id, requestedEnvironment)) ?? (yield* publicError("INVOICE_NOT_FOUND"))
    }),
    /** By id, else the newest one of the customer called so. Fails as `byId`. */
    byIdOrCustomer: Effect.fnUntraced(function*(id: string, requestedEnvironment?: Environment) {
      const found = yield* findById(id, requestedEnvironment)
      if (found !== null) return found
      const principal = yield* CurrentPrincipal
      const environment = yield* readEnvironment(principal, requestedEnvironment)
      const { invoices: [newest] } = yield* invoices.list(
        { merchantId: principal.merchantId, environment, commerceOnly: principal.scope === "commerce", customerId: id },
        { _tag: "Offset", offset: 0, limit: 1 }
      )
      const aggregate = newest === undefined ? null : yield* invoices.get(principal.merchantId, newest.id)
      return aggregate ?? (yield* publicError("INVOICE_NOT_FOUND"))
    })
  }
})

/** What the routes share. */
interface InvoiceRoutes {
  readonly invoices: Invoices["Service"]
  readonly expand: Effect.Success<typeof makeExpand>
  readonly visible: Effect.Success<typeof makeVisible>
  readonly records: PayorRecords["Service"]
}

/** What payors entered, where `expand` asks for it. */
const payorsOf = (
  { records }: InvoiceRoutes,
  merchantId: number,
  ids: ReadonlyArray<string>,
  { names }: Extras
) =>
  names.has("payor") && ids.length > 0
    ? records.read(merchantId, ids)
    : Effect.succeed<ReadonlyMap<string, PayorRecord>>(new Map())

/** The list of a merchant's invoices, or of one customer's. */
const list = Effect.fnUntraced(function*(
  context: InvoiceRoutes,
  query: ListQuery,
  customerId: string | undefined
) {
  const { expand, invoices } = context
  const filter = yield* readFilter(query, customerId)
  const page = yield* readPage(query)
  const extras = yield* readExtras(query)
  const wantsPayments = extras.names.has("payments") || extras.names.has("latest_payment")
  const { hasMore, invoices: found, payments, total } = yield* invoices.listWithTotal(
    filter,
    page,
    wantsPayments ? extras.paymentsLimit + 1 : 0
  )
  const ids = found.map(({ id }) => id)
  const payors = yield* payorsOf(context, filter.merchantId, ids, extras)
  return jsonText(JSON.stringify({
    object: "list",
    data: yield* Effect.forEach(
      found,
      (invoice) => expand(invoice, payments.get(invoice.id) ?? [], extras, payors)
    ),
    has_more: hasMore,
    page: query.page ?? 1,
    limit: page.limit,
    total
  }))
})

/** Runs a change of an invoice this caller may see, in its own environment, and answers with the invoice. */
const change = Effect.fnUntraced(function*(
  { invoices, visible }: InvoiceRoutes,
  id: string,
  plan: (current: Aggregate) => Effect.Effect<Command, PublicError>
) {
  const { invoice } = yield* visible.byId(id)
  const idempotency = yield* Idempotency
  const { requestId } = yield* RequestInfo
  const { aggregate } = yield* invoices.change(
    invoice.id,
    { requestId, idempotencyKey: idempotency.key },
    (current) =>
      Effect.map(plan(current), (command) => ({
        commands: [command],
        reply: ({ invoice }) => idempotency.reply(200, JSON.stringify(invoiceObject(invoice)))
      }))
  ).pipe(dieOnReplay)
  return jsonText(JSON.stringify(invoiceObject(aggregate.invoice)))
})

/** The payments of an invoice, newest first. */
const paymentsOf = Effect.fnUntraced(function*(
  { visible }: InvoiceRoutes,
  params: { readonly id: string },
  query: PaymentsPage & { readonly environment?: Environment }
) {
  const { invoice, payments } = yield* visible.byId(params.id, query.environment)
  const page = pageOfPayments(newestFirst(payments), query)
  if (page === null) {
    return yield* publicError("INVALID_CURSOR", {
      message: "Send starting_after or ending_before, not both, with the id of a payment of this invoice"
    })
  }
  const data = yield* wirePayments(invoice, page.payments)
  return jsonText(JSON.stringify({ object: "list", data, has_more: page.hasMore }))
})

/** One payment, whichever invoice it is of. */
const paymentOf = Effect.fnUntraced(function*(
  { invoices, visible }: InvoiceRoutes,
  params: { readonly payment_id: string },
  query: { readonly environment?: Environment }
) {
  const unknown = publicError("NOT_FOUND", { message: "No such invoice payment" })
  const invoiceId = isUuid(params.payment_id) ? yield* invoices.invoiceOfPayment(params.payment_id) : null
  if (invoiceId === null) return yield* unknown
  const { invoice, payments } = yield* visible.byId(invoiceId, query.environment).pipe(
    Effect.mapError((error) => (error.code === "INVOICE_NOT_FOUND" ? unknown : error))
  )
  const [shown] = yield* wirePayments(invoice, payments.filter(({ id }) => id === params.payment_id))
  return jsonText(JSON.stringify(shown))
})

export const handlers = Operations.group(
  InvoicesApi,
  "invoices",
  Effect.fn(function*(group) {
    const invoices = yield* Invoices
    const draftOf = yield* makeDraft
    const visible = yield* makeVisible
    const context: InvoiceRoutes = { invoices, expand: yield* makeExpand, visible, records: yield* PayorRecords }

    return group
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* CurrentPrincipal
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const owner = {
            merchantId: principal.merchantId,
            environment: principal.environment,
            commerce: principal.scope === "commerce"
          }
          const cause = { requestId, idempotencyKey: idempotency.key }
          const text = yield* draftOf(payload, owner).pipe(
            Effect.flatMap(({ draft, reference, text }) =>
              Effect.as(invoices.create(draft, cause, idempotency.reply(200, text, reference)), text)
            ),
            Effect.catchDefect((defect) =>
              Effect.logError("invoice creation failed", defect).pipe(
                Effect.andThen(Effect.fail(publicError("INVOICE_CREATE_FAILED")))
              )
            ),
            dieOnReplay
          )
          return jsonText(text)
        })
      )
      .handle("list", ({ query }) => list(context, query, query.customer_id))
      .handle("listByCustomer", ({ params, query }) => list(context, query, params.customer_id))
      .handle(
        "totals",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* CurrentPrincipal
          const environment = yield* readEnvironment(principal, query.environment)
          yield* checkSpan(query)
          const byStatus = yield* invoices.totals(sharedFilter(principal, environment, query))
          return jsonText(JSON.stringify(totalsBody(byStatus)))
        })
      )
      .handle(
        "get",
        Effect.fnUntraced(function*({ params, query }) {
          const extras = yield* readExtras(query)
          const { invoice, payments } = yield* visible.byIdOrCustomer(params.customer_id, query.environment)
          const payors = yield* payorsOf(context, invoice.merchantId, [invoice.id], extras)
          return jsonText(JSON.stringify(yield* context.expand(invoice, newestFirst(payments), extras, payors)))
        })
      )
      .handle(
        "status",
        Effect.fnUntraced(function*({ params, query }) {
          const { invoice, payments } = yield* visible.byId(params.id, query.environment)
          const [latest = null] = yield* wirePayments(invoice, newestFirst(payments).slice(0, 1))
          return jsonText(JSON.stringify({
            object: "invoice_status",
            invoice: invoiceObject(invoice),
            latest_payment: latest
          }))
        })
      )
      .handle("payments", ({ params, query }) => paymentsOf(context, params, query))
      .handle("payment", ({ params, query }) => paymentOf(context, params, query))
      .handle("amend", ({ params, payload }) =>
        change(
          context,
          params.customer_id,
          Effect.fnUntraced(function*({ invoice }) {
            const { metadata: metadataChange, ...rest } = payload
            if (metadataChange === undefined) return { _tag: "Amend", ...rest }
            const metadata = mergeMetadata(invoice.metadata, metadataChange)
            yield* checkMetadata(metadata)
            return { _tag: "Amend", ...rest, metadata }
          })
        ))
      .handle("cancel", ({ params }) => change(context, params.id, () => Effect.succeed({ _tag: "Cancel" })))
  })
)

export const rpcHandlers = Rpc.handlers(
  InvoicesRpc,
  Effect.gen(function*() {
    const invoices = yield* Invoices
    const draftOf = yield* makeDraft

    return InvoicesRpc.of({
      "invoices.create": Effect.fnUntraced(function*({ merchant_id, environment, fields }) {
        const owner = { merchantId: merchant_id, environment, commerce: false }
        const { draft, text } = yield* draftOf(fields, owner)
        yield* invoices.create(draft, noCause, undefined).pipe(dieOnReplay)
        return JSON.parse(text)
      }),
      "invoices.get": Effect.fnUntraced(function*({ merchant_id, invoice_id }) {
        const found = isUuid(invoice_id) ? yield* invoices.get(merchant_id, invoice_id) : null
        if (found === null) return yield* publicError("INVOICE_NOT_FOUND")
        return {
          invoice: invoiceObject(found.invoice) as never,
          payments: newestFirst(found.payments).map((payment) => paymentObject(found.invoice, payment)) as never
        }
      })
    })
  })
)
