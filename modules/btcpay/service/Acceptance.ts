/** Accepts a part payment or a late payment, where a shop marks its invoice as settled. */
import { Effect } from "effect"
import type { CommitCause } from "../../../runtime/Commit.ts"
import type { Grant } from "../../../runtime/Http.ts"
import { mayDo } from "../../../schemas/Roles.ts"
import type { Aggregate } from "../../invoices/plugin.ts"
import { missingPermission } from "../handlers/Refusals.ts"
import { acceptanceOf } from "../rules/Marks.ts"
import { makeOwnApi } from "./OwnApi.ts"

const exceptionsPath = "/api/v1/exceptions"

const forbidden = 403

export const makeAcceptance = Effect.map(makeOwnApi, (api) => ({
  /** Whether the caller may accept. Accepting decides about money, so it needs another right than changing invoices. */
  mayAccept: (caller: Grant): boolean =>
    api.serves(`${exceptionsPath}/{id}/resolve`) && mayDo(caller, "exceptions:resolve", caller.environment),
  /** Answers false where there is nothing to accept, or another call has decided in the meantime. */
  accept: Effect.fnUntraced(function*(caller: Grant, current: Aggregate, { requestId }: CommitCause) {
    const id = acceptanceOf(current)
    if (id === null) return false
    const decision = { action: "accept", note: "Marked settled by the shop" }
    return yield* api.post(caller, `${exceptionsPath}/${id}/resolve`, decision, requestId ?? "").pipe(
      Effect.as(true),
      Effect.catchTag("OwnApiRefused", ({ message, status }) =>
        status === forbidden
          ? Effect.fail(missingPermission("btcpay.store.canmodifyinvoices", message))
          : Effect.succeed(false))
    )
  })
}))
