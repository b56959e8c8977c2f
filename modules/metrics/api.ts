/** A merchant's figures over time: definitions only (modules/docs/reference/metrics.md#the-question). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { authenticationErrors, errors, MerchantAuth, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { WireAmount } from "../../schemas/Invoice.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"

const withDescription = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })

const interval = Schema.Literals(["hour", "day", "week", "month"])

/** Longest name of a time zone that is looked up; the longest there is has 30 letters. */
const timezone = Schema.String.check(Schema.isMaxLength(64))

const time = Schema.String.check(Schema.isMaxLength(40))

const amountPaidFields = { payments: Schema.Int, amount_paid: WireAmount, amount_paid_decimal: UsdDecimal }

export const Metrics = Schema.Struct({
  object: Schema.tag("metrics"),
  from: EpochSeconds,
  to: EpochSeconds,
  interval,
  timezone: Schema.String,
  currency: Schema.Literal("usd"),
  amount_unit: Schema.Literal("usd_millis"),
  totals: Schema.Struct({
    invoices_created: withDescription(Schema.Int, "Invoices created in the span."),
    invoices_paid: withDescription(Schema.Int, "Invoices that were paid in the span, and still are."),
    invoices_expired: withDescription(Schema.Int, "Of those created in the span, the ones that are expired now."),
    invoices_underpaid: withDescription(Schema.Int, "Of those created in the span, the ones that are underpaid now."),
    amount_created: withDescription(WireAmount, "What the invoices created in the span ask for."),
    amount_created_decimal: UsdDecimal,
    amount_paid: withDescription(WireAmount, "Worth of the counted payments confirmed in the span."),
    amount_paid_decimal: UsdDecimal,
    paid_ratio: withDescription(
      Schema.NullOr(Schema.Number),
      "Of the invoices created in the span, the part that is paid now, to three decimals; null where there are none."
    ),
    median_seconds_to_pay: withDescription(
      Schema.NullOr(Schema.Int),
      "Median of the seconds from creation to payment of the invoices paid in the span, at most 6.25 % off; null where none was."
    ),
    payments: withDescription(Schema.Int, "Counted payments confirmed in the span."),
    payments_late: withDescription(
      Schema.Int,
      "Counted payments that were seen in the span and after the end of their invoice, each one."
    ),
    payments_reverted: withDescription(Schema.Int, "Payments priced in the span that are no longer on their chain."),
    webhook_attempts: withDescription(Schema.Int, "Attempts to deliver a webhook that ended in the span."),
    webhook_success_ratio: withDescription(
      Schema.NullOr(Schema.Number),
      "The part of those that the endpoint accepted, to three decimals; null where there were none."
    )
  }),
  series: Schema.Array(Schema.Struct({
    start: withDescription(
      EpochSeconds,
      "When the point begins; it ends where the next one begins, the last one at `to`."
    ),
    invoices_created: Schema.Int,
    invoices_paid: Schema.Int,
    amount_paid: WireAmount,
    amount_paid_decimal: UsdDecimal
  })),
  groups: withDescription(
    Schema.Array(Schema.Union([
      Schema.Struct({ network: Network, ...amountPaidFields }),
      Schema.Struct({ token: Schema.NullOr(Schema.Int), ...amountPaidFields }),
      Schema.Struct({ customer: Schema.NullOr(Schema.String), ...amountPaidFields })
    ])),
    "By what `group_by` names, most paid first, at most 100; null gathers what has none. Empty without `group_by`."
  ),
  groups_has_more: withDescription(Schema.Boolean, "Whether there are groups beyond the 100.")
}).annotate({ identifier: "Metrics", description: "A merchant's figures over a span of time." })
export type Metrics = typeof Metrics.Type

const example: Metrics = {
  object: "metrics",
  from: 1_763_596_800,
  to: 1_763_683_200,
  interval: "day",
  timezone: "UTC",
  currency: "usd",
  amount_unit: "usd_millis",
  totals: {
    invoices_created: 68,
    invoices_paid: 61,
    invoices_expired: 4,
    invoices_underpaid: 3,
    amount_created: 4_500_000,
    amount_created_decimal: "4500.000",
    amount_paid: 4_182_500,
    amount_paid_decimal: "4182.500",
    paid_ratio: 0.897,
    median_seconds_to_pay: 91,
    payments: 66,
    payments_late: 1,
    payments_reverted: 0,
    webhook_attempts: 210,
    webhook_success_ratio: 0.99
  },
  series: [{
    start: 1_763_596_800,
    invoices_created: 68,
    invoices_paid: 61,
    amount_paid: 4_182_500,
    amount_paid_decimal: "4182.500"
  }],
  groups: [
    { network: "base", payments: 40, amount_paid: 2_104_000, amount_paid_decimal: "2104.000" },
    { network: "solana", payments: 26, amount_paid: 2_078_500, amount_paid_decimal: "2078.500" }
  ],
  groups_has_more: false
}

export class MetricsGroup extends HttpApiGroup.make("metrics").add(
  HttpApiEndpoint.get("read", "/api/v1/metrics", {
    query: {
      from: Schema.optionalKey(withDescription(
        time,
        "Epoch seconds or ISO 8601; rounded down to a quarter of an hour. "
          + "Absent: 30 intervals before `to`, the one that holds it included."
      )),
      to: Schema.optionalKey(
        withDescription(time, "Epoch seconds or ISO 8601, exclusive; rounded up to a quarter of an hour. Absent: now.")
      ),
      interval: Schema.optionalKey(
        withDescription(
          interval,
          "Length of a point on the clocks of `timezone`; `day` if not said. Weeks begin on Monday."
        )
      ),
      timezone: Schema.optionalKey(
        withDescription(
          timezone,
          "IANA name, such as Europe/Berlin; UTC if not said. Its changes of the clock are followed."
        )
      ),
      environment: Schema.optionalKey(Environment),
      group_by: Schema.optionalKey(
        withDescription(
          Schema.Literals(["network", "token", "customer"]),
          "What counted payments are told apart by in `groups`."
        )
      )
    },
    success: success(Metrics).annotate({
      identifier: "MetricsAnswer",
      examples: [{ success: true, data: example }]
    }),
    error: errors(
      "wrapped",
      ...authenticationErrors,
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "ENVIRONMENT_FORBIDDEN",
      "INTERNAL_ERROR",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Read figures over time",
    description:
      "Counts and amounts of the merchant's invoices, payments and webhook deliveries between `from` and `to`, by "
      + "hour, day, week or month of a time zone: at most 400 points, else `VALIDATION_ERROR`. All figures are as of one moment, "
      + "and `series` and `groups` add up to `totals`. A commerce key sees what belongs to commerce invoices."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "payments:read" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(
    OpenApi.annotations({ title: "Metrics", description: "Sums of a merchant's business, kept by every commit." })
  )
{}

export class MetricsApi extends HttpApi.make("metrics").add(MetricsGroup) {}
