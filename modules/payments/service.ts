/** Payments: gives an invoice an address and a quote, and turns transfers into payments of it. */
import { Context, Effect, Layer } from "effect"
import { Availability } from "../../runtime/Availability.ts"
import { Chains, type JournalEntry } from "../../runtime/Chains.ts"
import { machineMillis } from "../../runtime/Clock.ts"
import { Commit, noCause, type Write } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { Screening } from "../../runtime/Screening.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import { requiredDepth } from "../../schemas/Network.ts"
import { type Aggregate, type Command, type ExceptionRecord, Invoices } from "../invoices/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { TokenPolicies } from "../tokens/plugin.ts"
import { assignedTransferOf, type AssignmentContext, assignmentOf } from "./service/Assignments.ts"
import { makeCredit, makePricing, retryPricing, unmatchedPayment } from "./service/Credit.ts"
import { currentRoute, type Route, routeFor, type RoutesContext } from "./service/PaymentRoutes.ts"
import { makeNameToken } from "./service/TokenNames.ts"

export class Payments extends Context.Service<Payments, {
  /**
   * The invoice's address for a token, with a quote: the same address each time. Errors, in the order they are looked
   * for: `UNSUPPORTED_NETWORK`, `TOKEN_NOT_ACCEPTED`, `TOKEN_NETWORK_MISMATCH`, `INVOICE_NOT_PAYABLE`, `ROUTE_LOCKED`,
   * `NETWORK_DEGRADED`.
   */
  readonly route: (current: Aggregate, network: string, tokenId: number) => Effect.Effect<Route, PublicError>
  /**
   * The route the payor was shown last, or is locked to, with its quote as it stands now: nothing is written, unless
   * another amount remains than that quote asks for; then a new one is issued and shown. Null where the payor was shown
   * none, or the invoice cannot be paid any more.
   */
  readonly currentRoute: (current: Aggregate) => Effect.Effect<Route | null, PublicError>
  /**
   * What an entry of the journal makes of its invoice, for a change of that invoice: its commands, and the entry as
   * dealt with. Reads only. Errors: `QUOTE_UNAVAILABLE`, `NETWORK_DEGRADED` and `SERVICE_UNAVAILABLE`, where it
   * must be tried again.
   */
  readonly credit: (
    entry: JournalEntry,
    current: Aggregate
  ) => Effect.Effect<{ readonly commands: ReadonlyArray<Command>; readonly writes: ReadonlyArray<Write> }, PublicError>
  /**
   * Opens or closes the exception of an entry of the journal that pays no invoice, with the entry as dealt with:
   * `missing_memo` where it came to an account that a memo tells invoices apart at, else `unmatched_payment`. Errors:
   * `SERVICE_UNAVAILABLE`.
   */
  readonly recordUnmatched: (entry: JournalEntry) => Effect.Effect<void, PublicError>
  /**
   * What gives the money of an exception without an invoice to this invoice, for a change of it. Errors:
   * `INVALID_TRANSITION` where its transfer is not on its chain any more.
   */
  readonly assignmentOf: (
    current: Aggregate,
    record: ExceptionRecord
  ) => Effect.Effect<
    { readonly commands: ReadonlyArray<Command>; readonly writes: ReadonlyArray<Write> },
    PublicError
  >
  /**
   * Prices and counts a payment that is `manual_retry`, or prices one that came too late, for its refund. Errors:
   * `INVOICE_NOT_FOUND`, `INVALID_TRANSITION` for any other payment, `QUOTE_UNAVAILABLE`. `extraWrites` are rows of the
   * same commit.
   */
  readonly retry: (paymentId: string, extraWrites?: ReadonlyArray<Write>) => Effect.Effect<Aggregate, PublicError>
}>()("tillwire/modules/payments/Payments") {
  static readonly layer = Layer.effect(
    Payments,
    Effect.gen(function*() {
      const chains = yield* Chains
      const catalog = yield* TokenCatalog
      const invoices = yield* Invoices
      const routes: RoutesContext = {
        availability: yield* Availability,
        chains,
        catalog,
        clock: yield* MerchantClock,
        commit: yield* Commit,
        quotes: yield* PaymentQuotes,
        policies: yield* TokenPolicies,
        settings: yield* MerchantSettings,
        startedAtMillis: (yield* machineMillis)()
      }
      const screening = yield* Screening
      const price = yield* makePricing
      const assignments: AssignmentContext = { catalog, chains, clock: routes.clock, invoices, screening }
      const credit = yield* makeCredit(price, (entry, invoice) => assignedTransferOf(assignments, entry, invoice))
      const nameToken = yield* makeNameToken(invoices)
      const prices = yield* Prices
      const recordUnmatched = Effect.fnUntraced(function*(entry: JournalEntry) {
        const { environment, matchKey, network } = entry
        const token = catalog.find(network, environment, entry.tokenAddress)
        const spot = token === undefined
          ? null
          : yield* prices.spot(token).pipe(Effect.catchTag("PriceUnavailable", () => Effect.succeed(null)))
        const receiver = yield* chains.walletReceiver(network, environment, matchKey)
        const type = receiver?.isAccount === true ? "missing_memo" : "unmatched_payment"
        yield* invoices.recordUnmatched(unmatchedPayment(entry, type, token, spot, receiver?.fingerprint ?? null), [
          chains.markHandled(entry, requiredDepth(network, environment, "final", 0n))
        ])
      })
      yield* chains.onTransfer((entry) =>
        entry.invoiceId === null
          ? recordUnmatched(entry)
          : invoices.change(entry.invoiceId, noCause, (current) => credit(entry, current)).pipe(
            Effect.tap(({ aggregate }) => nameToken(entry, aggregate)),
            Effect.asVoid
          )
      )

      return Payments.of({
        route: (current, network, tokenId) => routeFor(routes, current, network, tokenId),
        currentRoute: (current) => currentRoute(routes, current),
        credit,
        recordUnmatched,
        assignmentOf: assignmentOf(assignments),
        retry: (paymentId, extraWrites = []) => retryPricing({ catalog, invoices, price }, paymentId, extraWrites)
      })
    })
  )
}
