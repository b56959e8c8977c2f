/** A merchant's events as they happen, for internal services: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EventId, MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { EventFilter, maximumListed } from "../../schemas/Webhook.ts"

/**
 * One event. `text` is exactly what the API and webhooks tell, with `pending_webhooks` as it was at the commit; decode
 * it with `Schema.fromJsonString(Event)`.
 */
export const StreamedEvent = Schema.Struct({
  id: EventId,
  merchant_id: MerchantId,
  environment: Environment,
  type: Schema.String,
  text: Schema.String
})
export type StreamedEvent = typeof StreamedEvent.Type

export class EventsRpc extends RpcGroup.make(
  /**
   * The events of a merchant after `after` (absent: from the first that is kept), oldest first, and on as they are
   * committed, without a gap or a repeat. `types`: filters as of a webhook endpoint; absent: all but the opt-in types.
   * Never ends. To go on after a break, ask again from the last id seen. `INVALID_CURSOR`, also where events after it
   * are kept no more.
   */
  Rpc.make("events.stream", {
    payload: {
      merchant_id: MerchantId,
      after: Schema.optionalKey(Schema.String),
      types: Schema.optionalKey(Schema.Array(EventFilter).check(Schema.isMaxLength(maximumListed)))
    },
    success: StreamedEvent,
    error: PublicError,
    stream: true
  })
) {}
