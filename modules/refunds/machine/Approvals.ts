/** Who may say that money goes out, and how many people must. Pure. */
import type { Principal } from "../../../schemas/Auth.ts"
import type { UsdMillis } from "../../../schemas/Money.ts"
import type { Approval } from "./State.ts"

/** Somebody of a merchant. People count, not credentials. */
export interface Member {
  readonly person: string
  readonly mayApprove: boolean
}

/** What an act is worth: when the money came, and now; null: nobody knows. */
export interface ActValue {
  readonly book: UsdMillis
  readonly spot: UsdMillis | null
}

/**
 * People that an act needs: two where two may approve, else one. One is enough up to the merchant's limit, by the
 * larger of the two values; without a price now nobody knows whether it is below the limit.
 */
export const approvalsRequired = (
  _action: "payout" | "refund",
  { book, spot }: ActValue,
  { autoApproveLimit }: { readonly autoApproveLimit: UsdMillis },
  members: ReadonlyArray<Member>
): number => {
  const approvers = new Set(members.filter(({ mayApprove }) => mayApprove).map(({ person }) => person))
  if (approvers.size < 2) return 1
  const value = spot === null ? null : spot > book ? spot : book
  return value !== null && value <= autoApproveLimit ? 1 : 2
}

/** All wallets that sign in for a merchant are one person, and its owner, until there are members with roles. */
const owner: Member = { person: "owner", mayApprove: true }

/** The people of a merchant, as far as the service knows them. */
export const membersOf: ReadonlyArray<Member> = [owner]

/** The approval that a caller gives; null: a key and an internal service are programs, which never approve. */
export const approvalBy = ({ credential, kind }: Pick<Principal, "credential" | "kind">, at: number): Approval | null =>
  kind === "wallet" ? { person: owner.person, actor: credential, at } : null

/** The approvals with one more; a person counts once. */
export const withApproval = (approvals: ReadonlyArray<Approval>, added: Approval): ReadonlyArray<Approval> =>
  approvals.some(({ person }) => person === added.person) ? approvals : [...approvals, added]
