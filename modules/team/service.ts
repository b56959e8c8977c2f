/** People of merchants as other modules use them: their sessions, the ways in, and what they do with their team. */
import { Context, Effect, Layer, type Schema } from "effect"
import type { IdempotentCall } from "../../runtime/Commit.ts"
import type { Grant } from "../../runtime/Http.ts"
import type { MemberDirectory } from "../../runtime/Members.ts"
import type { SignInProof } from "../../runtime/SignIns.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { Right, Role } from "../../schemas/Roles.ts"
import type { IssuedChallenge } from "../identity/plugin.ts"
import type { PageQuery } from "./repo.ts"
import type {
  InvitationState,
  PageChoices,
  PasskeyState,
  PersonState,
  SessionState,
  ViewForPerson,
  ViewList
} from "./rules.ts"
import {
  accountOf,
  changePages,
  changePasskey,
  ensurePersonOfCaller,
  openSessionsOf,
  personOfCaller
} from "./service/Account.ts"
import {
  type AcceptedInvitation,
  acceptInvitation,
  type Acceptor,
  approve,
  type Caller,
  changeMember,
  invitationPage,
  type InvitationRequest,
  type InvitationWithToken,
  invite,
  type MemberView,
  revokeInvitation,
  viewsOf
} from "./service/Memberships.ts"
import {
  addPasskey,
  refreshByPasskey,
  refreshOptions,
  registrationOptions,
  signInByPasskey,
  signInOptions
} from "./service/Passkeys.ts"
import { type Contact, contactsOf, directoryOf } from "./service/People.ts"
import {
  activeSessions,
  endAllSessions,
  endSessions,
  findSession,
  findSessionAt,
  grantOf,
  mayAct,
  type Membership,
  membershipsOf,
  type OpenedSession,
  type SessionAt,
  type TeamSession
} from "./service/Sessions.ts"
import {
  issueLink,
  makeRecoveryCodes,
  type OneTimeLink,
  signInByLink,
  signInByRecovery,
  signInByWallet
} from "./service/SignIn.ts"
import { type NewView, removeSavedView, saveView } from "./service/SavedViews.ts"
import { makeTeamContext } from "./service/TeamContext.ts"
import { registerTextPasskeys } from "./service/TextPasskeys.ts"

export type { AcceptedInvitation, Acceptor, Caller, InvitationWithToken, MemberView } from "./service/Memberships.ts"
export type { Contact } from "./service/People.ts"
export type { Membership, OpenedSession, SessionAt, TeamSession } from "./service/Sessions.ts"
export type { OneTimeLink } from "./service/SignIn.ts"

/** Sessions of people, for pages. */
export class TeamSessions extends Context.Service<TeamSessions, {
  /**
   * By the token of the reading cookie; null: none, ended or idle too long. Counts as a use: a session lasts 8 h
   * without one, and 7 d at most.
   */
  readonly find: (token: string) => Effect.Effect<TeamSession | null>
  /** The same for a page of a merchant, with what it shows of its visitor: one statement. */
  readonly findAt: (token: string, merchantId: number) => Effect.Effect<SessionAt | null>
  /** Whether the token of the acting cookie belongs to the session. Constant time. */
  readonly mayAct: (session: TeamSession, actToken: string) => Effect.Effect<boolean>
  readonly memberships: (person: string) => Effect.Effect<ReadonlyArray<Membership>>
  /**
   * As whom the session calls the API for a merchant, by `LocalCalls`: kind "wallet", which is a person, and the
   * credential `mem_<uuid>`; null: no member.
   */
  readonly grantOf: (session: TeamSession, merchantId: number) => Effect.Effect<Grant | null>
  readonly end: (id: string) => Effect.Effect<void>
  /** Those of `ids`, as `revocableAs` of runtime/Http.ts names them, that are good. */
  readonly active: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  /** Ends every session, after the database was restored from a backup. */
  readonly endAll: Effect.Effect<void, PublicError>
}>()("tillwire/modules/team/TeamSessions") {}

/** The ways in. What is no good fails with `TOKEN_INVALID`, `NONCE_INVALID` or `SIGNATURE_INVALID`. */
export class TeamSignIn extends Context.Service<TeamSignIn, {
  /** Of many uses of one link one succeeds. */
  readonly byLink: (token: string) => Effect.Effect<OpenedSession, PublicError>
  /** Ends all other sessions of the person. Also `RATE_LIMIT_EXCEEDED` after 5 tries an hour for an address. */
  readonly byRecovery: (email: string, code: string) => Effect.Effect<OpenedSession, PublicError>
  /** `PublicKeyCredentialRequestOptionsJSON` for whoever has a passkey of this service. */
  readonly passkeyOptions: Effect.Effect<Schema.Json>
  readonly byPasskey: (answer: unknown) => Effect.Effect<OpenedSession, PublicError>
  readonly walletNonce: (network: Network, address: string) => Effect.Effect<IssuedChallenge, PublicError>
  readonly byWallet: (proof: SignInProof) => Effect.Effect<OpenedSession, PublicError>
  /** `PublicKeyCredentialCreationOptionsJSON` for a passkey of the session's person. */
  readonly newPasskeyOptions: (session: TeamSession) => Effect.Effect<Schema.Json>
  readonly addPasskey: (session: TeamSession, name: string, answer: unknown) => Effect.Effect<PasskeyState, PublicError>
  /** As `passkeyOptions`, of the session's person only. */
  readonly refreshOptions: (session: TeamSession) => Effect.Effect<Schema.Json>
  /** Fresh authentication within a session: rotates both tokens. */
  readonly refresh: (session: TeamSession, answer: unknown) => Effect.Effect<OpenedSession, PublicError>
  /** A membership by an invitation; for a new person with the link that signs it in. */
  readonly accept: (token: string, acceptor: Acceptor) => Effect.Effect<AcceptedInvitation, PublicError>
}>()("tillwire/modules/team/TeamSignIn") {}

/** Members by their e-mail addresses, for messages. */
export class TeamContacts extends Context.Service<TeamContacts, {
  /**
   * Members now who have a right in an environment, an address, and nothing against being told of that environment;
   * each address once, the oldest member first.
   */
  readonly find: (
    merchantId: number,
    right: Right,
    environment: Environment
  ) => Effect.Effect<ReadonlyArray<Contact>>
}>()("tillwire/modules/team/TeamContacts") {}

type Page<A> = Effect.Effect<{ readonly found: ReadonlyArray<A>; readonly hasMore: boolean }>

/** What callers of the API and the operator do with a team. */
export class Team extends Context.Service<Team, {
  readonly directory: MemberDirectory
  readonly members: (query: PageQuery) => Page<MemberView>
  /** `role` null: removes it. Errors: `NOT_FOUND`, `INVALID_TRANSITION`, `APPROVER_MUST_DIFFER`. */
  readonly changeMember: (
    caller: Caller,
    id: string,
    role: Role | null,
    call: IdempotentCall<MemberView>
  ) => Effect.Effect<MemberView, PublicError>
  readonly invitations: (query: PageQuery) => Page<InvitationState>
  readonly invite: (
    caller: Caller,
    request: InvitationRequest,
    call: IdempotentCall<InvitationWithToken>
  ) => Effect.Effect<InvitationWithToken, PublicError>
  readonly revokeInvitation: (
    caller: Caller,
    id: string,
    call: IdempotentCall<InvitationState>
  ) => Effect.Effect<InvitationState, PublicError>
  readonly approveInvitation: (
    caller: Caller,
    id: string,
    call: IdempotentCall<InvitationState>
  ) => Effect.Effect<InvitationState, PublicError>
  /** The person that the caller is; `NOT_FOUND`: nobody was a member yet. */
  readonly account: (caller: Caller) => Effect.Effect<PersonState, PublicError>
  /** How pages are shown to the caller. */
  readonly changePages: (
    caller: Caller,
    choices: PageChoices,
    call: IdempotentCall<PersonState>
  ) => Effect.Effect<PersonState, PublicError>
  /** The caller's own that are open, newest first. */
  readonly sessions: (caller: Caller) => Effect.Effect<ReadonlyArray<SessionState>, PublicError>
  /** Ends one of the caller's own, or all (null); answers those that ended. `NOT_FOUND` for one that is not open. */
  readonly endSessions: (
    caller: Caller,
    id: string | null,
    requestId: string | null
  ) => Effect.Effect<ReadonlyArray<SessionState>, PublicError>
  readonly passkeys: (caller: Caller) => Effect.Effect<ReadonlyArray<PasskeyState>, PublicError>
  /** `name` null: removes it. */
  readonly changePasskey: (
    caller: Caller,
    id: string,
    name: string | null,
    call: IdempotentCall<PasskeyState>
  ) => Effect.Effect<PasskeyState, PublicError>
  readonly makeRecoveryCodes: (
    caller: Caller,
    call: IdempotentCall<ReadonlyArray<string>>
  ) => Effect.Effect<ReadonlyArray<string>, PublicError>
  /** Saved views that the caller sees: own and shared ones, newest first; `list` null: of all lists. */
  readonly savedViews: (
    caller: Caller,
    list: ViewList | null,
    page: Omit<PageQuery, "merchantId">
  ) => Effect.Effect<{ readonly found: ReadonlyArray<ViewForPerson>; readonly hasMore: boolean }>
  /** Errors: `INVALID_TRANSITION` for one too many. */
  readonly saveView: (
    caller: Caller,
    view: NewView,
    call: IdempotentCall<ViewForPerson>
  ) => Effect.Effect<ViewForPerson, PublicError>
  /** `mayShare`: whether the caller may remove what everybody has. Errors: `NOT_FOUND`. */
  readonly removeView: (
    caller: Caller,
    mayShare: boolean,
    id: string,
    call: IdempotentCall<ViewForPerson>
  ) => Effect.Effect<ViewForPerson, PublicError>
  /** A one-time link on the operator's word; `member`: an id or an e-mail address, null: the first owner. */
  readonly loginLink: (merchantId: number, member: string | null) => Effect.Effect<OneTimeLink, PublicError>
}>()("tillwire/modules/team/Team") {}

export const layer = Layer.effectContext(Effect.gen(function*() {
  const context = yield* makeTeamContext
  const { repo } = context
  yield* registerTextPasskeys(context)
  const sessions = TeamSessions.of({
    find: (token) => findSession(context, token),
    findAt: (token, merchantId) => findSessionAt(context, token, merchantId),
    mayAct: (session, actToken) => mayAct(context, session, actToken),
    memberships: (person) => membershipsOf(context, person),
    grantOf: (session, merchantId) => grantOf(context, session, merchantId),
    end: (id) =>
      Effect.gen(function*() {
        const session = yield* repo.session(id)
        if (session !== undefined) yield* endSessions(context, session.person, null, (one) => one.id === id)
      }).pipe(Effect.catch((error) => Effect.die(error))),
    active: (ids) => activeSessions(context, ids),
    endAll: endAllSessions(context)
  })
  const signIn = TeamSignIn.of({
    byLink: (token) => signInByLink(context, token),
    byRecovery: (email, code) => signInByRecovery(context, email, code),
    passkeyOptions: signInOptions(context),
    byPasskey: (answer) => signInByPasskey(context, answer),
    walletNonce: context.wallets.issue,
    byWallet: (proof) => signInByWallet(context, proof),
    newPasskeyOptions: (session) => registrationOptions(context, session),
    addPasskey: (session, name, answer) => addPasskey(context, session, name, answer),
    refreshOptions: (session) => refreshOptions(context, session),
    refresh: (session, answer) => refreshByPasskey(context, session, answer),
    accept: (token, acceptor) => acceptInvitation(context, token, acceptor)
  })
  const team = Team.of({
    directory: directoryOf(context),
    members: (query) =>
      Effect.flatMap(
        repo.memberPage(query),
        ({ found, hasMore }) =>
          Effect.map(viewsOf(context, query.merchantId, found), (views) => ({ found: views, hasMore }))
      ),
    changeMember: (caller, id, role, call) => changeMember(context, caller, id, role, call),
    invitations: (query) => invitationPage(context, query),
    invite: (caller, request, call) => invite(context, caller, request, call),
    revokeInvitation: (caller, id, call) => revokeInvitation(context, caller, id, call),
    approveInvitation: (caller, id, call) => approve(context, caller, id, call),
    account: (caller) => accountOf(context, caller),
    changePages: (caller, choices, call) => changePages(context, caller, choices, call),
    sessions: (caller) =>
      Effect.flatMap(
        personOfCaller(context, caller),
        (person) => person === undefined ? Effect.succeed([]) : openSessionsOf(context, person)
      ),
    endSessions: Effect.fnUntraced(function*(caller, id, requestId) {
      const person = yield* personOfCaller(context, caller)
      const ended = person === undefined
        ? []
        : yield* endSessions(context, person, requestId, (session) => id === null || session.id === id)
      return id !== null && ended.length === 0
        ? yield* publicError("NOT_FOUND", { message: "No such session is open" })
        : ended
    }),
    passkeys: (caller) =>
      Effect.flatMap(
        personOfCaller(context, caller),
        (person) => person === undefined ? Effect.succeed([]) : repo.passkeysOf(person)
      ),
    changePasskey: Effect.fnUntraced(function*(caller, id, name, call) {
      const person = yield* personOfCaller(context, caller)
      return person === undefined
        ? yield* publicError("NOT_FOUND", { message: "No such passkey" })
        : yield* changePasskey(context, caller, person, id, name, call)
    }),
    makeRecoveryCodes: Effect.fnUntraced(function*(caller, call) {
      const person = yield* ensurePersonOfCaller(context, caller)
      return yield* makeRecoveryCodes(context, caller.merchantId, person, call)
    }),
    savedViews: ({ merchantId, person }, list, page) => repo.viewPage({ ...page, merchantId, person, list }),
    saveView: (caller, view, call) => saveView(context, caller, view, call),
    removeView: (caller, mayShare, id, call) => removeSavedView(context, caller, mayShare, id, call),
    loginLink: (merchantId, member) => issueLink(context, merchantId, member)
  })
  return Context.make(TeamSessions, sessions).pipe(
    Context.add(TeamSignIn, signIn),
    Context.add(Team, team),
    Context.add(
      TeamContacts,
      TeamContacts.of({
        find: (merchantId, right, environment) => contactsOf(context, merchantId, right, environment)
      })
    )
  )
}))
