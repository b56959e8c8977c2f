/** Load, decide, commit: the only way an invoice or one of its payments changes. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import {
  Commit,
  type CommitCause,
  Conflict,
  type IdempotentReplay,
  type ReplyWrite,
  type Write
} from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { initializeSeries } from "../../runtime/Telemetry.ts"
import { Timers } from "../../runtime/Timers.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import type { Aggregate, ExceptionRecord, PayoutDetails, PayoutSighting, UnmatchedPayment } from "./machine.ts"
import { isBehindFirst, makeRepo, type Repo } from "./repo.ts"
import {
  commitDraft,
  type DraftContext,
  draftInvoice,
  type ExtraWrites,
  type InvoiceDraft,
  type NewInvoice,
  noExtraWrites
} from "./actor/Drafts.ts"
import {
  assignException,
  type Assignment,
  type ExceptionDecision,
  resolveException
} from "./actor/ExceptionDecisions.ts"
import { expiryBatch, makeExpiry } from "./actor/Expiry.ts"
import { InvoiceHooks } from "./actor/Hooks.ts"
import { series } from "./actor/Metrics.ts"
import { type ChangeContext, changeInvoice, type ChangePlan, type ChangeResult } from "./actor/Changes.ts"
import { type PayoutExceptionChange, sightPayout } from "./actor/PayoutExceptions.ts"
import {
  changeUnmatched,
  recordUnmatched,
  type UnmatchedPlan,
  type UnmatchedResult
} from "./actor/UnmatchedPayments.ts"

export { type ChangePlan, type ChangeResult } from "./actor/Changes.ts"
export { type ExtraWrites, type InvoiceDraft, type NewInvoice } from "./actor/Drafts.ts"
export { type Assignment, type ExceptionDecision } from "./actor/ExceptionDecisions.ts"
export { expiryBatch } from "./actor/Expiry.ts"
export {
  type AssignmentFact,
  type HookInput,
  type HookResult,
  type InvoiceFact,
  type InvoiceHook,
  InvoiceHooks,
  type UnmatchedChange,
  type UnmatchedHookResult
} from "./actor/Hooks.ts"
export { exceptionMetrics } from "./actor/Metrics.ts"
export { type PayorRecord, PayorRecords, type ReadPayors } from "./actor/PayorRecords.ts"
export { type PayoutExceptionChange } from "./actor/PayoutExceptions.ts"
export { type UnmatchedPlan } from "./actor/UnmatchedPayments.ts"

export class Invoices extends Context.Service<Invoices, {
  /** A new invoice under its merchant's settings as they are now. Nothing is written before {@link create}. */
  readonly draft: (invoice: NewInvoice) => Effect.Effect<InvoiceDraft>
  /**
   * Commits a draft, and with it the reply that was rendered of its invoice. It is never tried again: its rows are new,
   * so no other change can race with it.
   */
  readonly create: (
    draft: InvoiceDraft,
    cause: CommitCause,
    reply: ReplyWrite | undefined
  ) => Effect.Effect<void, PublicError | IdempotentReplay>
  /** The same, with what the invoice stands for. A row of `extra` that was changed meanwhile is a conflict. */
  readonly createWith: (
    draft: InvoiceDraft,
    extra: ExtraWrites,
    cause: CommitCause,
    reply: ReplyWrite | undefined
  ) => Effect.Effect<void, PublicError | IdempotentReplay | Conflict>
  /** The invoice with its payments, by id alone: for callers who were handed the id by us. */
  readonly find: Repo["find"]
  /** The same, with the last event of it that its payor may read, as of one moment. */
  readonly findWithLastEvent: Repo["findWithLastEvent"]
  /** The same within a merchant: another merchant's invoice is as unknown as none. */
  readonly get: Repo["get"]
  /** The same of several, in no order, without those that are unknown. */
  readonly getAll: Repo["getAll"]
  readonly list: Repo["list"]
  readonly totals: Repo["totals"]
  /** The same with how many there are in all, and the newest payments of each. */
  readonly listWithTotal: Repo["listWithTotal"]
  readonly invoiceOfPayment: Repo["invoiceOfPayment"]
  readonly heldPayments: Repo["heldPayments"]
  readonly createdObjectText: Repo["createdObjectText"]
  /**
   * Runs in the invoice's mailbox: loads, asks `plan` what to do, decides, runs the {@link InvoiceHooks}, commits.
   * A lost race loads and plans again, 3 times, then `SERVICE_UNAVAILABLE`. Errors: `INVOICE_NOT_FOUND`,
   * `INVOICE_NOT_CANCELABLE`, `plan`'s own, and those of the hooks.
   */
  readonly change: <E, R>(
    id: string,
    cause: CommitCause,
    plan: (current: Aggregate, nowSeconds: number) => Effect.Effect<ChangePlan, E, R>
  ) => Effect.Effect<ChangeResult, E | PublicError | IdempotentReplay, R>
  /** An exception of a merchant by its id; null: none of theirs. */
  readonly findException: Repo["findException"]
  readonly listExceptions: Repo["listExceptions"]
  /**
   * Decides on an exception, and changes its invoice with it. Errors: `EXCEPTION_NOT_FOUND`, what `check` says,
   * `SERVICE_UNAVAILABLE`.
   */
  readonly resolveException: (
    merchantId: number,
    id: string,
    decision: ExceptionDecision
  ) => Effect.Effect<ExceptionRecord, PublicError | IdempotentReplay>
  /**
   * Gives money that pays no invoice to one, in a change of that invoice. Errors: `EXCEPTION_NOT_FOUND`, what `check`
   * and `plan` say, `INVOICE_NOT_FOUND`, `INVOICE_NOT_PAYABLE`, `SERVICE_UNAVAILABLE`.
   */
  readonly assignException: (
    merchantId: number,
    id: string,
    assignment: Assignment,
    decision: ExceptionDecision
  ) => Effect.Effect<ExceptionRecord, PublicError | IdempotentReplay>
  /**
   * Changes the exception of money that pays no invoice, by what `plan` says of it as it is, with the
   * {@link InvoiceHooks}. A lost race plans again, as for {@link change}. Errors: `EXCEPTION_NOT_FOUND`, `plan`'s own,
   * `SERVICE_UNAVAILABLE`.
   */
  readonly changeUnmatched: <E, R>(
    merchantId: number,
    id: string,
    cause: CommitCause,
    plan: (record: ExceptionRecord, nowSeconds: number) => Effect.Effect<UnmatchedPlan, E, R>
  ) => Effect.Effect<UnmatchedResult, Exclude<E, Conflict> | PublicError | IdempotentReplay, R>
  /**
   * Opens or closes the exception of money that no invoice expects, in one commit with `writes`. A repeated call
   * changes nothing more. `SERVICE_UNAVAILABLE` when the rows changed meanwhile: nothing was written, call again.
   */
  readonly recordUnmatched: (
    payment: UnmatchedPayment,
    writes: ReadonlyArray<Write>
  ) => Effect.Effect<void, PublicError>
  /**
   * What a sight of a transfer that should not have left adds to a commit: its exception opens, becomes final or
   * closes; null where it stands so already. `details` are of no use for one that is gone.
   */
  readonly sightPayout: (
    sighting: PayoutSighting,
    details: PayoutDetails | null
  ) => Effect.Effect<PayoutExceptionChange | null>
}>()("tillwire/modules/invoices/Invoices") {
  static readonly layer = Layer.effect(
    Invoices,
    Effect.gen(function*() {
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const timers = yield* Timers
      const repo = yield* makeRepo
      const reads = yield* readsOf(makeRepo)
      const drafts: DraftContext = { clock, settings: yield* MerchantSettings }
      const changes: ChangeContext = { actors: yield* Actors, clock, commit, hooks: yield* InvoiceHooks, repo }
      const expiry = yield* makeExpiry(repo)

      yield* Effect.forEach(Object.values(series), (each) => initializeSeries(each), { discard: true })
      yield* timers.register({ name: "invoices", batchSize: expiryBatch, ...expiry })

      return Invoices.of({
        draft: (input) => draftInvoice(drafts, input),
        create: (draft, cause, reply) =>
          commitDraft(commit, draft, noExtraWrites, cause, reply).pipe(
            Effect.catchTag("Conflict", (conflict) => Effect.die(conflict))
          ),
        createWith: (draft, extra, cause, reply) => commitDraft(commit, draft, extra, cause, reply),
        change: (id, cause, plan) => changeInvoice(changes, id, cause, plan),
        findException: repo.findException,
        listExceptions: (filter, page) =>
          reads.page(page.cursor?.direction === "older", (from) => from.listExceptions(filter, page)),
        resolveException: (merchantId, id, decision) => resolveException(changes, merchantId, id, decision),
        assignException: (merchantId, id, assignment, decision) =>
          assignException(changes, merchantId, id, assignment, decision),
        changeUnmatched: (merchantId, id, cause, plan) => changeUnmatched(changes, merchantId, id, cause, plan),
        recordUnmatched: (payment, writes) => recordUnmatched(changes, payment, writes),
        sightPayout: (sighting, details) => sightPayout(changes, sighting, details),
        find: repo.find,
        findWithLastEvent: repo.findWithLastEvent,
        get: repo.get,
        getAll: repo.getAll,
        list: repo.list,
        totals: (filter) => reads((from) => from.totals(filter)),
        listWithTotal: (filter, page, payments) =>
          reads.page(isBehindFirst(page), (from) => from.listWithTotal(filter, page, payments)),
        invoiceOfPayment: repo.invoiceOfPayment,
        heldPayments: repo.heldPayments,
        createdObjectText: repo.createdObjectText
      })
    })
  )
}
