/** Load, decide, commit: the only way an invoice or one of its payments changes. */
import { Clock, Context, Effect, Layer, Metric, Schedule } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import {
  Commit,
  type CommitCause,
  type Committed,
  Conflict,
  noCause,
  type Replayed,
  type ReplyWrite,
  type Write
} from "../../runtime/Commit.ts"
import { Chains } from "../../runtime/Chains.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV4, uuidV7 } from "../../runtime/Uuid.ts"
import { publicError, type PublicError } from "../../schemas/Errors.ts"
import { InvoiceId } from "../../schemas/Ids.ts"
import { InvoiceStatus, type Metadata } from "../../schemas/Invoice.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { InvoiceSettings } from "../../schemas/MerchantSettings.ts"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import {
  type Aggregate,
  type Command,
  created,
  type Decision,
  decide,
  type InvoiceDetails,
  type InvoiceState,
  policyOf
} from "./machine.ts"
import { decisionWrites, invoiceWrite, makeRepo, type Opened, type Repo } from "./repo.ts"

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
}

/** What to do to an invoice, and which rows of other modules must land with it. */
export interface Change {
  readonly commands: ReadonlyArray<Command>
  readonly writes?: ReadonlyArray<Write>
  /** The answer to keep for the caller's idempotency key, made of the decision. */
  readonly reply?: (next: Aggregate) => ReplyWrite | undefined
}

/** A change after its commit; `committed` is null when there was nothing to change. */
export interface Changed {
  readonly aggregate: Aggregate
  readonly committed: Committed | null
}

/**
 * Invoices the clock changes in one run: enough for their commits to share flushes, few enough for requests to be
 * served between two runs (64 gave 95 % of the rate of 250 and six tenths of its readers' p99; measured).
 */
export const expiryBatch = 100

/** How often a lost race is decided anew before the caller is told to try again. */
const conflictRetries = 3

export class Invoices extends Context.Service<Invoices, {
  /** Commits a new invoice under its merchant's settings; `reply` is made of it and lands in the same commit. */
  readonly create: (
    invoice: NewInvoice,
    cause: CommitCause,
    reply: (invoice: InvoiceState) => ReplyWrite | undefined
  ) => Effect.Effect<InvoiceState, PublicError | Replayed>
  /** The invoice with its payments, by id alone: for callers who were handed the id by us. */
  readonly find: Repo["find"]
  /** The same within a merchant: another merchant's invoice is as unknown as none. */
  readonly get: Repo["get"]
  readonly list: Repo["list"]
  readonly totals: Repo["totals"]
  readonly count: Repo["count"]
  /** The newest payments of each of these invoices of a merchant, newest first. */
  readonly newestPayments: Repo["newestPayments"]
  readonly invoiceOfPayment: Repo["invoiceOfPayment"]
  /**
   * Runs in the invoice's mailbox: loads, asks `plan` what to do, decides, commits. A lost race loads and plans again,
   * 3 times, then `SERVICE_UNAVAILABLE`. Errors: `INVOICE_NOT_FOUND`, `INVOICE_NOT_CANCELABLE`, and `plan`'s own.
   */
  readonly change: <E, R>(
    id: string,
    cause: CommitCause,
    plan: (current: Aggregate, nowSeconds: number) => Effect.Effect<Change, E, R>
  ) => Effect.Effect<Changed, E | PublicError | Replayed, R>
}>()("tillwire/modules/invoices/Invoices") {
  static readonly layer = Layer.effect(Invoices, Effect.gen(function*() {
    const actors = yield* Actors
    const commit = yield* Commit
    const settings = yield* MerchantSettings
    const timers = yield* Timers
    const repo = yield* makeRepo
    const due = yield* makeExpiry(repo)

    const create = Effect.fnUntraced(function*(
      input: NewInvoice,
      cause: CommitCause,
      reply: (invoice: InvoiceState) => ReplyWrite | undefined
    ) {
      const nowMillis = yield* Clock.currentTimeMillis
      const chosen = yield* settings.forInvoices(input.merchantId, input.environment)
      const invoice = newInvoice(input, chosen, InvoiceId.make(yield* uuidV7), nowMillis)
      const kept = reply(invoice)
      yield* commit.append({
        merchantId: invoice.merchantId,
        environment: invoice.environment,
        cause,
        writes: [invoiceWrite(invoice)],
        events: created(invoice),
        ...(kept === undefined ? {} : { reply: kept })
      }).pipe(Effect.catchTag("Conflict", (conflict) => Effect.die(conflict)))
      yield* count(null, invoice)
      return invoice
    })

    const change = <E, R>(
      id: string,
      cause: CommitCause,
      plan: (current: Aggregate, nowSeconds: number) => Effect.Effect<Change, E, R>
    ) =>
      actors.send("invoice", id, Effect.gen(function*() {
        const current = yield* repo.find(id)
        if (current === null) return yield* publicError("INVOICE_NOT_FOUND")
        const now = yield* currentSeconds
        const planned = yield* plan(current, now)
        const decision = decide(current, planned.commands, now)
        if (decision === "not_cancelable") return yield* publicError("INVOICE_NOT_CANCELABLE")
        const reply = planned.reply?.(decision.next)
        if (isIdle(current, decision) && planned.writes === undefined && reply === undefined) {
          return { aggregate: current, committed: null }
        }
        const committed = yield* commit.append({
          merchantId: current.invoice.merchantId,
          environment: current.invoice.environment,
          cause,
          writes: [...yield* writesOf(decision, now), ...planned.writes ?? []],
          events: decision.events,
          ...(reply === undefined ? {} : { reply })
        })
        yield* count(current.invoice, decision.next.invoice)
        return { aggregate: decision.next, committed }
      })).pipe(
        Effect.retry({ while: (error) => error instanceof Conflict, times: conflictRetries }),
        Effect.catchIf(
          (error): error is Conflict & typeof error => error instanceof Conflict,
          () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 }))
        )
      ) as Effect.Effect<Changed, E | PublicError | Replayed, R>

    yield* timers.register({ name: "invoices", batchSize: expiryBatch, ...due })

    return Invoices.of({
      create,
      change,
      find: repo.find,
      get: repo.get,
      list: repo.list,
      totals: repo.totals,
      count: repo.count,
      newestPayments: repo.newestPayments,
      invoiceOfPayment: repo.invoiceOfPayment
    })
  }))
}

const reached = Metric.counter("invoices_total", {
  description: "Invoices by the status they came to",
  incremental: true
})

/** One series a status, made once: it is updated with every commit. */
const series = Object.fromEntries(
  InvoiceStatus.literals.map((status) => [status, Metric.withAttributes(reached, { status })])
) as Record<InvoiceStatus, typeof reached>

const count = (before: InvoiceState | null, { status }: InvoiceState) =>
  before?.status === status ? Effect.void : Metric.update(series[status], 1)

const currentSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

/** A decision that would write the same rows again, but for the version. */
const isIdle = (current: Aggregate, { next, changed, events, opens }: Decision): boolean =>
  changed.length === 0 && events.length === 0 && opens.length === 0 &&
  next.invoice.graceEnded === current.invoice.graceEnded && next.invoice.dueAt === current.invoice.dueAt &&
  next.invoice.details === current.invoice.details

const writesOf = Effect.fnUntraced(function*(decision: Decision, now: number) {
  const opened: Array<Opened> = []
  for (const opening of decision.opens) {
    opened.push({ ...opening, id: `exc_${yield* uuidV4}`, createdAt: now })
  }
  return decisionWrites(decision, opened)
})

/**
 * Expiry and the end of grace: one query reads a batch, each invoice is decided by the same machine as a payment, all
 * commits share flushes. It goes round the mailboxes: the version each row expects makes a race with a payment a
 * conflict, and the row is due again at once.
 */
const makeExpiry = Effect.fnUntraced(function*(repo: Repo) {
  const commit = yield* Commit
  const chains = yield* Chains
  const settings = yield* Settings

  const networksDown = () =>
    new Set(settings.environments.flatMap((environment) =>
      chains.status(environment).filter(({ healthy }) => !healthy)
        .map(({ network }) => `${environment}:${familyOf(network)}`)
    ))

  /** Whether a network is down on which the invoice has an address: then expiry waits (API reference, rule b). */
  const hasOutage = (down: ReadonlySet<string>, { invoice }: Aggregate) =>
    Effect.map(
      Effect.forEach([...down].filter((key) => key.startsWith(`${invoice.environment}:`)), (key) =>
        chains.target(invoice.id, key.slice(key.indexOf(":") + 1) as ReturnType<typeof familyOf>)),
      (targets) => targets.some((target) => target !== null)
    )

  const expire = Effect.fnUntraced(function*(current: Aggregate, now: number, down: ReadonlySet<string>) {
    const outage = down.size > 0 && (yield* hasOutage(down, current))
    const decision = decide(current, [{ _tag: "Tick", outage }], now) as Decision
    if (isIdle(current, decision)) return
    yield* commit.append({
      merchantId: current.invoice.merchantId,
      environment: current.invoice.environment,
      cause: noCause,
      writes: yield* writesOf(decision, now),
      events: decision.events
    })
    yield* count(current.invoice, decision.next.invoice)
  }, Effect.catchTag("Conflict", () => Effect.void))

  const run = Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const now = Math.floor(nowMillis / 1000)
    const invoices = yield* repo.due(now, limit)
    const down = networksDown()
    yield* Effect.forEach(invoices, (current) => expire(current, now, down), {
      concurrency: "unbounded",
      discard: true
    })
    return invoices.length
  }, Effect.retry({ schedule: Schedule.spaced("1 second"), times: 3 }), Effect.orDie)

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
  const policy = { ...policyOf(settings, input), ...(input.tolerance === undefined ? {} : { tolerance: input.tolerance }) }
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
    orderId: null,
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
