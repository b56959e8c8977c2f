/** Releases what a list has not paid, because people answer for it. */
import { Effect } from "effect"
import { decideAnew, type IdempotentCall } from "../../../runtime/Commit.ts"
import { isPublicError, publicError } from "../../../schemas/Errors.ts"
import { approvalBy, approversOf, peopleRequired } from "../../refunds/plugin.ts"
import { type BatchState, isReleasable, partOf } from "../machine.ts"
import { type BatchActor, changeBatch } from "./BatchDecisions.ts"
import { type BatchOwner, type BatchServices, findBatch, networkDegraded } from "./BatchServices.ts"
import { lookAtPart } from "./Observations.ts"

export interface ReleaseRequest {
  readonly part: number
  /** Why, for the audit log. */
  readonly note: string
}

/** The chain decides before people do: what it shows by now is stored first, and is not released. */
const lookFirst = (services: BatchServices) =>
  Effect.fnUntraced(function*(owner: BatchOwner, id: string, number: number) {
    const batch = yield* findBatch(services.repo, owner, id)
    const part = partOf(batch, number)
    if (isPublicError(part)) return yield* part
    if (isReleasable(batch, part)) yield* lookAtPart(services, batch, part)
  }, decideAnew())

/** `Batches.release`. */
export const releaseList = (services: BatchServices) => {
  const change = changeBatch(services, "release")
  const look = lookFirst(services)
  return Effect.fn("Batches.release")(
    function*(
      owner: BatchOwner,
      id: string,
      { note, part }: ReleaseRequest,
      actor: BatchActor,
      call: IdempotentCall<BatchState>
    ) {
      if (approvalBy("payout", actor, owner.environment, 0) === null) {
        return yield* publicError("CREDENTIAL_NOT_ALLOWED", {
          message: "Only a person releases a list: sign in with a wallet of the merchant, and use that token"
        })
      }
      const approvers = approversOf("payout", yield* services.members.list(owner.merchantId), owner.environment)
      yield* look(owner, id, part).pipe(Effect.catchTag("DriverError", networkDegraded))
      return yield* change(
        owner,
        id,
        (_batch, now) =>
          Effect.succeed({
            command: {
              _tag: "Release",
              part,
              statement: { ...approvalBy("payout", actor, owner.environment, now)!, note },
              required: peopleRequired(approvers)
            }
          }),
        actor,
        call
      )
    }
  )
}
