/** Exceptions for operators and internal services: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { ActorName } from "../../schemas/Auth.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { Exception, ExceptionAction, maximumNote } from "../../schemas/Exception.ts"
import { ExceptionId, InvoiceId, MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { ExceptionStatus, ExceptionType } from "../../schemas/Payment.ts"
import { ExceptionRefund } from "./api.ts"
import { pageLimits } from "../../schemas/Page.ts"

/** Whose exception it is; absent: the operator's own, of money on wallets that belong to no single merchant. */
const owner = { merchant_id: Schema.optionalKey(MerchantId) }

export class ExceptionsRpc extends RpcGroup.make(
  /**
   * Newest first; `limit` is 20 unless sent, `next` goes into `after`. Errors: `INVALID_CURSOR` where `after` is no
   * exception of this owner and environment.
   */
  Rpc.make("exceptions.list", {
    payload: {
      ...owner,
      environment: Environment,
      status: Schema.optionalKey(ExceptionStatus),
      type: Schema.optionalKey(ExceptionType),
      after: Schema.optionalKey(ExceptionId),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits)))
    },
    success: Schema.Struct({ exceptions: Schema.Array(Exception), next: Schema.NullOr(ExceptionId) }),
    error: PublicError
  }),
  /** Errors: `EXCEPTION_NOT_FOUND`. */
  Rpc.make("exceptions.get", {
    payload: { ...owner, exception_id: ExceptionId },
    success: Exception,
    error: PublicError
  }),
  /**
   * A decision, once. Errors: `EXCEPTION_NOT_FOUND`, `EXCEPTION_ALREADY_RESOLVED`, `CREDENTIAL_NOT_ALLOWED`
   * for `accept` of `screened`, which only a person may, `VALIDATION_ERROR` for an action that
   * is not in `allowed_actions`, or without the note or the invoice that it needs; for `assign` also
   * `INVOICE_NOT_FOUND`, `INVOICE_NOT_PAYABLE`, `INVALID_TRANSITION`; for `refund` `REFUND_EXCEEDS_RECEIVED`,
   * `WALLET_ADDRESS_INVALID`, `NETWORK_DEGRADED`.
   */
  Rpc.make("exceptions.resolve", {
    payload: {
      ...owner,
      exception_id: ExceptionId,
      action: ExceptionAction,
      note: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(maximumNote))),
      /** For `assign`: the invoice that the money counts for; of any merchant where the exception is the operator's. */
      invoice_id: Schema.optionalKey(InvoiceId),
      /** For `refund`: how the money goes back. A person of the merchant approves it. */
      refund: Schema.optionalKey(ExceptionRefund),
      actor: ActorName
    },
    success: Exception,
    error: PublicError
  })
) {}
