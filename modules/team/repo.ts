/** The only SQL of people and their sessions: rows in, states out; writes as rows for the commit. */
import { Effect } from "effect"
import { makeMembersRepo } from "./repo/Members.ts"
import { makeSavedViewsRepo } from "./repo/SavedViews.ts"
import { makeSignInsRepo } from "./repo/SignIns.ts"

export * from "./repo/Members.ts"
export * from "./repo/SavedViews.ts"
export * from "./repo/SignIns.ts"

export const makeRepo = Effect.map(
  Effect.all([makeMembersRepo, makeSavedViewsRepo, makeSignInsRepo]),
  ([members, savedViews, signIns]) => ({ ...members, ...savedViews, ...signIns })
)

export type Repo = Effect.Success<typeof makeRepo>
