/** Lists that people save: for themselves, or for everybody of the merchant. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { personWrite, viewWrite } from "../repo.ts"
import {
  filtersOfLists,
  maximumViewQuery,
  maximumViews,
  normalizeQuery,
  removeView,
  type SavedViewState,
  type ViewForPerson
} from "../rules.ts"
import { ensurePersonOfCaller, personOfCaller, requirePersonRow } from "./Account.ts"
import { type Caller, entryOf } from "./Memberships.ts"
import { append, decideInTurn, type TeamContext } from "./TeamContext.ts"

export type NewView = Pick<SavedViewState, "isShared" | "list" | "name" | "query">

/** A view for the audit log, without its name and filters: they may name customers, and the log is kept for ever. */
const auditedView = ({ isShared, list }: SavedViewState) => ({ list, shared: isShared })

const subjectOf = ({ id }: SavedViewState) => ({ object: "saved_view", id })

export const saveView = Effect.fnUntraced(function*(
  context: TeamContext,
  caller: Caller,
  view: NewView,
  { cause, reply }: IdempotentCall<ViewForPerson>
) {
  const person = yield* ensurePersonOfCaller(context, caller)
  const { merchantId } = caller
  const query = normalizeQuery(view.list, view.query)
  if (query === null || query.length > maximumViewQuery) {
    return yield* publicError("VALIDATION_ERROR", {
      message:
        `query: the filters of ${view.list} are ${filtersOfLists[view.list].join(" and ")}, each once, with at most `
        + `${maximumViewQuery} characters together`,
      param: "query"
    })
  }
  return yield* decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const owner = yield* requirePersonRow(context, person)
      if ((yield* context.repo.countViews(merchantId, person)) >= maximumViews) {
        return yield* publicError("INVALID_TRANSITION", {
          message: `A person may have ${maximumViews} saved views at a merchant: remove one first`
        })
      }
      const saved: SavedViewState = {
        ...view,
        id: `view_${yield* uuidV7}`,
        merchantId,
        person,
        query,
        status: "active",
        endedAt: null,
        createdAt: yield* nowSeconds,
        version: 1
      }
      const entries = yield* entryOf(
        context,
        caller,
        cause,
        "saved_view.create",
        subjectOf(saved),
        {},
        auditedView(saved)
      )
      // Two saves at once conflict on the person's row, so the limit holds across instances.
      const personAgain = personWrite({ ...owner, version: owner.version + 1 })
      const answer: ViewForPerson = { view: saved, isOwn: true }
      yield* append(context, merchantId, [viewWrite(saved), personAgain, ...entries], cause, reply(answer))
      return answer
    })
  )
})

/** Removes an own view, or with `mayShare` a shared one. Whoever may not remove it is told that there is none. */
export const removeSavedView = Effect.fnUntraced(function*(
  context: TeamContext,
  caller: Caller,
  mayShare: boolean,
  id: string,
  { cause, reply }: IdempotentCall<ViewForPerson>
) {
  const person = yield* personOfCaller(context, caller)
  return yield* decideInTurn(
    context,
    "person",
    person ?? "",
    Effect.gen(function*() {
      const view = yield* context.repo.view(caller.merchantId, id)
      const mayRemove = view !== undefined && (view.person === person || view.isShared && mayShare)
      if (view?.status !== "active" || !mayRemove) {
        return yield* publicError("NOT_FOUND", { message: "No such view that you may remove" })
      }
      const removed: ViewForPerson = { view: removeView(view, yield* nowSeconds), isOwn: view.person === person }
      const entries = yield* entryOf(
        context,
        caller,
        cause,
        "saved_view.remove",
        subjectOf(view),
        auditedView(view),
        {}
      )
      yield* append(context, caller.merchantId, [viewWrite(removed.view), ...entries], cause, reply(removed))
      return removed
    })
  )
})
