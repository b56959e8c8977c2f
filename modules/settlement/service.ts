/** Settlements: drivers register, payments are followed in their invoices' own commits, reports move them. */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import type { CommitCause, IdempotentReplay, Write } from "../../runtime/Commit.ts"
import { Commit, noCause, systemMerchant } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Timers } from "../../runtime/Timers.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import type { SettlementStatus } from "../../schemas/Payment.ts"
import {
  type Aggregate,
  type ChangePlan,
  type ChangeResult,
  type InvoiceHook,
  InvoiceHooks,
  Invoices
} from "../invoices/plugin.ts"
import {
  affectedPayments,
  applyDriverAnswer,
  applyReports,
  type DriverPolicy,
  nextCheckAt,
  type PaymentReport,
  type ReportResult,
  type SettlementReport,
  type SettlementState,
  updateSettlement
} from "./rules.ts"
import { type Cursor, makeRepo, settlementWrite } from "./repo.ts"

/** The driver gave no answer: it is asked again. */
export class SettlementUnavailable extends Schema.TaggedError<SettlementUnavailable>()("SettlementUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** A payment a driver is asked about. */
export interface UnsettledPayment {
  readonly paymentId: string
  readonly invoiceId: string
  readonly merchantId: number
  readonly environment: Environment
  /** Automatic retries before this one: with the payment's id it names one try, asked once or many times. */
  readonly retries: number
  /** Seconds since it came to count. */
  readonly waitingSeconds: number
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
export interface SettlementDriver extends DriverPolicy {
  readonly environments: ReadonlyArray<Environment>
  /**
   * Moves these payments on, or looks how far they are: their reports by payment id, none for what has not moved. The
   * same payment may be asked about again and again: it is never settled twice. Ends within 10 s.
   */
  readonly settle: (
    payments: ReadonlyArray<UnsettledPayment>
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
  readonly reports: (
    current: Aggregate,
    reports: ReadonlyArray<PaymentReport>,
    now: number
  ) => ReportResult | PublicError
  /** One report as a change of its own. Errors: those of {@link reports}; `NOT_FOUND` for an unknown payment. Writes rows with it. */
  readonly report: (
    paymentId: string,
    report: SettlementReport,
    cause: CommitCause,
    extraWrites?: ReadonlyArray<Write>
  ) => Effect.Effect<ChangeResult, PublicError | IdempotentReplay>
  /** The row beside a payment's settlement; null: none. */
  readonly get: (current: Aggregate, paymentId: string) => Effect.Effect<SettlementState | null>
  /** Settlements under way in an environment, or in both (null), oldest first. */
  readonly open: (
    environment: Environment | null,
    statuses: ReadonlyArray<SettlementStatus>,
    after: Cursor | null,
    limit: number
  ) => Effect.Effect<ReadonlyArray<SettlementState>>
}>()("tillwire/modules/settlement/Settlements") {
  static readonly layer = Layer.effect(
    Settlements,
    Effect.gen(function*() {
      const hooks = yield* InvoiceHooks
      const invoices = yield* Invoices
      const repo = yield* makeRepo
      const timers = yield* Timers
      const drivers = new Map<Environment, SettlementDriver>()
      /** Environments whose driver has just registered: it takes over what another one began. */
      const newEnvironments = new Set<Environment>()

      const register = (driver: SettlementDriver) =>
        Effect.gen(function*() {
          const duplicate = driver.environments.find((environment) => drivers.has(environment))
          if (duplicate !== undefined) {
            return yield* Effect.die(
              new Error(
                `two settlements of ${duplicate}: ${drivers.get(duplicate)?.name} and ${driver.name}: remove one`
              )
            )
          }
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              for (const environment of driver.environments) drivers.set(environment, driver)
              for (const environment of driver.environments) newEnvironments.add(environment)
            }),
            () =>
              Effect.sync(() => {
                for (const environment of driver.environments) drivers.delete(environment)
              })
          )
          yield* timers.wake(sourceName)
        })

      const hook: InvoiceHook = {
        name: "settlement",
        run: Effect.fnUntraced(function*({ before, decision, now, facts }) {
          const driver = drivers.get(before.invoice.environment)
          const changes = driver === undefined ? [] : affectedPayments(before, decision.next, facts)
          if (driver === undefined || changes.length === 0) return {}
          const { environment, id: invoiceId, merchantId } = before.invoice
          const rows = new Map((yield* repo.ofInvoice(merchantId, invoiceId)).map((row) => [row.paymentId, row]))
          const updates = changes.map((one) =>
            updateSettlement(
              { ...one, row: rows.get(one.after.id) },
              { merchantId, environment, invoiceId },
              driver,
              facts,
              now
            )
          )
          const commands = updates.flatMap((one) => one.commands)
          const writes: ReadonlyArray<Write> = updates.flatMap((one) => one.rows.map(settlementWrite))
          return {
            ...(commands.length === 0 ? {} : { commands }),
            writes,
            ...(updates.some((one) => one.rows.some(({ dueAt }) => dueAt !== null))
              ? { afterCommit: timers.wake(sourceName) }
              : {})
          }
        })
      }
      yield* hooks.register(hook)

      const report = (
        paymentId: string,
        settlementReport: SettlementReport,
        cause: CommitCause,
        extraWrites: ReadonlyArray<Write> = []
      ) =>
        Effect.gen(function*() {
          const invoiceId = yield* invoices.invoiceOfPayment(paymentId)
          if (invoiceId === null) return yield* publicError("NOT_FOUND")
          return yield* invoices.change(invoiceId, cause, (current, now) => {
            const result = applyReports(current, [{ paymentId, report: settlementReport }], now)
            return isPublicError(result)
              ? Effect.fail(result)
              : Effect.succeed<ChangePlan>({ ...result, writes: extraWrites })
          })
        })

      yield* timers.register({
        name: sourceName,
        batchSize: settlementBatch,
        ...(yield* makeDue(repo, drivers, newEnvironments))
      })

      return Settlements.of({
        register,
        driver: (environment) => drivers.get(environment),
        reports: applyReports,
        report,
        get: ({ invoice }, paymentId) =>
          Effect.map(
            repo.ofInvoice(invoice.merchantId, invoice.id),
            (rows) => rows.find((row) => row.paymentId === paymentId) ?? null
          ),
        open: repo.open
      })
    })
  )
}

const sourceName = "settlements"

/**
 * What is due: drivers are asked in one call for many payments, and what failed is tried again. Payments of which a
 * driver says nothing are put off in one commit; each that moves is a change of its invoice.
 */
const makeDue = Effect.fnUntraced(function*(
  repo: Effect.Success<typeof makeRepo>,
  drivers: ReadonlyMap<Environment, SettlementDriver>,
  newEnvironments: Set<Environment>
) {
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const invoices = yield* Invoices

  /** Their turn comes again; a row that changed meanwhile has its own time. */
  const postpone = (
    rows: ReadonlyArray<SettlementState>,
    driver: SettlementDriver,
    dueAtOf: (row: SettlementState) => number | null
  ) =>
    rows.length === 0 ? Effect.void : commit.append({
      merchantId: systemMerchant,
      environment: rows[0]!.environment,
      cause: noCause,
      writes: rows.map((row) =>
        settlementWrite({ ...row, driver: driver.name, dueAt: dueAtOf(row), version: row.version + 1 })
      ),
      events: []
    }).pipe(
      Effect.asVoid,
      Effect.catchTags({
        Conflict: () => Effect.void,
        PublicError: (error) => Effect.logWarning("settlements could not be put off", error),
        IdempotentReplay: (bug) => Effect.die(bug)
      })
    )

  /** One payment: an automatic retry where it had failed, then what its driver says. */
  const applyAnswer = (row: SettlementState, answer: SettlementReport | undefined) =>
    invoices.change(
      row.invoiceId,
      noCause,
      (current, now) => Effect.succeed(applyDriverAnswer(current, row.paymentId, answer, now))
    ).pipe(
      Effect.asVoid,
      Effect.catchTags({
        PublicError: (error) =>
          Effect.logWarning("a settlement could not be moved", { paymentId: row.paymentId }, error),
        IdempotentReplay: (bug) => Effect.die(bug)
      })
    )

  const check = Effect.fnUntraced(function*(
    driver: SettlementDriver,
    rows: ReadonlyArray<SettlementState>,
    nowOf: (row: SettlementState) => number
  ) {
    const answers = driver.firstCheckSeconds === null
      ? new Map<string, SettlementReport>()
      : yield* driver.settle(rows.map((row) => {
        const { createdAt, environment, invoiceId, merchantId, paymentId, retries } = row
        return {
          environment,
          invoiceId,
          merchantId,
          paymentId,
          retries,
          waitingSeconds: Math.max(0, nowOf(row) - createdAt)
        }
      })).pipe(
        Effect.tapError((error) =>
          Effect.logWarning("settlements could not be looked at", { driver: driver.name }, error)
        ),
        Effect.catch(() => Effect.succeed(null))
      )
    if (answers === null) return yield* postpone(rows, driver, (row) => nowOf(row) + unavailableSeconds)
    // A due row that failed is a retry, also where the driver is never asked; a part's refund hides what failed.
    const [answered, unanswered] = partition(
      rows,
      ({ paymentId, status }) => answers.has(paymentId) || status === "failed" || status === "partially_refunded"
    )
    yield* postpone(unanswered, driver, (row) => nextCheckAt(driver, row, nowOf(row)))
    yield* Effect.forEach(answered, (row) => applyAnswer(row, answers.get(row.paymentId)), {
      concurrency: "unbounded",
      discard: true
    })
  })

  /** What other drivers left behind: looked for after a driver came, until there is no more. */
  const takeOver = Effect.fnUntraced(function*(limit: number) {
    for (const [environment, { name }] of drivers) {
      if (!newEnvironments.has(environment)) continue
      const found = yield* repo.ofOtherDrivers({ environment, driver: name }, limit)
      if (found.length > 0) return found
      newEnvironments.delete(environment)
    }
    return []
  })

  const run = Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const now = Math.floor(nowMillis / 1000)
    const nowOf = (row: SettlementState) => now + clock.aheadSeconds(row.merchantId, row.environment)
    const takenOver = yield* takeOver(limit)
    const takenOverIds = new Set(takenOver.map(({ paymentId }) => paymentId))
    const due = (yield* repo.due(now, limit)).filter(({ paymentId }) => !takenOverIds.has(paymentId))
    for (const [driver, rows] of Map.groupBy([...takenOver, ...due], ({ environment }) => drivers.get(environment))) {
      if (driver !== undefined) yield* check(driver, rows, nowOf)
    }
    return takenOver.length + due.length
  })

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  return { run, nextDueMillis }
})

const partition = <A>(
  all: ReadonlyArray<A>,
  is: (one: A) => boolean
): readonly [ReadonlyArray<A>, ReadonlyArray<A>] => [all.filter(is), all.filter((one) => !is(one))]
