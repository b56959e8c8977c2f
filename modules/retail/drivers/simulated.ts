/**
 * A retailer inside the process, for devnet: a catalogue in a data file, prices and faults that can be had on demand.
 * Orders wait for the simulator unless `auto` is true. What it answers follows from the question, the order and the
 * merchant's time alone, so that a restart or another instance answers the same; only the tries of an order that is
 * meant to fail some times are counted, in memory.
 */
import { Effect, Layer, Schema } from "effect"
import products from "./simulated/catalogue.json" with { type: "json" }
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { Retailers, RetailerUnavailable } from "../plugin.ts"
import { validateAddress } from "./simulated/Address.ts"
import { cancellationReports, placementReports, trackingReports } from "./simulated/Fulfilment.ts"
import { catalogueOf, offer, Product, trials, unavailableTries, zipCodes } from "./simulated/Shop.ts"

/** Orders whose failing tries to place are remembered; of more, the oldest one begins anew. */
const rememberedOrders = 1_000

/** A week: an order that takes longer is nothing to watch. */
const maximumSeconds = 604_800

const defaultShipAfterSeconds = 5
const defaultDeliverAfterSeconds = 10

const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumSeconds }))

export const SimulatedOptions = Schema.Struct({
  /** Whether it places, ships and delivers by itself; default false: orders wait for the simulator. */
  auto: Schema.optionalKey(Schema.Boolean),
  /** With `auto`: seconds from placing to shipping, of the merchant's time; default 5. */
  shipAfterSeconds: Schema.optionalKey(Seconds),
  /** With `auto`: seconds from placing to delivery, of the merchant's time; default 10. */
  deliverAfterSeconds: Schema.optionalKey(Seconds)
}).check(Schema.makeFilter(({
  deliverAfterSeconds = defaultDeliverAfterSeconds,
  shipAfterSeconds = defaultShipAfterSeconds
}: { readonly deliverAfterSeconds?: number; readonly shipAfterSeconds?: number }) =>
  shipAfterSeconds <= deliverAfterSeconds || "shipAfterSeconds must not be more than deliverAfterSeconds"
))

/** The catalogue's data file, checked: each product once. */
export const readCatalogue = Schema.decodeUnknownEffect(Schema.Array(Product))(products)

const unavailable = new RetailerUnavailable({ reason: "the simulated retailer gives no answer" })

const make = Effect.fnUntraced(function*(options: typeof SimulatedOptions.Type) {
  const clock = yield* MerchantClock
  const retailers = yield* Retailers
  const catalogue = catalogueOf(yield* readCatalogue)
  const behaviour = {
    auto: options.auto ?? false,
    shipAfterSeconds: options.shipAfterSeconds ?? defaultShipAfterSeconds,
    deliverAfterSeconds: options.deliverAfterSeconds ?? defaultDeliverAfterSeconds
  }
  const tries = new Map<string, number>()
  /** How often placing this order was tried, this time included. */
  const countTry = (orderId: string): number => {
    const count = (tries.get(orderId) ?? 0) + 1
    tries.delete(orderId)
    if (tries.size >= rememberedOrders) tries.delete(tries.keys().next().value!)
    tries.set(orderId, count)
    return count
  }

  yield* retailers.register({
    name: "retail/simulated",
    environments: ["devnet"],
    quote: ({ environment, items, merchantId, zipCode }) =>
      zipCode === zipCodes.unavailable || items.some(({ productId }) => productId === trials.quoteUnavailable)
        ? Effect.fail(unavailable)
        : Effect.map(clock.nowMillis(merchantId, environment), (now) => offer(catalogue, items, zipCode, now)),
    validateAddress: (address) =>
      address.zipCode === zipCodes.unavailable ? Effect.fail(unavailable) : Effect.succeed(validateAddress(address)),
    place: (placement) =>
      Effect.suspend(() => {
        const fails = unavailableTries(placement.items.map(({ productId }) => productId))
        return fails > 0 && countTry(placement.orderId) <= fails
          ? Effect.fail(unavailable)
          : Effect.succeed(placementReports(placement, behaviour))
      }),
    track: (order) =>
      Effect.map(
        clock.nowSeconds(order.merchantId, order.environment),
        (now) => trackingReports(order, behaviour, now)
      ),
    cancel: (order) =>
      Effect.map(
        clock.nowSeconds(order.merchantId, order.environment),
        (now) => cancellationReports(order, behaviour, now)
      )
  })
})

export const plugin = Plugin.make({
  name: "retail/simulated",
  slot: "modules",
  environments: ["devnet"],
  options: SimulatedOptions,
  needs: { retail: Retailers },
  layer: (options) => Layer.effectDiscard(make(options))
})
