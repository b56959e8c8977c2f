/** Settlements for operators and for whoever moves the money: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds, InvoiceId, MerchantId, PaymentId } from "../../schemas/Ids.ts"
import { WireAmount } from "../../schemas/Invoice.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { Payment, SettlementStatus } from "../../schemas/Payment.ts"
import { maximumReasonLength, movingStages } from "./rules.ts"

/** Characters of a transaction hash, at most: the longest of the networks has 88. */
const TxHash = Schema.NonEmptyString.check(Schema.isMaxLength(128))
const Reason = Schema.NonEmptyString.check(Schema.isMaxLength(maximumReasonLength))
const progressFields = {
  stage: Schema.Literals(movingStages),
  tx_hash: Schema.NullOr(TxHash),
  network: Schema.NullOr(Network)
}

/** What became of a settlement, as it is told. */
export const Report = Schema.Union([
  Schema.Struct({ status: Schema.Literal("submitted"), ...progressFields }),
  Schema.Struct({ status: Schema.Literal("confirming"), ...progressFields }),
  /**
   * `tx_hash`: what brought it to the merchant, null where it came straight from the payor. `amount`: usd_millis that
   * reached the merchant, null for all of the payment.
   */
  Schema.Struct({
    status: Schema.Literal("settled"),
    tx_hash: Schema.NullOr(TxHash),
    network: Network,
    amount: Schema.NullOr(WireAmount)
  }),
  /** This try is over: it is tried again where the driver tries by itself, else an operator is asked. */
  Schema.Struct({ status: Schema.Literal("failed"), reason: Reason }),
  /** No further try by itself. */
  Schema.Struct({ status: Schema.Literal("review"), reason: Reason }),
  /** It will not be settled: an order that waits for it fails, and what was paid is owed back. */
  Schema.Struct({ status: Schema.Literal("given_up"), reason: Reason }),
  /** Try again, after `failed` or `manual`. */
  Schema.Struct({ status: Schema.Literal("retry") })
])

/** What only operators are told of a settlement. */
export const SettlementRow = Schema.Struct({
  payment_id: PaymentId,
  invoice_id: InvoiceId,
  merchant_id: MerchantId,
  environment: Environment,
  /** Its config entry. */
  driver: Schema.String,
  settlement_status: Schema.NullOr(SettlementStatus),
  /** Automatic retries that were made, 5 at most. */
  retries: Schema.Int,
  /** Of the last failure, review or giving up. */
  reason: Schema.NullOr(Schema.String),
  /** False once it is settled, or its payment has gone. */
  is_open: Schema.Boolean,
  /** When it is tried or looked at next; null: it waits for a report. */
  due_at: Schema.NullOr(EpochSeconds),
  created_at: EpochSeconds,
  updated_at: EpochSeconds
})

/** Settlements of one answer, at most. */
export const maximumPageSize = 200

export class SettlementsRpc extends RpcGroup.make(
  /**
   * A fact about a payment's settlement, once or many times. Errors: `NOT_FOUND` for an unknown payment,
   * `INVALID_TRANSITION` for what cannot be true of it now, `VALIDATION_ERROR` for more than was paid.
   */
  Rpc.make("settlements.report", {
    payload: { payment_id: PaymentId, report: Report },
    success: Schema.Struct({ payment: Payment }),
    error: PublicError
  }),
  /** A payment and the settlement beside it, null where none was begun. Errors: `NOT_FOUND`. */
  Rpc.make("settlements.get", {
    payload: { payment_id: PaymentId },
    success: Schema.Struct({ payment: Payment, settlement: Schema.NullOr(SettlementRow) }),
    error: PublicError
  }),
  /** Settlements under way, oldest first: without `statuses` those that wait for an operator. */
  Rpc.make("settlements.list", {
    payload: {
      environment: Environment,
      statuses: Schema.optionalKey(Schema.NonEmptyArray(SettlementStatus)),
      after: Schema.optionalKey(Schema.Struct({ created_at: EpochSeconds, payment_id: PaymentId })),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumPageSize })))
    },
    success: Schema.Struct({ settlements: Schema.Array(SettlementRow), has_more: Schema.Boolean }),
    error: PublicError
  })
) {}
