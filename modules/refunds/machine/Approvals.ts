/** Who may say that money goes out, and how many people must. Pure. */
import type { Member } from "../../../runtime/Members.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Right, roleHas } from "../../../schemas/Roles.ts"
import type { Approval, ApprovalRules, RefundState } from "./State.ts"

/** What is approved. */
export type ApprovedAction = "payout" | "refund"

const rightToApprove = { payout: "batches:approve", refund: "refunds:approve" } as const satisfies Record<
  ApprovedAction,
  Right
>

/** What an act is worth: when the money came, and now; null: nobody knows. */
export interface ActValue {
  readonly book: UsdMillis
  readonly spot: UsdMillis | null
}

/** The people who may approve. */
export const approversOf = (
  action: ApprovedAction,
  members: ReadonlyArray<Member>,
  environment: Environment
): ReadonlySet<string> =>
  new Set(members.filter(({ role }) => roleHas(role, rightToApprove[action], environment)).map(({ person }) => person))

/** People that an act needs whatever it is worth: two where two may approve, else one. */
export const peopleRequired = (approvers: ReadonlySet<string>): number => approvers.size < 2 ? 1 : 2

/** The stricter of the rules when an act was opened and those of now. */
export const stricterRules = (before: ApprovalRules, now: ApprovalRules): ApprovalRules => ({
  people: Math.max(before.people, now.people),
  autoApproveLimit: before.autoApproveLimit < now.autoApproveLimit ? before.autoApproveLimit : now.autoApproveLimit
})

/** The larger of the two values; null: without a price now nobody knows it. */
export const valueOf = ({ book, spot }: ActValue): UsdMillis | null => spot === null ? null : spot > book ? spot : book

/**
 * People that an act needs. One is enough up to the merchant's limit, by the larger of the two values; without a price
 * now nobody knows whether it is below the limit.
 */
export const approvalsRequired = (act: ActValue, { autoApproveLimit, people }: ApprovalRules): number => {
  const value = valueOf(act)
  return value !== null && value <= autoApproveLimit ? 1 : people
}

/** What went out of a merchant's money on one day of UTC on the approval of one person where two may approve. */
export interface SoleApprovals {
  /** `YYYY-MM-DD`. */
  readonly day: string
  /** Of its row; 0: nothing went out yet. */
  readonly version: number
  readonly amount: UsdMillis
}

/** The same after one more; null: it would be above the limit of the day, or nobody knows what it is worth. */
export const afterSoleApproval = (
  before: SoleApprovals,
  value: UsdMillis | null,
  limit: UsdMillis
): SoleApprovals | null =>
  value === null || before.amount + value > limit ? null : { ...before, amount: usdMillis(before.amount + value) }

/** Who wants to approve: a person with a role, or a program. */
export type Approver = Pick<Principal, "credential" | "kind" | "person" | "role">

/**
 * The approval that a caller gives; null: keys and internal services are programs, which never approve, and some roles
 * do not.
 */
export const approvalBy = (
  action: ApprovedAction,
  { credential, kind, person, role }: Approver,
  environment: Environment,
  at: number
): Approval | null =>
  kind === "wallet" && person !== null && roleHas(role, rightToApprove[action], environment)
    ? { person, actor: credential, at }
    : null

/** The approvals with one more; a person counts once. */
export const withApproval = (approvals: ReadonlyArray<Approval>, added: Approval): ReadonlyArray<Approval> =>
  approvals.some(({ person }) => person === added.person) ? approvals : [...approvals, added]

/** Whether people have approved a refund that is to be paid. Nobody does so for a refund of an order. */
export const isApproved = ({ terms }: Pick<RefundState, "terms">): boolean =>
  terms !== null && terms.approvals.length > 0
