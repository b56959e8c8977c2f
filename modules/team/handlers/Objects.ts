/** People, invitations, sessions and passkeys as the API shows them. */
import { allowedFrom } from "../../../schemas/Proposals.ts"
import { MemberId, PasskeyId, PersonId, SavedViewId, TeamInvitationId, TeamSessionId } from "../../../schemas/Ids.ts"
import {
  endOf,
  type InvitationState,
  invitationStatusAt,
  type PasskeyState,
  type PersonState,
  type SessionState,
  type ViewForPerson
} from "../rules.ts"
import type { MemberView } from "../service.ts"

export const memberObject = ({ member, person, proposedBy }: MemberView) => ({
  id: MemberId.make(member.id),
  object: "team_member" as const,
  person: PersonId.make(person.id),
  name: person.name,
  email: person.email,
  role: member.role,
  is_first_owner: member.isFirst,
  pending_change: member.proposal === null ? null : {
    role: member.proposal.role,
    proposed_by: proposedBy === null ? null : MemberId.make(proposedBy),
    alone_from: allowedFrom(member.proposal),
    expires_at: member.proposal.expiresAt
  },
  joined_at: member.joinedAt
})

export const accountObject = (person: PersonState) => ({
  id: PersonId.make(person.id),
  object: "person" as const,
  name: person.name,
  email: person.email,
  language: person.language,
  time_zone: person.timeZone,
  notices: person.notices
})

export const invitationObject = (invitation: InvitationState, now: number) => ({
  id: TeamInvitationId.make(invitation.id),
  object: "team_invitation" as const,
  role: invitation.role,
  email: invitation.email,
  status: invitationStatusAt(invitation, now),
  created_at: invitation.createdAt,
  expires_at: invitation.expiresAt
})

/** `current`: the session that the call is made in. */
export const sessionObject = (session: SessionState, current: string | undefined) => ({
  id: TeamSessionId.make(session.id),
  object: "team_session" as const,
  method: session.method,
  is_current: session.id === current,
  signed_in_at: session.signedInAt,
  last_used_at: session.lastUsedAt,
  expires_at: endOf(session),
  money_from: session.moneyFrom
})

export const passkeyObject = (passkey: PasskeyState) => ({
  id: PasskeyId.make(passkey.id),
  object: "passkey" as const,
  name: passkey.name,
  created_at: passkey.createdAt,
  last_used_at: passkey.lastUsedAt,
  money_from: passkey.moneyFrom
})

export const viewObject = ({ isOwn, view }: ViewForPerson) => ({
  id: SavedViewId.make(view.id),
  object: "saved_view" as const,
  list: view.list,
  name: view.name,
  query: view.query,
  shared: view.isShared,
  is_own: isOwn,
  created_at: view.createdAt
})
