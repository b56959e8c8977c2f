/** Who hears of what, and when. Pure. Times are epoch seconds. */
import type { NetworkCondition } from "../../runtime/Chains.ts"
import type { Notice, NoticeKind } from "../../runtime/Notices.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Right } from "../../schemas/Roles.ts"
import type { ExceptionRecord } from "../invoices/plugin.ts"

/** Seconds in which a merchant gets one message of a kind, at most: a flood of cases is one message with their number. */
export const quietSeconds = 3_600

/** Seconds for which a notice is kept. What waits for so long is not sent any more: nobody sent mail for days. */
export const keptSeconds = 7 * 86_400

/** The right by which somebody acts on what a notice tells of; who has it gets the notice. */
export const rightOf: Readonly<Record<Exclude<NoticeKind, "network">, Right>> = {
  exception: "exceptions:resolve",
  endpoint: "webhooks:write"
}

/** The notice of an exception that a change opens; null: it opens none. One that opens anew is told of anew. */
export const exceptionNotice = (
  before: ExceptionRecord["exception"] | null,
  { environment, exception, merchantId }: Pick<ExceptionRecord, "environment" | "exception" | "merchantId">
): Notice | null =>
  exception.status === "open" && before?.status !== "open"
    ? {
      id: `${exception.id}_${exception.version}`,
      merchantId,
      environment,
      kind: "exception",
      subject: exception.id,
      type: exception.type,
      amount: exception.amount === 0n ? null : exception.amount
    }
    : null

/** Seconds that a network is in trouble before its operator is woken: short outages of nodes end by themselves. */
export const troubleSeconds = 600

/** How a network was seen last. */
export interface NetworkWatch {
  readonly network: string
  readonly environment: Environment
  readonly version: number
  readonly condition: NetworkCondition
  /** Since when it works, or does not. */
  readonly since: number
  readonly isTold: boolean
}

/** What a look at a network changes, and whether the operator is told of it. */
export interface WatchStep {
  readonly next: NetworkWatch
  readonly tells: boolean
}

/**
 * A network that was in trouble for {@link troubleSeconds} is told of once, and once more when it works again. Another
 * trouble in between is the same trouble. Null: nothing changes.
 */
export const watchNetwork = (before: NetworkWatch, condition: NetworkCondition, now: number): WatchStep | null => {
  const worked = before.condition === "ok"
  if (worked && condition === "ok") return null
  const changed = { ...before, version: before.version + 1, condition }
  if (worked) return { next: { ...changed, since: now, isTold: false }, tells: false }
  if (condition === "ok") {
    return { next: { ...changed, since: now, isTold: false }, tells: before.isTold }
  }
  if (before.isTold || now < before.since + troubleSeconds) return null
  return { next: { ...changed, isTold: true }, tells: true }
}
