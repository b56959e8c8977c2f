/** What the feature that made an invoice wants its payors to see: a price in another currency, some tokens only. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { InvoiceState } from "../../invoices/plugin.ts"
import type { ShopPrice } from "../rules/ShopPrice.ts"

/** What holds for the payors of one invoice. It never changes what counts: any token that is accepted does. */
export interface PayorTerms {
  /** Shown before the dollars; null: there are only dollars. */
  readonly price: ShopPrice | null
  /** Ids of the tokens that are offered, whether they can be paid with or not; null: all that are accepted. */
  readonly offeredTokens: ReadonlySet<number> | null
  /** Whether the payment page leads back to the shop by itself, once all is paid. */
  readonly returnsAutomatically: boolean
  /** Whether the payor may begin anew by an invoice of the service's own, of which the feature would hear nothing. */
  readonly canRestart: boolean
}

/** What holds for invoices that nobody says anything of. */
const plainTerms: PayorTerms = {
  price: null,
  offeredTokens: null,
  returnsAutomatically: false,
  canRestart: true
}

/** The terms of an invoice; null: another feature made it, or none. */
export type FindTerms = (invoice: Pick<InvoiceState, "environment" | "id">) => Effect.Effect<PayorTerms | null>

/** Who says terms of invoices: a feature that makes them registers itself. */
export class InvoiceTerms extends Context.Service<InvoiceTerms, {
  /** Adds a feature for as long as the scope lives. An invoice is made by one feature, so their order is no matter. */
  readonly register: (find: FindTerms) => Effect.Effect<void, never, Scope.Scope>
  readonly of: (invoice: Pick<InvoiceState, "environment" | "id">) => Effect.Effect<PayorTerms>
}>()("tillwire/modules/payments/InvoiceTerms") {
  static readonly layer = Layer.sync(InvoiceTerms, () => {
    const features = new Set<FindTerms>()
    return InvoiceTerms.of({
      register: (find) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => features.add(find)),
          () => Effect.sync(() => features.delete(find))
        )),
      of: Effect.fnUntraced(function*(invoice) {
        for (const find of features) {
          const terms = yield* find(invoice)
          if (terms !== null) return terms
        }
        return plainTerms
      })
    })
  })
}
