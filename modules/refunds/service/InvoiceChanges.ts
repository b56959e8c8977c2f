/**
 * What a change of the invoice means for its open refunds: money that is gone is not given back, what the payor said is
 * where it goes, and what has become deep may be paid out.
 */
import { Effect } from "effect"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { HookInput, HookResult } from "../../invoices/plugin.ts"
import { refundsAfterLostMoney, untrackedRefunds } from "../machine.ts"
import { refundsIn, refundTriggers, withFirstDestination } from "../rules.ts"
import { approveIfPossible } from "./Payouts.ts"
import { loadContext, type RefundServices, stepTo } from "./RefundServices.ts"

export const onInvoiceChange = (services: RefundServices) =>
  Effect.fnUntraced(function*(input: HookInput): Effect.fn.Return<HookResult, PublicError> {
    const { decision, facts, now } = input
    const triggers = refundTriggers(input)
    if (triggers === null) return {}
    const context = yield* loadContext(services, decision.next, now, facts)
    const reduced = triggers.isReverted ? refundsAfterLostMoney(context.refunds, decision.next, now) : []
    const changed = new Map(reduced.map((refund) => [refund.id, refund]))
    const waiting = context.refunds.filter(({ id, status }) =>
      !changed.has(id) && (status === "pending_approval" || status === "awaiting_destination")
    )
    for (const refund of waiting) {
      const next = { ...refund, version: refund.version + 1, updatedAt: now }
      const withDestination = refund.status === "awaiting_destination"
        ? withFirstDestination(services.catalog, next, triggers.destinations, context)
        : next
      const approved = refund.terms === null
        ? yield* approveIfPossible(services, withDestination, {
          ...context,
          refunds: context.refunds.map((each) => changed.get(each.id) ?? each)
        })
        : withDestination
      if (approved.status !== refund.status) changed.set(refund.id, approved)
    }
    // The change itself moves these already, and a row is written once in a commit.
    const movedIds = new Set(refundsIn(facts).map(({ id }) => id))
    const previous = new Map(context.refunds.map((refund) => [refund.id, refund]))
    const steps = [...changed.values()].filter(({ id }) => !movedIds.has(id)).map((refund) =>
      stepTo(services, previous.get(refund.id) ?? null, refund)
    )
    const unchanged = context.refunds.filter(({ id }) => !changed.has(id))
    // What is out counts against other payments once its own is gone.
    const untracked = triggers.isReverted ? untrackedRefunds(decision.next, unchanged) : []
    const commands = [...steps.flatMap((step) => step.commands), ...untracked]
    return {
      ...(commands.length === 0 ? {} : { commands }),
      writes: steps.flatMap(({ writes }) => writes),
      facts: steps.flatMap(({ facts }) => facts)
    }
  })
