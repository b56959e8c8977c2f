/** Lists that people save: for themselves, or for everybody of the merchant. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { personWrite, viewWrite } from "../repo.ts"
import { maximumViews, normalQuery, removeView, type SavedViewState, type SeenView } from "../rules.ts"
import { ensurePersonOfCaller, personOfCaller, requirePersonRow } from "./Account.ts"
import type { Caller } from "./Memberships.ts"
import { append, decideInTurn, type TeamContext } from "./TeamContext.ts"

export type NewView = Pick<SavedViewState, "isShared" | "list" | "name" | "query">

export const saveView = Effect.fnUntraced(function*(
  context: TeamContext,
  caller: Caller,
  view: NewView,
  { cause, reply }: IdempotentCall<SeenView>
) {
  const person = yield* ensurePersonOfCaller(context, caller)
  const { merchantId } = caller
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
      const made: SavedViewState = {
        ...view,
        id: `view_${yield* uuidV7}`,
        merchantId,
        person,
        query: normalQuery(view.query),
        status: "active",
        endedAt: null,
        createdAt: yield* nowSeconds,
        version: 1
      }
      // With the person's row, of which there is one: of two at once, on whichever instances, one decides anew.
      const touched = personWrite({ ...owner, version: owner.version + 1 })
      yield* append(context, merchantId, [viewWrite(made), touched], cause, reply({ view: made, isOwn: true }))
      return { view: made, isOwn: true } satisfies SeenView
    })
  )
})

/** Removes an own view, or with `mayShare` one that everybody has. Whoever may not see it is told that there is none. */
export const removeSavedView = Effect.fnUntraced(function*(
  context: TeamContext,
  caller: Caller,
  mayShare: boolean,
  id: string,
  { cause, reply }: IdempotentCall<SeenView>
) {
  const person = yield* personOfCaller(context, caller)
  return yield* decideInTurn(
    context,
    "person",
    person ?? "",
    Effect.gen(function*() {
      const view = yield* context.repo.view(caller.merchantId, id)
      const isTheirs = view !== undefined && (view.person === person || view.isShared && mayShare)
      if (view?.status !== "active" || !isTheirs) {
        return yield* publicError("NOT_FOUND", { message: "No such view that you may remove" })
      }
      const removed: SeenView = { view: removeView(view, yield* nowSeconds), isOwn: view.person === person }
      yield* append(context, caller.merchantId, [viewWrite(removed.view)], cause, reply(removed))
      return removed
    })
  )
})
