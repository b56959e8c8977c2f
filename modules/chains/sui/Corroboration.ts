/** What other endpoints have of transactions that one of them showed: `ChainDriver.corroborate`. */
import { Clock, Effect } from "effect"
import type { ChainDriver, ChainPoint, Corroboration } from "../../../runtime/Chains.ts"
import { endpointsByPreference, isExpectedToAnswer, isWorthAsking } from "../../../runtime/nodes/EndpointPool.ts"
import { isDigest } from "./Identifiers.ts"
import { hasReached, readTransactions, type SuiChain } from "./SuiChain.ts"
import type { CheckpointedTransaction } from "./Messages.ts"
import type { SuiNode } from "./Nodes.ts"
import { transfersOf } from "./Transfers.ts"

/** What the endpoints that were asked came to. */
export interface EndpointAnswers {
  /** Whether the endpoint that the transactions were read from is among those that have answered, or is not asked. */
  readonly hasOwn: boolean
  /** Others that have answered. */
  readonly others: number
  /** Endpoints that should answer within a moment: they are behind, or failed not long ago. */
  readonly pending: number
  /** Whether anybody has answered just now. */
  readonly isRead: boolean
}

/**
 * See {@link Corroboration}. A checkpoint is never replaced, so that no endpoint can be on another branch: what one of
 * them does not have shows in its reading. Silence is consent only of those that are away for long or stand still.
 */
export const corroborationOf = ({ isRead, others, pending }: EndpointAnswers): Corroboration["_tag"] => {
  if (others > 0) return "Agreed"
  if (pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

/** Transactions as an endpoint has them; null: it cannot answer yet. */
const readAgain = (chain: SuiChain, node: SuiNode, point: ChainPoint, digests: ReadonlyArray<string>) =>
  chain.endpoints.attempt(
    node,
    Effect.fnUntraced(function*(each) {
      const found = yield* readTransactions(each, digests)
      if (found.includes("missing") && !(yield* hasReached(chain, each, point))) return null
      return found.filter((transaction) => transaction !== "missing")
    })
  ).pipe(
    Effect.catch((error) => Effect.as(Effect.logDebug("transactions could not be read again", error.reason), null))
  )

export const makeCorroborate = (chain: SuiChain): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point, watch, isThorough, txHashes) {
    const { endpoints: { endpoints, pool } } = chain
    const digests = txHashes.filter(isDigest)
    const firstReaders = new Set(digests.map(chain.readerOf))
    const reader = firstReaders.size === 1 ? [...firstReaders][0] : undefined
    const isSingle = endpoints.length === 1
    // Where nobody knows whom the transactions were read from, one more has to show them than where it is known.
    const isReaderAsked = isThorough || isSingle || reader === undefined
    const readings: Array<ReadonlyArray<CheckpointedTransaction>> = []
    const counts = { hasOwn: !isReaderAsked, others: 0, pending: 0 }
    for (const place of endpointsByPreference(pool(), yield* Clock.currentTimeMillis)) {
      if (!isReaderAsked && place === reader) continue
      const canAsk = isSingle || isWorthAsking(pool(), place)
      const found = canAsk ? yield* readAgain(chain, endpoints[place]!, point, digests) : null
      if (found === null) {
        if (isExpectedToAnswer(pool(), place, yield* Clock.currentTimeMillis)) counts.pending += 1
        continue
      }
      readings.push(found)
      if (!counts.hasOwn && (reader ?? place) === place) counts.hasOwn = true
      else counts.others += 1
      if (!isThorough && counts.others > 0) break
    }
    const agreement = corroborationOf({ ...counts, isRead: readings.length > 0 })
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    yield* watch.refresh
    const time = readings.flat().find(({ checkpoint }) => checkpoint === point.height)?.time ?? 0
    return {
      _tag: agreement,
      time,
      readings: readings.map((transactions) =>
        transactions.flatMap((transaction) => transfersOf(transaction, watch.has))
          .filter(({ at }) => at.height === point.height)
      ),
      hasAllAnswers: readings.length === endpoints.length
    }
  })
