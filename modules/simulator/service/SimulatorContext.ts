/** What the parts of the simulator share: the ports that they act through, and changes of invoices. */
import { Effect } from "effect"
import type { Availability } from "../../../runtime/Availability.ts"
import type { Chains } from "../../../runtime/Chains.ts"
import { type CommitCause, type CommitResult, dieOnReplay } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { isOptIn } from "../../../schemas/Event.ts"
import type { EventId } from "../../../schemas/Ids.ts"
import type { Aggregate, ChangePlan, ChangeResult, Invoices, InvoiceState } from "../../invoices/plugin.ts"
import type { Payments } from "../../payments/plugin.ts"
import type { PaymentQuotes } from "../../quotes/plugin.ts"
import type { Settlements } from "../../settlement/plugin.ts"
import type { SimulateRequest } from "../api.ts"
import { environment } from "../rules.ts"
import type { NetworkFaults } from "./NetworkFaults.ts"

export type Request = typeof SimulateRequest.Type

export interface SimulatorContext {
  readonly availability: Availability["Service"]
  readonly faults: NetworkFaults["Service"]
  readonly catalog: TokenCatalog["Service"]
  readonly chains: Chains["Service"]
  readonly clock: MerchantClock["Service"]
  readonly invoices: Invoices["Service"]
  readonly payments: Payments["Service"]
  readonly quotes: PaymentQuotes["Service"]
  readonly settlements: Settlements["Service"]
}

export const refuse = (message: string): PublicError => publicError("INVALID_TRANSITION", { message })

/** Milliseconds of the merchant's clock, by which invoices end. */
export const merchantMillis = ({ clock }: SimulatorContext, { merchantId }: InvoiceState) =>
  clock.nowMillis(merchantId, environment)

/** The ids of what happened, as a list of events without a filter has them. */
export const eventIdsOf = (committed: CommitResult | null): ReadonlyArray<EventId> =>
  committed?.events.filter(({ type }) => !isOptIn(type)).map(({ id }) => id) ?? []

export const changeInvoice = (
  { invoices }: SimulatorContext,
  { invoice }: Aggregate,
  cause: CommitCause,
  plan: (current: Aggregate, now: number) => Effect.Effect<ChangePlan, PublicError>
): Effect.Effect<ChangeResult, PublicError> => invoices.change(invoice.id, cause, plan).pipe(dieOnReplay)
