/** Payment links between the wire and the service, for merchants. */
import { Effect } from "effect"
import { answerIdempotently, jsonText, readEnvironment, requireMerchantScope } from "../../runtime/Http.ts"
import * as Operations from "../../runtime/Operations.ts"
import { Settings } from "../../runtime/Settings.ts"
import { amountError } from "../../schemas/AmountError.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import {
  maximumInvoiceAmount,
  minimumInvoiceAmount,
  readInvoiceAmount,
  usdDecimal,
  type UsdMillis,
  usdMillis,
  usdWire
} from "../../schemas/Money.ts"
import { pageLimits, readPageCursor, unknownCursor } from "../../schemas/Page.ts"
import { type NewPaymentLink, ServedLinksApi } from "./api.ts"
import { boundsFault, type LinkAmount, statusOf } from "./rules.ts"
import { type CountedLink, PaymentLinks } from "./service.ts"

const amountFields = <Name extends string>(name: Name, amount: UsdMillis | null) => ({
  [name]: amount === null ? null : usdWire(amount),
  [`${name}_decimal`]: amount === null ? null : usdDecimal(amount)
})

const linkObject = ({ counts, link, now }: CountedLink, publicUrl: string) => ({
  id: link.id,
  object: "payment_link",
  merchant_id: link.merchantId,
  environment: link.environment,
  url: `${publicUrl}/l/${link.code}`,
  status: statusOf(link, counts, now),
  title: link.title,
  description: link.description,
  ...amountFields("amount", link.amount.kind === "fixed" ? link.amount.amount : null),
  amount_unit: "usd_millis",
  ...amountFields("minimum_amount", link.amount.kind === "open" ? link.amount.minimum : null),
  ...amountFields("maximum_amount", link.amount.kind === "open" ? link.amount.maximum : null),
  maximum_payments: link.maximumPayments,
  payment_count: counts.paid,
  open_count: counts.open,
  amount_paid: usdWire(counts.amountPaid),
  amount_paid_decimal: usdDecimal(counts.amountPaid),
  expires_at: link.expiresAt,
  created_at: link.createdAt,
  updated_at: link.updatedAt
})

/** What the payor pays, as a new link says it; what is null is as if it were absent. */
const readAmount = (body: NewPaymentLink): LinkAmount | PublicError => {
  const sent = {
    ...(body.amount == null ? {} : { amount: body.amount }),
    ...(body.amount_usd == null ? {} : { amount_usd: body.amount_usd })
  }
  const bound = (["minimum_amount", "maximum_amount"] as const).find((name) => body[name] != null)
  if (Object.keys(sent).length > 0) {
    if (bound !== undefined) {
      return publicError("VALIDATION_ERROR", {
        message: `${bound}: send it only where the payor says how much, without amount and amount_usd`,
        param: bound
      })
    }
    const amount = readInvoiceAmount(sent)
    return typeof amount === "string" ? amountError(amount, sent) : { kind: "fixed", amount }
  }
  const minimum = body.minimum_amount == null ? minimumInvoiceAmount : BigInt(body.minimum_amount)
  const maximum = body.maximum_amount == null ? maximumInvoiceAmount : BigInt(body.maximum_amount)
  const fault = boundsFault(minimum, maximum)
  return fault === null
    ? { kind: "open", minimum: usdMillis(minimum), maximum: usdMillis(maximum) }
    : publicError("VALIDATION_ERROR", { message: `${fault.param} must be ${fault.text}`, param: fault.param })
}

export const handlers = Operations.group(
  ServedLinksApi,
  "payment-links",
  Effect.fn(function*(group) {
    const links = yield* PaymentLinks
    const { publicUrl } = yield* Settings

    const answer = (counted: CountedLink) =>
      jsonText(JSON.stringify({ success: true, data: linkObject(counted, publicUrl) }))

    return group
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const { credential, environment, merchantId } = yield* requireMerchantScope
          const amount = readAmount(payload)
          if (isPublicError(amount)) return yield* amount
          const link = {
            merchantId,
            environment,
            amount,
            title: payload.title.trim(),
            description: payload.description?.trim() ?? null,
            maximumPayments: payload.maximum_payments ?? null,
            expiresAt: payload.expires_at ?? null
          }
          return yield* answerIdempotently<CountedLink, PublicError>(
            (call) => links.create(link, { ...call, actor: credential }),
            (made) => linkObject(made, publicUrl)
          )
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          const cursor = readPageCursor(query)
          if (isPublicError(cursor)) return yield* cursor
          const limit = query.limit ?? pageLimits.default
          const page = yield* links.list(principal.merchantId, environment, { cursor, limit })
          if (page === null) return yield* unknownCursor(query, "the id of a payment link of this environment")
          const data = page.links.map((link) => linkObject(link, publicUrl))
          return jsonText(JSON.stringify({ success: true, data: { object: "list", data, has_more: page.hasMore } }))
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params, query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          return answer(yield* links.get(principal.merchantId, environment, params.id))
        })
      )
      .handle(
        "change",
        Effect.fnUntraced(function*({ params, payload }) {
          const { credential, environment, merchantId } = yield* requireMerchantScope
          return yield* answerIdempotently<CountedLink, PublicError>(
            (call) =>
              links.setActive(merchantId, environment, params.id, payload.active, { ...call, actor: credential }),
            (link) => linkObject(link, publicUrl)
          )
        })
      )
  })
)
