/** Reads the bodies of shops as BTCPay Server does: a refusal lists every wrong field at once. Pure. */
import { type Metadata, metadataLimits } from "../../../schemas/Invoice.ts"
import type { UsdMillis } from "../../../schemas/Money.ts"
import type { ConfirmationPolicy, Environment } from "../../../schemas/Network.ts"
import { isEmailAddress, isHttpsPage, isLocalHttpPage } from "./Addresses.ts"
import { invoiceUsd, readDecimal, type ShopCurrency } from "./Amounts.ts"
import { readMethodId } from "./Methods.ts"

/** What is wrong with one field. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

export type Fields = Readonly<Record<string, unknown>>

/** The fields of a JSON object; none where the value is no object. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value as Fields : {}

const textOf = (value: unknown): string | null =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : null

/** Characters of a description, at most; a longer one is cut. */
const maximumDescription = 255

/** Characters of an order number that are kept to find its invoice by. */
const maximumOrderId = 255

/** Minutes until an invoice expires, at most: 30 days. */
export const maximumExpirationMinutes = 43_200

/** The confirmation policy of each speed policy of BTCPay Server. */
const confirmationsBySpeed: ReadonlyMap<string, ConfirmationPolicy> = new Map([
  ["HighSpeed", "fast"],
  ["MediumSpeed", "standard"],
  ["LowMediumSpeed", "standard"],
  ["LowSpeed", "final"]
])

const speeds: Readonly<Record<ConfirmationPolicy, string>> = {
  fast: "HighSpeed",
  standard: "MediumSpeed",
  final: "LowSpeed"
}

/** The speed policy of BTCPay Server for a confirmation policy. */
export const speedOf = (policy: ConfirmationPolicy): string => speeds[policy]

/** The beginning of a text, without half of a surrogate pair at its end. */
const cutText = (text: string, maximum: number): string => text.slice(0, maximum).replace(/[\uD800-\uDBFF]$/u, "")

/** The order of an invoice, as its metadata names it; null: none. */
export const orderIdOf = (metadata: Metadata): string | null => {
  const text = textOf(metadata["orderId"])
  return text === null || text === "" ? null : cutText(text, maximumOrderId)
}

/** The fields of a new invoice's `checkout` that are stored, and answered whenever the invoice is read. */
export interface ShopCheckout {
  readonly speedPolicy: string | null
  readonly paymentMethods: ReadonlyArray<string>
  readonly redirectURL: string | null
  readonly redirectAutomatically: boolean
  readonly defaultLanguage: string | null
}

/** A new invoice of a shop. */
export interface ShopRequest {
  /** As the shop asked for it, in its currency. */
  readonly amount: string
  readonly usd: UsdMillis
  readonly currency: ShopCurrency
  readonly metadata: Metadata
  /** What the invoice is for, where `description` begins with a price in another currency; else null. */
  readonly title: string | null
  readonly description: string | null
  readonly email: string | null
  readonly confirmations: ConfirmationPolicy | null
  readonly expiresInMillis: number | null
  readonly toleranceBasisPoints: number | null
  readonly checkout: ShopCheckout
}

/** What a new invoice is checked against. */
export interface ReadingContext {
  readonly environment: Environment
  /** Ids of the store's payment methods. */
  readonly methods: ReadonlySet<string>
  /** The rate of the currency that the body names, or why there is none. */
  readonly currency: ShopCurrency | FieldError
}

const isFieldError = (value: ShopCurrency | FieldError): value is FieldError => "message" in value

/** The currency of a body: dollars where it names none. */
export const currencyIn = (body: Fields): string => (textOf(body["currency"]) ?? "").trim().toUpperCase() || "USD"

const amountMessage = "Must be between 0.01 and 1000000 USD."

interface ReadAmount {
  readonly amount: string
  /** Null: the currency is refused. */
  readonly usd: UsdMillis | null
}

const readAmount = (body: Fields, currency: ShopCurrency | FieldError): ReadAmount | FieldError => {
  if (body["amount"] == null) {
    return { path: "amount", message: "Top-up invoices are not supported: send an amount." }
  }
  const amount = readDecimal(body["amount"])
  if (amount === undefined) return { path: "amount", message: amountMessage }
  if (isFieldError(currency)) return { amount, usd: null }
  const usd = invoiceUsd(amount, currency)
  return usd === null ? { path: "amount", message: amountMessage } : { amount, usd }
}

/** Why metadata is refused; undefined: it can be stored. */
export const metadataFault = (metadata: unknown): FieldError | undefined => {
  const refuse = (message: string): FieldError => ({ path: "metadata", message })
  if (metadata == null) return undefined
  if (typeof metadata !== "object" || Array.isArray(metadata)) return refuse("Must be an object.")
  const keys = Object.keys(metadata)
  if (keys.length > metadataLimits.keys) return refuse(`May have at most ${metadataLimits.keys} fields.`)
  if (keys.some((key) => key.length > metadataLimits.keyLength)) {
    return refuse(`The name of a field may have at most ${metadataLimits.keyLength} characters.`)
  }
  return Buffer.byteLength(JSON.stringify(metadata)) > metadataLimits.bytes
    ? refuse(`May have at most ${metadataLimits.bytes} bytes as JSON.`)
    : undefined
}

/** Characters of an unknown payment method that its refusal repeats. */
const maximumEchoedId = 64

const readMethods = (value: unknown, methods: ReadonlySet<string>) => {
  const named = Array.isArray(value) ? value : []
  const errors = named.flatMap((each, index): ReadonlyArray<FieldError> => {
    const id = readMethodId(textOf(each) ?? "")
    return methods.has(id)
      ? []
      : [{
        path: `checkout.paymentMethods[${index}]`,
        message: `Unknown payment method: ${String(each).slice(0, maximumEchoedId)}.`
      }]
  })
  return { errors, ids: [...new Set(named.map((each) => readMethodId(textOf(each) ?? "")))] }
}

const numberIn = (value: unknown): number | null => {
  if (value == null || value === "") return null
  const number = typeof value === "number" ? value : typeof value === "string" ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : Number.NaN
}

/** A redirect URL with the ids in place of `{InvoiceId}` and `{OrderId}`. */
export const redirectWithIds = (url: string, invoiceId: string, orderId: string | null): string =>
  url.replaceAll("{InvoiceId}", invoiceId).replaceAll("{OrderId}", encodeURIComponent(orderId ?? ""))

/** Stands for the invoice's id, which is made after the URL is checked: it has the same length. */
const sampleInvoiceId = "00000000-0000-4000-8000-000000000000"

const redirectFault = (
  redirect: string,
  environment: Environment,
  orderId: string | null
): FieldError | undefined => {
  const url = redirectWithIds(redirect, sampleInvoiceId, orderId)
  if (isHttpsPage(url) || (environment === "devnet" && isLocalHttpPage(url))) return undefined
  return {
    path: "checkout.redirectURL",
    message: environment === "mainnet"
      ? "Must be an https URL."
      : "Must be an https URL, or an http URL of this machine such as http://localhost/shop."
  }
}

const redirectIn = (checkout: Fields): string | null => {
  const url = textOf(checkout["redirectURL"])
  return url === null || url.trim() === "" ? null : url.trim()
}

/**
 * The description of the invoice, for the merchant. The invoice's amounts are dollars, so a price in another currency
 * stands here first. Payors read the title in its place, because the payment page shows them the price itself.
 */
const descriptionOf = (text: string | null, amount: string, { code, rate }: ShopCurrency): string | null => {
  const price = rate === null ? null : `${amount} ${code}`
  const parts = [price, text].filter((part) => part !== null)
  return parts.length === 0 ? null : cutText(parts.join(" · "), maximumDescription)
}

/** Reads a new invoice, or all that is wrong with it. */
export const readInvoiceRequest = (
  body: Fields,
  { currency, environment, methods }: ReadingContext
): ShopRequest | ReadonlyArray<FieldError> => {
  const checkout = fieldsOf(body["checkout"])
  const errors: Array<FieldError> = []
  const amount = readAmount(body, currency)
  if ("message" in amount) errors.push(amount)
  if (isFieldError(currency)) errors.push(currency)
  const metadataError = metadataFault(body["metadata"])
  if (metadataError !== undefined) errors.push(metadataError)
  const speed = textOf(checkout["speedPolicy"])
  if (speed !== null && !confirmationsBySpeed.has(speed)) {
    errors.push({
      path: "checkout.speedPolicy",
      message: `Must be one of ${[...confirmationsBySpeed.keys()].join(", ")}.`
    })
  }
  const chosen = readMethods(checkout["paymentMethods"], methods)
  errors.push(...chosen.errors)
  const minutes = numberIn(checkout["expirationMinutes"])
  if (minutes !== null && !(Number.isInteger(minutes) && minutes >= 1 && minutes <= maximumExpirationMinutes)) {
    errors.push({
      path: "checkout.expirationMinutes",
      message: `Must be a whole number of minutes between 1 and ${maximumExpirationMinutes}.`
    })
  }
  const tolerance = numberIn(checkout["paymentTolerance"])
  if (tolerance !== null && !(tolerance >= 0 && tolerance <= 100)) {
    errors.push({ path: "checkout.paymentTolerance", message: "Must be a percentage between 0 and 100." })
  }
  const redirect = redirectIn(checkout)
  const orderId = orderIdOf(fieldsOf(body["metadata"]) as Metadata)
  const redirectError = redirect === null ? undefined : redirectFault(redirect, environment, orderId)
  if (redirectError !== undefined) errors.push(redirectError)
  if (errors.length > 0 || "message" in amount || amount.usd === null || isFieldError(currency)) return errors
  const metadata = (body["metadata"] ?? {}) as Metadata
  const itemDescription = textOf(metadata["itemDesc"])
  const description = itemDescription !== null && itemDescription !== ""
    ? itemDescription
    : orderId === null
    ? null
    : `Order ${orderId}`
  const email = textOf(metadata["buyerEmail"])
  return {
    amount: amount.amount,
    usd: amount.usd,
    currency,
    metadata,
    title: currency.rate === null || description === null ? null : cutText(description, maximumDescription),
    description: descriptionOf(description, amount.amount, currency),
    email: email !== null && isEmailAddress(email) ? email : null,
    confirmations: speed === null ? null : confirmationsBySpeed.get(speed)!,
    expiresInMillis: minutes === null ? null : minutes * 60_000,
    toleranceBasisPoints: tolerance === null ? null : Math.round(tolerance * 100),
    checkout: {
      speedPolicy: speed,
      paymentMethods: chosen.ids.length === methods.size ? [] : chosen.ids,
      redirectURL: redirect,
      redirectAutomatically: checkout["redirectAutomatically"] === true,
      defaultLanguage: textOf(checkout["defaultLanguage"])
    }
  }
}

/** Characters of a webhook's secret where the shop sends one. */
const secretLength = { minimum: 8, maximum: 255 }

/** A webhook as a shop wants it. */
export interface WebhookRequest {
  readonly url: string
  readonly isEnabled: boolean
  readonly automaticRedelivery: boolean
  /** Names of the webhooks it wants; null: all. */
  readonly types: ReadonlyArray<string> | null
  /** Null: none was sent. */
  readonly secret: string | null
}

/** The filter of an endpoint that gets every webhook of shops. It selects no event of the service. */
export const allEvents = "everything"

/** The name of a webhook. One that is never sent is taken too, because plugins may know later versions. */
const webhookName = /^[A-Za-z]{1,64}$/u

/** Names of webhooks that one endpoint may list. */
const maximumTypes = 64

export const readWebhookRequest = (body: Fields): WebhookRequest | ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = []
  const url = textOf(body["url"])
  if (url === null || url === "") {
    errors.push({ path: "url", message: "Send the URL of your shop that takes webhooks." })
  }
  const secret = textOf(body["secret"])
  const isSecretAbsent = secret === null || secret === ""
  if (!isSecretAbsent && (secret.length < secretLength.minimum || secret.length > secretLength.maximum)) {
    errors.push({ path: "secret", message: `Must have ${secretLength.minimum} to ${secretLength.maximum} characters.` })
  }
  const authorized = fieldsOf(body["authorizedEvents"])
  const named = Array.isArray(authorized["specificEvents"]) ? authorized["specificEvents"] : []
  const isAll = authorized["everything"] === true || (body["authorizedEvents"] == null)
  const types = named.filter((each): each is string => typeof each === "string" && webhookName.test(each))
  if (types.length !== named.length || types.length > maximumTypes) {
    errors.push({
      path: "authorizedEvents.specificEvents",
      message: `Must be at most ${maximumTypes} names of webhooks, such as InvoiceSettled.`
    })
  }
  if (errors.length > 0 || url === null) return errors
  return {
    url,
    isEnabled: body["enabled"] !== false,
    automaticRedelivery: body["automaticRedelivery"] !== false,
    types: isAll ? null : types,
    secret: isSecretAbsent ? null : secret
  }
}
