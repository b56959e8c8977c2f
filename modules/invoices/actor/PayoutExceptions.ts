/** Exceptions about money that left, kept in the commit of whoever looks at the chain for it. */
import { Effect } from "effect"
import type { BalanceDelta, Write } from "../../../runtime/Commit.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import {
  afterSight,
  exceptionEvents,
  type ExceptionRecord,
  type PayoutDetails,
  type PayoutSighting
} from "../machine.ts"
import { unmatchedWrite } from "../repo.ts"
import { runUnmatchedHooks } from "./Hooks.ts"
import type { UnmatchedContext } from "./UnmatchedPayments.ts"

/** What a sight of a transfer adds to a commit. */
export interface PayoutExceptionChange {
  /** Whether it opens: then somebody must hear of it. */
  readonly opens: boolean
  readonly writes: ReadonlyArray<Write>
  readonly balances: ReadonlyArray<BalanceDelta>
  readonly events: ReadonlyArray<EventDraft>
}

/** `Invoices.sightPayout`. */
export const sightPayout = Effect.fnUntraced(function*(
  { clock, hooks, repo }: UnmatchedContext,
  sighting: PayoutSighting,
  details: PayoutDetails | null
): Effect.fn.Return<PayoutExceptionChange | null> {
  const { environment, id, merchantId } = sighting
  const before = yield* repo.findException(merchantId, id)
  const nowMillis = yield* clock.nowMillis(merchantId, environment)
  const now = Math.floor(nowMillis / 1_000)
  const exception = afterSight(sighting, details, before?.exception ?? null, now)
  if (exception === null) return null
  const after: ExceptionRecord = { exception, merchantId, environment, invoice: null, payment: null }
  const { balances, events, writes } = yield* runUnmatchedHooks(hooks.current(), {
    before,
    after,
    facts: [],
    now,
    nowMillis
  })
  return {
    opens: exception.status === "open" && before?.exception.status !== "open",
    writes: [unmatchedWrite(sighting, exception), ...writes],
    balances,
    events: [...exceptionEvents(before, after), ...events]
  }
})
