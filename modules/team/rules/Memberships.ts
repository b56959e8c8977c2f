/** Who is a member of a merchant in which role, and what becomes of that. Pure. Times are epoch seconds. */
import type { Member } from "../../../runtime/Members.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { firstOwner, type Role } from "../../../schemas/Roles.ts"

/** Seconds for which a change of owners waits for a second one. */
export const proposalSeconds = 86_400

/** Members that a merchant may have, and invitations that may be open. */
export const maximumMembers = 200

/** What one owner wants of a member, and another must want too. */
export interface Proposal {
  /** The role to come; null: to be removed. */
  readonly role: Role | null
  /** The person, as `Member.person` names it. */
  readonly proposedBy: string
  readonly expiresAt: number
}

/** A person at a merchant. There is one row of each pair, whatever became of it. */
export interface MemberState {
  readonly id: string
  readonly merchantId: number
  /** `per_<uuid>` */
  readonly person: string
  readonly role: Role
  readonly status: "active" | "removed"
  /** Whether this is the first owner, whose wallets and keys name nobody. */
  readonly isFirst: boolean
  readonly proposal: Proposal | null
  readonly joinedAt: number
  readonly version: number
}

/** A member as people are counted: the first owner under the name that was its before it was known. */
export const memberOf = ({ isFirst, person, role }: MemberState): Member => ({
  person: isFirst ? firstOwner : person,
  role
})

export interface NewMember {
  readonly id: string
  readonly merchantId: number
  readonly person: string
  readonly role: Role
  readonly isFirst: boolean
}

/** A member as it begins; `before` is the row of somebody who was one before. */
export const newMember = (member: NewMember, before: MemberState | undefined, now: number): MemberState => ({
  ...member,
  isFirst: member.isFirst || before?.isFirst === true,
  status: "active",
  proposal: null,
  joinedAt: now,
  version: (before?.version ?? 0) + 1
})

const ownersOf = (members: ReadonlyArray<MemberState>): ReadonlyArray<MemberState> =>
  members.filter(({ role, status }) => status === "active" && role === "owner")

/** What is to become of a member: another role, or null: removed. */
export interface MemberChange {
  readonly target: MemberState
  readonly role: Role | null
  /** Who wants it, as `Member.person` names it. */
  readonly by: string
}

/** Whether a change is about who owns the merchant. */
const concernsOwners = (before: Role | null, after: Role | null): boolean => before === "owner" || after === "owner"

/**
 * Whether an owner alone may not do it: where real money is served and two owners exist, both must want what makes or
 * unmakes an owner. Whoever gives up being one needs nobody.
 */
export const needsSecondOwner = (
  members: ReadonlyArray<MemberState>,
  { role, target, by }: { readonly target: MemberState | null; readonly role: Role | null; readonly by: string },
  servesMainnet: boolean
): boolean =>
  servesMainnet && ownersOf(members).length > 1 && concernsOwners(target?.role ?? null, role)
  && (target === null || memberOf(target).person !== by)

/**
 * Whose the keys of a removed member become: those of who removes it, or of another owner where it removes itself or
 * the caller is no owner; the first owner before those who joined earliest.
 */
export const keyRecipient = (members: ReadonlyArray<MemberState>, target: MemberState, by: string): string => {
  const owners = ownersOf(members).filter(({ id }) => id !== target.id)
    .toSorted((one, other) => Number(other.isFirst) - Number(one.isFirst) || one.joinedAt - other.joinedAt)
  const recipient = owners.find((owner) => memberOf(owner).person === by) ?? owners[0]
  return recipient === undefined ? by : memberOf(recipient).person
}

export interface ChangeDecision {
  readonly isApplied: boolean
  readonly member: MemberState
}

const lastOwner = publicError("INVALID_TRANSITION", {
  message: "This is the only owner of the merchant: make somebody else an owner first"
})

const applied = (target: MemberState, role: Role | null): MemberState => ({
  ...target,
  ...(role === null ? { status: "removed" as const } : { role }),
  proposal: null,
  version: target.version + 1
})

/** Whether another owner, who is one still, wants the same already. */
const isWantedBefore = (
  members: ReadonlyArray<MemberState>,
  { target: { proposal }, role, by }: MemberChange,
  now: number
): boolean =>
  proposal !== null && proposal.role === role && proposal.proposedBy !== by && now < proposal.expiresAt
  && ownersOf(members).some((owner) => memberOf(owner).person === proposal.proposedBy)

/**
 * What becomes of a member. At least one owner remains; where a second owner must want it, the first call is kept as a
 * proposal and the second, by another owner, does it. Undefined: it is so already.
 */
export const decideChange = (
  members: ReadonlyArray<MemberState>,
  change: MemberChange,
  servesMainnet: boolean,
  now: number
): ChangeDecision | PublicError | undefined => {
  const { by, role, target } = change
  if (target.role === role) return undefined
  if (target.role === "owner" && ownersOf(members).length === 1) return lastOwner
  if (!needsSecondOwner(members, change, servesMainnet) || isWantedBefore(members, change, now)) {
    return { isApplied: true, member: applied(target, role) }
  }
  const { proposal } = target
  if (proposal !== null && proposal.role === role && proposal.proposedBy === by && now < proposal.expiresAt) {
    return publicError("APPROVER_MUST_DIFFER", { message: "Another owner must send the same call: you have already" })
  }
  return {
    isApplied: false,
    member: {
      ...target,
      proposal: { role, proposedBy: by, expiresAt: now + proposalSeconds },
      version: target.version + 1
    }
  }
}

/** Seconds for which an invitation is open. */
export const invitationSeconds = 604_800

export interface InvitationState {
  readonly id: string
  readonly merchantId: number
  readonly role: Role
  readonly email: string | null
  readonly status: "open" | "accepted" | "revoked"
  /** Who made it, as `Member.person` names it. */
  readonly invitedBy: string
  /** Whether a second owner must approve it first. */
  readonly needsApproval: boolean
  readonly approvedBy: string | null
  readonly tokenHash: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly version: number
}

/** How an invitation is shown. */
export type InvitationStatus = "waiting" | "open" | "accepted" | "revoked" | "expired"

export const invitationStatusAt = (invitation: InvitationState, now: number): InvitationStatus => {
  if (invitation.status !== "open") return invitation.status
  if (now >= invitation.expiresAt) return "expired"
  return invitation.needsApproval && invitation.approvedBy === null ? "waiting" : "open"
}

/** The invitation with a second owner's approval. */
export const approveInvitation = (
  invitation: InvitationState,
  by: string,
  now: number
): InvitationState | PublicError => {
  if (invitationStatusAt(invitation, now) !== "waiting") {
    return publicError("INVALID_TRANSITION", { message: "This invitation waits for no approval" })
  }
  return invitation.invitedBy === by
    ? publicError("APPROVER_MUST_DIFFER", { message: "Another owner must approve the invitation that you made" })
    : { ...invitation, approvedBy: by, version: invitation.version + 1 }
}

export const endInvitation = (invitation: InvitationState, status: "accepted" | "revoked"): InvitationState => ({
  ...invitation,
  status,
  version: invitation.version + 1
})
