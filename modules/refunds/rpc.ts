/** Refunds for operators, who pay them out: definitions only. */
import { Schema, Struct } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { maximumAddressLength } from "../../schemas/Address.ts"
import { ActorName } from "../../schemas/Auth.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { MerchantId, RefundId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { PayoutTxHash, Refund, RefundFailureCode, RefundStatus } from "../../schemas/Refund.ts"
import { NewRefundBody } from "./api.ts"
import { maximumPageSize } from "./machine.ts"

/** A refund as an operator sees it. */
export const OperatorRefund = Schema.Struct({
  merchant_id: MerchantId,
  environment: Environment,
  /** What the payment must carry besides the address; null: nothing. */
  destination_memo: Schema.NullOr(Schema.String),
  /** What is to be sent; null until it may be paid out. Of a refund whose payor bears the fee, less than all of it. */
  payout: Schema.NullOr(Schema.Struct({
    /** Null for a token that is not in the catalogue. */
    token_id: Schema.NullOr(Schema.Int),
    token_amount: Schema.String,
    /** The same in base units. */
    units: Schema.String
  })),
  refund: Refund
})

/** What became of a payout, as it is told; once or many times. */
export const PayoutReport = Schema.Union([
  /** It was sent. */
  Schema.Struct({ status: Schema.Literal("submitted"), tx_hash: PayoutTxHash }),
  /**
   * It is final. A refund of an invoice needs the number of the block, and where the transaction has several transfers
   * of one amount to the destination, the index of its own: the chain is asked. `from`: the wallet that has paid for
   * the merchant, needed where that is not linked to it.
   */
  Schema.Struct({
    status: Schema.Literal("succeeded"),
    tx_hash: PayoutTxHash,
    height: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
    index: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
    from: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(maximumAddressLength)))
  }),
  /** Nothing was paid out, and nothing will be: `refunds.retry` begins anew. */
  Schema.Struct({ status: Schema.Literal("failed"), failure_code: RefundFailureCode })
])

/** Who acts, for the audit log; absent: `operator`. */
const actor = { actor: Schema.optionalKey(ActorName) }

const refundCall = { payload: { refund_id: RefundId }, success: OperatorRefund, error: PublicError }
const refundAct = { ...refundCall, payload: { ...refundCall.payload, ...actor } }

/** A refund of an invoice, as `POST /api/v1/refunds` takes it; nobody approves by it. */
const NewRefund = Schema.Struct(Struct.omit(NewRefundBody.fields, ["auto_approve"]))

export class RefundsRpc extends RpcGroup.make(
  /** Errors: `REFUND_NOT_FOUND`. */
  Rpc.make("refunds.get", refundCall),
  /** Newest first: those to be paid out are `processing`. `limit` is 20 unless sent; `next` goes into `before`. */
  Rpc.make("refunds.list", {
    payload: {
      merchant_id: Schema.optionalKey(MerchantId),
      status: Schema.optionalKey(RefundStatus),
      before: Schema.optionalKey(RefundId),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumPageSize })))
    },
    success: Schema.Struct({ refunds: Schema.Array(OperatorRefund), next: Schema.NullOr(RefundId) }),
    error: PublicError
  }),
  /**
   * Gives back what an invoice received, as its merchant does by `POST /api/v1/refunds`. Errors: `INVOICE_NOT_FOUND`,
   * `REFUND_EXCEEDS_RECEIVED`, `VALIDATION_ERROR`, `WALLET_ADDRESS_INVALID`, `NETWORK_DEGRADED`.
   */
  Rpc.make("refunds.create", {
    payload: { merchant_id: MerchantId, refund: NewRefund, ...actor },
    success: Schema.Struct({ refunds: Schema.Array(OperatorRefund) }),
    error: PublicError
  }),
  /** Errors: `REFUND_NOT_FOUND`, `REFUND_NOT_CANCELABLE` for one that is on its way or an order's. */
  Rpc.make("refunds.cancel", refundAct),
  /**
   * A new claim link of a refund of an invoice, in `refund.claim_url`; the one before ends. Errors: `REFUND_NOT_FOUND`,
   * `INVALID_TRANSITION`.
   */
  Rpc.make("refunds.claims.create", refundAct),
  /**
   * An order's refund that waits may be paid out, by its token amount at the price now. Errors: `REFUND_NOT_FOUND`,
   * `CREDENTIAL_NOT_ALLOWED` for one that a merchant asked for: only a person of the merchant approves it,
   * `INVALID_TRANSITION` unless it is `pending_approval`, `REFUND_EXCEEDS_RECEIVED` once its money is gone,
   * `QUOTE_UNAVAILABLE`.
   */
  Rpc.make("refunds.approve", refundAct),
  /**
   * A refund that failed is to be paid out once more, at the price now. Errors: as `refunds.approve`, of one that is
   * `failed`.
   */
  Rpc.make("refunds.retry", refundAct),
  /**
   * A fact about a payout. Errors: `REFUND_NOT_FOUND`, `INVALID_TRANSITION` for what cannot be true of it now or is
   * not final yet; for a refund of an invoice `VALIDATION_ERROR` where the transaction does not prove it,
   * `UNSUPPORTED_NETWORK` and `NETWORK_DEGRADED` where the chain cannot be asked.
   */
  Rpc.make("refunds.report", {
    payload: { refund_id: RefundId, report: PayoutReport, ...actor },
    success: OperatorRefund,
    error: PublicError
  })
) {}
