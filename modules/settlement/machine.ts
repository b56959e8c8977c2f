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
import { publicError, type PublicError } from "../../schemas/Errors.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { isCounted, type SettlementStage, type SettlementStatus } from "../../schemas/Payment.ts"
import type { Aggregate, Command, PaymentSettlement, PaymentState, Told } from "../invoices/plugin.ts"

/** The stages in which money moves, in their order; `convert` is left out where nothing is converted. */
export const movingStages = ["sweep", "convert", "transfer"] as const
export type MovingStage = typeof movingStages[number]

/** A fact about a settlement, told by its driver, an operator or a simulator; once or many times. */
export type SettlementReport =
  /** A transaction of a stage was sent. */
  | { readonly _tag: "Submitted"; readonly stage: MovingStage; readonly txHash: string | null; readonly network: Network | null }
  /** It is in a block. */
  | { readonly _tag: "Confirming"; readonly stage: MovingStage; readonly txHash: string | null; readonly network: Network | null }
  /**
   * The money is the merchant's. `txHash`: what brought it there, null where it came straight from the payor. `amount`:
   * usd_millis that arrived, null for all of the payment.
   */
  | { readonly _tag: "Settled"; readonly txHash: string | null; readonly network: Network; readonly amount: UsdMillis | null }
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

/** What is told to companions of an invoice's change. */
export type SettlementTold =
  | { readonly _tag: "SettlementReported"; readonly paymentId: string; readonly report: SettlementReport }
  /** The driver was asked by the clock: it says nothing yet, or this is an automatic retry. */
  | { readonly _tag: "SettlementAsked"; readonly paymentId: string; readonly isRetry: boolean }
  /** An operator gave up: commerce ends the order. */
  | { readonly _tag: "SettlementAbandoned"; readonly paymentId: string }

export const isSettlementTold = (told: Told): told is SettlementTold =>
  told._tag === "SettlementReported" || told._tag === "SettlementAsked" || told._tag === "SettlementAbandoned"

/** What stands beside a payment's settlement. One row for each payment that was ever counted. */
export interface SettlementState {
  readonly paymentId: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly invoiceId: string
  /** Who settles it: `settlements/direct`. */
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
export interface DriverManner {
  readonly name: string
  /** Where a counted payment waits: for the chain (`awaiting_confirmation`), or to be moved (`sweep`). */
  readonly firstStage: "awaiting_confirmation" | "sweep"
  /** Seconds after a payment counts until the driver is asked for the first time; null: it is never asked. */
  readonly firstAskSeconds: ((network: Network) => number) | null
  /** Seconds until it is asked again while it has nothing to say of a payment that counts since so many. */
  readonly askAgainSeconds: (waited: number) => number
  /** Whether a failure is tried again by itself. */
  readonly retries: boolean
}

/** Automatic retries of a settlement (modules/docs/reference/settlement.md#retries). */
export const maximumRetries = 5

/** Seconds before the automatic retry after `made` of them: 30 s, four times more each; the fifth after 2 h 8 min. */
export const retryAfterSeconds = (made: number): number => 30 * 4 ** made

/** Characters of a reason or a transaction that are kept. */
export const maximumReasonLength = 500

/** The settlement of a payment that has just come to count. */
const first = (driver: DriverManner): PaymentSettlement => ({
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
const statusOr = (payment: PaymentState, status: PaymentSettlement["status"]): PaymentSettlement["status"] =>
  payment.refunded > 0n ? "partially_refunded" : status

type Next = { readonly settlement: PaymentSettlement; readonly needsSomeone: boolean }

const orderOf = (stage: SettlementStage): number => movingStages.findIndex((each) => each === stage)

const sent = (
  payment: PaymentState,
  known: PaymentSettlement,
  report: Extract<SettlementReport, { _tag: "Submitted" | "Confirming" }>
): Next | PublicError => {
  const progress = report._tag === "Submitted" ? "submitted" : "confirming"
  const isRunning = known.progress === "submitted" || known.progress === "confirming"
  const isBehind = isRunning && (orderOf(report.stage) < orderOf(known.stage) ||
    (report.stage === known.stage && known.progress === "confirming" && progress === "submitted"))
  // Facts of one transaction may come late: what is behind changes nothing, unless it is another transaction's.
  if (isBehind && (report.txHash === null || report.txHash === known.txHash)) return { settlement: known, needsSomeone: false }
  if (isBehind && orderOf(report.stage) < orderOf(known.stage)) return publicError("INVALID_TRANSITION")
  return {
    settlement: {
      ...known,
      status: statusOr(payment, "processing"),
      stage: report.stage,
      progress,
      txHash: report.txHash ?? (report.stage === known.stage ? known.txHash : null),
      network: report.network ?? known.network
    },
    needsSomeone: false
  }
}

const arrived = (
  payment: PaymentState,
  known: PaymentSettlement,
  { amount, network, txHash }: Extract<SettlementReport, { _tag: "Settled" }>,
  now: number
): Next | PublicError => {
  if (amount !== null && (amount <= 0n || amount > payment.amount)) {
    return publicError("VALIDATION_ERROR", { param: "amount", message: "amount: more than 0, at most what was paid" })
  }
  const left = (amount ?? payment.amount) - payment.refunded
  return {
    settlement: {
      ...known,
      status: statusOr(payment, "settled"),
      stage: "final",
      progress: "settled",
      settledAmount: usdMillis(left > 0n ? left : 0n),
      settledAt: now,
      txHash,
      network
    },
    needsSomeone: false
  }
}

const stopped = (payment: PaymentState, known: PaymentSettlement, status: "failed" | "manual"): Next => ({
  settlement: { ...known, status: statusOr(payment, status), progress: "failed" },
  needsSomeone: status === "manual"
})

/** What a report makes of a payment's settlement; one that was told before changes nothing. */
const next = (payment: PaymentState, report: SettlementReport, now: number): Next | PublicError => {
  const known = payment.settlement
  if (known === null || !isCounted(payment.status)) return publicError("INVALID_TRANSITION")
  const unchanged: Next = { settlement: known, needsSomeone: false }
  if (known.progress === "settled") {
    const isSame = report._tag === "Settled" && report.txHash === known.txHash && report.network === known.network
    return isSame ? unchanged : publicError("INVALID_TRANSITION")
  }
  if (known.status === "refunded") return publicError("INVALID_TRANSITION")
  switch (report._tag) {
    case "Submitted":
    case "Confirming":
      return sent(payment, known, report)
    case "Settled":
      return arrived(payment, known, report, now)
    case "Failed":
      return known.progress === "failed" ? unchanged : stopped(payment, known, "failed")
    case "Review":
      return known.status === "manual" ? unchanged : stopped(payment, known, "manual")
    case "GiveUp":
      return { ...stopped(payment, known, known.status === "manual" ? "manual" : "failed"), needsSomeone: true }
    case "Retry":
      return known.progress !== "failed" ? publicError("INVALID_TRANSITION") : {
        settlement: {
          ...known,
          status: statusOr(payment, "processing"),
          stage: known.stage === "awaiting_confirmation" ? "sweep" : known.stage,
          progress: "submitted",
          txHash: null
        },
        needsSomeone: false
      }
  }
}

/** What a change of an invoice takes up of reports: its commands, and what companions are told. */
export interface Reported {
  readonly commands: ReadonlyArray<Command>
  readonly told: ReadonlyArray<SettlementTold>
}

/**
 * Reports in their order, as commands for the invoice they belong to. Errors: `NOT_FOUND` for a payment of another
 * invoice, `INVALID_TRANSITION` for what cannot be true of it now, `VALIDATION_ERROR` for an amount it cannot have.
 */
export const reported = (
  current: Aggregate,
  reports: ReadonlyArray<PaymentReport>,
  now: number
): Reported | PublicError => {
  const payments = new Map(current.payments.map((payment) => [payment.id, payment]))
  const commands: Array<Command> = []
  const told: Array<SettlementTold> = []
  for (const { paymentId, report } of reports) {
    const payment = payments.get(paymentId)
    if (payment === undefined) return publicError("NOT_FOUND")
    const step = next(payment, report, now)
    if ("code" in step) return step
    payments.set(paymentId, { ...payment, settlement: step.settlement })
    if (step.settlement === payment.settlement && !step.needsSomeone) continue
    commands.push({
      _tag: "Settle",
      paymentId,
      settlement: step.settlement,
      ...(step.needsSomeone ? { needsSomeone: true } : {})
    })
    told.push({ _tag: "SettlementReported", paymentId, report })
    if (report._tag === "GiveUp") told.push({ _tag: "SettlementAbandoned", paymentId })
  }
  return { commands, told }
}

/**
 * A payment whose time has come: an automatic retry where it had failed, then what its driver said, if anything. What
 * cannot be true any more, because somebody else was first, changes nothing.
 */
export const asked = (
  current: Aggregate,
  paymentId: string,
  said: SettlementReport | undefined,
  now: number
): Reported => {
  const payment = current.payments.find(({ id }) => id === paymentId)
  const isRetry = payment?.settlement?.progress === "failed"
  const facts: ReadonlyArray<SettlementReport> = [
    ...(isRetry ? [{ _tag: "Retry" } as const] : []),
    ...(said === undefined ? [] : [said])
  ]
  const taken = reported(current, facts.map((report) => ({ paymentId, report })), now)
  const { commands, told } = "code" in taken ? { commands: [], told: [] } : taken
  return { commands, told: [{ _tag: "SettlementAsked", paymentId, isRetry }, ...told] }
}

/** What a change of an invoice means for the rows beside it. */
export interface Beside {
  readonly commands: ReadonlyArray<Command>
  /** Rows as they will be, versions included. */
  readonly rows: ReadonlyArray<SettlementState>
}

/** A payment before and after a change, and the row beside it. */
export interface Moved {
  readonly before: PaymentState | undefined
  readonly after: PaymentState
  readonly row: SettlementState | undefined
}

/** Payments whose rows a change may touch; what else changes of an invoice is no concern of settlement. */
export const concerned = (
  before: Aggregate,
  after: Aggregate,
  told: ReadonlyArray<Told>
): ReadonlyArray<Omit<Moved, "row">> => {
  const mentioned = new Set(told.filter(isSettlementTold).map(({ paymentId }) => paymentId))
  const known = new Map(before.payments.map((payment) => [payment.id, payment]))
  return after.payments.flatMap((payment) => {
    const was = known.get(payment.id)
    const isNew = isCounted(payment.status) && !(was !== undefined && isCounted(was.status))
    return isNew || mentioned.has(payment.id) || (was?.settlement ?? null) !== payment.settlement
      ? [{ before: was, after: payment }]
      : []
  })
}

/** Follows one payment through a change. */
export const follow = (
  { after, before, row }: Moved,
  owner: Pick<SettlementState, "merchantId" | "environment" | "invoiceId">,
  driver: DriverManner,
  told: ReadonlyArray<Told>,
  now: number
): Beside => {
  const facts = told.filter(isSettlementTold).filter(({ paymentId }) => paymentId === after.id)
  const base = { ...owner, paymentId: after.id, version: (row?.version ?? 0) + 1, updatedAt: now }
  const { settlement } = after
  const isNew = isCounted(after.status) && !(before !== undefined && isCounted(before.status))
  if (isNew && (settlement === null || (row?.isOpen === false && !isOver(after)))) {
    const started: SettlementState = {
      ...base,
      driver: driver.name,
      status: settlement?.status ?? "pending",
      retries: 0,
      reason: null,
      isOpen: true,
      dueAt: driver.firstAskSeconds === null ? null : now + driver.firstAskSeconds(after.network),
      createdAt: now
    }
    const commands: ReadonlyArray<Command> = settlement === null
      ? [{ _tag: "Settle", paymentId: after.id, settlement: first(driver) }]
      : []
    return { commands, rows: [started] }
  }
  // A payment that counted before this module was there.
  if (row === undefined) return nothing
  if (settlement === null || isOver(after)) {
    const status = settlement?.status ?? null
    return row.isOpen ? { commands: [], rows: [{ ...row, ...base, status, isOpen: false, dueAt: null }] } : nothing
  }
  return underWay({ after, row, settlement }, base, driver, facts, now)
}

/** Nothing of it is to be settled any more. */
const isOver = (payment: PaymentState): boolean =>
  isSettled(payment) || payment.settlement?.status === "refunded" ||
  !(isCounted(payment.status) || payment.status === "manual_retry")

/** When a driver that says nothing of a payment is asked again; null: it is never asked. */
export const askAgainAt = (driver: DriverManner, row: Pick<SettlementState, "createdAt">, now: number): number | null =>
  driver.firstAskSeconds === null ? null : now + driver.askAgainSeconds(Math.max(0, now - row.createdAt))

const nothing: Beside = { commands: [], rows: [] }

const underWay = (
  { after, row, settlement }: { after: PaymentState; row: SettlementState; settlement: PaymentSettlement },
  base: Pick<SettlementState, "version" | "updatedAt">,
  driver: DriverManner,
  facts: ReadonlyArray<SettlementTold>,
  now: number
): Beside => {
  const last = facts.findLast(({ _tag }) => _tag !== "SettlementAbandoned")
  if (last === undefined) return nothing
  const asked = facts.find(({ _tag }) => _tag === "SettlementAsked")
  const isRetry = asked?._tag === "SettlementAsked" && asked.isRetry
  const again = askAgainAt(driver, row, now)
  const kept: SettlementState = {
    ...row,
    ...base,
    driver: driver.name,
    status: settlement.status,
    isOpen: true,
    retries: isRetry ? row.retries + 1 : row.retries
  }
  if (last._tag !== "SettlementReported") return { commands: [], rows: [{ ...kept, dueAt: again }] }
  const { report } = last
  switch (report._tag) {
    case "Failed": {
      if (driver.retries && kept.retries < maximumRetries) {
        const dueAt = now + retryAfterSeconds(kept.retries)
        return { commands: [], rows: [{ ...kept, reason: report.reason, dueAt }] }
      }
      const manual: PaymentSettlement = { ...settlement, status: statusOr(after, "manual") }
      return {
        commands: [{ _tag: "Settle", paymentId: after.id, settlement: manual, needsSomeone: true }],
        rows: [{ ...kept, status: manual.status, reason: report.reason, dueAt: null }]
      }
    }
    case "Review":
    case "GiveUp":
      return { commands: [], rows: [{ ...kept, reason: report.reason, dueAt: null }] }
    case "Retry":
      // An operator's starts the count anew, and the driver is asked at once.
      if (!isRetry) return { commands: [], rows: [{ ...kept, retries: 0, dueAt: again === null ? null : now }] }
      return { commands: [], rows: [{ ...kept, dueAt: again }] }
    default:
      return { commands: [], rows: [{ ...kept, dueAt: again }] }
  }
}
