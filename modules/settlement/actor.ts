/** Settlements: drivers register, payments are followed in their invoices' own commits, reports move them. */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import type { CommitCause, Replayed, Write } from "../../runtime/Commit.ts"
import { Commit, noCause, systemMerchant } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Timers } from "../../runtime/Timers.ts"
import { isPublicError, publicError, type PublicError } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import type { SettlementStatus } from "../../schemas/Payment.ts"
import { type Aggregate, type Changed, type Companion, InvoiceCompanions, Invoices } from "../invoices/plugin.ts"
import {
  askAgainAt,
  asked,
  concerned,
  type DriverManner,
  follow,
  type PaymentReport,
  type Reported,
  reported,
  type SettlementReport,
  type SettlementState
} from "./machine.ts"
import { makeRepo, type Place, settlementWrite } from "./repo.ts"

/** The driver gave no answer: it is asked again. */
export class SettlementUnavailable extends Schema.TaggedError<SettlementUnavailable>()("SettlementUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** A payment a driver is asked about. */
export interface Unsettled {
  readonly paymentId: string
  readonly invoiceId: string
  readonly merchantId: number
  readonly environment: Environment
  /** Automatic retries before this one: with the payment's id it names one try, asked once or many times. */
  readonly retries: number
  /** Seconds since it came to count. */
  readonly waited: number
}

/** Options of a driver that can settle anywhere. */
export const DriverOptions = Schema.Struct({
  /** The environment it settles for; default: all of the deployment's. One driver for each. */
  environment: Schema.optionalKey(Environment)
})

/** Where a driver with such options settles. */
export const environmentsOf = ({ environment }: typeof DriverOptions.Type): ReadonlyArray<Environment> =>
  environment === undefined ? Environment.literals : [environment]

/** Whoever brings the money of payments to merchants. */
export interface SettlementDriver extends DriverManner {
  readonly environments: ReadonlyArray<Environment>
  /**
   * Moves these payments on, or looks how far they are: their reports by payment id, none for what has not moved. The
   * same payment may be asked about again and again: it is never settled twice. Ends within 10 s.
   */
  readonly settle: (
    payments: ReadonlyArray<Unsettled>
  ) => Effect.Effect<ReadonlyMap<string, SettlementReport>, SettlementUnavailable>
}

/** Settlements looked at in one run, and payments a driver is asked about at once. */
export const settlementBatch = 200

/** Seconds before a driver that gave no answer is asked again. */
export const unavailableSeconds = 30

export class Settlements extends Context.Service<Settlements, {
  /** For as long as the scope lives. Two drivers of one environment are a bug. */
  readonly register: (driver: SettlementDriver) => Effect.Effect<void, never, Scope.Scope>
  readonly driver: (environment: Environment) => SettlementDriver | undefined
  /**
   * Reports as commands for a change of their invoice, and what must be told with it: put both into the change's plan.
   * Pure. Errors: `NOT_FOUND`, `INVALID_TRANSITION`, `VALIDATION_ERROR`.
   */
  readonly reports: (current: Aggregate, reports: ReadonlyArray<PaymentReport>, now: number) => Reported | PublicError
  /** One report as a change of its own. Errors: those of {@link reports}; `NOT_FOUND` for an unknown payment. */
  readonly report: (
    paymentId: string,
    report: SettlementReport,
    cause: CommitCause
  ) => Effect.Effect<Changed, PublicError | Replayed>
  /** The row beside a payment's settlement; null: none. */
  readonly get: (current: Aggregate, paymentId: string) => Effect.Effect<SettlementState | null>
  /** Settlements under way in an environment, oldest first. */
  readonly open: (
    environment: Environment,
    statuses: ReadonlyArray<SettlementStatus>,
    after: Place | null,
    limit: number
  ) => Effect.Effect<ReadonlyArray<SettlementState>>
}>()("tillwire/modules/settlement/Settlements") {
  static readonly layer = Layer.effect(Settlements, Effect.gen(function*() {
    const companions = yield* InvoiceCompanions
    const invoices = yield* Invoices
    const repo = yield* makeRepo
    const timers = yield* Timers
    const drivers = new Map<Environment, SettlementDriver>()
    /** Environments whose driver has just come: another may have begun what it ends. */
    const fresh = new Set<Environment>()

    const register = (driver: SettlementDriver) =>
      Effect.gen(function*() {
        const taken = driver.environments.find((environment) => drivers.has(environment))
        if (taken !== undefined) {
          return yield* Effect.die(
            new Error(`two settlements of ${taken}: ${drivers.get(taken)?.name} and ${driver.name}: remove one`)
          )
        }
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            for (const environment of driver.environments) drivers.set(environment, driver)
            for (const environment of driver.environments) fresh.add(environment)
          }),
          () => Effect.sync(() => { for (const environment of driver.environments) drivers.delete(environment) })
        )
        yield* timers.wake(sourceName)
      })

    const companion: Companion = {
      name: "settlement",
      follow: Effect.fnUntraced(function*({ before, decision, now, told }) {
        const driver = drivers.get(before.invoice.environment)
        const moved = driver === undefined ? [] : concerned(before, decision.next, told)
        if (driver === undefined || moved.length === 0) return {}
        const { environment, id: invoiceId, merchantId } = before.invoice
        const rows = new Map((yield* repo.ofInvoice(merchantId, invoiceId)).map((row) => [row.paymentId, row]))
        const beside = moved.map((one) =>
          follow({ ...one, row: rows.get(one.after.id) }, { merchantId, environment, invoiceId }, driver, told, now))
        const commands = beside.flatMap((one) => one.commands)
        const writes: ReadonlyArray<Write> = beside.flatMap((one) => one.rows.map(settlementWrite))
        return {
          ...(commands.length === 0 ? {} : { commands }),
          writes,
          ...(beside.some((one) => one.rows.some(({ dueAt }) => dueAt !== null)) ? { after: timers.wake(sourceName) } : {})
        }
      })
    }
    yield* companions.register(companion)

    const report = (paymentId: string, told: SettlementReport, cause: CommitCause) =>
      Effect.gen(function*() {
        const invoiceId = yield* invoices.invoiceOfPayment(paymentId)
        if (invoiceId === null) return yield* publicError("NOT_FOUND")
        return yield* invoices.change(invoiceId, cause, (current, now) => {
          const taken = reported(current, [{ paymentId, report: told }], now)
          return isPublicError(taken) ? Effect.fail(taken) : Effect.succeed(taken)
        })
      })

    yield* timers.register({ name: sourceName, batchSize: settlementBatch, ...(yield* makeDue(repo, drivers, fresh)) })

    return Settlements.of({
      register,
      driver: (environment) => drivers.get(environment),
      reports: reported,
      report,
      get: ({ invoice }, paymentId) =>
        Effect.map(repo.ofInvoice(invoice.merchantId, invoice.id), (rows) =>
          rows.find((row) => row.paymentId === paymentId) ?? null),
      open: repo.open
    })
  }))
}

const sourceName = "settlements"

/**
 * What is due: drivers are asked in one call for many payments, and what failed is tried again. Payments of which a
 * driver says nothing are put off in one commit; each that moves is a change of its invoice.
 */
const makeDue = Effect.fnUntraced(function*(
  repo: Effect.Success<typeof makeRepo>,
  drivers: ReadonlyMap<Environment, SettlementDriver>,
  fresh: Set<Environment>
) {
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const invoices = yield* Invoices

  /** Their turn comes again; a row that changed meanwhile has its own time. */
  const putOff = (
    rows: ReadonlyArray<SettlementState>,
    driver: SettlementDriver,
    dueAtOf: (row: SettlementState) => number | null
  ) =>
    rows.length === 0 ? Effect.void : commit.append({
      merchantId: systemMerchant,
      environment: rows[0]!.environment,
      cause: noCause,
      writes: rows.map((row) =>
        settlementWrite({ ...row, driver: driver.name, dueAt: dueAtOf(row), version: row.version + 1 })),
      events: []
    }).pipe(
      Effect.asVoid,
      Effect.catchTags({
        Conflict: () => Effect.void,
        PublicError: (error) => Effect.logWarning("settlements could not be put off", error),
        Replayed: (bug) => Effect.die(bug)
      })
    )

  /** One payment: an automatic retry where it had failed, then what its driver says. */
  const move = (row: SettlementState, said: SettlementReport | undefined) =>
    invoices.change(row.invoiceId, noCause, (current, now) =>
      Effect.succeed(asked(current, row.paymentId, said, now))
    ).pipe(
      Effect.asVoid,
      Effect.catchTags({
        PublicError: (error) => Effect.logWarning("a settlement could not be moved", { paymentId: row.paymentId }, error),
        Replayed: (bug) => Effect.die(bug)
      })
    )

  const ask = Effect.fnUntraced(function*(
    driver: SettlementDriver,
    rows: ReadonlyArray<SettlementState>,
    nowOf: (row: SettlementState) => number
  ) {
    const said = driver.firstAskSeconds === null
      ? new Map<string, SettlementReport>()
      : yield* driver.settle(rows.map((row) => {
        const { createdAt, environment, invoiceId, merchantId, paymentId, retries } = row
        return { environment, invoiceId, merchantId, paymentId, retries, waited: Math.max(0, nowOf(row) - createdAt) }
      })).pipe(
        Effect.tapError((error) => Effect.logWarning("settlements could not be looked at", { driver: driver.name }, error)),
        Effect.catch(() => Effect.succeed(null))
      )
    if (said === null) return yield* putOff(rows, driver, (row) => nowOf(row) + unavailableSeconds)
    // A due row that failed is a retry, also where the driver is never asked; a part's refund hides what failed.
    const [moving, still] = partition(rows, ({ paymentId, status }) =>
      said.has(paymentId) || status === "failed" || status === "partially_refunded")
    yield* putOff(still, driver, (row) => askAgainAt(driver, row, nowOf(row)))
    yield* Effect.forEach(moving, (row) => move(row, said.get(row.paymentId)), { concurrency: "unbounded", discard: true })
  })

  /** What other drivers left behind: looked for after a driver came, until there is no more. */
  const takeOver = Effect.fnUntraced(function*(limit: number) {
    for (const [environment, { name }] of drivers) {
      if (!fresh.has(environment)) continue
      const found = yield* repo.strange({ environment, driver: name }, limit)
      if (found.length > 0) return found
      fresh.delete(environment)
    }
    return []
  })

  const run = Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const now = Math.floor(nowMillis / 1000)
    const nowOf = (row: SettlementState) => now + clock.aheadSeconds(row.merchantId, row.environment)
    const inherited = yield* takeOver(limit)
    const known = new Set(inherited.map(({ paymentId }) => paymentId))
    const due = (yield* repo.due(now, limit)).filter(({ paymentId }) => !known.has(paymentId))
    for (const [driver, rows] of Map.groupBy([...inherited, ...due], ({ environment }) => drivers.get(environment))) {
      if (driver !== undefined) yield* ask(driver, rows, nowOf)
    }
    return inherited.length + due.length
  })

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  return { run, nextDueMillis }
})

const partition = <A>(all: ReadonlyArray<A>, is: (one: A) => boolean): readonly [ReadonlyArray<A>, ReadonlyArray<A>] =>
  [all.filter(is), all.filter((one) => !is(one))]
