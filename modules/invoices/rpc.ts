/** Invoices for internal services: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { Invoice } from "../../schemas/Invoice.ts"
import { Environment } from "../../schemas/Network.ts"
import { Payment } from "../../schemas/Payment.ts"
import { CreatedInvoice } from "./api.ts"

export class InvoicesRpc extends RpcGroup.make(
  /** Creates an invoice for a merchant. `fields` are those of `POST /api/v1/invoices`. Not idempotent by itself. */
  Rpc.make("invoices.create", {
    payload: { merchant_id: MerchantId, environment: Environment, fields: Schema.Record(Schema.String, Schema.Json) },
    success: CreatedInvoice,
    error: PublicError
  }),
  /** An invoice of a merchant with its payments, merchant's view. */
  Rpc.make("invoices.get", {
    payload: { merchant_id: MerchantId, invoice_id: Schema.String },
    success: Schema.Struct({ invoice: Invoice, payments: Schema.Array(Payment) }),
    error: PublicError
  })
) {}
