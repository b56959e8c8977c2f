/** Balances and balance transactions (modules/docs/reference/ledger.md): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  environmentErrors,
  errors,
  FlatErrors,
  Idempotent,
  listErrors,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import {
  BalanceTransaction,
  BalanceTransactionType,
  exampleBalanceTransaction,
  SignedDecimal,
  SignedUnits,
  SignedUsd,
  TokenAmount
} from "../../schemas/BalanceTransaction.ts"
import { EpochSeconds, PathId, TokenId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { pageQuery } from "../../schemas/Page.ts"
import { success } from "../../schemas/Success.ts"

const OneTransaction = success(BalanceTransaction).annotate({
  identifier: "OneBalanceTransaction",
  examples: [{ success: true, data: exampleBalanceTransaction }]
})

const TransactionList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(BalanceTransaction), has_more: Schema.Boolean })
).annotate({
  identifier: "BalanceTransactionList",
  examples: [{ success: true, data: { object: "list", data: [exampleBalanceTransaction], has_more: false } }]
})

const AssetSum = Schema.Struct({
  amount: SignedUsd,
  amount_decimal: SignedDecimal,
  units: SignedUnits,
  token_amount: TokenAmount
})

const noSum = { amount: 0, amount_decimal: "0.000", units: "0", token_amount: "0.000000" } as const
const someSum = { amount: 49_990, amount_decimal: "49.990", units: "49990000", token_amount: "49.990000" } as const

const Balance = success(
  Schema.Struct({
    object: Schema.tag("balance"),
    environment: Environment,
    currency: Schema.Literal("usd"),
    amount_unit: Schema.Literal("usd_millis"),
    available: SignedUsd,
    available_decimal: SignedDecimal,
    pending: SignedUsd,
    pending_decimal: SignedDecimal,
    refund_payable: SignedUsd,
    refund_payable_decimal: SignedDecimal,
    suspense: SignedUsd,
    suspense_decimal: SignedDecimal,
    ignored: SignedUsd,
    ignored_decimal: SignedDecimal,
    assets: Schema.Array(Schema.Struct({
      asset: Schema.String,
      token: Schema.NullOr(Schema.Struct({ id: TokenId, symbol: Schema.String, decimals: Schema.Int })),
      available: AssetSum,
      pending: AssetSum,
      refund_payable: AssetSum,
      suspense: AssetSum,
      ignored: AssetSum,
      chain: AssetSum
    }))
  })
).annotate({
  identifier: "Balance",
  description: "What was received and where it is, at the prices of when it came.",
  examples: [{
    success: true,
    data: {
      object: "balance",
      environment: "devnet",
      currency: "usd",
      amount_unit: "usd_millis",
      available: 49_990,
      available_decimal: "49.990",
      pending: 0,
      pending_decimal: "0.000",
      refund_payable: 0,
      refund_payable_decimal: "0.000",
      suspense: 0,
      suspense_decimal: "0.000",
      ignored: 0,
      ignored_decimal: "0.000",
      assets: [{
        asset: "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        token: { id: TokenId.make(7), symbol: "USDC", decimals: 6 },
        available: someSum,
        pending: noSum,
        refund_payable: noSum,
        suspense: noSum,
        ignored: noSum,
        chain: someSum
      }]
    }
  }]
})

export const SettlementPreference = Schema.Literals(["stables_only", "stables_preferred", "tokens"])

const Preference = Schema.Struct({
  settlement_preference: SettlementPreference,
  settlement_token_id: Schema.Null
}).annotate({
  identifier: "SettlementPreference",
  examples: [{ settlement_preference: "tokens", settlement_token_id: null }]
})

const exampleSettlement = {
  id: 171_938_402_113_705,
  object: "settlement",
  environment: "devnet",
  period_start: 1_766_275_200,
  period_end: 1_766_361_600,
  asset: "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  token: { id: TokenId.make(7), symbol: "USDC", decimals: 6 },
  wallet: "9b1f…",
  currency: "usd",
  amount_unit: "usd_millis",
  amount: 49_990,
  amount_decimal: "49.990",
  units: "49990000",
  token_amount: "49.990000"
} as const

const Settlement = Schema.Struct({
  id: Schema.Int.annotate({ description: "`merchant_settlement_id` of its payments" }),
  object: Schema.tag("settlement"),
  environment: Environment,
  period_start: EpochSeconds,
  period_end: EpochSeconds,
  asset: Schema.String,
  token: Schema.NullOr(Schema.Struct({ id: TokenId, symbol: Schema.String, decimals: Schema.Int })),
  wallet: Schema.String.annotate({ description: "The fingerprint of the wallet that received it" }),
  currency: Schema.Literal("usd"),
  amount_unit: Schema.Literal("usd_millis"),
  amount: SignedUsd,
  amount_decimal: SignedDecimal,
  units: SignedUnits,
  token_amount: TokenAmount
}).annotate({
  identifier: "MerchantSettlement",
  description: "What became final on one day (UTC) in one asset at one wallet.",
  examples: [exampleSettlement]
})

const OneSettlement = success(Settlement).annotate({
  identifier: "OneSettlement",
  examples: [{ success: true, data: exampleSettlement }]
})

const SettlementList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(Settlement), has_more: Schema.Boolean })
).annotate({
  identifier: "SettlementList",
  examples: [{ success: true, data: { object: "list", data: [exampleSettlement], has_more: false } }]
})

const { created_gte: _from, created_lte: _to, ...settlementQuery } = pageQuery

export class LedgerGroup extends HttpApiGroup.make("ledger").add(
  HttpApiEndpoint.get("balance", "/balance", {
    query: { environment: Schema.optionalKey(Environment) },
    success: Balance,
    error: errors("wrapped", "SCOPE_MISMATCH", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve the balance",
    description: "What came in and where it is now: in usd_millis, and of each token in its units."
  })),
  HttpApiEndpoint.get("list", "/balance-transactions", {
    query: {
      ...pageQuery,
      type: Schema.optionalKey(BalanceTransactionType),
      asset: Schema.optionalKey(Schema.String).annotate({ description: "Only those that move this asset" }),
      source_id: Schema.optionalKey(Schema.String).annotate({
        description: "Only those about this payment, exception, refund or invoice"
      })
    },
    success: TransactionList,
    error: errors("wrapped", ...listErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List balance transactions, newest first",
    description:
      "What was booked, with its entries. A cursor is the id of a balance transaction of the same environment."
  })),
  HttpApiEndpoint.get("retrieve", "/balance-transactions/:id", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: OneTransaction,
    error: errors("wrapped", "SCOPE_MISMATCH", "NOT_FOUND", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a balance transaction",
    description: "The `balance_transaction_id` of a payment names the one that its money is in."
  })),
  HttpApiEndpoint.get("settlements", "/settlements", {
    query: settlementQuery,
    success: SettlementList,
    error: errors("wrapped", ...listErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List settlements, newest first",
    description: "What became final by day, asset and wallet. A cursor is the id of a settlement."
  })),
  HttpApiEndpoint.get("settlement", "/settlements/:id", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: OneSettlement,
    error: errors("wrapped", "SCOPE_MISMATCH", "NOT_FOUND", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a settlement",
    description: "The `settlement.merchant_settlement_id` of a payment names the one that it is in."
  }))
)
  .prefix("/api/v1")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "balances:read", write: "balances:read" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Balance",
    description: "The books: what was received, where it is, and every entry that put it there."
  }))
{}

/** Flat family, as all that a merchant sets. */
export class SettlementPreferenceGroup extends HttpApiGroup.make("settlementPreference").add(
  HttpApiEndpoint.get("preference", "/merchant/settlement-preference", {
    query: { environment: Schema.optionalKey(Environment) },
    success: Preference,
    error: errors("flat", "SCOPE_MISMATCH", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve the settlement preference",
    description: "What you would rather be settled in. Money that comes straight from payors is settled as it was paid."
  })),
  HttpApiEndpoint.put("changePreference", "/merchant/settlement-preference", {
    payload: Schema.Struct({ settlement_preference: SettlementPreference }).annotate({
      identifier: "SettlementPreferenceChange",
      examples: [{ settlement_preference: "stables_preferred" }]
    }),
    success: Preference,
    error: errors("flat", "SCOPE_MISMATCH", "VALIDATION_ERROR", ...environmentErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Change the settlement preference",
    description: "Kept for the day when money is converted for you: today it is settled as it was paid."
  })),
  HttpApiEndpoint.put("changeToken", "/merchant/settlement-token", {
    payload: Schema.Struct({ settlement_token_id: Schema.NullOr(Schema.Int) }).annotate({
      identifier: "SettlementTokenChange",
      examples: [{ settlement_token_id: null }]
    }),
    success: Preference,
    error: errors("flat", "SCOPE_MISMATCH", "VALIDATION_ERROR", ...environmentErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Change the settlement token",
    description: "Only null is accepted: money is settled in the token that was paid."
  }))
)
  .prefix("/api/v1")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "settings:write" })
  .middleware(FlatErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(OpenApi.annotations({
    title: "Settlement preference",
    description: "What a merchant would rather be settled in."
  }))
{}

export class LedgerApi extends HttpApi.make("ledger").add(LedgerGroup).add(SettlementPreferenceGroup) {}
