/** What the clock does: it ends what has no destination for too long, and approves what had no price. */
import { Effect } from "effect"
import { noCause } from "../../../runtime/Commit.ts"
import type { RefundState } from "../machine.ts"
import { approveIfPossible } from "./Payouts.ts"
import { changeSubject } from "./RefundChanges.ts"
import { loadContext, type RefundServices, stepTo } from "./RefundServices.ts"
import { decideOnRefund } from "./RefundSteps.ts"

/** Refunds the clock looks at in one run. */
const dueBatch = 100

const processDue = (services: RefundServices, due: RefundState) =>
  changeSubject(
    services,
    due,
    noCause,
    Effect.fnUntraced(function*(current, now) {
      const refund = yield* services.repo.find(due.id)
      if (refund?.status === "awaiting_destination") {
        return yield* decideOnRefund(services)(refund, { _tag: "Expire" }, current, now)
      }
      if (refund?.status !== "pending_approval" || "exception" in current) return { commands: [] }
      const context = yield* loadContext(services, current, now, [])
      const next = { ...refund, version: refund.version + 1, updatedAt: now }
      return stepTo(services, refund, yield* approveIfPossible(services, next, context))
    })
  ).pipe(
    Effect.as(1),
    Effect.catch((error) =>
      Effect.as(Effect.logWarning("a refund that is due could not be moved", { refund: due.id, error }), 0)
    )
  )

/** The timer of due refunds. */
export const refundTimer = (services: RefundServices) => ({
  name: "refunds",
  batchSize: dueBatch,
  run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const due = yield* services.repo.due(Math.floor(nowMillis / 1000), limit)
    const moved = yield* Effect.forEach(due, (refund) => processDue(services, refund), { concurrency: "unbounded" })
    // Those that could not be moved are still due: the timer pauses before it looks at them again.
    return moved.reduce((sum, each) => sum + each, 0)
  }),
  nextDueMillis: Effect.map(services.repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
})
