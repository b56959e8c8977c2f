/** Who has approved something, by the names that the team has for them. */
import { Effect } from "effect"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import type { List } from "../service.ts"
import { foreign, timeOf } from "./Elements.ts"
import type { Visit } from "./Page.ts"

type Approvals = ReadonlyArray<{ readonly by: string; readonly at: number }>

/** What people are called by the ids that approvals name; empty for whoever may not see the team. */
export type Names = ReadonlyMap<string, string>

/** Members that are read to name those who approved, at most. */
const maximumNamed = 100

export const approverNames = Effect.fnUntraced(
  function*(visit: Visit, approvals: Approvals): Effect.fn.Return<Names, PublicError> {
    if (approvals.length === 0 || !visit.may("team:read")) return new Map()
    const members = yield* visit.api.get<List<{ readonly id: string; readonly name: string }>>(
      "/api/v1/team/members",
      { limit: maximumNamed }
    )
    return new Map(members.data.map(({ id, name }) => [id, name]))
  }
)

/** One line for each, with the time. */
export const approvers = (visit: Visit, approvals: Approvals, names: Names): ReadonlyArray<Html> =>
  approvals.map(({ at, by }) =>
    html`<p>${foreign(names.get(by) ?? by)} <span class="soft">${timeOf(visit, at)}</span></p>`
  )
