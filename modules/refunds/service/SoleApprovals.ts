/** The limit of what goes out in a day on the approval of one person (modules/docs/reference/refunds.md#approval). */
import { Effect, MutableRef } from "effect"
import type { Write } from "../../../runtime/Commit.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { afterSoleApproval, type RefundState, type SoleApprovals } from "../machine.ts"
import { soleApprovalsWrite } from "../repo.ts"
import type { RefundServices } from "./RefundServices.ts"

/** Counts what one person alone approves in one change. */
export interface SoleApprovalCount {
  /** Counts an act of this value; false: it is above the limit of the day, so another person must approve it too. */
  readonly add: (value: UsdMillis | null) => Effect.Effect<boolean>
  /**
   * What is to be stored with the change. Of two changes at once one is a conflict, and counts anew: together they stay
   * below the limit.
   */
  readonly writes: () => ReadonlyArray<Write>
}

type Owner = Pick<RefundState, "environment" | "merchantId">

/** Counts nothing yet, and reads nothing before something is to be counted. */
export const soleApprovalCount = (
  { repo, settings }: Pick<RefundServices, "repo" | "settings">,
  owner: Owner,
  nowSeconds: number
): SoleApprovalCount => {
  const counted = MutableRef.make<SoleApprovals | null>(null)
  return {
    add: Effect.fnUntraced(function*(value) {
      const { auto_approve_limit_day: limit } = yield* settings.forInvoices(owner.merchantId, owner.environment)
      const before = MutableRef.get(counted) ?? (yield* repo.soleApprovals(owner, nowSeconds))
      const after = afterSoleApproval(before, value, usdMillis(BigInt(limit)))
      if (after !== null) MutableRef.set(counted, after)
      return after !== null
    }),
    writes: () => {
      const after = MutableRef.get(counted)
      return after === null ? [] : [soleApprovalsWrite(owner, after)]
    }
  }
}

/** `Refunds.countSoleApproval`. */
export const countSoleApproval = (services: Pick<RefundServices, "repo" | "settings">) =>
  Effect.fn("Refunds.countSoleApproval")(function*(owner: Owner, value: UsdMillis | null, nowSeconds: number) {
    const count = soleApprovalCount(services, owner, nowSeconds)
    return (yield* count.add(value)) ? count.writes() : null
  })
