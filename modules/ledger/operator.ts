/** The books of an invoice for operators (modules/docs/reference/operator-api.md#ledger): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { OperatorAuth, operatorErrors } from "../../runtime/OperatorRoutes.ts"
import {
  BalanceTransaction,
  exampleBalanceTransaction,
  SignedUnits,
  SignedUsd
} from "../../schemas/BalanceTransaction.ts"
import { InvoiceId, MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"

/** Balance transactions in one answer, at most. */
export const maximumTransactions = 1_000

const asset = "base:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

const example = {
  object: "invoice_ledger",
  invoice_id: InvoiceId.make("6ba7b810-9dad-41d1-80b4-00c04fd430c8"),
  merchant_id: MerchantId.make(123),
  environment: "devnet",
  transactions: [exampleBalanceTransaction],
  sums: [
    { account: "chain:9b1f…", asset, units: "49990000", usd_millis: 49_990 },
    { account: "merchant_available", asset, units: "-49990000", usd_millis: -49_990 }
  ],
  has_more: false
} as const

export class OperatorLedgerGroup extends HttpApiGroup.make("operatorLedger").add(
  HttpApiEndpoint.get("ofInvoice", "/admin/v1/invoices/:invoice_id/ledger", {
    params: { invoice_id: InvoiceId },
    success: success(Schema.Struct({
      object: Schema.tag("invoice_ledger"),
      invoice_id: InvoiceId,
      merchant_id: MerchantId,
      environment: Environment,
      transactions: Schema.Array(BalanceTransaction),
      sums: Schema.Array(Schema.Struct({
        account: Schema.String,
        asset: Schema.String,
        units: SignedUnits,
        usd_millis: SignedUsd
      })).annotate({ description: "Debits less credits of the transactions of this answer; together nothing" }),
      has_more: Schema.Boolean
    })).annotate({ identifier: "InvoiceLedger", examples: [{ success: true, data: example as never }] }),
    error: operatorErrors("INVOICE_NOT_FOUND")
  }).annotateMerge(OpenApi.annotations({
    summary: "Read what is booked of an invoice",
    description:
      "The balance transactions about the invoice, its payments, its exceptions and its refunds, the first one first, "
      + `at most ${maximumTransactions}; and what they come to in each account.`
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { invoice_id: "INVOICE_NOT_FOUND" })
  .annotateMerge(OpenApi.annotations({
    title: "Operator: ledger",
    description: "Postings of one invoice."
  }))
{}

export class OperatorLedgerApi extends HttpApi.make("operatorLedger").add(OperatorLedgerGroup) {}
