/** Invoices: create, read, list, cancel, expire; the machine that payments move. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { PayorSessions } from "../auth/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { exceptionMetrics, InvoiceHooks, Invoices, PayorRecords } from "./actor.ts"
import { registerPersonalRecords } from "./actor/PersonalRecords.ts"
import { InvoicesApi } from "./api.ts"
import { handlers, rpcHandlers } from "./handlers.ts"
import { registerCreationReply } from "./handlers/CreationReply.ts"
import { invoiceStates } from "./machine.ts"
import { migrations, tables } from "./migrations.ts"
import { InvoicesRpc } from "./rpc.ts"

export {
  type Assignment,
  type AssignmentFact,
  type ChangePlan,
  type ChangeResult,
  type ExceptionDecision,
  type ExtraWrites,
  type HookInput,
  type HookResult,
  type InvoiceDraft,
  type InvoiceFact,
  type InvoiceHook,
  InvoiceHooks,
  Invoices,
  type NewInvoice,
  type PayorRecord,
  PayorRecords,
  type PayoutExceptionChange,
  type UnmatchedChange,
  type UnmatchedHookResult,
  type UnmatchedPlan
} from "./actor.ts"
export { type ErasureFact, isErasureFact } from "./actor/PersonalRecords.ts"
export { checkMetadata } from "./handlers/Creation.ts"
export { makeSession, sessionWith } from "./handlers/PaymentSession.ts"
export {
  type Aggregate,
  allowedActions,
  amountIfAccepted,
  amountRemaining,
  bySeenAt,
  catchUpSeconds,
  type Command,
  type Decision,
  divideRefund,
  dustThreshold,
  exceptionObject,
  type ExceptionRecord,
  type Excess,
  excessOf,
  forecastExceptions,
  hasLeft,
  hasPending,
  type IncomingTransfer,
  invoiceObject,
  type InvoiceState,
  invoiceStates,
  isExcess,
  isLate,
  isPayable,
  isReceived,
  lockedRoute,
  newestCountedPayment,
  newestFirst,
  nothingToScan,
  type OpenRefund,
  overpaidPayments,
  paymentObject,
  type PaymentSettlement,
  type PaymentState,
  type PayoutDetails,
  type PayoutSighting,
  requiresNote,
  type ScanProgress,
  stepUnmatched,
  tokenAmount,
  type UnmatchedEvent,
  type UnmatchedPayment,
  unmatchedTransfer,
  withOpenRefunds
} from "./machine.ts"
export type { ExceptionPage, HeldPayment, WithLastEvent } from "./repo.ts"

export const plugin = Plugin.make({
  name: "invoices",
  slot: "modules",
  needs: { auth: PayorSessions, settings: MerchantSettings },
  http: InvoicesApi,
  rpc: InvoicesRpc,
  migrations,
  tables,
  rollups: [invoiceStates],
  layer: () =>
    Layer.mergeAll(
      HttpApiBuilder.layer(InvoicesApi).pipe(Layer.provide(handlers)),
      rpcHandlers,
      Layer.effectDiscard(exceptionMetrics),
      Layer.effectDiscard(registerCreationReply),
      Layer.effectDiscard(registerPersonalRecords)
    ).pipe(
      Layer.provideMerge(Invoices.layer),
      Layer.provideMerge(Layer.merge(InvoiceHooks.layer, PayorRecords.layer))
    )
})
