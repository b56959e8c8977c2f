/** What a payment link is, when it can be paid, and what its payor may type. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import type { Rollup } from "../../runtime/Rollups.ts"
import { InvoiceStatus, type Metadata } from "../../schemas/Invoice.ts"
import {
  maximumInvoiceAmount,
  minimumInvoiceAmount,
  parseUnits,
  type UsdMillis,
  usdMillis
} from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { paymentLinkOf } from "../../schemas/PaymentLink.ts"

/** What the payor pays: always the same, or what they say within bounds. */
export type LinkAmount =
  | { readonly kind: "fixed"; readonly amount: UsdMillis }
  | { readonly kind: "open"; readonly minimum: UsdMillis; readonly maximum: UsdMillis }

/** A payment link. Times are epoch seconds. */
export interface LinkState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  /** What its address ends with: a secret of nobody's, but nothing that can be guessed either. */
  readonly code: string
  readonly title: string
  readonly description: string | null
  readonly amount: LinkAmount
  /** Null: any number. */
  readonly maximumPayments: number | null
  /** Null: never. */
  readonly expiresAt: number | null
  readonly isActive: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

/** How many invoices of a link there are, and what was paid of them. */
export interface LinkCounts {
  readonly paid: number
  /** Invoices that can be paid still, or wait for what was sent. */
  readonly open: number
  readonly amountPaid: UsdMillis
}

export const noCounts: LinkCounts = { paid: 0, open: 0, amountPaid: usdMillis(0n) }

/** A payor needs a minute to begin and another to pay: more that wait at once for one link are no payors. */
export const maximumOpenInvoices = 1_000

/**
 * The longest life of an invoice of a link that may be paid a number of times only: until it ends it keeps a place from
 * others.
 */
export const limitedInvoiceMillis = 3_600_000

/** Why a link cannot be paid. `taken`: its last places are those of invoices that are open, and may come back. */
export type Obstacle = "inactive" | "expired" | "completed" | "taken"

/** Why nobody can begin to pay a link now; null: everybody can. */
export const obstacleTo = (
  { expiresAt, isActive, maximumPayments }: LinkState,
  { open, paid }: LinkCounts,
  now: number
): Obstacle | null => {
  if (!isActive) return "inactive"
  if (expiresAt !== null && now >= expiresAt) return "expired"
  if (maximumPayments !== null && paid >= maximumPayments) return "completed"
  return open >= maximumOpenInvoices || (maximumPayments !== null && paid + open >= maximumPayments) ? "taken" : null
}

/** A link as its merchant sees it: places that open invoices keep are of no account. */
export const statusOf = (link: LinkState, counts: LinkCounts, now: number): "active" | Exclude<Obstacle, "taken"> => {
  const obstacle = obstacleTo(link, counts, now)
  return obstacle === null || obstacle === "taken" ? "active" : obstacle
}

/** Latin digits for the Arabic ones that keyboards of that language type. */
const latinDigits = (text: string): string =>
  text.replaceAll(/[٠-٩]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0x0630)).replaceAll("٫", ".")

/**
 * Dollars as a payor types them: whole cents, a point or a comma before them, nothing between thousands, because
 * "1,000" is a thousand to one reader and one to another.
 */
const typedDollars = /^\$?\s?(\d{1,7})(?:[.,](\d{1,2}))?$/

/** What a payor typed, in usd_millis; null: it is no amount of dollars and cents. */
export const readTypedAmount = (text: string): UsdMillis | null => {
  const [, whole, cents = ""] = typedDollars.exec(latinDigits(text.trim())) ?? []
  const millis = whole === undefined ? undefined : parseUnits(`${whole}.${cents.padEnd(2, "0")}`, 3)
  return millis === undefined ? null : usdMillis(millis)
}

/** What a payor pays by a link; null: what they typed is no amount that it takes. */
export const payableAmount = ({ amount }: Pick<LinkState, "amount">, typed: string): UsdMillis | null => {
  if (amount.kind === "fixed") return amount.amount
  const read = readTypedAmount(typed)
  return read === null || read < amount.minimum || read > amount.maximum ? null : read
}

/** Payors pay whole cents, so bounds between two cents would promise what nobody can type. */
const isWholeCents = (amount: bigint): boolean => amount % 10n === 0n

/** What is wrong with the bounds of what payors may pay; null: nothing. */
export const boundsFault = (
  minimum: bigint,
  maximum: bigint
): { readonly param: string; readonly text: string } | null => {
  for (const [param, amount] of [["minimum_amount", minimum], ["maximum_amount", maximum]] as const) {
    if (amount < minimumInvoiceAmount || amount > maximumInvoiceAmount || !isWholeCents(amount)) {
      return {
        param,
        text: "in usd_millis (thousandths of a dollar), whole cents: a multiple of 10, 10 to 1,000,000,000"
      }
    }
  }
  return minimum > maximum ? { param: "minimum_amount", text: "at most maximum_amount" } : null
}

/** Characters of a code, of 5 bits each: 80 bits, which nobody guesses. */
export const codeLength = 16

/** Digits and letters that nobody takes for one another (Crockford's base 32), in lower case. */
const codeAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

/** A code of that many random bytes. */
export const codeOf = (bytes: Uint8Array): string =>
  [...bytes.subarray(0, codeLength)].map((byte) => codeAlphabet[byte & 31]).join("")

export const isCode = (text: string): boolean => text.length === codeLength && /^[0-9a-hjkmnp-tv-z]+$/.test(text)

/** Bytes of the name that a browser is given. */
export const visitBytes = 16

/** A name that a browser was given, in base64url; what else it sends is none. */
export const readVisit = (text: string | null | undefined): string | null =>
  text !== null && text !== undefined && /^[\w-]{22}$/.test(text) ? text : null

/**
 * Invoices of payment links by link and status: counts, and what was paid. Keys are `<payment link>:<status>`. An
 * invoice counts for the link that its metadata names.
 */
export const linkInvoices: Rollup = {
  sum: "links.invoices",
  version: 1,
  object: "invoice",
  widths: [0],
  contributions: ({ amount, amount_paid, created_at, invoice_type, metadata, status }) => {
    const link = invoice_type === "standard" ? paymentLinkOf(metadata as Metadata) : null
    return link === null ? [] : [{
      at: created_at as number,
      key: `${link}:${status}`,
      count: 1,
      amount: BigInt(amount as number),
      amountPaid: BigInt(amount_paid as number)
    }]
  }
}

/** Every key under which {@link linkInvoices} may have counted invoices of a link. */
export const rollupKeysOf = (linkId: string): ReadonlyArray<string> =>
  InvoiceStatus.literals.map((status) => `${linkId}:${status}`)

/** A row of {@link linkInvoices}. */
export interface CountedInvoices {
  readonly key: string
  readonly count: number
  readonly amountPaid: bigint
}

/** Counts by link. What came for an invoice that was never paid whole counts in the sum: it was received. */
export const countsByLink = (rows: ReadonlyArray<CountedInvoices>): ReadonlyMap<string, LinkCounts> => {
  const counts = new Map<string, LinkCounts>()
  for (const { amountPaid, count, key } of rows) {
    const [id = "", status] = key.split(":")
    const before = counts.get(id) ?? noCounts
    counts.set(id, {
      paid: before.paid + (status === "paid" ? count : 0),
      open: before.open + (status === "unpaid" || status === "underpaid" ? count : 0),
      amountPaid: usdMillis(before.amountPaid + amountPaid)
    })
  }
  return counts
}

/** What the audit log keeps of a link. */
const auditedLink = ({ amount, expiresAt, isActive, maximumPayments, title }: LinkState) => ({
  title,
  amount: amount.kind === "fixed" ? amount.amount.toString() : null,
  minimum_amount: amount.kind === "open" ? amount.minimum.toString() : null,
  maximum_amount: amount.kind === "open" ? amount.maximum.toString() : null,
  maximum_payments: maximumPayments,
  expires_at: expiresAt,
  active: isActive
})

/** The entry of a link that is made (`before` null) or turned on or off. */
export const linkActOf = (
  before: LinkState | null,
  after: LinkState,
  actor: string,
  requestId: string | null
): AuditAct => ({
  merchantId: after.merchantId,
  environment: after.environment,
  actor,
  action: before === null ? "payment_link.create" : "payment_link.update",
  subject: { object: "payment_link", id: after.id },
  before: before === null ? {} : { active: before.isActive },
  after: before === null ? auditedLink(after) : { active: after.isActive },
  requestId
})
