/** Reconciliation (modules/docs/reference/reconciliation.md): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  environmentErrors,
  errors,
  Idempotent,
  listErrors,
  MerchantAuth,
  ParameterCodes,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"
import { causes } from "./rules/Differences.ts"
import { flowNames } from "./rules/Flows.ts"
// Not of `rules.ts`, which reaches the ledger's service: a client is made of the definitions, also in a browser.
import { readMonth } from "./rules/Periods.ts"
import { maximumNote, readingGaps, reportObject } from "./rules/Report.ts"

/** Closed months on one page: the default and the bounds. */
export const closedLimits = { minimum: 1, maximum: 120, default: 12 } as const

const Month = Schema.String.annotate({ description: "A month of UTC, like 2026-11" })
const Units = Schema.String.check(Schema.isPattern(/^-?\d{1,78}$/u)).annotate({ description: "Base units" })
const Usd = Schema.Int.annotate({ description: "usd_millis" })
const Decimal = Schema.String.check(Schema.isPattern(/^-?\d+\.\d{3}$/u))
const TokenAmount = Schema.NullOr(Schema.String).annotate({ description: "Null where the token is in no list" })

const AssetAmount = Schema.Struct({ amount: Usd, amount_decimal: Decimal, units: Units, token_amount: TokenAmount })

const flows = Object.fromEntries(flowNames.map((name) => [name, AssetAmount])) as Record<
  typeof flowNames[number],
  typeof AssetAmount
>

const Wallet = Schema.Struct({
  asset: Schema.String,
  symbol: Schema.NullOr(Schema.String),
  account: Schema.String.annotate({ description: "`chain:<fingerprint of the wallet>`" }),
  opening: AssetAmount,
  ...flows,
  closing: AssetAmount,
  chain_balance: Schema.NullOr(Schema.Struct({ units: Units, token_amount: TokenAmount })).annotate({
    description: "What the wallet's addresses held on the chain when the month had ended"
  }),
  as_of: Schema.NullOr(Schema.Struct({ height: Schema.String, hash: Schema.String, time: EpochSeconds })),
  chain_balance_reason: Schema.NullOr(Schema.Literals([...readingGaps, "not_read_yet"]))
})

const SourceCount = Schema.Struct({ asset: Schema.String, count: Schema.Int, units: Units })

export const ReconciliationReport = Schema.Struct({
  object: Schema.tag("reconciliation"),
  environment: Environment,
  period: Schema.NullOr(Schema.String),
  from: EpochSeconds,
  to: EpochSeconds,
  currency: Schema.Literal("usd"),
  amount_unit: Schema.Literal("usd_millis"),
  wallets: Schema.Array(Wallet),
  sources: Schema.Struct({
    chain: Schema.Array(SourceCount),
    ledger: Schema.Array(SourceCount),
    events: Schema.NullOr(
      Schema.Array(Schema.Struct({ token: Schema.String, count: Schema.Int, amount: Usd, amount_decimal: Decimal }))
    )
  }),
  differences: Schema.Array(Schema.Struct({
    cause: Schema.Literals(causes),
    is_explained: Schema.Boolean,
    asset: Schema.String,
    account: Schema.NullOr(Schema.String),
    amount: Usd,
    amount_decimal: Decimal,
    units: Units.annotate({ description: "Chain less books at the end of the period" }),
    token_amount: TokenAmount,
    age_seconds: Schema.Int,
    payment_id: Schema.NullOr(Schema.String),
    exception_id: Schema.NullOr(Schema.String),
    tx_hash: Schema.NullOr(Schema.String),
    url: Schema.NullOr(Schema.String)
  })),
  has_more_differences: Schema.Boolean,
  explained_ppm: Schema.Int.annotate({
    description: "Parts of a million of what was received that no difference leaves in doubt"
  }),
  suspense: Schema.Array(
    Schema.Struct({ age: Schema.String, count: Schema.Int, amount: Usd, amount_decimal: Decimal })
  ),
  ledger_trial_balance: Usd
}).annotate({ identifier: "Reconciliation" })

const ClosedPeriodObject = Schema.Struct({
  object: Schema.tag("closed_period"),
  period: Month,
  previous_hash: Schema.String,
  hash: Schema.String.annotate({
    description: "SHA-256, hex, of `previous_hash`, a line break, and the canonical JSON (RFC 8785) of `report`"
  }),
  actor: Schema.String,
  closed_at: EpochSeconds
}).annotate({ identifier: "ClosedPeriod" })

const ClosedPeriodReport = Schema.Struct({ ...ClosedPeriodObject.fields, report: ReconciliationReport })
  .annotate({ identifier: "ClosedPeriodReport" })

const AdjustmentObject = Schema.Struct({
  id: Schema.String,
  object: Schema.tag("adjustment"),
  account: Schema.String,
  asset: Schema.String,
  units: Units,
  token_amount: TokenAmount,
  amount: Usd,
  amount_decimal: Decimal,
  note: Schema.String,
  period: Schema.NullOr(Schema.String),
  explains: Schema.NullOr(Schema.String),
  balance_transaction_id: Schema.String,
  created_at: EpochSeconds
}).annotate({ identifier: "Adjustment" })

export const AdjustmentRequestBody = Schema.Struct({
  asset: Schema.String.check(Schema.isMaxLength(256)).annotate({
    description: "`<network>:<address of the token>`, or `<network>:native`"
  }),
  token_amount: Schema.String.check(Schema.isMaxLength(82)).annotate({
    description: "What the wallet has more than the books say, in whole tokens; with a minus: less"
  }),
  amount: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000_000 }))).annotate({
    description: "usd_millis that coins more are worth; 0 unless sent. Coins less take their book value with them"
  }),
  account: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256))).annotate({
    description: "The wallet's account, where several hold the asset"
  }),
  note: Schema.String.check(Schema.isMaxLength(maximumNote)).annotate({ description: "Why, for an auditor" }),
  period: Schema.optionalKey(Month).annotate({ description: "The month whose difference it accounts for" }),
  explains: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128))).annotate({
    description: "The payment or exception whose difference it accounts for; send `period` with it"
  })
}).annotate({
  identifier: "AdjustmentRequest",
  examples: [{ asset: "base:native", token_amount: "-0.25", note: "Spent on gas in November", period: "2026-11" }]
})

/** The `data` of an answer, with an example of it. */
const successWith = <S extends Schema.Top>(data: S, example: S["Type"]) =>
  success(data).annotate({
    examples: [{ success: true, data: example } as never]
  })

const exampleAsset = "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

const exampleReport = reportObject({
  environment: "devnet",
  period: readMonth("2026-11")!,
  movements: [{
    asset: exampleAsset,
    account: "chain:9b1f3c60a2d4",
    counterAccount: "merchant_available",
    isBeforePeriod: false,
    units: 49_990_000n,
    usdMillis: 49_990n
  }],
  comparisons: [],
  hasMoreComparisons: false,
  chain: [{ asset: exampleAsset, count: 1, units: 49_990_000n }],
  ledger: [{ asset: exampleAsset, count: 1, units: 49_990_000n }],
  events: [{ key: "base:7", count: 1, usdMillis: 49_990n }],
  readings: [],
  earlierReadings: [],
  adjustments: [],
  suspense: [],
  trialBalance: 0n,
  now: 1_796_083_200
}, () => ({ symbol: "USDC", decimals: 6 })) as typeof ReconciliationReport.Type

const exampleClosed = {
  object: "closed_period",
  period: "2026-11",
  previous_hash: "0".repeat(64),
  hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  actor: "wallet_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10",
  closed_at: 1_796_090_400
} as const

const exampleAdjustment = {
  id: "adj_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  object: "adjustment",
  account: "chain:9b1f3c60a2d4",
  asset: "base:native",
  units: "-250000000000000000",
  token_amount: "-0.250000000000000000",
  amount: -875_000,
  amount_decimal: "-875.000",
  note: "Spent on gas in November",
  period: "2026-11",
  explains: null,
  balance_transaction_id: "bt_3f9c2b10-6c3b-8e9d-8f51-2b0c9e7a6d34",
  created_at: 1_796_090_400
} as const

const moment = Schema.String

export class ReconciliationGroup extends HttpApiGroup.make("reconciliation").add(
  HttpApiEndpoint.get("report", "/", {
    query: {
      environment: Schema.optionalKey(Environment),
      period: Schema.optionalKey(Schema.String).annotate({ description: "A month of UTC, like 2026-11" }),
      from: Schema.optionalKey(moment).annotate({
        description: "Of this moment or later, in place of `period`: epoch seconds, or ISO 8601 with a zone"
      }),
      to: Schema.optionalKey(moment).annotate({ description: "Before this moment; now unless sent" })
    },
    success: successWith(ReconciliationReport, exampleReport),
    error: errors("wrapped", "SCOPE_MISMATCH", "VALIDATION_ERROR", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Compare chain, books and events",
    description:
      "What each wallet held at the beginning of the period, what came and left, what it holds at the end, and every " +
      "difference between the chain and the books with its cause. A closed month is answered as it was closed."
  })),
  HttpApiEndpoint.post("close", "/close", {
    payload: Schema.Struct({ period: Month }).annotate({
      identifier: "PeriodToClose",
      examples: [{ period: "2026-11" }]
    }),
    success: successWith(ClosedPeriodReport, { ...exampleClosed, report: exampleReport }),
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "CREDENTIAL_NOT_ALLOWED",
      "VALIDATION_ERROR",
      "INVALID_TRANSITION",
      ...environmentErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Close a month",
    description:
      "For good: its figures are kept with a hash that names the month before. Months are closed in order, from one hour " +
      "after their end on, once every difference is explained. For a signed-in wallet; keys may not."
  })),
  HttpApiEndpoint.get("closed", "/closed", {
    query: {
      environment: Schema.optionalKey(Environment),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(closedLimits))),
      starting_after: Schema.optionalKey(Schema.String).annotate({ description: "A month: those before it" })
    },
    success: successWith(
      Schema.Struct({
        object: Schema.tag("list"),
        data: Schema.Array(ClosedPeriodObject),
        has_more: Schema.Boolean,
        next_period: Schema.NullOr(Month).annotate({
          description: "The month that is closed next, as they are closed in order; null: nothing was booked"
        })
      }),
      { object: "list", data: [exampleClosed], has_more: false, next_period: "2026-12" }
    ),
    error: errors("wrapped", ...listErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List closed months, newest first",
    description: "Each with its hash and the one before it."
  })),
  HttpApiEndpoint.get("closedPeriod", "/closed/:period", {
    params: { period: Month },
    query: {
      environment: Schema.optionalKey(Environment),
      format: Schema.optionalKey(Schema.Literals(["csv", "json"])).annotate({
        description: "`json` (default), or `csv`: a row for each asset of each wallet"
      })
    },
    success: [
      successWith(ClosedPeriodReport, { ...exampleClosed, report: exampleReport }),
      Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))
    ],
    error: errors("wrapped", "SCOPE_MISMATCH", "VALIDATION_ERROR", "NOT_FOUND", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a closed month",
    description: "With its report, whose bytes never change, as JSON or as a file."
  })),
  HttpApiEndpoint.post("adjust", "/adjustments", {
    payload: AdjustmentRequestBody,
    success: successWith(AdjustmentObject, exampleAdjustment),
    error: errors("wrapped", "SCOPE_MISMATCH", "CREDENTIAL_NOT_ALLOWED", "VALIDATION_ERROR", ...environmentErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Book an adjustment",
    description:
      "What nothing else explains, like coins spent from a receiving wallet: a balanced group in the open month, kept in " +
      "the audit log. For a signed-in wallet; keys may not."
  }))
)
  .prefix("/api/v1/reconciliation")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "balances:read", write: "books:write" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT", limit: "INVALID_LIMIT" })
  .annotateMerge(OpenApi.annotations({
    title: "Reconciliation",
    description: "What chain, books and events say of the same money, and months that are closed."
  }))
{}

export class ReconciliationApi extends HttpApi.make("reconciliation").add(ReconciliationGroup) {}
