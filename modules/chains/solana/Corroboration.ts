/** What other endpoints say of transactions that one of them has shown: `ChainDriver.corroborate`. */
import { Effect } from "effect"
import type { ChainDriver, ChainPoint, DriverError, WatchSet } from "../../../runtime/Chains.ts"
import {
  type Answer,
  askAgain,
  attemptAnswer,
  noAnswer,
  type Readers,
  type ShownTransfers,
  toCorroboration
} from "../../../runtime/nodes/Corroboration.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { readSlot, readStatuses, type SignatureStatus, statusesPerCall } from "./Node.ts"
import { ask, concurrentCalls } from "./TransactionReading.ts"

/**
 * What a node says of transactions in a slot that it does not show: `Branch` that each is there, in the slot, not
 * failed and final.
 */
const answerByStatuses = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  height: bigint,
  signatures: ReadonlyArray<string>
): Effect.fn.Return<Answer<never>, DriverError> {
  // The slot first: what the node has not got after it, it does not have up to that slot.
  const finalized = yield* readSlot(node, "finalized")
  const statuses: Array<SignatureStatus | null> = []
  for (let from = 0; from < signatures.length; from += statusesPerCall) {
    statuses.push(...yield* readStatuses(node, signatures.slice(from, from + statusesPerCall)))
  }
  if (statuses.some((status) => status !== null && (status.hasFailed || status.slot !== height))) {
    return { _tag: "Other" }
  }
  // Until the slot is final it may only be a moment behind.
  if (finalized < height) return noAnswer
  return { _tag: statuses.includes(null) ? "Other" : "Branch" }
})

const readAgain = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  point: ChainPoint,
  watch: WatchSet,
  txHashes: ReadonlyArray<string>
): Effect.fn.Return<Answer<ShownTransfers>, DriverError> {
  const answers = yield* Effect.forEach(
    txHashes,
    (txHash) => Effect.map(ask(node, txHash, watch), (answer) => ({ txHash, answer })),
    { concurrency: concurrentCalls }
  )
  const readings = answers.flatMap(({ answer }) => answer._tag === "Read" ? [answer.reading] : [])
  if (readings.some(({ at }) => at.height !== point.height)) return { _tag: "Other" }
  const hidden = answers.filter(({ answer }) => answer._tag !== "Read").map(({ txHash }) => txHash)
  return hidden.length > 0
    ? yield* answerByStatuses(node, point.height, hidden)
    : {
      _tag: "Whole",
      reading: { time: readings[0]!.at.time, transfers: readings.flatMap(({ transfers }) => transfers) }
    }
})

/** `readers`: by signature. */
export const makeCorroborate = (
  endpoints: Endpoints<JsonRpcClient>,
  readers: Readers<string>
): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point, watch, isThorough, txHashes) {
    if (txHashes.length === 0) return { _tag: "Unavailable" }
    yield* watch.refresh
    const places = new Set(txHashes.map(readers.placeOf))
    const reader = places.size === 1 ? [...places][0] : undefined
    const askNode = (node: JsonRpcClient) =>
      attemptAnswer(endpoints, node, (each) => readAgain(each, point, watch, txHashes))
    return toCorroboration(yield* askAgain(endpoints, reader, isThorough, askNode))
  })
