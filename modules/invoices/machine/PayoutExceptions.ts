/** Exceptions about money that left: they open at first sight of a transfer, and close where it leaves its chain. Pure. */
import type { UsdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { PayoutExceptionType } from "../../../schemas/Payment.ts"
import type { ExceptionDraft, ExceptionState } from "./State.ts"

/** A transfer that left a wallet and should not have, as its chain has it now. */
export interface PayoutSighting {
  /** Always the same for a transfer. */
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  /** `gone`: it left its chain, or is what should have left. */
  readonly sight: "seen" | "final" | "gone"
}

/** What an exception about it says. */
export interface PayoutDetails {
  readonly type: PayoutExceptionType
  /** usd_millis; 0 where nobody knows. */
  readonly amount: UsdMillis
  readonly evidence: ExceptionDraft["evidence"]
}

/** Whether the transfer of an exception is on its chain for good, which its books depend on. */
const isFinal = ({ evidence }: ExceptionState): boolean => evidence.final === "yes"

const withFinal = (evidence: ExceptionDraft["evidence"], final: boolean): ExceptionDraft["evidence"] => ({
  ...evidence,
  final: final ? "yes" : "no"
})

/**
 * The exception after a sight of its transfer; null where it is so already. A decision stays whatever the chain does,
 * and hears only that the transfer is final.
 */
export const afterSight = (
  { id, sight }: Pick<PayoutSighting, "id" | "sight">,
  details: PayoutDetails | null,
  current: ExceptionState | null,
  now: number
): ExceptionState | null => {
  if (sight === "gone" || details === null) {
    return current?.status !== "open" || isFinal(current)
      ? null
      : { ...current, version: current.version + 1, status: "resolved", resolvedAt: now }
  }
  if (current === null || (current.status === "resolved" && current.resolution === null)) {
    return {
      ...details,
      id,
      version: (current?.version ?? 0) + 1,
      status: "open",
      paymentId: null,
      evidence: withFinal(details.evidence, sight === "final"),
      createdAt: current?.createdAt ?? now,
      resolvedAt: null,
      resolution: null
    }
  }
  return sight === "final" && !isFinal(current)
    ? { ...current, version: current.version + 1, evidence: withFinal(current.evidence, true) }
    : null
}
