/** The team between the wire and its services. */
import { Effect } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { answerIdempotently, RequestInfo, requireMerchantScope, requirePerson } from "../../runtime/Http.ts"
import * as Operations from "../../runtime/Operations.ts"
import { requireFreshProof, requireRight } from "../../runtime/Rights.ts"
import { Settings } from "../../runtime/Settings.ts"
import { environmentOfBoth, objectionToRight } from "../../schemas/Authorization.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import { isUuid, MerchantId } from "../../schemas/Ids.ts"
import { type CursorQuery, type PageCursor, pageLimits, readPageCursor, unknownCursor } from "../../schemas/Page.ts"
import { TeamApi } from "./api.ts"
import { type InvitationState, invitationUrl, type PersonState, type ViewForPerson } from "./rules.ts"
import { type InvitationWithToken, type MemberView, Team, TeamSignIn } from "./service.ts"
import {
  accountObject,
  invitationObject,
  memberObject,
  passkeyObject,
  sessionObject,
  viewObject
} from "./handlers/Objects.ts"
import { TeamRpc } from "./rpc.ts"

const ok = <A>(data: A) => ({ success: true as const, data })

const listOf = <A>(data: ReadonlyArray<A>, hasMore = false) => ok({ object: "list" as const, data, has_more: hasMore })

/** What of a page's query names its beginning; ids are a prefix and a UUID. */
const readCursor = (query: CursorQuery, prefix: string, what: string): PageCursor | null | PublicError => {
  const cursor = readPageCursor(query)
  return cursor === null || isPublicError(cursor)
      || cursor.id.startsWith(prefix) && isUuid(cursor.id.slice(prefix.length))
    ? cursor
    : unknownCursor(query, what)
}

export const teamHandlers = Operations.group(
  TeamApi,
  "team",
  Effect.fn(function*(group) {
    const team = yield* Team
    const { publicUrl } = yield* Settings
    return group
      .handle(
        "members",
        Effect.fnUntraced(function*({ query }) {
          const { merchantId } = yield* requireMerchantScope
          const cursor = readCursor(query, "mem_", "the id of a member")
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* team.members({ merchantId, cursor, limit: query.limit ?? pageLimits.default })
          return listOf(page.found.map(memberObject), page.hasMore)
        })
      )
      .handle(
        "changeMember",
        Effect.fnUntraced(function*({ params, payload }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently<MemberView, PublicError>(
            (call) => team.changeMember(caller, params.id, payload.role, call),
            memberObject
          )
        })
      )
      .handle(
        "removeMember",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently<MemberView, PublicError>(
            (call) => team.changeMember(caller, params.id, null, call),
            memberObject
          )
        })
      )
      .handle(
        "invitations",
        Effect.fnUntraced(function*({ query }) {
          const { merchantId } = yield* requireMerchantScope
          const cursor = readCursor(query, "tin_", "the id of an invitation")
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* team.invitations({ merchantId, cursor, limit: query.limit ?? pageLimits.default })
          const now = yield* nowSeconds
          return listOf(page.found.map((invitation) => invitationObject(invitation, now)), page.hasMore)
        })
      )
      .handle(
        "invite",
        Effect.fnUntraced(function*({ payload }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently<InvitationWithToken, PublicError>(
            (call) =>
              team.invite(caller, {
                role: payload.role,
                email: payload.email ?? null,
                isSent: payload.send_email ?? false,
                locale: payload.locale ?? null
              }, call),
            ({ invitation, token }, now) => ({
              ...invitationObject(invitation, now),
              url: invitationUrl(publicUrl, token)
            })
          )
        })
      )
      .handle(
        "revokeInvitation",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently<InvitationState, PublicError>(
            (call) => team.revokeInvitation(caller, params.id, call),
            invitationObject
          )
        })
      )
      .handle(
        "approveInvitation",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently<InvitationState, PublicError>(
            (call) => team.approveInvitation(caller, params.id, call),
            invitationObject
          )
        })
      )
  })
)

export const joinHandlers = Operations.group(
  TeamApi,
  "team-join",
  Effect.fn(function*(group) {
    const { accept } = yield* TeamSignIn
    return group.handle(
      "accept",
      Effect.fnUntraced(function*({ payload }) {
        const { link, merchant, view } = yield* accept(payload.token, { name: payload.name })
        if (link === null) return yield* Effect.die(new Error(`no link was made for the new person ${view.person.id}`))
        return ok({
          member: memberObject(view),
          merchant: { id: MerchantId.make(merchant.id), name: merchant.name },
          sign_in_url: link.url,
          sign_in_expires_at: link.expiresAt
        })
      })
    )
  })
)

export const accountHandlers = Operations.group(
  TeamApi,
  "team-account",
  Effect.fn(function*(group) {
    const team = yield* Team
    return group
      .handle(
        "me",
        Effect.fnUntraced(function*() {
          return ok(accountObject(yield* team.account(yield* requirePerson)))
        })
      )
      .handle(
        "changeMe",
        Effect.fnUntraced(function*({ payload: { language, notices, time_zone: timeZone } }) {
          const caller = yield* requirePerson
          const choices = {
            ...(language === undefined ? {} : { language }),
            ...(timeZone === undefined ? {} : { timeZone }),
            ...(notices === undefined ? {} : { notices })
          }
          return yield* answerIdempotently<PersonState, PublicError>(
            (call) => team.changePages(caller, choices, call),
            accountObject
          )
        })
      )
      .handle(
        "sessions",
        Effect.fnUntraced(function*() {
          const caller = yield* requirePerson
          return listOf((yield* team.sessions(caller)).map((session) => sessionObject(session, caller.session)))
        })
      )
      .handle(
        "endSessions",
        Effect.fnUntraced(function*() {
          const caller = yield* requirePerson
          const { requestId } = yield* RequestInfo
          const ended = yield* team.endSessions(caller, null, requestId)
          return listOf(ended.map((session) => sessionObject(session, caller.session)))
        })
      )
      .handle(
        "endSession",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          const { requestId } = yield* RequestInfo
          const [ended] = yield* team.endSessions(caller, params.id, requestId)
          return ok(sessionObject(ended!, caller.session))
        })
      )
      .handle(
        "passkeys",
        Effect.fnUntraced(function*() {
          const caller = yield* requirePerson
          return listOf((yield* team.passkeys(caller)).map(passkeyObject))
        })
      )
      .handle(
        "changePasskey",
        Effect.fnUntraced(function*({ params, payload }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently(
            (call) => team.changePasskey(caller, params.id, payload.name, call),
            passkeyObject
          )
        })
      )
      .handle(
        "removePasskey",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          return yield* answerIdempotently(
            (call) => team.changePasskey(caller, params.id, null, call),
            passkeyObject
          )
        })
      )
      .handle(
        "makeRecoveryCodes",
        Effect.fnUntraced(function*() {
          const caller = yield* requirePerson
          yield* requireFreshProof
          return yield* answerIdempotently<ReadonlyArray<string>, PublicError>(
            (call) => team.makeRecoveryCodes(caller, call),
            (codes) => ({ object: "recovery_codes", codes })
          )
        })
      )
  })
)

export const viewHandlers = Operations.group(
  TeamApi,
  "team-views",
  Effect.fn(function*(group) {
    const team = yield* Team
    return group
      .handle(
        "views",
        Effect.fnUntraced(function*({ query }) {
          const cursor = readCursor(query, "view_", "the id of a saved view")
          if (isPublicError(cursor)) return yield* cursor
          const caller = yield* requirePerson
          const limit = query.limit ?? pageLimits.default
          const { found, hasMore } = yield* team.savedViews(caller, query.list ?? null, { cursor, limit })
          return listOf(found.map(viewObject), hasMore)
        })
      )
      .handle(
        "saveView",
        Effect.fnUntraced(function*({ payload: { list, name, query, shared = false } }) {
          const caller = yield* requirePerson
          if (shared) yield* requireRight("settings:write", environmentOfBoth)
          return yield* answerIdempotently<ViewForPerson, PublicError>(
            (call) => team.saveView(caller, { list, name, query, isShared: shared }, call),
            viewObject
          )
        })
      )
      .handle(
        "removeView",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          const mayShare = objectionToRight(caller, "settings:write", environmentOfBoth) === undefined
          return yield* answerIdempotently<ViewForPerson, PublicError>(
            (call) => team.removeView(caller, mayShare, params.id, call),
            viewObject
          )
        })
      )
  })
)

/** The calls of `TeamRpc`. */
export const rpcHandlers = Effect.gen(function*() {
  const team = yield* Team
  return TeamRpc.of({
    "team.loginLink": ({ member, merchant_id }) =>
      Effect.map(team.loginLink(merchant_id, member ?? null), ({ expiresAt, url }) => ({ url, expires_at: expiresAt }))
  })
})
