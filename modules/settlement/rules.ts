/**
 * How the money of a counted payment reaches the merchant: every rule about it, and nothing else.
 * Pure: no clock, no ids, no SQL. What is kept with the payment is `PaymentSettlement` of invoices; beside it stands a
 * {@link SettlementState} with what only this module needs: who settles, what is due, why it failed.
 *
 *   pending ─────── on its way ──────> processing (sweep -> convert -> transfer; submitted, confirming)
 *   pending | processing ─ arrived ──> settled (final)
 *   pending | processing ─ failed ───> failed ─── automatic retry, 5 times ──> processing
 *   failed ─── no retry left ────────> manual
 *   pending | processing | failed ─ review ──> manual ─── operator ──> processing
 *   settled ─── refunds ─────────────> partially_refunded, refunded    (the invoice machine does these)
 *
 * A report may skip what lies between: a settlement that is told as arrived was on its way. The rules in words:
 * modules/docs/reference/settlement.md#states.
 */
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { isCounted, type SettlementStage, type SettlementStatus } from "../../schemas/Payment.ts"
import type { Aggregate, Command, InvoiceFact, PaymentSettlement, PaymentState } from "../invoices/plugin.ts"

/** The stages in which money moves, in their order; `convert` is left out where nothing is converted. */
export const movingStages = ["sweep", "convert", "transfer"] as const
export type MovingStage = typeof movingStages[number]

/** A fact about a settlement, told by its driver, an operator or a simulator; once or many times. */
export type SettlementReport =
  /** A transaction of a stage was sent. */
  | {
    readonly _tag: "Submitted"
    readonly stage: MovingStage
    readonly txHash: string | null
    readonly network: Network | null
  }
  /** It is in a block. */
  | {
    readonly _tag: "Confirming"
    readonly stage: MovingStage
    readonly txHash: string | null
    readonly network: Network | null
  }
  /**
   * The money is the merchant's. `txHash`: what brought it there, null where it came straight from the payor. `amount`:
   * usd_millis that arrived, null for all of the payment.
   */
  | {
    readonly _tag: "Settled"
    readonly txHash: string | null
    readonly network: Network
    readonly amount: UsdMillis | null
  }
  /** This try is over; another may succeed. */
  | { readonly _tag: "Failed"; readonly reason: string }
  /** No further try by itself: an operator must look. */
  | { readonly _tag: "Review"; readonly reason: string }
  /** An operator gives up: what waits for the money ends without it. */
  | { readonly _tag: "GiveUp"; readonly reason: string }
  /** Try again: by an operator, or by the clock after a failure. */
  | { readonly _tag: "Retry" }

export interface PaymentReport {
  readonly paymentId: string
  readonly report: SettlementReport
}

/** Facts for the hooks of an invoice's change. */
export type SettlementFact =
  | { readonly _tag: "SettlementReported"; readonly paymentId: string; readonly report: SettlementReport }
  /** The driver was asked by the clock: it says nothing yet, or this is an automatic retry. */
  | { readonly _tag: "SettlementChecked"; readonly paymentId: string; readonly isRetry: boolean }
  /** An operator gave up: commerce ends the order. */
  | { readonly _tag: "SettlementAbandoned"; readonly paymentId: string }

export const isSettlementFact = (fact: InvoiceFact): fact is SettlementFact =>
  fact._tag === "SettlementReported" || fact._tag === "SettlementChecked" || fact._tag === "SettlementAbandoned"

/** What stands beside a payment's settlement. One row for each payment that was ever counted. */
export interface SettlementState {
  readonly paymentId: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly invoiceId: string
  /** Who settles it: `settlement/direct`. */
  readonly driver: string
  /** `settlement_status` of the payment when this row was written. */
  readonly status: SettlementStatus | null
  /** Automatic retries that were made. */
  readonly retries: number
  /** What the last failure, review or giving up said. */
  readonly reason: string | null
  /** Under way: neither settled nor gone with its payment. */
  readonly isOpen: boolean
  /** Epoch seconds at which the driver is asked, or a retry made; null: only a report moves it. */
  readonly dueAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
}

/** What the rules need to know of a driver. */
export interface DriverPolicy {
  readonly name: string
  /** Where a counted payment waits: for the chain (`awaiting_confirmation`), or to be moved (`sweep`). */
  readonly firstStage: "awaiting_confirmation" | "sweep"
  /** Seconds after a payment counts until the driver is asked for the first time; null: it is never asked. */
  readonly firstCheckSeconds: ((network: Network) => number) | null
  /** Seconds until it is asked again while it has nothing to say of a payment that counts since so many. */
  readonly nextCheckSeconds: (waitingSeconds: number) => number
  /** Whether a failure is tried again by itself. */
  readonly retriesFailures: boolean
}

/** Automatic retries of a settlement (modules/docs/reference/settlement.md#retries). */
export const maximumRetries = 5

/**
 * Seconds before the automatic retry after `retries` of them: 30 s, four times more each; the fifth after 2 h 8 min.
 */
export const retryAfterSeconds = (retries: number): number => 30 * 4 ** retries

/** Characters of a reason or a transaction that are kept. */
export const maximumReasonLength = 500

/** The settlement of a payment that has just come to count. */
const initialSettlement = (driver: DriverPolicy): PaymentSettlement => ({
  status: "pending",
  stage: driver.firstStage,
  progress: "queued",
  settledAmount: null,
  settledAt: null,
  id: null,
  txHash: null,
  network: null
})

/** Whether the money has reached the merchant, whatever was refunded of it since. */
export const isSettled = (payment: Pick<PaymentState, "settlement">): boolean =>
  payment.settlement?.progress === "settled"

/** The status of a settlement under way; a refund of a part is shown until the end, whatever else happens. */
const statusUnlessRefunded = (
  payment: PaymentState,
  status: PaymentSettlement["status"]
): PaymentSettlement["status"] => payment.refunded > 0n ? "partially_refunded" : status

type ReportOutcome = { readonly settlement: PaymentSettlement; readonly needsOperator: boolean }

const stageIndex = (stage: SettlementStage): number => movingStages.findIndex((each) => each === stage)

const applyProgress = (
  payment: PaymentState,
  current: PaymentSettlement,
  report: Extract<SettlementReport, { _tag: "Submitted" | "Confirming" }>
): ReportOutcome | PublicError => {
  const progress = report._tag === "Submitted" ? "submitted" : "confirming"
  const isRunning = current.progress === "submitted" || current.progress === "confirming"
  const isBehind = isRunning && (stageIndex(report.stage) < stageIndex(current.stage) ||
    (report.stage === current.stage && current.progress === "confirming" && progress === "submitted"))
  // Facts of one transaction may come late: what is behind changes nothing, unless it is another transaction's.
  if (isBehind && (report.txHash === null || report.txHash === current.txHash)) {
    return { settlement: current, needsOperator: false }
  }
  if (isBehind && stageIndex(report.stage) < stageIndex(current.stage)) return publicError("INVALID_TRANSITION")
  return {
    settlement: {
      ...current,
      status: statusUnlessRefunded(payment, "processing"),
      stage: report.stage,
      progress,
      txHash: report.txHash ?? (report.stage === current.stage ? current.txHash : null),
      network: report.network ?? current.network
    },
    needsOperator: false
  }
}

const applySettled = (
  payment: PaymentState,
  current: PaymentSettlement,
  { amount, network, txHash }: Extract<SettlementReport, { _tag: "Settled" }>,
  now: number
): ReportOutcome | PublicError => {
  if (amount !== null && (amount <= 0n || amount > payment.amount)) {
    return publicError("VALIDATION_ERROR", { param: "amount", message: "amount: more than 0, at most what was paid" })
  }
  const left = (amount ?? payment.amount) - payment.refunded
  return {
    settlement: {
      ...current,
      status: statusUnlessRefunded(payment, "settled"),
      stage: "final",
      progress: "settled",
      settledAmount: usdMillis(left > 0n ? left : 0n),
      settledAt: now,
      txHash,
      network
    },
    needsOperator: false
  }
}

const applyFailure = (
  payment: PaymentState,
  current: PaymentSettlement,
  status: "failed" | "manual"
): ReportOutcome => ({
  settlement: { ...current, status: statusUnlessRefunded(payment, status), progress: "failed" },
  needsOperator: status === "manual"
})

/** What a report makes of a payment's settlement; one that was told before changes nothing. */
const applyReport = (payment: PaymentState, report: SettlementReport, now: number): ReportOutcome | PublicError => {
  const current = payment.settlement
  if (current === null || !isCounted(payment.status)) return publicError("INVALID_TRANSITION")
  const unchanged: ReportOutcome = { settlement: current, needsOperator: false }
  if (current.progress === "settled") {
    const isSame = report._tag === "Settled" && report.txHash === current.txHash && report.network === current.network
    return isSame ? unchanged : publicError("INVALID_TRANSITION")
  }
  if (current.status === "refunded") return publicError("INVALID_TRANSITION")
  switch (report._tag) {
    case "Submitted":
    case "Confirming":
      return applyProgress(payment, current, report)
    case "Settled":
      return applySettled(payment, current, report, now)
    case "Failed":
      return current.progress === "failed" ? unchanged : applyFailure(payment, current, "failed")
    case "Review":
      return current.status === "manual" ? unchanged : applyFailure(payment, current, "manual")
    case "GiveUp":
      return {
        ...applyFailure(payment, current, current.status === "manual" ? "manual" : "failed"),
        needsOperator: true
      }
    case "Retry":
      return current.progress !== "failed" ? publicError("INVALID_TRANSITION") : {
        settlement: {
          ...current,
          status: statusUnlessRefunded(payment, "processing"),
          stage: current.stage === "awaiting_confirmation" ? "sweep" : current.stage,
          progress: "submitted",
          txHash: null
        },
        needsOperator: false
      }
  }
}

/** What a change of an invoice takes up of reports: its commands, and the facts for its hooks. */
export interface ReportResult {
  readonly commands: ReadonlyArray<Command>
  readonly facts: ReadonlyArray<SettlementFact>
}

/**
 * Reports in their order, as commands for the invoice they belong to. Errors: `NOT_FOUND` for a payment of another
 * invoice, `INVALID_TRANSITION` for what cannot be true of it now, `VALIDATION_ERROR` for an amount it cannot have.
 */
export const applyReports = (
  current: Aggregate,
  reports: ReadonlyArray<PaymentReport>,
  now: number
): ReportResult | PublicError => {
  const payments = new Map(current.payments.map((payment) => [payment.id, payment]))
  const commands: Array<Command> = []
  const facts: Array<SettlementFact> = []
  for (const { paymentId, report } of reports) {
    const payment = payments.get(paymentId)
    if (payment === undefined) return publicError("NOT_FOUND")
    const step = applyReport(payment, report, now)
    if ("code" in step) return step
    payments.set(paymentId, { ...payment, settlement: step.settlement })
    if (step.settlement === payment.settlement && !step.needsOperator) continue
    commands.push({
      _tag: "Settle",
      paymentId,
      settlement: step.settlement,
      ...(step.needsOperator ? { needsOperator: true } : {})
    })
    facts.push({ _tag: "SettlementReported", paymentId, report })
    if (report._tag === "GiveUp") facts.push({ _tag: "SettlementAbandoned", paymentId })
  }
  return { commands, facts }
}

/**
 * A payment whose time has come: an automatic retry where it had failed, then what its driver said, if anything. What
 * cannot be true any more, because somebody else was first, changes nothing.
 */
export const applyDriverAnswer = (
  current: Aggregate,
  paymentId: string,
  answer: SettlementReport | undefined,
  now: number
): ReportResult => {
  const payment = current.payments.find(({ id }) => id === paymentId)
  const isRetry = payment?.settlement?.progress === "failed"
  const reports: ReadonlyArray<SettlementReport> = [
    ...(isRetry ? [{ _tag: "Retry" } as const] : []),
    ...(answer === undefined ? [] : [answer])
  ]
  const result = applyReports(current, reports.map((report) => ({ paymentId, report })), now)
  const { commands, facts } = "code" in result ? { commands: [], facts: [] } : result
  return { commands, facts: [{ _tag: "SettlementChecked", paymentId, isRetry }, ...facts] }
}

/** What a change of an invoice means for the rows beside it. */
export interface SettlementUpdate {
  readonly commands: ReadonlyArray<Command>
  /** Rows as they will be, versions included. */
  readonly rows: ReadonlyArray<SettlementState>
}

/** A payment before and after a change, and the row beside it. */
export interface PaymentChange {
  readonly before: PaymentState | undefined
  readonly after: PaymentState
  readonly row: SettlementState | undefined
}

/** Payments whose rows a change may touch; what else changes of an invoice is no concern of settlement. */
export const affectedPayments = (
  before: Aggregate,
  after: Aggregate,
  facts: ReadonlyArray<InvoiceFact>
): ReadonlyArray<Omit<PaymentChange, "row">> => {
  const reportedIds = new Set(facts.filter(isSettlementFact).map(({ paymentId }) => paymentId))
  const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
  return after.payments.flatMap((payment) => {
    const previous = previousById.get(payment.id)
    const isNew = isCounted(payment.status) && !(previous !== undefined && isCounted(previous.status))
    return isNew || reportedIds.has(payment.id) || (previous?.settlement ?? null) !== payment.settlement
      ? [{ before: previous, after: payment }]
      : []
  })
}

/** Follows one payment through a change. */
export const updateSettlement = (
  { after, before, row }: PaymentChange,
  owner: Pick<SettlementState, "merchantId" | "environment" | "invoiceId">,
  driver: DriverPolicy,
  facts: ReadonlyArray<InvoiceFact>,
  now: number
): SettlementUpdate => {
  const ownFacts = facts.filter(isSettlementFact).filter(({ paymentId }) => paymentId === after.id)
  const base = { ...owner, paymentId: after.id, version: (row?.version ?? 0) + 1, updatedAt: now }
  const { settlement } = after
  const isNew = isCounted(after.status) && !(before !== undefined && isCounted(before.status))
  if (isNew && (settlement === null || (row?.isOpen === false && !isClosed(after)))) {
    const newRow: SettlementState = {
      ...base,
      driver: driver.name,
      status: settlement?.status ?? "pending",
      retries: 0,
      reason: null,
      isOpen: true,
      dueAt: driver.firstCheckSeconds === null ? null : now + driver.firstCheckSeconds(after.network),
      createdAt: now
    }
    const commands: ReadonlyArray<Command> = settlement === null
      ? [{ _tag: "Settle", paymentId: after.id, settlement: initialSettlement(driver) }]
      : []
    return { commands, rows: [newRow] }
  }
  // A payment that counted before this module was there.
  if (row === undefined) return noUpdate
  if (settlement === null || isClosed(after)) {
    const status = settlement?.status ?? null
    return row.isOpen ? { commands: [], rows: [{ ...row, ...base, status, isOpen: false, dueAt: null }] } : noUpdate
  }
  return updateOpen({ after, row, settlement }, base, driver, ownFacts, now)
}

/** Nothing of it is to be settled any more. */
const isClosed = (payment: PaymentState): boolean =>
  isSettled(payment) || payment.settlement?.status === "refunded" ||
  !(isCounted(payment.status) || payment.status === "manual_retry")

/** When a driver that says nothing of a payment is asked again; null: it is never asked. */
export const nextCheckAt = (
  driver: DriverPolicy,
  row: Pick<SettlementState, "createdAt">,
  now: number
): number | null =>
  driver.firstCheckSeconds === null ? null : now + driver.nextCheckSeconds(Math.max(0, now - row.createdAt))

const noUpdate: SettlementUpdate = { commands: [], rows: [] }

const updateOpen = (
  { after, row, settlement }: { after: PaymentState; row: SettlementState; settlement: PaymentSettlement },
  base: Pick<SettlementState, "version" | "updatedAt">,
  driver: DriverPolicy,
  facts: ReadonlyArray<SettlementFact>,
  now: number
): SettlementUpdate => {
  const last = facts.findLast(({ _tag }) => _tag !== "SettlementAbandoned")
  if (last === undefined) return noUpdate
  const check = facts.find(({ _tag }) => _tag === "SettlementChecked")
  const isRetry = check?._tag === "SettlementChecked" && check.isRetry
  const nextCheck = nextCheckAt(driver, row, now)
  const nextRow: SettlementState = {
    ...row,
    ...base,
    driver: driver.name,
    status: settlement.status,
    isOpen: true,
    retries: isRetry ? row.retries + 1 : row.retries
  }
  if (last._tag !== "SettlementReported") return { commands: [], rows: [{ ...nextRow, dueAt: nextCheck }] }
  const { report } = last
  switch (report._tag) {
    case "Failed": {
      if (driver.retriesFailures && nextRow.retries < maximumRetries) {
        const dueAt = now + retryAfterSeconds(nextRow.retries)
        return { commands: [], rows: [{ ...nextRow, reason: report.reason, dueAt }] }
      }
      const manual: PaymentSettlement = { ...settlement, status: statusUnlessRefunded(after, "manual") }
      return {
        commands: [{ _tag: "Settle", paymentId: after.id, settlement: manual, needsOperator: true }],
        rows: [{ ...nextRow, status: manual.status, reason: report.reason, dueAt: null }]
      }
    }
    case "Review":
    case "GiveUp":
      return { commands: [], rows: [{ ...nextRow, reason: report.reason, dueAt: null }] }
    case "Retry":
      // An operator's retry starts the count anew, and the driver is asked at once.
      if (!isRetry) return { commands: [], rows: [{ ...nextRow, retries: 0, dueAt: nextCheck === null ? null : now }] }
      return { commands: [], rows: [{ ...nextRow, dueAt: nextCheck }] }
    default:
      return { commands: [], rows: [{ ...nextRow, dueAt: nextCheck }] }
  }
}
