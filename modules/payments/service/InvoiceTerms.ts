/** The terms of invoices for their payors, from the feature that made them: a price in its currency, some tokens. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { InvoiceState } from "../../invoices/plugin.ts"
import type { ShopPrice } from "../rules/ShopPrice.ts"

/** The terms of one invoice. They limit what payors are offered; a payment by any other accepted token still counts. */
export interface PayorTerms {
  /** The price that is shown first, before the dollars; null: dollars are shown alone. */
  readonly price: ShopPrice | null
  /** Ids of the tokens that are offered, those that cannot be used now among them; null: all that are accepted. */
  readonly offeredTokens: ReadonlySet<number> | null
  /** Whether the payment page opens the shop's return address by itself, once all is paid. */
  readonly returnsAutomatically: boolean
  /** Whether the payor may replace an ended invoice by a new one, which the feature would know nothing of. */
  readonly canRestart: boolean
}

/** The terms of an invoice for which no feature has any. */
const defaultTerms: PayorTerms = {
  price: null,
  offeredTokens: null,
  returnsAutomatically: false,
  canRestart: true
}

/** Finds the terms of an invoice; null: the feature that looks did not make it. */
export type FindTerms = (invoice: Pick<InvoiceState, "environment" | "id">) => Effect.Effect<PayorTerms | null>

/** Asks the features that registered for the terms of an invoice. */
export class InvoiceTerms extends Context.Service<InvoiceTerms, {
  /** Adds a feature for as long as the scope lives. At most one has terms of an invoice, so any order will do. */
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
        return defaultTerms
      })
    })
  })
}
