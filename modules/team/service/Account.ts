/** What somebody does with its own: whose calls they are, its passkeys and its sessions. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { firstOwnerPerson } from "../../../schemas/Roles.ts"
import { passkeyWrite, sessionWrite } from "../repo.ts"
import { endSession, isOpen, type PasskeyState, removePasskey, renamePasskey } from "../rules.ts"
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
