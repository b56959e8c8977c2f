/** The clock: when time ends an invoice, and how long the end waits for networks that were not read until then. */
import type { NetworkCoverage } from "../../../runtime/Chains.ts"
import { usdWire } from "../../../schemas/Money.ts"
import { invoiceEvents } from "./Events.ts"
import { openException } from "./Exceptions.ts"
import { cancelRefunded, isFullyRefunded } from "./RefundedInvoice.ts"
import {
  type Aggregate,
  amountRemaining,
  hasPending,
  type InvoiceState,
  noChange,
  type ScanProgress,
  type Step
} from "./State.ts"
import { recompute } from "./Status.ts"

/**
 * Longest that an expiry waits for a network that cannot be read, in seconds: 24 h, as `modules/docs/guides/states.md`
 * promises. Then the invoice expires with the exception `expiry_unseen`.
 */
export const outageWaitSeconds = 86_400

/**
 * Longest that an expiry waits for a network that is being read, in seconds: 7 days. After the service was stopped for
 * days, every waiting invoice ended more than 24 h ago, but its payments are found within minutes of reading on.
 */
export const catchUpSeconds = 604_800

/** Shortest and longest time until a deadline that waits for networks is decided again, in seconds. */
const recheckSeconds = { least: 1, most: 60 }

export const tick = (before: Aggregate, progress: ScanProgress, now: number): Step => {
  const deadline = deadlineOf(before)
  if (deadline === null || now < deadline) return noChange(before)
  const unscanned = unscannedNetworks(before.invoice, progress, deadline)
  if (mustWaitForNetworks(unscanned, progress, deadline, now)) return noChange(before)
  const isFullyScanned = unscanned.length === 0 && progress.handling === "done"
  const state = isFullyScanned ? before : openException(before, {
    type: "expiry_unseen",
    paymentId: null,
    amount: amountRemaining(before.invoice),
    evidence: {
      networks: unscanned.map(({ network }) => network).join(),
      seen_until: Math.min(...unscanned.map(({ seenUntil }) => seenUntil ?? 0), deadline),
      unhandled_transfers: progress.handling === "done" ? "no" : "yes"
    }
  }, now)
  const { invoice } = state
  if (invoice.status === "unpaid") return recompute(state, [], "expire", now)
  if (isFullyRefunded(state)) return cancelRefunded(state)
  const next = openException({ ...state, invoice: { ...invoice, graceEnded: true } }, {
    type: "underpaid_expired",
    paymentId: null,
    amount: invoice.amountPaid,
    evidence: { amount: usdWire(invoice.amount), amount_paid: usdWire(invoice.amountPaid) }
  }, now)
  return { next, events: [] }
}

/**
 * When time ends the invoice's wait for funds, in epoch seconds: `expires_at` or the end of grace; null: it does not.
 */
const deadlineOf = (state: Aggregate): number | null => {
  const { expiresAt, graceEnded, policy, status } = state.invoice
  if (hasPending(state)) return null
  if (status === "unpaid") return expiresAt
  if (status !== "underpaid") return null
  const graceEnd = expiresAt + policy.underpaidGraceSeconds
  if (isFullyRefunded(state)) return Math.max(graceEnd, mayReturnUntil(state))
  return graceEnded ? null : graceEnd
}

/**
 * Until when money that left its chain may come back: a reorganisation brings most of it back within minutes, and an
 * invoice that has ended takes no more. 0: nothing has left.
 */
const mayReturnUntil = ({ payments }: Aggregate): number =>
  Math.max(0, ...payments.map(({ seenAt, status }) => status === "reverted" ? seenAt + outageWaitSeconds : 0))

/** The accepted networks that were not read up to its end; payments on other networks are rejected anyway. */
const unscannedNetworks = (
  { policy }: InvoiceState,
  { networks }: ScanProgress,
  end: number
): ReadonlyArray<NetworkCoverage> =>
  networks.filter(({ network, seenUntil }) =>
    (seenUntil === null || seenUntil < end) && (policy.acceptedNetworks?.includes(network) ?? true)
  )

/**
 * Whether a deadline that has come waits for networks: up to 24 h, or 7 days while they are being read and the
 * transfers handled.
 */
const mustWaitForNetworks = (
  unscanned: ReadonlyArray<NetworkCoverage>,
  { handling }: ScanProgress,
  end: number,
  now: number
): boolean => {
  if (unscanned.length === 0 && handling === "done") return false
  const isCatchingUp = handling !== "failing" && unscanned.every(({ isAdvancing }) => isAdvancing)
  return now < end + (isCatchingUp ? catchUpSeconds : outageWaitSeconds)
}

/** Devnet only: the invoice expires now. On mainnet nobody can bring its expiry forward. */
export const expireNow = (state: Aggregate, now: number): Step => {
  const { invoice } = state
  const isOpen = invoice.status === "unpaid" || invoice.status === "underpaid"
  if (!isOpen || invoice.environment !== "devnet") return noChange(state)
  const after: InvoiceState = { ...invoice, expiresAt: Math.min(invoice.expiresAt, now) }
  return { next: { ...state, invoice: after }, events: invoiceEvents(invoice, after, []) }
}

/**
 * When time may next change the invoice, in epoch seconds; null where time does not change it: while a payment is
 * pending, and once the invoice is paid or over. A deadline that waits for networks is decided again after as many
 * seconds as they are behind, 1 to 60: by then a chain with a block every 12 s has one more, and a network that is down
 * costs one decision a minute.
 */
export const nextDue = (state: Aggregate, now: number, progress: ScanProgress | undefined): number | null => {
  const end = deadlineOf(state)
  if (end === null || progress === undefined || now < end) return end
  const behind = unscannedNetworks(state.invoice, progress, end)
    .map(({ seenUntil }) => seenUntil === null ? recheckSeconds.most : now - seenUntil)
  const pause = Math.max(recheckSeconds.least, ...behind, ...(progress.handling === "done" ? [] : [now - end]))
  return now + Math.min(recheckSeconds.most, pause)
}
