/** What merchants want to be settled in. Money comes straight from payors today, so nothing is converted by it. */
import { Effect } from "effect"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import { Commit, type CommitCause, decideAnew, type ReplyWrite } from "../../../runtime/Commit.ts"
import { preferenceWrite, type Repo } from "../repo.ts"
import type { BookOwner } from "../rules.ts"

/** Until a merchant chooses: whatever was paid. */
export const defaultPreference = "tokens"

/** Who changes it, why, and the answer to keep. */
export interface PreferenceCall {
  readonly actor: string
  readonly cause: CommitCause
  readonly reply: ReplyWrite | undefined
}

export const makePreferences = Effect.fnUntraced(function*(repo: Repo) {
  const auditLog = yield* AuditLog
  const commit = yield* Commit

  const read = (owner: BookOwner) =>
    Effect.map(repo.preference(owner), ({ preference }) => preference ?? defaultPreference)

  const change = (owner: BookOwner, preference: string, { actor, cause, reply }: PreferenceCall) =>
    Effect.gen(function*() {
      const { environment, merchantId } = owner
      const before = yield* repo.preference(owner)
      const act = yield* auditLog.writesOf({
        merchantId,
        environment,
        actor,
        action: "settlement_preference.change",
        subject: { object: "settlement_preference", id: environment },
        before: { settlement_preference: before.preference ?? defaultPreference },
        after: { settlement_preference: preference },
        requestId: cause.requestId
      })
      yield* commit.append({
        merchantId,
        environment,
        cause,
        writes: [preferenceWrite(owner, before.version + 1, preference), ...act],
        events: [],
        reply
      })
    }).pipe(decideAnew())

  return { read, change }
})

export type Preferences = Effect.Success<ReturnType<typeof makePreferences>>
