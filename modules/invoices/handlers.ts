/** Invoices between the wire and the actor: reads what was sent, says what was done. No rules of its own. */
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Chains } from "../../runtime/Chains.ts"
import { noCause } from "../../runtime/Commit.ts"
import {
  CurrentPrincipal,
  dieOnReplay,
  Idempotency,
  jsonText,
  readEnvironment,
  RequestInfo,
  toRequestVersion
} from "../../runtime/Http.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Settings } from "../../runtime/Settings.ts"
import { amountError } from "../../schemas/AmountError.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter, validationError } from "../../schemas/InvalidInput.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { InvoiceStatus, type InvoiceType, metadataLimits } from "../../schemas/Invoice.ts"
import { readInvoiceAmount, usdDecimal, usdMillis, usdWire } from "../../schemas/Money.ts"
import { type Environment, familyOf } from "../../schemas/Network.ts"
import { isLocalPage } from "../../schemas/Web.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { Invoices, type NewInvoice, type PayorRecord, PayorRecords } from "./actor.ts"
import {
  type Expansion,
  expansions,
  type InvoiceDetails,
  InvoiceFields,
  type InvoicePayor,
  InvoicesApi,
  type InvoiceTotals,
  type ListQuery,
  maximumSkipped,
  readStatusFilter
} from "./api.ts"
import {
  type Aggregate,
  type Command,
  invoiceObject,
  type InvoiceState,
  mergeMetadata,
  newestFirst,
  paymentObject,
  type PaymentState
} from "./machine.ts"
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
  body: Readonly<Record<string, unknown>>,
  owner: Owner
): Effect.fn.Return<NewInvoice, PublicError> {
  const amount = readInvoiceAmount(body)
  if (typeof amount === "string") return yield* amountError(amount, body)
  const fields = yield* decodeFields(body).pipe(Effect.mapError(({ issue }) => validationError(issue)))
  const metadata = fields.metadata ?? {}
  yield* checkMetadata(metadata)
  yield* checkReturnUrl(fields.payment_return_url ?? null, owner.environment)
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

/** A payor with real money never returns to a page without TLS. Fails with `VALIDATION_ERROR`. */
const checkReturnUrl = (url: string | null, environment: Environment): Effect.Effect<void, PublicError> =>
  url !== null && environment === "mainnet" && isLocalPage(url)
    ? Effect.fail(publicError("VALIDATION_ERROR", {
      message: "payment_return_url must be an https URL: only devnet may return to http://localhost",
      param: "payment_return_url"
    }))
    : Effect.void

/** Holds metadata to {@link metadataLimits}. Fails with `VALIDATION_ERROR`. */
export const checkMetadata = (metadata: Readonly<Record<string, Schema.Json>>): Effect.Effect<void, PublicError> => {
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

/** The session a payor opens an invoice with: the same each time, while the master key is. */
export const makeSession = Effect.gen(function*() {
  const sessions = yield* PayorSessions
  const { publicUrl } = yield* Settings

  return (invoice: InvoiceState) => {
    const { sessionToken, signature } = sessions.mint(invoice.id, invoice.createdAt * 1000)
    const url = `${publicUrl}/pay/${invoice.id}?session_token=${sessionToken}&signature=${signature}`
    return { sessionToken, signature, url }
  }
})

/**
 * Refuses an invoice whose networks are all without a driver or a wallet to receive on: nobody could pay it. Fails with
 * `UNSUPPORTED_NETWORK`.
 */
const makeNetworksCheck = Effect.gen(function*() {
  const chains = yield* Chains
  return Effect.fnUntraced(function*({ acceptedNetworks, environment, merchantId }: NewInvoice) {
    if (acceptedNetworks === null) return
    for (const network of acceptedNetworks) {
      const hasDriver = chains.driver(network, environment) !== undefined
      if (hasDriver && (yield* chains.wallet({ merchantId, environment, family: familyOf(network) })) !== null) return
    }
    const reason = acceptedNetworks.length === 0
      ? `it is empty. Leave it out to accept every network that has a wallet in ${environment}`
      : `nothing can be received on ${acceptedNetworks.join(", ")} in ${environment}`
    return yield* publicError("UNSUPPORTED_NETWORK", {
      message:
        `accepted_networks must name a network that can be paid on: ${reason}. GET /api/v1/networks/status lists those that are served, GET /api/v1/merchant/wallets your wallets`,
      param: "accepted_networks"
    })
  })
})

/**
 * A draft of the invoice that a body asks for, and the text of the answer: the invoice and the session its payor opens
 * it with. Nothing is written yet.
 */
const makeDraft = Effect.gen(function*() {
  const invoices = yield* Invoices
  const checkNetworks = yield* makeNetworksCheck
  const sessionOf = yield* makeSession

  const render = (invoice: InvoiceState) => {
    const { sessionToken, signature, url } = sessionOf(invoice)
    return JSON.stringify({
      invoice_id: invoice.id,
      payment_url: url,
      session_token: sessionToken,
      signature,
      expires_at: invoice.expiresAt,
      payment_session_headers: { "x-session-token": sessionToken, "x-signature": signature },
      invoice: invoiceObject(invoice)
    })
  }

  return Effect.fnUntraced(function*(body: Readonly<Record<string, unknown>>, owner: Owner) {
    const newInvoice = yield* readNewInvoice(body, owner)
    yield* checkNetworks(newInvoice)
    const draft = yield* invoices.draft(newInvoice)
    return { draft, text: render(draft.invoice) }
  })
})

/** An invoice this key may see, or as unknown as any other. */
const isVisible = (invoice: InvoiceState, principal: Principal, environment: Environment): boolean =>
  invoice.environment === environment && (principal.scope === "merchant" || invoice.type === "commerce")

/** Entries of a list where the caller does not say. */
const defaultLimit = 10

/** What stands beside an invoice's own fields. */
interface Extras {
  readonly names: ReadonlySet<Expansion>
  readonly paymentsLimit: number
}

/**
 * Fails unless the caller may write in `environment`, because whoever has a `payment_url` can set the invoice's refund
 * address. Checked before the invoice is read, so that a refusal does not tell whether it exists.
 */
const requirePaymentUrlAccess = (
  principal: Principal,
  environment: Environment | undefined
): Effect.Effect<void, PublicError> =>
  environment === undefined || environment === principal.environment
    ? Effect.void
    : Effect.fail(publicError("ENVIRONMENT_FORBIDDEN", {
      message: "expand: payment_url lets its holder pay the invoice and set its refund address, so only a key of "
        + `${environment} may read it. Use such a key, or leave payment_url out of expand`,
      param: "expand"
    }))

/** What people wrote of themselves and for one another, for their merchant alone. */
const personalExpansions: ReadonlyArray<Expansion> = ["details", "payor"]

/**
 * Fails unless the caller is the merchant, acting in `environment`: personal data is neither for whoever ships orders
 * nor for a key of the other environment. Checked before the invoice is read.
 */
const requirePersonalAccess = (principal: Principal, name: Expansion, environment: Environment | undefined) =>
  principal.scope !== "merchant"
    ? Effect.fail(publicError("SCOPE_MISMATCH", {
      message: `expand: ${name} takes a merchant key (mk_…) or a wallet. Leave it out of expand with a commerce key`,
      param: "expand"
    }))
    : environment === undefined || environment === principal.environment
    ? Effect.void
    : Effect.fail(publicError("ENVIRONMENT_FORBIDDEN", {
      message: `expand: ${name} takes a key of ${environment}. Use such a key, or leave ${name} out of expand`,
      param: "expand"
    }))

/**
 * What `expand` and `payments_limit` add to an invoice. Fails with `VALIDATION_ERROR`, `ENVIRONMENT_FORBIDDEN`,
 * `SCOPE_MISMATCH`.
 */
const readExtras = Effect.fnUntraced(function*(query: {
  readonly environment?: Environment
  readonly expand?: string
  readonly payments_limit?: number
}): Effect.fn.Return<Extras, PublicError, CurrentPrincipal> {
  const names = query.expand === undefined ? [] : query.expand.split(",")
  const known: ReadonlyArray<string> = expansions
  if (!names.every((name) => known.includes(name))) {
    return yield* invalidParameter("expand", `a comma list of ${expansions.join(", ")}`)
  }
  const extras = new Set(names as ReadonlyArray<Expansion>)
  const principal = yield* CurrentPrincipal
  if (extras.has("payment_url")) yield* requirePaymentUrlAccess(principal, query.environment)
  for (const name of personalExpansions) {
    if (extras.has(name)) yield* requirePersonalAccess(principal, name, query.environment)
  }
  return { names: extras, paymentsLimit: query.payments_limit ?? defaultLimit }
})

/** Payments of an invoice on the wire, in the version of the request. */
const wirePayments = (invoice: InvoiceState, payments: ReadonlyArray<PaymentState>) =>
  Effect.forEach(payments, (payment) => toRequestVersion(paymentObject(invoice, payment)))

/** A list of `payments`, of which there may be more than `limit`. */
const paymentList = (invoice: InvoiceState, payments: ReadonlyArray<PaymentState>, limit: number) =>
  Effect.map(wirePayments(invoice, payments.slice(0, limit)), (data) => ({
    object: "list",
    data,
    has_more: payments.length > limit
  }))

/** `details` on the wire. */
const detailsObject = ({ details }: InvoiceState): typeof InvoiceDetails.Type => ({
  description: details.description,
  title: details.title,
  footer: details.footer,
  customer_email: details.customerEmail,
  payment_return_url: details.returnUrl,
  locale: details.locale
})

/** `payor` on the wire; networks in the order of the alphabet. */
const payorObject = (record: PayorRecord | undefined): typeof InvoicePayor.Type => ({
  email: record?.email ?? null,
  refund_destinations: (record?.refundDestinations ?? []).toSorted((a, b) => a.network < b.network ? -1 : 1)
})

/**
 * An invoice with its extras; `newest` holds at least one payment more than are shown, if there is one, and `payors`
 * what its payor told, if that is asked for.
 */
const makeExpand = Effect.map(makeSession, (sessionOf) =>
  Effect.fnUntraced(function*(
    invoice: InvoiceState,
    newest: ReadonlyArray<PaymentState>,
    { names, paymentsLimit }: Extras,
    payors: ReadonlyMap<string, PayorRecord>
  ) {
    const [latest = null] = names.has("latest_payment") ? yield* wirePayments(invoice, newest.slice(0, 1)) : []
    return {
      ...invoiceObject(invoice),
      ...(names.has("latest_payment") ? { latest_payment: latest } : {}),
      ...(names.has("payments") ? { payments: yield* paymentList(invoice, newest, paymentsLimit) } : {}),
      ...(names.has("payment_url") ? { payment_url: sessionOf(invoice).url } : {}),
      ...(names.has("details") ? { details: detailsObject(invoice) } : {}),
      ...(names.has("payor") ? { payor: payorObject(payors.get(invoice.id)) } : {})
    }
  }))

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

/** Nothing was created in a span that ends before it begins. Fails with `VALIDATION_ERROR`. */
const checkSpan = (
  query: { readonly created_gte?: number; readonly created_lte?: number }
): Effect.Effect<void, PublicError> =>
  query.created_gte !== undefined && query.created_lte !== undefined && query.created_gte > query.created_lte
    ? Effect.fail(publicError("VALIDATION_ERROR", {
      message: `created_gte must be at or before created_lte: ${query.created_gte} is after ${query.created_lte}`,
      param: "created_gte"
    }))
    : Effect.void

const readFilter = Effect.fnUntraced(function*(query: ListQuery, customerId: string | undefined) {
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

export const handlers = HttpApiBuilder.group(
  InvoicesApi,
  "invoices",
  Effect.fn(function*(group) {
    const invoices = yield* Invoices
    const draftOf = yield* makeDraft
    const expand = yield* makeExpand
    const visible = yield* makeVisible
    const records = yield* PayorRecords

    /** What payors entered, where `expand` asks for it. */
    const payorsOf = (merchantId: number, ids: ReadonlyArray<string>, { names }: Extras) =>
      names.has("payor") && ids.length > 0
        ? records.read(merchantId, ids)
        : Effect.succeed<ReadonlyMap<string, PayorRecord>>(new Map())

    const list = Effect.fnUntraced(function*(query: ListQuery, customerId: string | undefined) {
      const filter = yield* readFilter(query, customerId)
      const page = yield* readPage(query)
      const extras = yield* readExtras(query)
      const [{ invoices: found, hasMore }, total] = yield* Effect.all([
        invoices.list(filter, page),
        invoices.count(filter)
      ], {
        concurrency: 2
      })
      const ids = found.map(({ id }) => id)
      const wantsPayments = ids.length > 0 && (extras.names.has("payments") || extras.names.has("latest_payment"))
      const payments = wantsPayments
        ? yield* invoices.newestPayments(filter.merchantId, ids, extras.paymentsLimit + 1)
        : new Map<string, ReadonlyArray<PaymentState>>()
      const payors = yield* payorsOf(filter.merchantId, ids, extras)
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
            Effect.flatMap(({ draft, text }) =>
              Effect.as(invoices.create(draft, cause, idempotency.reply(200, text)), text)
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
      .handle("list", ({ query }) => list(query, query.customer_id))
      .handle("listByCustomer", ({ params, query }) => list(query, params.customer_id))
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
          const payors = yield* payorsOf(invoice.merchantId, [invoice.id], extras)
          return jsonText(JSON.stringify(yield* expand(invoice, newestFirst(payments), extras, payors)))
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
      .handle(
        "payments",
        Effect.fnUntraced(function*({ params, query }) {
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
      )
      .handle(
        "payment",
        Effect.fnUntraced(function*({ params, query }) {
          const unknown = publicError("NOT_FOUND", { message: "No such invoice payment" })
          const invoiceId = isUuid(params.payment_id) ? yield* invoices.invoiceOfPayment(params.payment_id) : null
          if (invoiceId === null) return yield* unknown
          const { invoice, payments } = yield* visible.byId(invoiceId, query.environment).pipe(
            Effect.mapError((error) => (error.code === "INVOICE_NOT_FOUND" ? unknown : error))
          )
          const [shown] = yield* wirePayments(invoice, payments.filter(({ id }) => id === params.payment_id))
          return jsonText(JSON.stringify(shown))
        })
      )
      .handle("amend", ({ params, payload }) =>
        change(
          params.customer_id,
          Effect.fnUntraced(function*({ invoice }) {
            const { metadata: metadataChange, ...rest } = payload
            if (metadataChange === undefined) return { _tag: "Amend", ...rest }
            const metadata = mergeMetadata(invoice.metadata, metadataChange)
            yield* checkMetadata(metadata)
            return { _tag: "Amend", ...rest, metadata }
          })
        ))
      .handle("cancel", ({ params }) => change(params.id, () => Effect.succeed({ _tag: "Cancel" })))
  })
)

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

/** The page of an invoice's payments, newest first, that a cursor means; null for two cursors or an unknown payment. */
const pageOfPayments = (payments: ReadonlyArray<PaymentState>, query: {
  readonly limit?: number
  readonly starting_after?: string
  readonly ending_before?: string
}) => {
  const { ending_before: before, limit = defaultLimit, starting_after: after } = query
  const cursor = after ?? before
  const at = payments.findIndex(({ id }) => id === cursor)
  if ((after !== undefined && before !== undefined) || (cursor !== undefined && at === -1)) return null
  if (before !== undefined) return { payments: payments.slice(Math.max(0, at - limit), at), hasMore: at > limit }
  return { payments: payments.slice(at + 1, at + 1 + limit), hasMore: payments.length > at + 1 + limit }
}

export const rpcHandlers = Rpc.handlers(
  InvoicesRpc,
  Effect.gen(function*() {
    const invoices = yield* Invoices
    const draftOf = yield* makeDraft

    return InvoicesRpc.of({
      "invoices.create": Effect.fnUntraced(function*({ merchant_id, environment, fields }) {
        const owner = { merchantId: merchant_id, environment, commerce: false }
        const { draft, text } = yield* draftOf(fields, owner)
        yield* invoices.create(draft, noCause, undefined).pipe(
          Effect.catchTag("IdempotentReplay", (impossible) => Effect.die(impossible))
        )
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
