/** Endpoints that fail, and their deliveries, for operators: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds, EventId, MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { maximumFailing } from "./rules.ts"

/** Where a page of failing endpoints goes on: after this one. */
const Place = Schema.Struct({
  merchant_id: MerchantId,
  endpoint_id: Schema.NonEmptyString.check(Schema.isMaxLength(64))
})

export const FailingEndpoint = Schema.Struct({
  merchant_id: MerchantId,
  endpoint_id: Schema.String,
  /** Null hears of both. */
  environment: Schema.NullOr(Environment),
  /** Scheme, host and port. The rest of a URL may hold a secret of its merchant. */
  url_origin: Schema.String,
  /** `disabled` ones failed until they were. */
  status: Schema.Literals(["enabled", "disabled"]),
  disabled_reason: Schema.NullOr(Schema.String),
  /** `half_open`: the next delivery is a probe. */
  breaker: Schema.Literals(["closed", "open", "half_open"]),
  /** When an open one lets its probe pass; null for a closed one. */
  open_until: Schema.NullOr(EpochSeconds),
  /** Times it opened since it was closed. */
  openings: Schema.Int,
  /** Attempts since the last success. */
  consecutive_failures: Schema.Int,
  failing_since: Schema.NullOr(EpochSeconds),
  /** Deliveries that wait: at most 1,000 are counted. */
  waiting: Schema.Int,
  /**
   * How long ago the delivery of the oldest event that waits was queued: after 72 hours it fails. Null where none
   * waits.
   */
  oldest_waiting_seconds: Schema.NullOr(Schema.Int),
  /** The newest attempt; null once all are forgotten, after 30 days. */
  last_attempt: Schema.NullOr(Schema.Struct({
    ended_at: EpochSeconds,
    status: Schema.Literals(["succeeded", "failed", "timed_out"]),
    response_status: Schema.NullOr(Schema.Int),
    error: Schema.NullOr(Schema.String),
    latency_ms: Schema.Int
  }))
})
export type FailingEndpoint = typeof FailingEndpoint.Type

export class WebhooksRpc extends RpcGroup.make(
  /**
   * Endpoints whose last attempt failed or whose breaker is not closed, by merchant, then by id; deleted ones are left
   * out. `limit` is 20 unless sent, 100 at most. `next` goes into `after` of the next call; null on the last page.
   */
  Rpc.make("webhooks.failing", {
    payload: {
      merchant_id: Schema.optionalKey(MerchantId),
      after: Schema.optionalKey(Place),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumFailing })))
    },
    success: Schema.Struct({ endpoints: Schema.Array(FailingEndpoint), next: Schema.NullOr(Place) }),
    error: PublicError
  }),
  /**
   * Sends the event of a delivery to its endpoint once more, whatever became of it: a new delivery with the same bytes.
   * Not limited. Errors: `DELIVERY_NOT_FOUND`, `WEBHOOK_DISABLED`.
   */
  Rpc.make("webhooks.deliveries.retry", {
    payload: { merchant_id: MerchantId, delivery_id: Schema.String },
    success: Schema.Struct({ delivery_id: Schema.String, event_id: EventId }),
    error: PublicError
  })
) {}
