/** Who is a member of a merchant in which role, and what becomes of that. Pure. Times are epoch seconds. */
import type { Member } from "../../../runtime/Members.ts"
import { allowedFrom, type ChangeApproval, newChangeApproval, waitSeconds } from "../../../schemas/Proposals.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { firstOwnerPerson, type Role, roleHas } from "../../../schemas/Roles.ts"
import { pageUrlOf } from "../../../schemas/Web.ts"

/** Seconds for which a change waits for another owner. */
export const proposalSeconds = waitSeconds

/** Seconds within which whoever may do a change alone after a day does it. */
const aloneSeconds = 604_800

/** Members that a merchant may have, and invitations that may be open. */
export const maximumMembers = 200

/** What one owner wants of a member, and may not do at once alone: another one must, or the same one after a wait. */
export interface Proposal extends ChangeApproval {
  /** The role to come; null: to be removed. */
  readonly role: Role | null
  readonly expiresAt: number
}

/** A person at a merchant. There is one row of each pair, also after a removal. */
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
  /** From when on the member may move money on mainnet, by whatever it signs in. */
  readonly moneyFrom: number
  readonly version: number
}

/**
 * A member as people are counted. The first owner keeps the name that was counted before the team knew the person, so
 * that its keys and approvals stay its own.
 */
export const memberOf = ({ isFirst, moneyFrom, person, role }: MemberState): Member => ({
  person: isFirst ? firstOwnerPerson : person,
  role,
  moneyFrom
})

export interface NewMember {
  readonly id: string
  readonly merchantId: number
  readonly person: string
  readonly role: Role
  readonly isFirst: boolean
  readonly moneyFrom: number
}

/** A new member; `before` is the row of somebody who was removed and joins again. */
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

/** Whether a role may approve that real money goes out; null: nobody's. */
const isApproving = (role: Role | null): boolean =>
  role !== null && (roleHas(role, "refunds:approve", "mainnet") || roleHas(role, "batches:approve", "mainnet"))

/** What is to become of a member: another role, or null: removed. */
export interface MemberChange {
  readonly target: MemberState
  readonly role: Role | null
  /** Who wants it, as `Member.person` names it. */
  readonly by: string
}

/** What a change needs beside the owner who wants it: nothing, another owner, or that a day passes. */
export type Consent = "none" | "second_owner" | "day"

/**
 * What a change needs that makes or unmakes somebody who approves. With real money one owner alone could else put
 * others in the place of those who must approve too. Where two owners exist, both must want it. Where only admins are
 * beside the owner, a day must pass in which they see it. Whoever gives up a role of its own needs nobody.
 */
export const consentTo = (
  members: ReadonlyArray<MemberState>,
  { role, target, by }: { readonly target: MemberState | null; readonly role: Role | null; readonly by: string },
  servesMainnet: boolean
): Consent => {
  const concernsApprovers = isApproving(target?.role ?? null) || isApproving(role)
  if (!servesMainnet || !concernsApprovers || (target !== null && memberOf(target).person === by)) return "none"
  if (ownersOf(members).length > 1) return "second_owner"
  const approvers = members.filter((member) => member.status === "active" && isApproving(member.role))
  return approvers.length > 1 ? "day" : "none"
}

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

/** What a call comes to: the change is done, or kept as a proposal, or a proposal ends. */
export interface ChangeDecision {
  readonly act: "apply" | "propose" | "withdraw"
  readonly member: MemberState
}

const lastOwner = publicError("INVALID_TRANSITION", {
  message: "This is the only owner of the merchant: make somebody else an owner first"
})

const withChange = (target: MemberState, role: Role | null): MemberState => ({
  ...target,
  ...(role === null ? { status: "removed" as const } : { role }),
  proposal: null,
  version: target.version + 1
})

/** The proposal of the very same change, while it is open. */
const openProposal = ({ role, target: { proposal } }: MemberChange, now: number): Proposal | undefined =>
  proposal !== null && proposal.role === role && now < proposal.expiresAt ? proposal : undefined

/** Whether another owner, who is one still, wants the same already. */
const isProposedByAnotherOwner = (
  members: ReadonlyArray<MemberState>,
  change: MemberChange,
  now: number
): boolean => {
  const proposal = openProposal(change, now)
  return proposal !== undefined && proposal.proposedBy !== change.by
    && ownersOf(members).some((owner) => memberOf(owner).person === proposal.proposedBy)
}

const newProposal = ({ by, role }: MemberChange, consent: "second_owner" | "day", now: number): Proposal => ({
  ...newChangeApproval(by, consent === "second_owner", now),
  role,
  expiresAt: now + (consent === "day" ? aloneSeconds : proposalSeconds)
})

/** Why the owner who proposed a change does not do it now. */
const tooEarly = (aloneFrom: number | null): PublicError =>
  publicError("APPROVER_MUST_DIFFER", {
    message: aloneFrom === null
      ? "Another owner must send the same call: you have already"
      : "Others may approve money too, so this waits a day: send the same call again from details.allowed_from on",
    ...(aloneFrom === null ? {} : { details: { allowed_from: aloneFrom } })
  })

/**
 * What becomes of a member. At least one owner remains. What needs more than one owner ({@link consentTo}) is kept as a
 * proposal, until another owner sends the same or a day has passed; the role that the member has ends the proposal.
 * Undefined: nothing changes.
 */
export const decideChange = (
  members: ReadonlyArray<MemberState>,
  change: MemberChange,
  servesMainnet: boolean,
  now: number
): ChangeDecision | PublicError | undefined => {
  const { by, role, target } = change
  if (target.role === role) {
    return target.proposal === null ? undefined : { act: "withdraw", member: withChange(target, role) }
  }
  if (target.role === "owner" && ownersOf(members).length === 1) return lastOwner
  const consent = consentTo(members, change, servesMainnet)
  if (consent === "none" || isProposedByAnotherOwner(members, change, now)) {
    return { act: "apply", member: withChange(target, role) }
  }
  const own = openProposal(change, now)
  const aloneFrom = own === undefined ? null : allowedFrom(own)
  if (own?.proposedBy === by && (consent === "second_owner" || aloneFrom !== null)) {
    return consent === "day" && aloneFrom !== null && now >= aloneFrom
      ? { act: "apply", member: withChange(target, role) }
      : tooEarly(consent === "day" ? aloneFrom : null)
  }
  return {
    act: "propose",
    member: { ...target, proposal: newProposal(change, consent, now), version: target.version + 1 }
  }
}

/** Seconds for which an invitation is open. */
export const invitationSeconds = 604_800

/** What an invited person opens. The token stands behind `#`, so that browsers send it to nobody. */
export const invitationUrl = (publicUrl: string, token: string): string =>
  `${pageUrlOf(publicUrl)}/dashboard/invitation#t=${token}`

export interface InvitationState {
  readonly id: string
  readonly merchantId: number
  readonly role: Role
  readonly email: string | null
  readonly status: "open" | "accepted" | "revoked"
  /** Who made it, as `Member.person` names it. */
  readonly invitedBy: string
  /** Whether another owner must approve it first. */
  readonly needsApproval: boolean
  readonly approvedBy: string | null
  readonly tokenHash: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly version: number
}

/**
 * The invitation as the owners of now see it. It needs approval too where another owner joined since, and the approval
 * of somebody who is no owner any more is none.
 */
export const withConsent = (
  invitation: InvitationState,
  members: ReadonlyArray<MemberState>,
  servesMainnet: boolean
): InvitationState => {
  const { approvedBy, invitedBy, needsApproval, role } = invitation
  const consent = consentTo(members, { target: null, role, by: invitedBy }, servesMainnet)
  return {
    ...invitation,
    needsApproval: needsApproval || consent === "second_owner",
    approvedBy: ownersOf(members).some((owner) => memberOf(owner).person === approvedBy) ? approvedBy : null
  }
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
