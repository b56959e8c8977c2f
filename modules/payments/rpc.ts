/** Payments for operators: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { PaymentId } from "../../schemas/Ids.ts"
import { Payment } from "../../schemas/Payment.ts"

export class PaymentsRpc extends RpcGroup.make(
  /**
   * Takes up a payment whose processing gave up: prices it now and counts it, or lets it be refunded where it came too
   * late. Errors: `INVOICE_NOT_FOUND` for an unknown payment, `INVALID_TRANSITION` unless it is `manual_retry` or came
   * too late and has no price, `QUOTE_UNAVAILABLE` while there is still no price.
   */
  Rpc.make("payments.retry", {
    payload: { payment_id: PaymentId },
    success: Schema.Struct({ payment: Payment }),
    error: PublicError
  })
) {}
