/** Estimates: items priced by the retailer, and priced anew once it is known where they go. */
import { Effect } from "effect"
import { dieOnReplay, type IdempotentCall, type Write } from "../../../runtime/Commit.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { PostalAddress, RetailerUnavailable, WantedItem } from "../../retail/plugin.ts"
import { addressWrite, estimateWrite } from "../repo.ts"
import {
  addressError,
  type AddressState,
  type Customer,
  emptyQuotation,
  type EstimateState,
  estimateTtlSeconds,
  pricesOf,
  type Quotation,
  quotationOf,
  screenItems,
  type SeenPrices,
  type Shop,
  unservedQuotation,
  withEarlierRefusals
} from "../rules.ts"
import { type CheckoutContext, checkValue, requireEstimate, shopSeconds } from "./CheckoutContext.ts"

/** What a customer wants an estimate of, before anyone has priced it. */
export interface EstimateRequest {
  readonly customer: Customer
  readonly items: ReadonlyArray<WantedItem>
  /** What the shop said the items cost. */
  readonly seenPrices: SeenPrices
  readonly zipCode: string | null
}

/** An estimate after its address: both are what the customer sees next. */
export interface AddressResult {
  readonly address: AddressState
  readonly estimate: EstimateState
  readonly seenPrices: SeenPrices
}

/** Seconds after which a retailer that gave no answer may be asked again: the caller waits for the answer. */
const retailerRetrySeconds = 5

const orServiceUnavailable = <A>(effect: Effect.Effect<A, RetailerUnavailable>): Effect.Effect<A, PublicError> =>
  Effect.catchTag(effect, "RetailerUnavailable", (error) =>
    Effect.andThen(
      Effect.logWarning("the retailer gave no answer", error),
      Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: retailerRetrySeconds }))
    ))

export const quoteItems = Effect.fnUntraced(function*(
  { retailers }: CheckoutContext,
  { environment, merchantId }: Shop,
  items: ReadonlyArray<WantedItem>,
  zipCode: string | null
): Effect.fn.Return<Quotation, PublicError> {
  const screening = screenItems(items)
  const driver = retailers.driver(environment)
  if (driver === undefined) return unservedQuotation(screening)
  if (screening.wantedItems.length === 0) return quotationOf(screening, emptyQuotation)
  const offer = yield* driver.quote({ merchantId, environment, items: screening.wantedItems, zipCode }).pipe(
    orServiceUnavailable
  )
  return quotationOf(screening, offer)
})

/** A new commit of rows that are written once: nobody else can have written them. */
const append = <A>(
  { commit }: CheckoutContext,
  shop: Shop,
  writes: ReadonlyArray<Write>,
  call: IdempotentCall<A>,
  result: A
) => {
  const reply = call.reply(result)
  return commit.append({
    ...shop,
    cause: call.cause,
    writes,
    events: [],
    reply
  }).pipe(
    Effect.catchTag("Conflict", (bug) => Effect.die(bug)),
    dieOnReplay
  )
}

export const makeEstimate = Effect.fnUntraced(
  function*(context: CheckoutContext, shop: Shop, request: EstimateRequest, call: IdempotentCall<EstimateState>) {
    const quotation = yield* quoteItems(context, shop, request.items, request.zipCode)
    yield* checkValue(quotation)
    const now = yield* shopSeconds(context, shop)
    const estimate: EstimateState = {
      ...shop,
      id: yield* uuidV7,
      version: 1,
      customer: request.customer,
      quotation,
      zipCode: request.zipCode,
      createdAt: now,
      expiresAt: now + estimateTtlSeconds,
      orderId: null
    }
    yield* append(context, shop, [estimateWrite(estimate)], call, estimate)
    return estimate
  }
)

export const checkAddress = Effect.fnUntraced(function*(
  context: CheckoutContext,
  shop: Shop,
  customer: Customer,
  estimateId: string,
  postalAddress: PostalAddress,
  call: IdempotentCall<AddressResult>
) {
  const before = yield* requireEstimate(context, shop, customer, estimateId)
  const driver = context.retailers.driver(shop.environment)
  if (driver === undefined) {
    return yield* publicError("SERVICE_UNAVAILABLE", {
      retryAfterSeconds: retailerRetrySeconds,
      reason: `no retailer serves ${shop.environment}`
    })
  }
  const validation = yield* driver.validateAddress(postalAddress, shop.environment).pipe(orServiceUnavailable)
  if (validation._tag === "Invalid") return yield* addressError(validation.fields)
  const { zipCode } = validation.address
  const currentQuotation = yield* quoteItems(context, shop, before.quotation.items, zipCode)
  const quotation = withEarlierRefusals(currentQuotation, before.quotation)
  yield* checkValue(quotation)
  const address: AddressState = {
    ...shop,
    id: yield* uuidV7,
    version: 1,
    estimateId,
    address: validation.address,
    quotation,
    createdAt: yield* shopSeconds(context, shop)
  }
  const result: AddressResult = {
    address,
    estimate: { ...before, quotation, zipCode },
    seenPrices: pricesOf(before.quotation.items)
  }
  yield* append(context, shop, [addressWrite(address)], call, result)
  return result
})
