/** What other endpoints have of transactions that one of them showed: `ChainDriver.corroborate`. */
import { Effect } from "effect"
import type { ChainDriver, ChainPoint, DriverError } from "../../../runtime/Chains.ts"
import { type Answer, askAgain, attemptAnswer, noAnswer } from "../../../runtime/nodes/Corroboration.ts"
import { isDigest } from "./Identifiers.ts"
import { hasReached, readTransactions, type SuiChain } from "./SuiChain.ts"
import type { CheckpointedTransaction } from "./Messages.ts"
import type { SuiNode } from "./Nodes.ts"
import { transfersOf } from "./Transfers.ts"

/**
 * Transactions as an endpoint has them. A checkpoint is never replaced, so that no endpoint can be on another branch:
 * what one of them does not have though it has come so far shows in its reading.
 */
const readAgain = Effect.fnUntraced(function*(
  chain: SuiChain,
  node: SuiNode,
  point: ChainPoint,
  digests: ReadonlyArray<string>
): Effect.fn.Return<Answer<ReadonlyArray<CheckpointedTransaction>>, DriverError> {
  const found = yield* readTransactions(node, digests)
  if (found.includes("missing") && !(yield* hasReached(chain, node, point))) return noAnswer
  return { _tag: "Whole", reading: found.filter((transaction) => transaction !== "missing") }
})

export const makeCorroborate = (chain: SuiChain): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point, watch, isThorough, txHashes) {
    const { endpoints } = chain
    const digests = txHashes.filter(isDigest)
    const firstReaders = new Set(digests.map(chain.readerOf))
    const reader = firstReaders.size === 1 ? [...firstReaders][0] : undefined
    const ask = (node: SuiNode) => attemptAnswer(endpoints, node, (each) => readAgain(chain, each, point, digests))
    const { agreement, hasAllAnswers, readings } = yield* askAgain(endpoints, reader, isThorough, ask)
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    yield* watch.refresh
    const shown = readings.map(({ reading }) => reading)
    return {
      _tag: agreement,
      time: shown.flat().find(({ checkpoint }) => checkpoint === point.height)?.time ?? 0,
      readings: shown.map((transactions) =>
        transactions.flatMap((transaction) => transfersOf(transaction, watch.has))
          .filter(({ at }) => at.height === point.height)
      ),
      hasAllAnswers
    }
  })
