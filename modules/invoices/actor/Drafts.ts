/** A new invoice before its commit, and the commit itself. */
import { Effect } from "effect"
import type { Commit, CommitCause, ReplyWrite, WebhookMessage, Write } from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { uuidV7Ahead } from "../../../runtime/Uuid.ts"
import type { InvoiceId } from "../../../schemas/Ids.ts"
import type { MerchantSettings } from "../../settings/plugin.ts"
import { creationEvents, type InvoiceDetails, type InvoiceState, policyOf } from "../machine.ts"
import { invoiceWrite } from "../repo.ts"
import { count } from "./Metrics.ts"
import type { InvoiceSettings } from "../../../schemas/MerchantSettings.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import type { Metadata } from "../../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { ConfirmationPolicy, Environment, Network } from "../../../schemas/Network.ts"

/** What a new invoice is made of; everything is validated by then. */
export interface NewInvoice {
  readonly merchantId: number
  readonly environment: Environment
  readonly commerce: boolean
  readonly amount: UsdMillis
  /** Null: as long as the merchant's settings say. */
  readonly expiresInMillis: number | null
  readonly customerId: string | null
  readonly metadata: Metadata
  readonly details: InvoiceDetails
  /** Null: as the merchant's settings say. */
  readonly toleranceBasisPoints: number | null
  readonly acceptedNetworks: ReadonlyArray<Network> | null
  /** usd_millis it may be short, whatever the settings and basis points say: that of the invoice it stands for. */
  readonly tolerance?: number
  /** What it stands for, of another module; absent: nothing. */
  readonly orderId?: string
  /** Where its payor returns to, where that names the invoice: in place of `details.returnUrl`. */
  readonly returnUrlOf?: (id: InvoiceId) => string
  /** How deep its payments must be; absent: as the merchant's settings say. */
  readonly confirmations?: ConfirmationPolicy
}

/** A new invoice and what its commit holds: nothing of it is written yet. */
export interface InvoiceDraft {
  readonly invoice: InvoiceState
  /** The invoice as JSON, as its first event has it. */
  readonly objectText: string
  readonly writes: ReadonlyArray<Write>
  readonly events: ReadonlyArray<EventDraft>
}

/** What else a new invoice is committed with. */
export interface ExtraWrites {
  readonly writes: ReadonlyArray<Write>
  /** Published before `invoice.created`. */
  readonly events: ReadonlyArray<EventDraft>
  /** What endpoints of a format are sent with it. Absent: nothing. */
  readonly messages?: ReadonlyArray<WebhookMessage>
}

export const noExtraWrites: ExtraWrites = { writes: [], events: [] }

const newInvoice = (
  input: NewInvoice,
  settings: InvoiceSettings,
  id: InvoiceId,
  nowMillis: number
): InvoiceState => {
  const createdAt = Math.floor(nowMillis / 1000)
  const expiresAt = Math.floor((nowMillis + (input.expiresInMillis ?? settings.invoice_default_expires_in)) / 1000)
  const policy = {
    ...policyOf(settings, input),
    ...(input.tolerance === undefined ? {} : { tolerance: input.tolerance }),
    ...(input.confirmations === undefined ? {} : { confirmations: input.confirmations })
  }
  return {
    id,
    merchantId: input.merchantId,
    environment: input.environment,
    version: 1,
    status: "unpaid",
    type: input.commerce ? "commerce" : "standard",
    amount: input.amount,
    amountPaid: usdMillis(0n),
    customerId: input.customerId,
    payerWalletAddress: null,
    payerWalletNetwork: null,
    orderId: input.orderId ?? null,
    expiresAt,
    createdAt,
    paidAt: null,
    lastPaymentAt: null,
    metadata: input.metadata,
    policy,
    details: input.returnUrlOf === undefined ? input.details : { ...input.details, returnUrl: input.returnUrlOf(id) },
    acceptedShortfall: usdMillis(0n),
    graceEnded: false,
    dueAt: expiresAt
  }
}

/** The services that a draft takes. */
export interface DraftContext {
  readonly clock: MerchantClock["Service"]
  readonly settings: MerchantSettings["Service"]
}

/** `Invoices.draft`. */
export const draftInvoice = Effect.fnUntraced(function*({ clock, settings }: DraftContext, input: NewInvoice) {
  const { environment, merchantId } = input
  const nowMillis = yield* clock.nowMillis(merchantId, environment)
  const invoiceSettings = yield* settings.forInvoices(merchantId, environment)
  const id = (yield* uuidV7Ahead(clock.aheadSeconds(merchantId, environment))) as InvoiceId
  const invoice = newInvoice(input, invoiceSettings, id, nowMillis)
  const events = creationEvents(invoice)
  return { invoice, objectText: events[0].objectText, writes: [invoiceWrite(invoice)], events }
})

/** Commits a draft: `Invoices.create` and `Invoices.createWith`. */
export const commitDraft = (
  commit: Commit["Service"],
  { events, invoice, writes }: InvoiceDraft,
  extra: ExtraWrites,
  cause: CommitCause,
  reply: ReplyWrite | undefined
) =>
  Effect.andThen(
    commit.append({
      merchantId: invoice.merchantId,
      environment: invoice.environment,
      cause,
      writes: [...writes, ...extra.writes],
      events: [...extra.events, ...events],
      ...(extra.messages === undefined ? {} : { messages: extra.messages }),
      reply
    }),
    count(null, invoice)
  )
