/** Load, decide, commit: the only way an invoice or one of its payments changes. */
import { Clock, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import {
  Commit,
  type CommitCause,
  type CommitResult,
  Conflict,
  type IdempotentReplay,
  noCause,
  type ReplyWrite,
  retryConflicts,
  type Write
} from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { initializeSeries } from "../../runtime/Telemetry.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV7Ahead } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { InvoiceId } from "../../schemas/Ids.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { type Aggregate, type Command, creationEvents, decide } from "./machine.ts"
import { invoiceWrite, makeRepo, type Repo, type UnmatchedPayment, unmatchedWrite } from "./repo.ts"
import { isIdle, writesOf } from "./actor/Decisions.ts"
import { type ExtraWrites, type InvoiceDraft, type NewInvoice, newInvoice, noExtraWrites } from "./actor/Drafts.ts"
import { expiryBatch, makeExpiry } from "./actor/Expiry.ts"
import { type InvoiceFact, InvoiceHooks, notCancelable, runHooks } from "./actor/Hooks.ts"
import { count, series } from "./actor/Metrics.ts"

export { type ExtraWrites, type InvoiceDraft, type NewInvoice } from "./actor/Drafts.ts"
export { expiryBatch } from "./actor/Expiry.ts"
export { type HookInput, type HookResult, type InvoiceFact, type InvoiceHook, InvoiceHooks } from "./actor/Hooks.ts"
export { exceptionMetrics } from "./actor/Metrics.ts"
export { type PayorRecord, PayorRecords, type ReadPayors } from "./actor/PayorRecords.ts"

/** What to do to an invoice, and what of other modules must be stored with it. */
export interface ChangePlan {
  readonly commands: ReadonlyArray<Command>
  readonly writes?: ReadonlyArray<Write>
  /** For the hooks that know the tags. */
  readonly facts?: ReadonlyArray<InvoiceFact>
  /** The answer to keep for the caller's idempotency key, made of the decision and all facts by then. */
  readonly reply?: (next: Aggregate, facts: ReadonlyArray<InvoiceFact>) => ReplyWrite | undefined
}

/** A change after its commit; `committed` is null when there was nothing to change. */
export interface ChangeResult {
  readonly aggregate: Aggregate
  readonly committed: CommitResult | null
  readonly facts: ReadonlyArray<InvoiceFact>
}

/** How often a lost race is decided anew before the caller is told to try again. */
const conflictRetries = 3

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
  readonly list: Repo["list"]
  readonly totals: Repo["totals"]
  readonly count: Repo["count"]
  /** The newest payments of each of these invoices of a merchant, newest first. */
  readonly newestPayments: Repo["newestPayments"]
  readonly invoiceOfPayment: Repo["invoiceOfPayment"]
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
  /**
   * Opens or closes the exception of money that no invoice expects, in one commit with `writes`. A repeated call
   * changes nothing more. `SERVICE_UNAVAILABLE` when the rows changed meanwhile: nothing was written, call again.
   */
  readonly recordUnmatched: (
    payment: UnmatchedPayment,
    writes: ReadonlyArray<Write>
  ) => Effect.Effect<void, PublicError>
}>()("tillwire/modules/invoices/Invoices") {
  static readonly layer = Layer.effect(
    Invoices,
    Effect.gen(function*() {
      const actors = yield* Actors
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const hooks = yield* InvoiceHooks
      const settings = yield* MerchantSettings
      const timers = yield* Timers
      const repo = yield* makeRepo
      const expiry = yield* makeExpiry(repo)

      const draft = Effect.fnUntraced(function*(input: NewInvoice) {
        const { environment, merchantId } = input
        const nowMillis = yield* clock.nowMillis(merchantId, environment)
        const invoiceSettings = yield* settings.forInvoices(merchantId, environment)
        const id = InvoiceId.make(yield* uuidV7Ahead(clock.aheadSeconds(merchantId, environment)))
        const invoice = newInvoice(input, invoiceSettings, id, nowMillis)
        return { invoice, writes: [invoiceWrite(invoice)], events: creationEvents(invoice) }
      })

      const createWith = (
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
            ...(reply === undefined ? {} : { reply })
          }),
          count(null, invoice)
        )

      const create = (draft: InvoiceDraft, cause: CommitCause, reply: ReplyWrite | undefined) =>
        createWith(draft, noExtraWrites, cause, reply).pipe(
          Effect.catchTag("Conflict", (conflict) => Effect.die(conflict))
        )

      const change = <E, R>(
        id: string,
        cause: CommitCause,
        plan: (current: Aggregate, nowSeconds: number) => Effect.Effect<ChangePlan, E, R>
      ) =>
        actors.send(
          "invoice",
          id,
          Effect.gen(function*() {
            const current = yield* repo.find(id)
            if (current === null) return yield* publicError("INVOICE_NOT_FOUND")
            const now = yield* clock.nowSeconds(current.invoice.merchantId, current.invoice.environment)
            const changePlan = yield* plan(current, now)
            const first = decide(current, changePlan.commands, now)
            if (first === "not_cancelable") return yield* notCancelable(current.invoice)
            const applicableHooks = isIdle(current, first) && changePlan.facts === undefined ? [] : hooks.current()
            const { afterCommit, decision, events, facts, writes } = yield* runHooks(
              applicableHooks,
              current,
              changePlan.commands,
              first,
              changePlan.facts ?? [],
              now
            )
            const reply = changePlan.reply?.(decision.next, facts)
            const hasNoExtras = changePlan.writes === undefined && writes.length === 0 && events.length === 0
            if (hasNoExtras && isIdle(current, decision) && reply === undefined) {
              return { aggregate: current, committed: null, facts }
            }
            const committed = yield* commit.append({
              merchantId: current.invoice.merchantId,
              environment: current.invoice.environment,
              cause,
              writes: [...yield* writesOf(decision, now), ...changePlan.writes ?? [], ...writes],
              events: [...decision.events, ...events],
              ...(reply === undefined ? {} : { reply })
            })
            yield* count(current.invoice, decision.next.invoice)
            yield* Effect.all(afterCommit, { discard: true })
            return { aggregate: decision.next, committed, facts }
          })
        ).pipe(
          retryConflicts(conflictRetries),
          Effect.catchIf(
            (error): error is Conflict & typeof error => error instanceof Conflict,
            () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 }))
          )
        ) as Effect.Effect<ChangeResult, E | PublicError | IdempotentReplay, R>

      const recordUnmatched = Effect.fnUntraced(function*(payment: UnmatchedPayment, writes: ReadonlyArray<Write>) {
        const stored = yield* repo.findException(payment.merchantId, payment.id)
        const write = unmatchedWrite(payment, stored, Math.floor((yield* Clock.currentTimeMillis) / 1000))
        if (write !== null && payment.isOpen) {
          // A field of the name `token` is never logged: everywhere else it is a secret.
          const { token, ...evidence } = payment.evidence
          yield* Effect.logError(
            "money arrived that belongs to no invoice: find out who sent it, then refund it or deliver",
            { ...evidence, token_address: token }
          )
        }
        yield* commit.append({
          merchantId: payment.merchantId,
          environment: payment.environment,
          cause: noCause,
          writes: write === null ? writes : [...writes, write],
          events: []
        }).pipe(
          Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)),
          Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
        )
      })

      yield* Effect.forEach(Object.values(series), (each) => initializeSeries(each), { discard: true })
      yield* timers.register({ name: "invoices", batchSize: expiryBatch, ...expiry })

      return Invoices.of({
        draft,
        create,
        createWith,
        change,
        recordUnmatched,
        find: repo.find,
        findWithLastEvent: repo.findWithLastEvent,
        get: repo.get,
        list: repo.list,
        totals: repo.totals,
        count: repo.count,
        newestPayments: repo.newestPayments,
        invoiceOfPayment: repo.invoiceOfPayment
      })
    })
  )
}
