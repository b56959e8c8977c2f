/** Orders between the wire and the service: reads what was sent, says what was done. No rules of its own. */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../runtime/Commit.ts"
import { CurrentPrincipal, Idempotency, jsonText, readEnvironment, RequestInfo } from "../../runtime/Http.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { publicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Order } from "../../schemas/Order.ts"
import { Refunds } from "../refunds/plugin.ts"
import { Orders } from "./service.ts"
import { CommerceApi, type OrderQuery } from "./api.ts"
import { type OrderFact, orderObject, type OrderState, paymentStatusObject } from "./machine.ts"
import type { OrderFilter } from "./repo.ts"
import { OrdersRpc } from "./rpc.ts"
import * as Operations from "../../runtime/Operations.ts"

/** Orders of a page where the caller does not say (modules/docs/reference/orders.md#calls). */
const defaultLimit = 20

const successBody = (data: object): string => JSON.stringify({ success: true, data })

/** Who may see orders: keys of commerce scope, and wallets. Fails with `SCOPE_MISMATCH`. */
const commercePrincipal = Effect.flatMap(
  CurrentPrincipal,
  (principal) =>
    principal.scope === "commerce" || principal.kind === "wallet"
      ? Effect.succeed(principal)
      : Effect.fail(publicError("SCOPE_MISMATCH"))
)

const resolveOwner = Effect.fnUntraced(function*(environment: Environment | undefined) {
  const principal = yield* commercePrincipal
  return { merchantId: principal.merchantId, environment: yield* readEnvironment(principal, environment) }
})

const filterOf = (
  owner: { readonly merchantId: number; readonly environment: Environment },
  query: OrderQuery
): OrderFilter => ({
  ...owner,
  ...(query.status === undefined ? {} : { status: query.status }),
  ...(query.customer_id === undefined ? {} : { customerId: query.customer_id }),
  ...(query.wallet === undefined ? {} : { wallet: query.wallet }),
  ...(query.wallet_network === undefined ? {} : { walletNetwork: query.wallet_network }),
  ...(query.retailer === undefined ? {} : { retailer: query.retailer }),
  ...(query.created_from === undefined ? {} : { createdFrom: query.created_from }),
  ...(query.created_to === undefined ? {} : { createdTo: query.created_to })
})

const cancelledObject = (order: OrderState) => ({
  order_id: order.id,
  status: order.status,
  substatus: order.substatus,
  refund_quote: order.refundQuote
})

export const handlers = Operations.group(
  CommerceApi,
  "orders",
  Effect.fn(function*(group) {
    const orders = yield* Orders
    const refunds = yield* Refunds

    const visible = Effect.fnUntraced(function*(
      { environment, merchantId }: { readonly merchantId: number; readonly environment: Environment },
      id: string
    ) {
      const order = isUuid(id) ? yield* orders.get(merchantId, id) : null
      return order?.environment === environment ? order : yield* publicError("ORDER_NOT_FOUND")
    })

    /** Tells an order of the caller's of a fact, and keeps the answer for a repeat in the same commit. */
    const change = Effect.fnUntraced(function*(
      order: OrderState,
      fact: OrderFact,
      render: (order: OrderState) => object
    ) {
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      const result = yield* orders.change(
        order.merchantId,
        order.id,
        { requestId, idempotencyKey: idempotency.key },
        [fact],
        { reply: (order) => idempotency.reply(200, successBody(render(order))) }
      ).pipe(dieOnReplay)
      return jsonText(successBody(render(result.order)))
    })

    return group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const filter = filterOf(yield* resolveOwner(query.environment), query)
          const page = { limit: query.limit ?? defaultLimit, offset: query.offset ?? 0 }
          const [found, total] = yield* Effect.all([orders.list(filter, page), orders.count(filter)], {
            concurrency: 2
          })
          return jsonText(
            successBody({ orders: found.map(orderObject), pagination: { ...page, count: found.length, total } })
          )
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params, query }) {
          return jsonText(
            successBody(orderObject(yield* visible(yield* resolveOwner(query.environment), params.order_id)))
          )
        })
      )
      .handle(
        "cancel",
        Effect.fnUntraced(function*({ params, payload }) {
          const order = yield* visible(yield* commercePrincipal, params.order_id)
          const field = "refund_destination_wallet_address_bsc"
          const address = payload?.[field] ?? null
          const destination = address === null
            ? null
            : yield* refunds.check({ network: "bsc", address, memo: null }, order.environment).pipe(
              Effect.mapError((error) => publicError(error.code, { message: error.message, param: field }))
            )
          const fact = { _tag: "CancelRequested", reason: payload?.reason ?? null, destination } as const
          return yield* change(order, fact, cancelledObject)
        })
      )
      .handle(
        "refundDestination",
        Effect.fnUntraced(function*({ params, payload }) {
          const order = yield* visible(yield* commercePrincipal, params.order_id)
          const { address, memo = null, network } = payload
          const destination = yield* refunds.check({ network, address, memo }, order.environment)
          return yield* change(order, { _tag: "RefundDestinationSet", destination }, orderObject)
        })
      )
      .handle(
        "paymentStatus",
        Effect.fnUntraced(function*({ params, query }) {
          return jsonText(
            successBody(paymentStatusObject(yield* visible(yield* resolveOwner(query.environment), params.order_id)))
          )
        })
      )
      .handle(
        "bulkStatus",
        Effect.fnUntraced(function*({ payload, query }) {
          const { environment, merchantId } = yield* resolveOwner(query.environment)
          const ids = [...new Set<string>(payload.order_ids)]
          const found = new Map((yield* orders.getMany(merchantId, environment, ids)).map((order) => [order.id, order]))
          return jsonText(successBody({
            payments: ids.flatMap((id) => found.get(id) ?? []).map(paymentStatusObject),
            not_found: ids.filter((id) => !found.has(id))
          }))
        })
      )
  })
)

/** The calls of `OrdersRpc`. */
export const rpcHandlers = Rpc.handlers(
  OrdersRpc,
  Effect.gen(function*() {
    const orders = yield* Orders

    const wireOrder = (order: OrderState) => orderObject(order) as unknown as Order

    const report = (
      { merchant_id, order_id }: { readonly merchant_id: number; readonly order_id: string },
      fact: OrderFact
    ) =>
      orders.change(merchant_id, order_id, noCause, [fact]).pipe(
        dieOnReplay,
        Effect.map(({ order }) => wireOrder(order))
      )

    return OrdersRpc.of({
      "orders.get": Effect.fnUntraced(function*({ merchant_id, order_id }) {
        const order = isUuid(order_id) ? yield* orders.get(merchant_id, order_id) : null
        return order === null ? yield* publicError("ORDER_NOT_FOUND") : wireOrder(order)
      }),
      "orders.report.placed": (request) =>
        report(request, { _tag: "Placed", providerOrderId: request.provider_order_id }),
      "orders.report.shipped": (request) => report(request, { _tag: "Shipped", shipment: request.shipment }),
      "orders.report.delivered": (request) => report(request, { _tag: "Delivered", isConfirmed: request.confirmed }),
      "orders.report.failed": (request) => report(request, { _tag: "PlacementFailed", reason: request.reason })
    })
  })
)
