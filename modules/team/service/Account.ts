/** What somebody does with its own: whose calls they are, its passkeys and its sessions. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { firstOwnerPerson } from "../../../schemas/Roles.ts"
import { passkeyWrite, personWrite, sessionWrite } from "../repo.ts"
import {
  choosePages,
  endSession,
  isOpen,
  type PageChoices,
  type PasskeyState,
  type PersonState,
  removePasskey,
  renamePasskey
} from "../rules.ts"
import type { Caller } from "./Memberships.ts"
import { draftFirstOwner, requireMember } from "./People.ts"
import { append, decideInTurn, personActWrites, requireMerchant, type TeamContext } from "./TeamContext.ts"

/** The person that a caller is; undefined: the owner of a merchant of which nobody was a member yet. */
export const personOfCaller = Effect.fnUntraced(function*(context: TeamContext, { merchantId, person }: Caller) {
  const isFirst = person === null || person === firstOwnerPerson
  if (isFirst && (yield* context.repo.firstOwner(merchantId)) === undefined) return undefined
  return (yield* requireMember(context, merchantId, person)).person
})

/** The same, made a member where nobody was one. */
export const ensurePersonOfCaller = Effect.fnUntraced(function*(context: TeamContext, caller: Caller) {
  const found = yield* personOfCaller(context, caller)
  if (found !== undefined) return found
  return yield* decideInTurn(
    context,
    "merchant",
    caller.merchantId,
    Effect.gen(function*() {
      const merchant = yield* requireMerchant(context, caller.merchantId)
      const draft = yield* draftFirstOwner(context, merchant, yield* nowSeconds)
      if (draft.writes.length > 0) {
        yield* append(context, caller.merchantId, [...draft.writes, context.merchants.touch(merchant)])
      }
      return draft.member.person
    })
  )
})

export const requirePersonRow = ({ repo }: TeamContext, id: string) =>
  Effect.flatMap(repo.person(id), (person) =>
    person === undefined
      ? Effect.die(new Error(`the person ${id} of a member has no row`))
      : Effect.succeed(person))

/** The person that a caller is. Reading makes nobody: `NOT_FOUND` where nobody was a member yet. */
export const accountOf = Effect.fnUntraced(function*(context: TeamContext, caller: Caller) {
  const person = yield* personOfCaller(context, caller)
  return person === undefined
    ? yield* publicError("NOT_FOUND", { message: "Nobody is a member of this merchant yet: sign in to the dashboard" })
    : yield* requirePersonRow(context, person)
})

/** Changes how the pages are shown to the caller, at all merchants that it belongs to. */
export const changePages = Effect.fnUntraced(function*(
  context: TeamContext,
  caller: Caller,
  choices: PageChoices,
  { cause, reply }: IdempotentCall<PersonState>
) {
  const person = yield* ensurePersonOfCaller(context, caller)
  return yield* decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const before = yield* requirePersonRow(context, person)
      const after = choosePages(before, choices)
      const shown = ({ language, notices, timeZone }: PersonState) => ({ language, time_zone: timeZone, notices })
      const entries = after === before ? [] : yield* personActWrites(context, person, {
        action: "person.update",
        subject: { object: "person", id: person },
        before: shown(before),
        after: shown(after),
        requestId: cause.requestId
      })
      const row = after === before ? [] : [personWrite(after)]
      yield* append(context, caller.merchantId, [...row, ...entries], cause, reply(after))
      return after
    })
  )
})

/** Sessions that are open, newest first. */
export const openSessionsOf = Effect.fnUntraced(function*({ repo }: TeamContext, person: string) {
  const now = yield* nowSeconds
  return (yield* repo.sessionsOf(person)).filter((session) => isOpen(session, now))
})

/**
 * Renames a passkey of a person's, or removes it (`name` null) and ends the sessions that it proved. Removing twice is
 * refused as unknown.
 */
export const changePasskey = (
  context: TeamContext,
  caller: Caller,
  person: string,
  id: string,
  name: string | null,
  { cause, reply }: IdempotentCall<PasskeyState>
) =>
  decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const before = yield* context.repo.passkey(id)
      if (before?.person !== person || before.status !== "active") {
        return yield* publicError("NOT_FOUND", { message: "No such passkey" })
      }
      const after = name === null ? removePasskey(before) : renamePasskey(before, name)
      const sessions = name === null ? yield* context.repo.sessionsOf(person) : []
      const ended = sessions.filter(({ passkey }) => passkey === id)
        .map((session) => sessionWrite(endSession(session, "passkey_removed")))
      const entries = yield* personActWrites(context, person, {
        action: name === null ? "passkey.remove" : "passkey.update",
        subject: { object: "passkey", id },
        before: {},
        after: {},
        requestId: cause.requestId
      })
      yield* append(context, caller.merchantId, [passkeyWrite(after), ...ended, ...entries], cause, reply(after))
      return after
    })
  )
