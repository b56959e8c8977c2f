/** Payments with play money: the devnet module that can make them, if there is one. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { Aggregate } from "../../invoices/plugin.ts"
import type { SimulatedPayment } from "../rules.ts"

/** Pays an invoice with play money. Errors: those of `Payments.route`, `INVOICE_NOT_PAYABLE`. */
export type Simulate = (current: Aggregate, what: SimulatedPayment) => Effect.Effect<void, PublicError>

/** Who can pay with play money, if anyone here can: a devnet module registers itself. */
export class SimulatedPayments extends Context.Service<SimulatedPayments, {
  /** Adds it for as long as the scope lives. One per deployment. */
  readonly register: (simulate: Simulate) => Effect.Effect<void, never, Scope.Scope>
  /** Null where nobody can. */
  readonly current: () => Simulate | null
}>()("tillwire/modules/payments/SimulatedPayments") {
  static readonly layer = Layer.sync(SimulatedPayments, () => {
    let simulator: Simulate | null = null
    return SimulatedPayments.of({
      current: () => simulator,
      register: (simulate) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (simulator !== null) return Effect.die(new Error("Two modules simulate payments"))
            simulator = simulate
            return Effect.void
          }),
          () =>
            Effect.sync(() => {
              simulator = null
            })
        )
    })
  })
}
