/**
 * Money that pays no invoice: what each event makes of its exception (modules/docs/reference/exceptions.md). Pure.
 *
 *   nothing ── arrives ──> open ── leaves ──> resolved, undecided ── arrives ──> open
 *   open ── decided ──> resolved: for good
 *   open ── decided: refund ──> resolved ── the refund is given up ──> open; resolved and undecided where it has left
 */
import type { ExceptionResolution } from "../../../schemas/Exception.ts"
import { parseUnits, type UsdMillis } from "../../../schemas/Money.ts"
import { type Environment, type Network, networks } from "../../../schemas/Network.ts"
import type { UnmatchedPaymentType } from "../../../schemas/Payment.ts"
import type { ExceptionDraft, ExceptionState } from "./State.ts"

/** The wanted state of an exception without an invoice; `isOpen` is false once its transfer was reverted. */
export interface UnmatchedPayment {
  /** Always the same for a transfer. */
  readonly id: string
  readonly type: UnmatchedPaymentType
  /** The merchant who must decide; `systemMerchant`: the operator must. */
  readonly merchantId: number
  readonly environment: Environment
  readonly isOpen: boolean
  /** usd_millis it was worth when it was recorded; 0 where nobody knew. */
  readonly amount: UsdMillis
  readonly evidence: ExceptionDraft["evidence"]
}

/** What happens to money that pays no invoice. */
export type UnmatchedEvent =
  /** Its transfer is on its chain to stay, or has left it. */
  | { readonly _tag: "Observe"; readonly payment: UnmatchedPayment }
  | { readonly _tag: "Resolve"; readonly resolution: ExceptionResolution }
  /** The refund of it has made another step: no other change may be made of the money as it was before. */
  | { readonly _tag: "Touch" }
  /** The refund of it is canceled or expired. */
  | { readonly _tag: "GiveUp" }

/** Whether a refund stands for the money, paid or not. */
const isHeld = ({ resolution, status }: ExceptionState): boolean =>
  status === "resolved" && resolution?.action === "refund"

/** Whether the money has left its chain: nobody had decided on it, or a refund of it stands. */
export const hasLeft = ({ resolution, status }: Pick<ExceptionState, "resolution" | "status">): boolean =>
  status === "resolved" && (resolution === null || resolution.isReverted === true)

/** The exception after an event; null where nothing changes: it is in that state already, or was decided on. */
export const stepUnmatched = (
  current: ExceptionState | null,
  event: UnmatchedEvent,
  now: number
): ExceptionState | null => {
  if (event._tag === "Observe") return observe(current, event.payment, now)
  if (current === null) return null
  const next = { ...current, version: current.version + 1 }
  switch (event._tag) {
    case "Resolve":
      return current.status === "resolved"
        ? null
        : { ...next, status: "resolved", resolvedAt: now, resolution: event.resolution }
    case "Touch":
      return next
    case "GiveUp":
      if (!isHeld(current)) return next
      return hasLeft(current)
        ? { ...next, resolution: null }
        : { ...next, status: "open", resolvedAt: null, resolution: null }
  }
}

const observe = (current: ExceptionState | null, payment: UnmatchedPayment, now: number): ExceptionState | null => {
  if (current !== null && isHeld(current)) return observeHeld(current, payment)
  if ((current?.status === "open") === payment.isOpen || current?.resolution != null) return null
  return {
    id: payment.id,
    version: (current?.version ?? 0) + 1,
    type: payment.type,
    status: payment.isOpen ? "open" : "resolved",
    paymentId: null,
    amount: payment.amount,
    evidence: payment.evidence,
    createdAt: current?.createdAt ?? now,
    resolvedAt: payment.isOpen ? null : now,
    resolution: null
  }
}

/** The refund stays the decision; what it was worth stays too, as the refund is of that. */
const observeHeld = (
  current: ExceptionState,
  { amount, evidence, isOpen }: UnmatchedPayment
): ExceptionState | null => {
  if (hasLeft(current) !== isOpen) return null
  const { isReverted: _, ...decided } = current.resolution!
  const isSameMoney = evidence.token_amount === current.evidence.token_amount
  return {
    ...current,
    version: current.version + 1,
    resolution: isOpen ? decided : { ...decided, isReverted: true },
    ...(isOpen && !isSameMoney ? { amount, evidence } : {})
  }
}

/** The transfer of money that pays no invoice, as its exception has it. */
export interface UnmatchedTransfer {
  readonly network: Network
  readonly token: {
    readonly id: number | null
    readonly symbol: string | null
    readonly decimals: number | null
    /** Null: the network's coin. */
    readonly address: string | null
  }
  readonly units: bigint
  readonly txHash: string | null
  /** Fingerprint of the wallet that received it; null: it is not known. */
  readonly wallet: string | null
}

const isNetwork = (text: unknown): text is Network => networks.some((network) => network === text)

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null)

/** Null: the exception is about no transfer. */
export const unmatchedTransfer = ({ evidence }: Pick<ExceptionState, "evidence">): UnmatchedTransfer | null => {
  const { network, token_amount: amount, token_amount_unit: unit } = evidence
  if (!isNetwork(network) || typeof amount !== "string") return null
  const decimals = numberOrNull(evidence.token_decimals)
  const units = parseUnits(amount, unit === "token" && decimals !== null ? decimals : 0)
  return units === undefined ? null : {
    network,
    token: {
      id: numberOrNull(evidence.token_id),
      symbol: textOrNull(evidence.token_symbol),
      decimals,
      address: textOrNull(evidence.token)
    },
    units,
    txHash: textOrNull(evidence.tx_hash),
    wallet: textOrNull(evidence.wallet)
  }
}
