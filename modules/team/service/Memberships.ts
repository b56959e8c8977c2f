/** Changes of who belongs to a merchant: roles, removals, invitations. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { IdempotentCall, Write } from "../../../runtime/Commit.ts"
import type { Grant } from "../../../runtime/Http.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { isPublicError, publicError } from "../../../schemas/Errors.ts"
import { negotiateLanguage } from "../../../schemas/Languages.ts"
import { firstOwnerPerson, type Role } from "../../../schemas/Roles.ts"
import type { MerchantState } from "../../auth/plugin.ts"
import { invitationWrite, memberWrite, type PageQuery, personWrite, sessionWrite, viewWrite } from "../repo.ts"
import {
  approveInvitation,
  consentTo,
  decideChange,
  endInvitation,
  endSession,
  invitationSeconds,
  type InvitationState,
  invitationStatusAt,
  invitationUrl,
  keyRecipient,
  maximumMembers,
  memberOf,
  type MemberState,
  moneyFromAfterLink,
  newMember,
  newPerson,
  normalEmail,
  type PersonState,
  removeView,
  withConsent
} from "../rules.ts"
import { invitationMail } from "../rules/InvitationMail.ts"
import { draftFirstOwner, newMemberId, newPersonId } from "./People.ts"
import { draftLink, type OneTimeLink } from "./SignIn.ts"
import type { TeamSession } from "./Sessions.ts"
import {
  append,
  decideInTurn,
  hashesOf,
  hashOf,
  isToken,
  newToken,
  requireMerchant,
  servesMainnet,
  type TeamContext
} from "./TeamContext.ts"

/** Who calls, as the audit log and the rules of people name it. */
export type Caller = Pick<Grant, "credential" | "environment" | "merchantId" | "person">

/** A member with its person. */
export interface MemberView {
  readonly member: MemberState
  readonly person: PersonState
  /** The member who proposed its change. */
  readonly proposedBy: string | null
}

/** The audit log's entry of what a caller did. */
export const entryOf = (
  context: TeamContext,
  { credential, environment, merchantId }: Caller,
  cause: IdempotentCall<unknown>["cause"],
  action: string,
  subject: { readonly object: string; readonly id: string },
  before: Readonly<Record<string, string | boolean | number | null>>,
  after: Readonly<Record<string, string | boolean | number | null>>
) =>
  context.auditLog.writesOf({
    merchantId,
    environment,
    actor: credential,
    action,
    subject,
    before,
    after,
    requestId: cause.requestId
  })

/** The people of members, and who proposed what. */
export const viewsOf = Effect.fnUntraced(function*(
  { repo }: TeamContext,
  merchantId: number,
  members: ReadonlyArray<MemberState>
) {
  const people = new Map((yield* repo.people(members.map(({ person }) => person))).map((one) => [one.id, one]))
  const all = members.some(({ proposal }) => proposal !== null) ? yield* repo.members(merchantId) : []
  return members.flatMap((member): ReadonlyArray<MemberView> => {
    const person = people.get(member.person)
    const proposer = all.find((one) => memberOf(one).person === member.proposal?.proposedBy)
    return person === undefined ? [] : [{ member, person, proposedBy: proposer?.id ?? null }]
  })
})

/** The members of a merchant now, with its first owner, who is made where there is none. */
const membersNow = Effect.fnUntraced(function*(context: TeamContext, merchant: MerchantState, now: number) {
  const first = yield* draftFirstOwner(context, merchant, now)
  const members = yield* context.repo.members(merchant.id)
  return { writes: first.writes, members: first.writes.length === 0 ? members : [first.member, ...members] }
})

/**
 * What ends with a role or a membership: the person's sessions, unless they are for other merchants too, those of its
 * wallets at this one, and with the membership wallets, keys and saved views. What a session has open at this merchant
 * ends with either.
 */
const endWrites = Effect.fnUntraced(function*(
  context: TeamContext,
  caller: Caller,
  members: ReadonlyArray<MemberState>,
  member: MemberState,
  cause: IdempotentCall<unknown>["cause"]
) {
  const isRemoved = member.status === "removed"
  const memberships = yield* context.repo.membershipsOf(member.person)
  const isElsewhere = memberships.some(({ merchantId }) => merchantId !== member.merchantId)
  const sessions = isElsewhere ? [] : yield* context.repo.sessionsOf(member.person)
  const ended: ReadonlyArray<Write> = sessions.map((session) =>
    sessionWrite(endSession(session, isRemoved ? "removed" : "role_changed"))
  )
  if (!isRemoved) {
    const walletPerson = member.isFirst ? null : member.person
    const wallets = yield* context.wallets.endSessionWrites(member.merchantId, walletPerson, "role_changed")
    return [...ended, ...wallets]
  }
  const unlinked = yield* context.wallets.unlinkWrites(member.merchantId, member.isFirst ? null : member.person)
  const keyWrites = yield* context.keys.reassignWrites({
    merchantId: member.merchantId,
    from: memberOf(member).person,
    role: member.role,
    to: keyRecipient(members, member, caller.person ?? firstOwnerPerson),
    actor: caller.credential,
    requestId: cause.requestId
  })
  const views = yield* context.repo.viewsOfPerson(member.merchantId, member.person)
  const now = yield* nowSeconds
  const viewWrites = views.map((view) => viewWrite(removeView(view, now)))
  return [...ended, ...unlinked, ...keyWrites, ...viewWrites]
})

/**
 * Gives a member another role, or removes it (null). At least one owner remains, exact under any concurrency: every
 * change also writes the merchant's row.
 */
export const changeMember = (
  context: TeamContext,
  caller: Caller,
  id: string,
  role: Role | null,
  { cause, reply }: IdempotentCall<MemberView>
) =>
  decideInTurn(
    context,
    "merchant",
    caller.merchantId,
    Effect.gen(function*() {
      const merchant = yield* requireMerchant(context, caller.merchantId)
      const members = yield* context.repo.members(caller.merchantId)
      const target = members.find((member) => member.id === id)
      if (target === undefined) return yield* publicError("NOT_FOUND", { message: "No such member" })
      const now = yield* nowSeconds
      const by = caller.person ?? firstOwnerPerson
      const decision = decideChange(members, { target, role, by }, servesMainnet(context), now)
      if (isPublicError(decision)) return yield* decision
      const member = decision?.member ?? target
      const [view] = yield* viewsOf(context, caller.merchantId, [member])
      if (view === undefined) return yield* publicError("NOT_FOUND", { message: "No such member" })
      if (decision === undefined) {
        yield* append(context, caller.merchantId, [], cause, reply(view))
        return view
      }
      const verb = role === null ? "remove" : "update"
      const entries = yield* entryOf(
        context,
        caller,
        cause,
        decision.act === "apply"
          ? `member.${verb}`
          : decision.act === "propose"
          ? `member.propose_${verb}`
          : "member.withdraw_proposal",
        { object: "team_member", id },
        { role: target.role },
        role === null ? {} : { role }
      )
      const over = decision.act === "apply" ? yield* endWrites(context, caller, members, member, cause) : []
      yield* append(
        context,
        caller.merchantId,
        [context.merchants.touch(merchant), memberWrite(member), ...over, ...entries],
        cause,
        reply(view)
      )
      return view
    })
  )

/** An invitation and, this once, its token. */
export interface InvitationWithToken {
  readonly invitation: InvitationState
  readonly token: string
}

export interface InvitationRequest {
  readonly role: Role
  readonly email: string | null
  /** Whether its link is sent to the address; then in this language. */
  readonly isSent: boolean
  readonly locale: string | null
}

/** Invitations that a merchant may have sent in an hour: a team grows slower, and a spammer gets no more. */
const invitationMailsPerHour = 30

/** Stores the message with the link of an invitation, in the commit that makes it. */
const draftInvitationMail = Effect.fnUntraced(function*(
  context: TeamContext,
  merchant: MerchantState,
  { email, id, needsApproval }: InvitationState,
  token: string,
  locale: string | null
) {
  if (!context.mail.isEnabled()) {
    return yield* publicError("NOT_FOUND", {
      message: "This deployment sends no e-mail: leave out send_email, and give the link to the person yourself"
    })
  }
  if (email === null) {
    return yield* publicError("VALIDATION_ERROR", {
      message: "email: send_email needs the address that the link goes to",
      param: "email"
    })
  }
  const language = negotiateLanguage(locale === null ? [] : [locale]) ?? "en"
  return yield* context.mail.draft({
    id: `invitation_${id}`,
    merchantId: merchant.id,
    environment: servesMainnet(context) ? "mainnet" : "devnet",
    kind: "invitation",
    to: email,
    language,
    ...invitationMail(language, {
      merchant: merchant.name,
      link: invitationUrl(context.settings.publicUrl, token),
      needsApproval
    }),
    customerId: null,
    maximumPerHour: invitationMailsPerHour
  })
})

export const invite = (
  context: TeamContext,
  caller: Caller,
  { email, isSent, locale, role }: InvitationRequest,
  { cause, reply }: IdempotentCall<InvitationWithToken>
) =>
  decideInTurn(
    context,
    "merchant",
    caller.merchantId,
    Effect.gen(function*() {
      const merchant = yield* requireMerchant(context, caller.merchantId)
      const now = yield* nowSeconds
      const { members, writes } = yield* membersNow(context, merchant, now)
      if (members.length + (yield* context.repo.openInvitations(merchant.id, now)) >= maximumMembers) {
        return yield* publicError("INVALID_TRANSITION", {
          message: `A merchant may have ${maximumMembers} members and open invitations: revoke some first`
        })
      }
      const by = caller.person ?? firstOwnerPerson
      const token = yield* newToken
      const invitation: InvitationState = {
        id: `tin_${yield* uuidV7}`,
        merchantId: merchant.id,
        role,
        email: email === null ? null : normalEmail(email),
        status: "open",
        invitedBy: by,
        needsApproval: consentTo(members, { target: null, role, by }, servesMainnet(context)) === "second_owner",
        approvedBy: null,
        tokenHash: hashOf(context, "invitation", token),
        createdAt: now,
        expiresAt: now + invitationSeconds,
        version: 1
      }
      const entries = yield* entryOf(
        context,
        caller,
        cause,
        "invitation.create",
        { object: "team_invitation", id: invitation.id },
        {},
        { role, needs_approval: invitation.needsApproval, expires_at: invitation.expiresAt }
      )
      const mails = isSent ? yield* draftInvitationMail(context, merchant, invitation, token, locale) : []
      const made: InvitationWithToken = { invitation, token }
      yield* append(
        context,
        merchant.id,
        [context.merchants.touch(merchant), ...writes, invitationWrite(invitation), ...entries, ...mails],
        cause,
        reply(made)
      )
      return made
    })
  )

const requireInvitation = Effect.fnUntraced(function*(context: TeamContext, merchantId: number, id: string) {
  const invitation = yield* context.repo.invitation(merchantId, id)
  if (invitation === undefined) return yield* publicError("NOT_FOUND", { message: "No such invitation" })
  return withConsent(invitation, yield* context.repo.members(merchantId), servesMainnet(context))
})

/** A page of invitations, as the owners of now see them. */
export const invitationPage = Effect.fnUntraced(function*(context: TeamContext, query: PageQuery) {
  const { found, hasMore } = yield* context.repo.invitationPage(query)
  const members = yield* context.repo.members(query.merchantId)
  return {
    found: found.map((invitation) => withConsent(invitation, members, servesMainnet(context))),
    hasMore
  }
})

/** Revoking twice is the same as once. */
export const revokeInvitation = (
  context: TeamContext,
  caller: Caller,
  id: string,
  { cause, reply }: IdempotentCall<InvitationState>
) =>
  decideInTurn(
    context,
    "merchant",
    caller.merchantId,
    Effect.gen(function*() {
      const before = yield* requireInvitation(context, caller.merchantId, id)
      if (before.status === "accepted") {
        return yield* publicError("INVALID_TRANSITION", { message: "This invitation was accepted: remove the member" })
      }
      if (before.status === "revoked") {
        yield* append(context, caller.merchantId, [], cause, reply(before))
        return before
      }
      const after = endInvitation(before, "revoked")
      const entries = yield* entryOf(
        context,
        caller,
        cause,
        "invitation.revoke",
        { object: "team_invitation", id },
        { role: before.role },
        {}
      )
      yield* append(context, caller.merchantId, [invitationWrite(after), ...entries], cause, reply(after))
      return after
    })
  )

/** Another owner's word for an invitation that makes somebody who approves. */
export const approve = (
  context: TeamContext,
  caller: Caller,
  id: string,
  { cause, reply }: IdempotentCall<InvitationState>
) =>
  decideInTurn(
    context,
    "merchant",
    caller.merchantId,
    Effect.gen(function*() {
      const before = yield* requireInvitation(context, caller.merchantId, id)
      const after = approveInvitation(before, caller.person ?? firstOwnerPerson, yield* nowSeconds)
      if (isPublicError(after)) return yield* after
      const entries = yield* entryOf(
        context,
        caller,
        cause,
        "invitation.approve",
        { object: "team_invitation", id },
        {},
        { role: after.role }
      )
      yield* append(context, caller.merchantId, [invitationWrite(after), ...entries], cause, reply(after))
      return after
    })
  )

/** What an invitation came to: a membership, and for a new person the link that it first signs in by. */
export interface AcceptedInvitation {
  readonly view: MemberView
  readonly merchant: MerchantState
  readonly link: OneTimeLink | null
}

const invitationInvalid = publicError("TOKEN_INVALID", {
  message: "This invitation was used, revoked or is older than 7 days: ask for a new one"
})

/** An invitation that may be accepted now, by whoever has its token. */
const requireOpenInvitation = Effect.fnUntraced(function*(context: TeamContext, token: string, now: number) {
  const found = isToken(token)
    ? yield* context.repo.invitationByToken(hashesOf(context, "invitation", token))
    : undefined
  if (found === undefined) return yield* invitationInvalid
  const members = yield* context.repo.members(found.merchantId)
  const invitation = withConsent(found, members, servesMainnet(context))
  const status = invitationStatusAt(invitation, now)
  if (status === "waiting") {
    return yield* publicError("APPROVAL_REQUIRED", { message: "Another owner must approve this invitation first" })
  }
  if (status !== "open") return yield* invitationInvalid
  // Whoever was removed since brings nobody in any more.
  const inviter = members.find((member) => memberOf(member).person === invitation.invitedBy)
  return inviter?.role === "owner" ? { invitation, members } : yield* invitationInvalid
})

/** Who accepts: somebody who is signed in, or a new person by its name. */
export type Acceptor = { readonly session: TeamSession } | { readonly name: string }

const personFor = Effect.fnUntraced(function*(
  { repo }: TeamContext,
  acceptor: Acceptor,
  invitation: InvitationState,
  now: number
) {
  if ("name" in acceptor) {
    const person = newPerson(yield* newPersonId, acceptor.name, invitation.email, now)
    return { person, writes: [personWrite(person)] }
  }
  const person = yield* repo.person(acceptor.session.person)
  return person === undefined ? yield* publicError("TOKEN_INVALID") : { person, writes: [] }
})

const acceptOnce = Effect.fnUntraced(function*(context: TeamContext, token: string, acceptor: Acceptor) {
  const now = yield* nowSeconds
  const { invitation, members } = yield* requireOpenInvitation(context, token, now)
  const { merchantId } = invitation
  const merchant = yield* requireMerchant(context, merchantId)
  const { person, writes } = yield* personFor(context, acceptor, invitation, now)
  const before = yield* context.repo.memberByPerson(merchantId, person.id)
  if (before?.status === "active") {
    return yield* publicError("INVALID_TRANSITION", { message: "You are a member of this merchant already" })
  }
  if (members.length >= maximumMembers) return yield* publicError("INVALID_TRANSITION")
  const member = newMember(
    {
      id: before?.id ?? (yield* newMemberId),
      merchantId,
      person: person.id,
      role: invitation.role,
      isFirst: false,
      moneyFrom: moneyFromAfterLink({ isFirstOwner: false, servesMainnet: servesMainnet(context) }, now)
    },
    before,
    now
  )
  const draft = "name" in acceptor ? yield* draftLink(context, member, now) : undefined
  const entries = yield* context.auditLog.writesOf({
    merchantId,
    environment: context.settings.environments[0],
    actor: member.id,
    action: "member.add",
    subject: { object: "team_member", id: member.id },
    before: {},
    after: { role: member.role, invitation: invitation.id },
    requestId: null
  })
  yield* append(context, merchantId, [
    context.merchants.touch(merchant),
    ...writes,
    memberWrite(member),
    invitationWrite(endInvitation(invitation, "accepted")),
    ...(draft === undefined ? [] : [draft.write]),
    ...entries
  ])
  const view: MemberView = { member, person, proposedBy: null }
  const accepted: AcceptedInvitation = { view, merchant, link: draft?.link ?? null }
  return accepted
})

export const acceptInvitation = (context: TeamContext, token: string, acceptor: Acceptor) =>
  decideInTurn(context, "token", hashOf(context, "invitation", token), acceptOnce(context, token, acceptor))
