/** Sessions of people: opened with two tokens, found by one, ended. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { systemMerchant, type Write } from "../../../runtime/Commit.ts"
import type { Grant } from "../../../runtime/Http.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { MerchantId } from "../../../schemas/Ids.ts"
import type { Language } from "../../../schemas/Languages.ts"
import { allPermissions, type Role } from "../../../schemas/Roles.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { sessionWrite } from "../repo.ts"
import {
  endOf,
  endSession,
  isOpen,
  memberOf,
  type MemberState,
  newSession,
  type PersonState,
  type SessionEnd,
  type SessionState,
  sessionsToDisplace,
  type SignInMethod,
  useSeconds
} from "../rules.ts"
import {
  append,
  decideInTurn,
  hasHash,
  hashesOf,
  hashOf,
  isToken,
  newToken,
  type PersonAct,
  personActWrites,
  servesMainnet,
  type TeamContext
} from "./TeamContext.ts"

/** Who signed in, how, and what that allows. Times are epoch seconds. */
export interface TeamSession {
  /** `tms_<uuid>` */
  readonly id: string
  /** `per_<uuid>` */
  readonly person: string
  readonly name: string
  /** In which the person wants its pages; null: whatever the browser asks for. */
  readonly language: Language | null
  /** In which the person wants to see times; null: UTC. */
  readonly timeZone: string | null
  readonly notices: PersonState["notices"]
  readonly method: SignInMethod
  readonly signedInAt: number
  /** Until then it counts as freshly proved (modules/docs/reference/team.md#a-fresh-proof). */
  readonly freshUntil: number
  /** Money may be moved on mainnet from then on (modules/docs/reference/team.md#waits). */
  readonly moneyFrom: number
}

/** A merchant that a person is a member of. */
export interface Membership {
  readonly merchantId: number
  readonly merchantName: string
  readonly role: Role
}

/** A session with its two tokens, 32 random bytes each as base64url; only their hashes are stored. */
export interface OpenedSession {
  readonly session: TeamSession
  readonly readToken: string
  readonly actToken: string
}

export const sessionView = (
  { freshUntil, id, method, moneyFrom, signedInAt }: SessionState,
  { id: person, language, name, notices, timeZone }: PersonState
): TeamSession => ({ id, person, name, language, timeZone, notices, method, signedInAt, freshUntil, moneyFrom })

/** Two new tokens, and their hashes as they are stored. */
export const newTokens = Effect.fnUntraced(function*(context: TeamContext) {
  const readToken = yield* newToken
  const actToken = yield* newToken
  return {
    tokens: { readToken, actToken },
    hashes: { readHash: hashOf(context, "read", readToken), actHash: hashOf(context, "act", actToken) }
  }
})

/** A sign-in that was proved. */
export interface SignIn {
  readonly person: string
  readonly method: SignInMethod
  /** The passkey that proved it; absent: none did. */
  readonly passkey?: string
  readonly moneyFrom: number
  /** Rows that use up what proved it, and others that belong into its commit. */
  readonly writes: ReadonlyArray<Write>
  /** Why all earlier sessions of the person end with it; absent: they go on. */
  readonly endsOthers?: SessionEnd
}

/** The rows that end the sessions of a person's wallets, at all merchants. */
const endWalletSessions = Effect.fnUntraced(function*({ repo, wallets }: TeamContext, person: string) {
  const writes = yield* Effect.forEach(
    yield* repo.membershipsOf(person),
    ({ isFirst, merchantId }) => wallets.endSessionWrites(merchantId, isFirst ? null : person, "recovered")
  )
  return writes.flat()
})

/** One commit of a new session, with what its proof uses up. */
export const openSession = Effect.fnUntraced(function*(context: TeamContext, signIn: SignIn) {
  const { repo } = context
  const person = yield* repo.person(signIn.person)
  if (person === undefined) return yield* publicError("TOKEN_INVALID")
  const now = yield* nowSeconds
  const { hashes, tokens } = yield* newTokens(context)
  const { method, moneyFrom } = signIn
  const id = `tms_${yield* uuidV4}`
  const session = newSession(
    { id, person: person.id, method, passkey: signIn.passkey ?? null, moneyFrom, ...hashes },
    now
  )
  const open = yield* repo.sessionsOf(person.id)
  const over = signIn.endsOthers === undefined ? sessionsToDisplace(open) : open
  const entries = yield* personActWrites(context, person.id, {
    action: "session.open",
    subject: { object: "team_session", id: session.id },
    before: {},
    after: { method, money_from: moneyFrom },
    requestId: null
  })
  yield* append(context, systemMerchant, [
    ...signIn.writes,
    sessionWrite(session),
    ...over.map((one) => sessionWrite(endSession(one, signIn.endsOthers ?? "displaced"))),
    ...signIn.endsOthers === undefined ? [] : yield* endWalletSessions(context, person.id),
    ...entries
  ])
  const opened: OpenedSession = { session: sessionView(session, person), ...tokens }
  return opened
})

/** The open session of a reading token with its person and memberships, and a use of it; null: none, or it has ended. */
const findByToken = Effect.fnUntraced(function*(context: TeamContext, token: string) {
  if (!isToken(token)) return null
  const { repo } = context
  const found = yield* repo.sessionByToken(hashesOf(context, "read", token))
  const now = yield* nowSeconds
  if (found === undefined || !isOpen(found.session, now)) return null
  if (now - found.session.lastUsedAt >= useSeconds) yield* repo.recordUse(found.session.id, now)
  return found
})

export const findSession = (context: TeamContext, token: string): Effect.Effect<TeamSession | null> =>
  Effect.map(findByToken(context, token), (found) => found === null ? null : sessionView(found.session, found.person))

/** A session, what its person belongs to, and as whom it calls the API for one merchant; null where it is no member. */
export interface SessionAt {
  readonly session: TeamSession
  readonly memberships: ReadonlyArray<Membership>
  readonly grant: Grant | null
}

/** What a page of a merchant needs of whoever looks at it, as of one moment. */
export const findSessionAt = Effect.fnUntraced(function*(context: TeamContext, token: string, merchantId: number) {
  const found = yield* findByToken(context, token)
  if (found === null) return null
  const { members, person, session } = found
  const at: SessionAt = {
    session: sessionView(session, person),
    memberships: yield* viewsOf(context, members),
    grant: yield* grantFrom(context, session, members.find((member) => member.merchantId === merchantId))
  }
  return at
})

/** The row of a session that is open now; `TOKEN_INVALID` for one that has ended. */
export const requireOpen = Effect.fnUntraced(function*({ repo }: TeamContext, id: string) {
  const session = yield* repo.session(id)
  const now = yield* nowSeconds
  return session === undefined || !isOpen(session, now)
    ? yield* publicError("TOKEN_INVALID", { message: "This session has ended: sign in again" })
    : session
})

export const mayAct = (context: TeamContext, { id }: TeamSession, actToken: string): Effect.Effect<boolean> =>
  Effect.match(requireOpen(context, id), {
    onFailure: () => false,
    onSuccess: ({ actHash }) => isToken(actToken) && hasHash(context, "act", actToken, actHash)
  })

const viewsOf = Effect.fnUntraced(function*({ merchants }: TeamContext, members: ReadonlyArray<MemberState>) {
  const found = yield* Effect.forEach(
    members,
    ({ merchantId, role }) =>
      Effect.map(
        merchants.get(merchantId),
        (merchant): ReadonlyArray<Membership> =>
          merchant === undefined ? [] : [{ merchantId, merchantName: merchant.name, role }]
      )
  )
  return found.flat()
})

export const membershipsOf = (context: TeamContext, person: string): Effect.Effect<ReadonlyArray<Membership>> =>
  Effect.flatMap(context.repo.membershipsOf(person), (members) => viewsOf(context, members))

/** As whom an open session of a member calls the API. */
const grantFrom = Effect.fnUntraced(function*(
  context: TeamContext,
  session: SessionState,
  member: MemberState | undefined
) {
  if (member?.status !== "active") return null
  const merchant = yield* context.merchants.get(member.merchantId)
  if (merchant === undefined) return null
  const grant: Grant = {
    merchantId: member.merchantId as MerchantId,
    environment: merchant.defaultEnvironment,
    scope: "merchant",
    kind: "wallet",
    credential: member.id,
    session: session.id,
    membership: `${member.id} ${member.role}`,
    apiVersion: newestVersion,
    endsAtMillis: endOf(session) * 1000,
    moneyFrom: Math.max(session.moneyFrom, member.moneyFrom),
    ...(servesMainnet(context) ? { freshUntil: session.freshUntil } : {}),
    role: member.role,
    permissions: allPermissions,
    person: memberOf(member).person
  }
  return grant
})

/** As whom a session calls the API for a merchant; null where its person is no member. */
export const grantOf = Effect.fnUntraced(function*(context: TeamContext, { id }: TeamSession, merchantId: number) {
  const session = yield* Effect.orElseSucceed(requireOpen(context, id), () => undefined)
  if (session === undefined) return null
  return yield* grantFrom(context, session, yield* context.repo.memberByPerson(merchantId, session.person))
})

/**
 * Those of `ids` that are good: the ids of open sessions, and of those with a membership the ones whose person still
 * has that role at that merchant.
 */
export const activeSessions = Effect.fnUntraced(function*({ repo }: TeamContext, ids: ReadonlyArray<string>) {
  const parts = ids.map((id) => ({ id, session: id.split(" ", 1)[0]!, membership: id.slice(id.indexOf(" ") + 1) }))
  const open = new Set(yield* repo.openSessions(parts.map(({ session }) => session), yield* nowSeconds))
  const named = parts.filter(({ id, membership }) => membership !== id)
  const members = named.length === 0
    ? []
    : yield* repo.activeMembers(named.map(({ membership }) => membership.split(" ", 1)[0]!))
  const memberships = new Set(members.map(({ id, role }) => `${id} ${role}`))
  return parts.filter(({ id, membership, session }) =>
    open.has(session) && (membership === id || memberships.has(membership))
  ).map(({ id }) => id)
})

/** Ends what is open of the sessions that `choose` takes of a person's. `requestId` null: by no call of the API. */
export const endSessions = (
  context: TeamContext,
  person: string,
  requestId: string | null,
  choose: (session: SessionState) => boolean,
  reason: "signed_out" | "restored" = "signed_out"
): Effect.Effect<ReadonlyArray<SessionState>, PublicError> =>
  decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const chosen = (yield* context.repo.sessionsOf(person)).filter(choose)
      if (chosen.length === 0) return []
      const acts = chosen.map(({ id }): PersonAct => ({
        action: "session.end",
        subject: { object: "team_session", id },
        before: {},
        after: {},
        requestId
      }))
      const entries = yield* personActWrites(context, person, ...acts)
      const ended = chosen.map((session) => endSession(session, reason))
      yield* append(context, systemMerchant, [...ended.map(sessionWrite), ...entries])
      return ended
    })
  )

/** Ends every session, after the database was restored from a backup. */
export const endAllSessions = (context: TeamContext): Effect.Effect<void, PublicError> =>
  Effect.flatMap(context.repo.signedIn, (people) =>
    people.length === 0
      ? Effect.void
      : Effect.andThen(
        Effect.forEach(people, (person) => endSessions(context, person, null, () => true, "restored"), {
          discard: true
        }),
        endAllSessions(context)
      ))
