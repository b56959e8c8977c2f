/**
 * What time changes: a refund without a destination expires, one without a price is approved once there is one, and one
 * that a batch has released is checked: its money may have left the chain.
 */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import { hasLeft } from "../../invoices/plugin.ts"
import { failLeft, refundsAfterLostMoney, type RefundState, untrackedRefunds } from "../machine.ts"
import { approveIfPossible } from "./Payouts.ts"
import { changeSubject, type RefundChangePlan, type RefundSubject } from "./RefundChanges.ts"
import { loadContext, type RefundServices, stepTo } from "./RefundServices.ts"
import { decideOnRefund } from "./RefundSteps.ts"

/** Refunds that one run of the timer reads, at most. */
const duePageSize = 100

/** The refunds of the same money as this one, and those of them that are cut or fail because it has left its chain. */
const findRefundsAfterLostMoney = Effect.fnUntraced(function*(
  services: RefundServices,
  refund: RefundState,
  current: RefundSubject,
  now: number
) {
  if ("exception" in current) {
    const refunds = [refund]
    return { refunds, changed: hasLeft(current.exception) ? failLeft(refunds, now) : [], invoice: null }
  }
  const { invoice, refunds } = yield* loadContext(services, current, now, [])
  return { refunds, changed: refundsAfterLostMoney(refunds, invoice, now), invoice }
})

/**
 * While a wallet could pay its batch, a refund counted as sent, so it did not fail where its money left the chain. Now
 * no wallet can pay it: it fails where the money is not there.
 */
const recheck = Effect.fnUntraced(function*(
  services: RefundServices,
  refund: RefundState,
  current: RefundSubject,
  now: number
): Effect.fn.Return<RefundChangePlan> {
  const { changed, invoice, refunds } = yield* findRefundsAfterLostMoney(services, refund, current, now)
  const previous = new Map(refunds.map((each) => [each.id, each]))
  const isMoneyPresent = changed.every(({ id }) => id !== refund.id)
  const kept = isMoneyPresent ? [{ ...refund, dueAt: null, version: refund.version + 1 }] : []
  const steps = [...changed, ...kept].map((next) => stepTo(services, previous.get(next.id) ?? refund, next))
  const after = new Map(steps.map((step) => [step.refund.id, step.refund]))
  return {
    commands: [
      ...steps.flatMap(({ commands }) => commands),
      ...invoice === null ? [] : untrackedRefunds(invoice, refunds.map((each) => after.get(each.id) ?? each))
    ],
    writes: steps.flatMap(({ writes }) => writes),
    facts: steps.flatMap(({ facts }) => facts)
  }
})

/** Whether no wallet can pay the refund any more, and its money was not checked since. */
const needsRecheck = ({ dueAt, status }: RefundState): boolean => status === "processing" && dueAt !== null

/** `Refunds.recheckMoney`. */
export const recheckMoney = (services: RefundServices) =>
  Effect.fnUntraced(function*<E>(read: Effect.Effect<ReadonlyArray<RefundState>, E>) {
    const refunds = yield* read
    const due = refunds.filter(needsRecheck)
    yield* Effect.forEach(due, ({ id, ...owner }) =>
      changeSubject(
        services,
        owner,
        noCause,
        Effect.fnUntraced(function*(current, now) {
          const refund = yield* services.repo.find(id)
          return refund === null || !needsRecheck(refund)
            ? { commands: [] }
            : yield* recheck(services, refund, current, now)
        })
      ).pipe(dieOnReplay), { discard: true })
    return due.length > 0 ? yield* read : refunds
  })

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
      if (refund !== null && needsRecheck(refund)) return yield* recheck(services, refund, current, now)
      if (refund?.status !== "pending_approval" || "exception" in current) return { commands: [] }
      const context = yield* loadContext(services, current, now, [])
      const next = { ...refund, version: refund.version + 1, updatedAt: now }
      return stepTo(services, refund, yield* approveIfPossible(services, next, context))
    })
  ).pipe(
    Effect.as(1),
    Effect.catch((error) =>
      Effect.as(Effect.logWarning("a refund that is due could not be processed", { refund: due.id, error }), 0)
    )
  )

/** The timer of due refunds. */
export const refundTimer = (services: RefundServices) => ({
  name: "refunds",
  batchSize: duePageSize,
  run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const due = yield* services.repo.due(Math.floor(nowMillis / 1000), limit)
    const processedCounts = yield* Effect.forEach(due, (refund) => processDue(services, refund), {
      concurrency: "unbounded"
    })
    // Those that could not be processed are still due: the timer pauses before it looks at them again.
    return processedCounts.reduce((sum, each) => sum + each, 0)
  }),
  nextDueMillis: Effect.map(services.repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
})
