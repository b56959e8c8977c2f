/** What `expand` adds to an invoice, and who may read it. */
import { Effect } from "effect"
import { CurrentPrincipal, toRequestVersion } from "../../../runtime/Http.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { PayorRecord } from "../actor.ts"
import { type Expansion, expansions, type InvoiceDetails, type InvoicePayor } from "../api.ts"
import { invoiceObject, type InvoiceState, paymentObject, type PaymentState } from "../machine.ts"
import { defaultLimit } from "./Lists.ts"
import { makeSession } from "./PaymentSession.ts"

/** What stands beside an invoice's own fields. */
export interface Extras {
  readonly names: ReadonlySet<Expansion>
  readonly paymentsLimit: number
}

/** What people wrote of themselves and for one another, for their merchant alone. */
const personalExpansions: ReadonlyArray<Expansion> = ["details", "payor"]

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
export const readExtras = Effect.fnUntraced(function*(query: {
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
export const wirePayments = (invoice: InvoiceState, payments: ReadonlyArray<PaymentState>) =>
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
export const makeExpand = Effect.map(makeSession, (sessionOf) =>
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
