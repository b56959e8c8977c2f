/**
 * Retailers: whoever sells the goods of orders. Drivers register, one for each environment; they quote items, check
 * addresses, place, track and cancel orders. What a retailer tells by itself is reported to whoever keeps the orders.
 */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { ItemFault, Retailer, Shipment } from "../../schemas/Order.ts"

/** An item as the customer asks for it. */
export interface WantedItem {
  /** As sent: it may name no retailer there is. */
  readonly retailer: string
  readonly productId: string
  /** 1 to 99. */
  readonly quantity: number
}

/** An item as the retailer sells it now. */
export interface OfferedItem {
  readonly retailer: Retailer
  readonly productId: string
  readonly title: string
  readonly imageUrl: string | null
  readonly quantity: number
  readonly unitAmount: UsdMillis
}

export interface RefusedItem {
  readonly retailer: string
  readonly productId: string
  readonly fault: ItemFault
  /** A sentence for the customer. */
  readonly message: string
}

export interface ShippingOption {
  readonly id: string
  readonly name: string
  readonly amount: UsdMillis
  /** Days, as people write them: `5-7`. */
  readonly estimatedDays: string
}

/** What a retailer asks for items: every wanted item is in one of the two lists. */
export interface Offer {
  readonly items: ReadonlyArray<OfferedItem>
  readonly refused: ReadonlyArray<RefusedItem>
  /** Cheapest first; empty only where no item is offered. */
  readonly shipping: ReadonlyArray<ShippingOption>
  readonly tax: UsdMillis
  readonly fees: UsdMillis
}

export interface PostalAddress {
  readonly firstName: string
  readonly lastName: string
  readonly streetAddress: string
  readonly addressLine2: string | null
  readonly city: string
  readonly state: string
  readonly zipCode: string
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string
  readonly phone: string
  readonly email: string
}

export type AddressValidation =
  /** Deliverable, in the form the retailer writes it. */
  | { readonly _tag: "Valid"; readonly address: PostalAddress }
  /** What is wrong, by wire field name (`zip_code`). */
  | { readonly _tag: "Invalid"; readonly fields: Readonly<Record<string, string>> }

/** An item of an order, as it was offered when the order was made. */
export interface OrderedItem extends OfferedItem {
  /** Names it in shipments: `li_1`. */
  readonly lineItemId: string
}

/** What is placed. Repeated with the same `orderId`, it is the same order: a retailer never delivers it twice. */
export interface Placement {
  readonly orderId: string
  readonly merchantId: number
  readonly environment: Environment
  readonly customerId: string | null
  readonly items: ReadonlyArray<OrderedItem>
  readonly address: PostalAddress
  readonly shippingOptionId: string
}

/** A fact that a retailer tells of an order, asked or unasked, once or many times, in any order. */
export type RetailerReport =
  | { readonly _tag: "Placed"; readonly providerOrderId: string }
  /** For good: no other try will succeed. */
  | { readonly _tag: "PlacementFailed"; readonly reason: string }
  /** A shipment, new or changed, known by its `shipment_id`. */
  | { readonly _tag: "Shipped"; readonly shipment: Shipment }
  | { readonly _tag: "Delivered"; readonly isConfirmed: boolean }
  /** Answers to a request to cancel. */
  | { readonly _tag: "CancellationAccepted" }
  | { readonly _tag: "CancellationRejected"; readonly reason: string }
  /** The retailer cancels by itself. */
  | { readonly _tag: "CanceledByRetailer"; readonly reason: string }

/** The retailer gave no answer, or a fault of its own: the same call may succeed later. */
export class RetailerUnavailable extends Schema.TaggedError<RetailerUnavailable>()("RetailerUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** The order a driver is asked about. */
export interface PlacedOrder {
  readonly orderId: string
  readonly merchantId: number
  readonly environment: Environment
  /** Null while the retailer has not named it. */
  readonly providerOrderId: string | null
  /** Epoch seconds; null while it is not placed. */
  readonly placedAt: number | null
  readonly items: ReadonlyArray<OrderedItem>
}

/**
 * Every call ends within 10 s. Placing, tracking and canceling answer with the reports there are by now, perhaps none.
 */
export interface RetailerDriver {
  /** As its config entry: `retail/http`. */
  readonly name: string
  readonly environments: ReadonlyArray<Environment>
  /** `zipCode` null: not known yet. At most 50 items. */
  readonly quote: (request: {
    readonly merchantId: number
    readonly environment: Environment
    readonly items: ReadonlyArray<WantedItem>
    readonly zipCode: string | null
  }) => Effect.Effect<Offer, RetailerUnavailable>
  readonly validateAddress: (
    address: PostalAddress,
    environment: Environment
  ) => Effect.Effect<AddressValidation, RetailerUnavailable>
  readonly place: (placement: Placement) => Effect.Effect<ReadonlyArray<RetailerReport>, RetailerUnavailable>
  readonly track: (order: PlacedOrder) => Effect.Effect<ReadonlyArray<RetailerReport>, RetailerUnavailable>
  readonly cancel: (order: PlacedOrder) => Effect.Effect<ReadonlyArray<RetailerReport>, RetailerUnavailable>
}

/**
 * Takes a report up that is the truth for orders of one environment only: a retailer of devnet says nothing of money.
 * Errors: `ORDER_NOT_FOUND`, also for an order of the other environment, and `INVALID_TRANSITION` for what cannot be
 * true of the order now.
 */
export type ReportHandler = (
  order: { readonly environment: Environment; readonly orderId: string },
  report: RetailerReport
) => Effect.Effect<void, PublicError>

export class Retailers extends Context.Service<Retailers, {
  /** For as long as the scope lives. Two drivers of one environment are a bug. */
  readonly register: (driver: RetailerDriver) => Effect.Effect<void, never, Scope.Scope>
  readonly driver: (environment: Environment) => RetailerDriver | undefined
  /** Whoever keeps orders registers here, for as long as the scope lives. One per deployment. */
  readonly onReport: (handler: ReportHandler) => Effect.Effect<void, never, Scope.Scope>
  /** Hands a report that came unasked to {@link onReport}'s handler; `ORDER_NOT_FOUND` while there is none. */
  readonly report: ReportHandler
}>()("tillwire/modules/retail/Retailers") {
  static readonly layer = Layer.sync(Retailers, () => {
    const drivers = new Map<Environment, RetailerDriver>()
    const handlers: Array<ReportHandler> = []
    const forScope = (add: () => void, remove: () => void) =>
      Effect.acquireRelease(Effect.sync(add), () => Effect.sync(remove))
    return Retailers.of({
      register: (driver) =>
        Effect.gen(function*() {
          const taken = driver.environments.find((environment) => drivers.has(environment))
          if (taken !== undefined) {
            return yield* Effect.die(
              new Error(`two retailers of ${taken}: ${drivers.get(taken)?.name} and ${driver.name}`)
            )
          }
          yield* forScope(
            () => {
              for (const environment of driver.environments) drivers.set(environment, driver)
            },
            () => {
              for (const environment of driver.environments) drivers.delete(environment)
            }
          )
        }),
      driver: (environment) => drivers.get(environment),
      onReport: (handler) =>
        forScope(() => handlers.push(handler), () => handlers.splice(handlers.indexOf(handler), 1)),
      report: (order, report) => handlers[0]?.(order, report) ?? Effect.fail(publicError("ORDER_NOT_FOUND"))
    })
  })
}
