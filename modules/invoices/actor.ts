/** Load, decide, commit: the only way an invoice or one of its payments changes. */
import { Clock, Context, Effect, Layer, Metric, Schedule, type Scope } from "effect"
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
import { Chains } from "../../runtime/Chains.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Health, initializeSeries } from "../../runtime/Telemetry.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV4, uuidV7Ahead } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { EventDraft } from "../../schemas/Event.ts"
import { InvoiceId } from "../../schemas/Ids.ts"
import { InvoiceStatus, type Metadata } from "../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { InvoiceSettings } from "../../schemas/MerchantSettings.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { ExceptionType } from "../../schemas/Payment.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import {
  type Aggregate,
  type Command,
  creationEvents,
  decide,
  type Decision,
  type InvoiceDetails,
  type InvoiceState,
  nothingToScan,
  policyOf,
  type ScanProgress
} from "./machine.ts"
import {
  decisionWrites,
  invoiceWrite,
  makeRepo,
  type NewException,
  openExceptionCounts,
  type Repo,
  type UnmatchedPayment,
  unmatchedWrite
} from "./repo.ts"

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
}

/** Something that happened to what another module keeps of an invoice; its tag is that module's. */
export interface InvoiceFact {
  readonly _tag: string
}

/** What to do to an invoice, and what of other modules must land with it. */
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

/** A change as a hook sees it, before its commit. */
export interface HookInput {
  readonly before: Aggregate
  readonly decision: Decision
  /** Facts of the change itself and of the hooks before this one. */
  readonly facts: ReadonlyArray<InvoiceFact>
  /** Epoch seconds of the merchant's time. */
  readonly now: number
}

/** What a hook adds to the commit of a change. */
export interface HookResult {
  /** Decided after those of the change. */
  readonly commands?: ReadonlyArray<Command>
  readonly writes?: ReadonlyArray<Write>
  /** Published after the invoice's own. */
  readonly events?: ReadonlyArray<EventDraft>
  /** For the hooks after it, and for the caller of the change. */
  readonly facts?: ReadonlyArray<InvoiceFact>
  /** Run once the commit is there; a process that ends before it leaves it out, so it is no more than a hint. */
  readonly afterCommit?: Effect.Effect<void>
}

/** Changes what another module keeps of an invoice in the invoice's own commit. */
export interface InvoiceHook {
  /** Unique. */
  readonly name: string
  /**
   * Runs for every change that does something, and again when a lost race decides anew: nothing but reads may happen
   * here. An error refuses the whole change.
   */
  readonly run: (input: HookInput) => Effect.Effect<HookResult, PublicError>
}

/** Hooks of invoices, by late binding: run in the order they registered, which is that of the config file. */
export class InvoiceHooks extends Context.Service<InvoiceHooks, {
  /** For as long as the scope lives. */
  readonly register: (hook: InvoiceHook) => Effect.Effect<void, never, Scope.Scope>
  readonly current: () => ReadonlyArray<InvoiceHook>
}>()("tillwire/modules/invoices/InvoiceHooks") {
  static readonly layer = Layer.sync(InvoiceHooks, () => {
    let hooks: ReadonlyArray<InvoiceHook> = []
    return InvoiceHooks.of({
      register: (companion) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            hooks = [...hooks, companion]
          }),
          () =>
            Effect.sync(() => {
              hooks = hooks.filter((each) => each !== companion)
            })
        ),
      current: () => hooks
    })
  })
}

/** What a payor entered about themselves. */
export interface PayorRecord {
  readonly email: string | null
  /** At most one for each network. */
  readonly refundDestinations: ReadonlyArray<{
    readonly network: Network
    readonly address: string
    readonly memo: string | null
  }>
}

/**
 * Reads what payors of these invoices of one merchant entered; an invoice whose payor entered nothing may be absent.
 */
export type ReadPayors = (
  merchantId: number,
  invoiceIds: ReadonlyArray<string>
) => Effect.Effect<ReadonlyMap<string, PayorRecord>>

/**
 * What payors entered, for their merchant. The module that keeps it registers; while there is none, nothing is known.
 */
export class PayorRecords extends Context.Service<PayorRecords, {
  /** For as long as the scope lives. */
  readonly register: (read: ReadPayors) => Effect.Effect<void, never, Scope.Scope>
  readonly read: ReadPayors
}>()("tillwire/modules/invoices/PayorRecords") {
  static readonly layer = Layer.sync(PayorRecords, () => {
    const none: ReadPayors = () => Effect.succeed(new Map())
    let current = none
    return PayorRecords.of({
      register: (read) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            current = read
          }),
          () =>
            Effect.sync(() => {
              current = none
            })
        ),
      read: (merchantId, ids) => current(merchantId, ids)
    })
  })
}

/** The invoice of an order ends with its order, so that no order waits for a payment that nobody can make. */
const notCancelable = ({ orderId }: InvoiceState): PublicError =>
  orderId === null ? publicError("INVOICE_NOT_CANCELABLE") : publicError("INVOICE_NOT_CANCELABLE", {
    message: `This invoice is part of an order: cancel it with POST /api/commerce/merchant/orders/${orderId}/cancel`
  })

/** A decision with all that the hooks add to it. */
interface HookedDecision {
  readonly decision: Decision
  readonly writes: ReadonlyArray<Write>
  readonly events: ReadonlyArray<EventDraft>
  readonly facts: ReadonlyArray<InvoiceFact>
  readonly afterCommit: ReadonlyArray<Effect.Effect<void>>
}

/** Runs one hook after the other; what they command is decided together with what came before. */
const runHooks = Effect.fnUntraced(function*(
  hooks: ReadonlyArray<InvoiceHook>,
  before: Aggregate,
  commands: ReadonlyArray<Command>,
  first: Decision,
  facts: ReadonlyArray<InvoiceFact>,
  now: number
): Effect.fn.Return<HookedDecision, PublicError> {
  let all = commands
  let combined: HookedDecision = { decision: first, writes: [], events: [], facts, afterCommit: [] }
  for (const { run } of hooks) {
    const result = yield* run({ before, decision: combined.decision, facts: combined.facts, now })
    all = [...all, ...result.commands ?? []]
    const decision = result.commands === undefined ? combined.decision : decide(before, all, now)
    if (decision === "not_cancelable") return yield* notCancelable(before.invoice)
    combined = {
      decision,
      writes: [...combined.writes, ...result.writes ?? []],
      events: [...combined.events, ...result.events ?? []],
      facts: [...combined.facts, ...result.facts ?? []],
      afterCommit: result.afterCommit === undefined
        ? combined.afterCommit
        : [...combined.afterCommit, result.afterCommit]
    }
  }
  return combined
})

/** A new invoice and what its commit holds: nothing of it is written yet. */
export interface InvoiceDraft {
  readonly invoice: InvoiceState
  readonly writes: ReadonlyArray<Write>
  readonly events: ReadonlyArray<EventDraft>
}

/** What else a new invoice is committed with. */
export interface ExtraWrites {
  readonly writes: ReadonlyArray<Write>
  /** Published before `invoice.created`. */
  readonly events: ReadonlyArray<EventDraft>
}

const noExtraWrites: ExtraWrites = { writes: [], events: [] }

/**
 * Invoices the clock changes in one run: enough for their commits to share flushes, few enough for requests to be
 * served between two runs (64 gave 95 % of the rate of 250 and six tenths of its readers' p99; measured).
 */
export const expiryBatch = 100

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
  readonly findWithLastEvent: Repo["findAsTold"]
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
        findWithLastEvent: repo.findAsTold,
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

const openExceptions = Metric.gauge("exceptions_open", {
  description: "Exceptions that wait for a decision, by type"
})

/** How long counts of open exceptions are cached: the query costs more the more there are. */
const exceptionCountsTtl = "15 seconds"

/**
 * Updates the counts of open exceptions for every scrape. They wait for a person's decision and are no fault of the
 * service, so health does not change with them.
 */
export const exceptionMetrics = Effect.gen(function*() {
  const recent = yield* Effect.cachedWithTTL(yield* openExceptionCounts, exceptionCountsTtl)
  const update = (found: ReadonlyMap<string, number>) =>
    Effect.forEach(
      ExceptionType.literals,
      (type) => Metric.update(Metric.withAttributes(openExceptions, { type }), found.get(type) ?? 0),
      { discard: true }
    )
  yield* update(new Map())
  yield* (yield* Health).register({ name: null, run: Effect.as(Effect.flatMap(recent, update), []) })
})

const invoicesTotal = Metric.counter("invoices_total", {
  description: "Invoices by the status they came to",
  incremental: true
})

/** One series a status, made once: it is updated with every commit. */
const series = Object.fromEntries(
  InvoiceStatus.literals.map((status) => [status, Metric.withAttributes(invoicesTotal, { status })])
) as Record<InvoiceStatus, typeof invoicesTotal>

const count = (before: InvoiceState | null, { status }: InvoiceState) =>
  before?.status === status ? Effect.void : Metric.update(series[status], 1)

/** A decision that would write the same rows again, but for the version. */
const isIdle = (current: Aggregate, { next, changedPayments, events, exceptions }: Decision): boolean =>
  changedPayments.length === 0 && events.length === 0 && exceptions.length === 0 &&
  next.invoice.graceEnded === current.invoice.graceEnded && next.invoice.dueAt === current.invoice.dueAt &&
  next.invoice.details === current.invoice.details

const writesOf = Effect.fnUntraced(function*(decision: Decision, now: number) {
  const newExceptions: Array<NewException> = []
  for (const draft of decision.exceptions) {
    newExceptions.push({ ...draft, id: `exc_${yield* uuidV4}`, createdAt: now })
  }
  return decisionWrites(decision, newExceptions)
})

/**
 * Expiry and the end of grace, by each merchant's clock: one query reads a batch, each invoice is decided by the same
 * machine as a payment, all commits share flushes. It goes round the mailboxes: the version each row expects makes a
 * race with a payment a conflict, and the row is due again at once.
 */
const makeExpiry = Effect.fnUntraced(function*(repo: Repo) {
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const hooks = yield* InvoiceHooks
  const chains = yield* Chains

  /** What was read of the networks of each invoice, by its id: one query for each environment. */
  const scanProgressOf = Effect.fnUntraced(function*(invoices: ReadonlyArray<Aggregate>) {
    const sights = yield* Effect.forEach(
      Map.groupBy(invoices.map(({ invoice }) => invoice), ({ environment }) => environment),
      ([environment, group]) => chains.coverage(environment, group)
    )
    return new Map(sights.flatMap((each) => [...each]))
  })

  /** Block times follow the system's clock: they are shifted by the seconds that the merchant's clock is ahead. */
  const inMerchantTime = ({ handling, networks }: ScanProgress, aheadSeconds: number): ScanProgress => ({
    networks: aheadSeconds === 0 ?
      networks :
      networks.map((each) => each.seenUntil === null ? each : { ...each, seenUntil: each.seenUntil + aheadSeconds }),
    handling
  })

  const expire = Effect.fnUntraced(function*(current: Aggregate, progress: ScanProgress, now: number) {
    const commands: ReadonlyArray<Command> = [{ _tag: "Tick", progress }]
    const first = decide(current, commands, now) as Decision
    if (isIdle(current, first)) return
    const { afterCommit, decision, events, writes } = yield* runHooks(
      hooks.current(),
      current,
      commands,
      first,
      [],
      now
    )
    yield* commit.append({
      merchantId: current.invoice.merchantId,
      environment: current.invoice.environment,
      cause: noCause,
      writes: [...yield* writesOf(decision, now), ...writes],
      events: [...decision.events, ...events]
    })
    yield* count(current.invoice, decision.next.invoice)
    yield* Effect.all(afterCommit, { discard: true })
  }, Effect.catchTag("Conflict", () => Effect.void))

  const run = Effect.fnUntraced(
    function*(nowMillis: number, limit: number) {
      const now = Math.floor(nowMillis / 1000)
      const invoices = yield* repo.due(now, limit)
      const progressById = yield* scanProgressOf(invoices)
      yield* Effect.forEach(invoices, (current) => {
        const { environment, id, merchantId } = current.invoice
        const ahead = clock.aheadSeconds(merchantId, environment)
        return expire(current, inMerchantTime(progressById.get(id) ?? nothingToScan, ahead), now + ahead)
      }, { concurrency: "unbounded", discard: true })
      return invoices.length
    },
    Effect.retry({ schedule: Schedule.spaced("1 second"), times: 3 }),
    Effect.orDie
  )

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  return { run, nextDueMillis }
})

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
    ...(input.tolerance === undefined ? {} : { tolerance: input.tolerance })
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
    details: input.details,
    graceEnded: false,
    dueAt: expiresAt
  }
}
