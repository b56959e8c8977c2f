/** Load, decide, commit: how carts change, one change of a cart at a time. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, decideAnew, dieOnReplay, type IdempotentCall } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import { cartWrite, makeRepo } from "./repo.ts"
import { type Customer, customerKey, type Shop } from "./rules.ts"
import { type CartState } from "./rules/Carts.ts"

/** A cart after a change, and what the caller is told of it; an unchanged cart is not written. */
export interface CartChange<A> {
  readonly cart: CartState
  readonly result: A
}

export class Carts extends Context.Service<Carts, {
  /** The customer's cart; an empty one, dated now, where nobody wrote to it. */
  readonly get: (shop: Shop, customer: Customer) => Effect.Effect<CartState>
  /**
   * Changes a cart by `plan`, in the cart's mailbox; a lost race is decided anew, 3 times, then `SERVICE_UNAVAILABLE`:
   * of two changes at once, neither undoes the other.
   */
  readonly change: <A>(
    shop: Shop,
    customer: Customer,
    plan: (cart: CartState, now: number) => CartChange<A> | PublicError,
    call: IdempotentCall<A>
  ) => Effect.Effect<A, PublicError>
}>()("tillwire/modules/storefront/Carts") {
  static readonly layer = Layer.effect(
    Carts,
    Effect.gen(function*() {
      const actors = yield* Actors
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const repo = yield* makeRepo

      const load = Effect.fnUntraced(function*({ environment, merchantId }: Shop, customer: Customer, now: number) {
        const found = yield* repo.cart(merchantId, environment, customer)
        const newCart: CartState = {
          merchantId,
          environment,
          version: 0,
          customer,
          items: [],
          createdAt: now,
          updatedAt: now
        }
        return found ?? newCart
      })

      const nowOf = ({ environment, merchantId }: Shop) => clock.nowSeconds(merchantId, environment)

      const changeOnce = Effect.fnUntraced(function*<A>(
        shop: Shop,
        customer: Customer,
        plan: (cart: CartState, now: number) => CartChange<A> | PublicError,
        call: IdempotentCall<A>
      ) {
        const now = yield* nowOf(shop)
        const before = yield* load(shop, customer, now)
        const change = plan(before, now)
        if (isPublicError(change)) return yield* change
        if (change.cart === before) return change.result
        const reply = call.reply(change.result)
        yield* commit.append({
          ...shop,
          cause: call.cause,
          writes: [cartWrite(change.cart)],
          events: [],
          reply
        }).pipe(dieOnReplay)
        return change.result
      })

      return Carts.of({
        get: (shop, customer) => Effect.flatMap(nowOf(shop), (now) => load(shop, customer, now)),
        change: (shop, customer, plan, call) =>
          actors.send(
            "cart",
            `${shop.merchantId} ${shop.environment} ${customerKey(customer)}`,
            changeOnce(shop, customer, plan, call)
          ).pipe(
            decideAnew()
          )
      })
    })
  )
}
