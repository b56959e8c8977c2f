/** Orders for internal services, such as whoever fulfils them: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { Order, Shipment } from "../../schemas/Order.ts"

const order = { merchant_id: MerchantId, order_id: Schema.String }
const answer = { success: Order, error: PublicError }

/** Characters of a retailer's own texts, at most: as many as other short texts of the API. */
const text = Schema.NonEmptyString.check(Schema.isMaxLength(255))

/**
 * Reports are judged as those of the retailer itself: one that was taken up before changes nothing, one that cannot be
 * true of the order now is `INVALID_TRANSITION`. Errors beside it: `ORDER_NOT_FOUND`, `SERVICE_UNAVAILABLE`.
 */
export class OrdersRpc extends RpcGroup.make(
  /** An order of a merchant, in either environment. */
  Rpc.make("orders.get", { payload: order, ...answer }),
  /** The retailer accepted an order that was submitted to it. */
  Rpc.make("orders.report.placed", { payload: { ...order, provider_order_id: text }, ...answer }),
  /** A shipment, new or changed, known by its `shipment_id`. */
  Rpc.make("orders.report.shipped", { payload: { ...order, shipment: Shipment }, ...answer }),
  /** `confirmed`: by customer or retailer, rather than by the carrier. */
  Rpc.make("orders.report.delivered", { payload: { ...order, confirmed: Schema.Boolean }, ...answer }),
  /** No try to place it will succeed: it fails, and all that was paid is refunded. */
  Rpc.make("orders.report.failed", { payload: { ...order, reason: text }, ...answer })
) {}
