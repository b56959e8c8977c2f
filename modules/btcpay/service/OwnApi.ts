/**
 * Calls the service's own API for a shop. Such a call passes every check that a call from outside passes: rights,
 * rules and the audit log. The modules that are called need not be loaded: `serves` says whether a path is there.
 */
import { Data, Effect } from "effect"
import { randomUUID } from "node:crypto"
import type { Grant } from "../../../runtime/Http.ts"
import { type LocalCall, LocalCalls } from "../../../runtime/LocalCalls.ts"
import { ShopRefusal } from "../handlers/Refusals.ts"
import { type Fields, fieldsOf } from "../rules/Requests.ts"

/** The API has refused a call, and said why. */
export class OwnApiRefused extends Data.TaggedError("OwnApiRefused")<{
  readonly status: number
  readonly message: string
}> {}

export const makeOwnApi = Effect.map(LocalCalls, (calls) => ({
  serves: calls.serves,
  /** Answers the fields of `data`. A status from 500 is a {@link ShopRefusal}: the shop may send its call again. */
  post: Effect.fnUntraced(function*(
    caller: Grant,
    path: LocalCall["path"],
    requestBody: NonNullable<LocalCall["body"]>,
    requestId: string
  ): Effect.fn.Return<Fields, OwnApiRefused | ShopRefusal> {
    const { body, status } = yield* calls.call(caller, {
      method: "POST",
      path,
      body: requestBody,
      idempotencyKey: randomUUID(),
      requestId
    })
    if (status < 300) return fieldsOf(fieldsOf(body)["data"])
    const error = fieldsOf(fieldsOf(body)["error"])
    const message = typeof error["message"] === "string" ? error["message"] : "The call was refused."
    return yield* status < 500
      ? new OwnApiRefused({ status, message })
      : new ShopRefusal({ status, body: { code: "internal-error", message } })
  })
}))
