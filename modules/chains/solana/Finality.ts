/** Whether transactions whose transfers were emitted stay on the chain, once their slots are finalized. */
import { Clock, Effect, MutableRef } from "effect"
import { isExpectedToAnswer } from "../../../runtime/nodes/EndpointPool.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { type FollowContext, stateOf, update } from "./FollowContext.ts"
import { dueForFinality, onDropped, onFinalized, onPresent, onStatuses } from "./FollowState.ts"
import { readSlot, readStatuses, type SignatureStatus, statusesPerCall } from "./Node.ts"

/** Slots after which the finalized slot is read again where nothing waits for it: 10 s. */
export const finalitySlots = 25n

const readAllStatuses = Effect.fnUntraced(function*(node: JsonRpcClient, signatures: ReadonlyArray<string>) {
  const statuses = new Map<string, SignatureStatus | null>()
  for (let from = 0; from < signatures.length; from += statusesPerCall) {
    const part = signatures.slice(from, from + statusesPerCall)
    const answers = yield* readStatuses(node, part)
    for (const [place, status] of answers.entries()) statuses.set(part[place]!, status)
  }
  return statuses
})

/**
 * Those transactions that every other endpoint which should answer says it does not have. One that fails, or whose
 * finalized slot lies below a transaction's, leaves it open: it may not have come so far.
 */
const absentElsewhere = Effect.fnUntraced(function*(
  context: FollowContext,
  own: JsonRpcClient,
  signatures: ReadonlyArray<string>
) {
  const { endpoints } = context
  const nowMillis = yield* Clock.currentTimeMillis
  const others = endpoints.endpoints.filter(({ place }) =>
    place !== own.place && isExpectedToAnswer(endpoints.pool(), place, nowMillis)
  )
  const answers = yield* Effect.forEach(
    others,
    (node) =>
      Effect.result(endpoints.attempt(node, (each) =>
        // The slot first: what the node has not got after it, it does not have up to that slot.
        Effect.all({ finalized: readSlot(each, "finalized"), statuses: readAllStatuses(each, signatures) }))),
    { concurrency: "unbounded" }
  )
  const { unfinal } = stateOf(context)
  return signatures.filter((signature) =>
    answers.every((answer) =>
      answer._tag === "Success" && answer.success.statuses.get(signature) === null &&
      answer.success.finalized >= unfinal.get(signature)!.slot
    )
  )
})

const minOf = (one: bigint, other: bigint): bigint => one < other ? one : other

/** Asks for the finalized slot where it matters, and whether what lies at or below it is still there. */
export const checkFinality = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead
) {
  const { finalityReadAt } = MutableRef.get(context.looks)
  if (stateOf(context).unfinal.size === 0 && head.height < finalityReadAt + finalitySlots) return
  // A slot above its own newest is no finality: the mark that is known never goes back.
  const finalized = minOf(yield* readSlot(node, "finalized"), head.height)
  MutableRef.update(context.looks, (looks) => ({ ...looks, finalityReadAt: head.height }))
  update(context, (state) => onFinalized(state, finalized))
  const due = dueForFinality(stateOf(context), finalized)
  if (due.length === 0) return
  const { absent, failed, state } = onStatuses(stateOf(context), yield* readAllStatuses(node, due), finalized)
  const dropped = absent.length === 0 ? [] : yield* absentElsewhere(context, node, absent)
  const present = absent.filter((signature) => !dropped.includes(signature))
  update(context, () => onDropped(onPresent(state, present), [...dropped, ...failed]))
})
