/** Reading transactions again from endpoints that they were not read from, before their transfers are confirmed. */
import { Clock, Effect } from "effect"
import type {
  ChainDriver,
  ChainPoint,
  Corroboration,
  DriverError,
  LocatedTransfer,
  WatchSet
} from "../../../runtime/Chains.ts"
import { endpointsByPreference, isExpectedToAnswer, isWorthAsking } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { findReceiver, type Reader } from "./Reader.ts"
import { readByHashes, readMasterchain, type Toncenter } from "./Toncenter.ts"
import { type Transaction, transferOf } from "./Transactions.ts"

/** Blocks for which it is kept who read them: more than wait for confirmation at any time. */
const readersLimit = 4_096

/** Which endpoint showed each block's transfers. */
export interface EndpointsRead {
  readonly remember: (transfers: ReadonlyArray<{ readonly at?: ChainPoint }>, place: number) => void
  /** Null: not known, as after a restart. */
  readonly placeOf: (block: string) => number | null
}

export const makeEndpointsRead = (): EndpointsRead => {
  const places = new Map<string, number>()
  return {
    remember: (transfers, place) => {
      for (const { at } of transfers) {
        if (at === undefined) continue
        places.delete(at.hash)
        places.set(at.hash, place)
        if (places.size > readersLimit) places.delete(places.keys().next().value!)
      }
    },
    placeOf: (block) => places.get(block) ?? null
  }
}

/**
 * Blocks of the masterchain after which an endpoint that does not show a transaction says that it is not there: a
 * minute and more, in which any of them shows what is final.
 */
const maximumIndexLagBlocks = 200n

/** What one endpoint has of transactions that lie in a block. */
type Answer =
  | { readonly _tag: "Whole"; readonly time: number; readonly transfers: ReadonlyArray<LocatedTransfer> }
  | { readonly _tag: "Other" }
  | { readonly _tag: "Nothing" }

/** The transfers of transactions, as the endpoint shows them that they were read from. */
export const transfersOf = Effect.fnUntraced(function*(
  reader: Reader,
  client: Toncenter,
  transactions: ReadonlyArray<Transaction>,
  watch: WatchSet
): Effect.fn.Return<ReadonlyArray<LocatedTransfer>, DriverError> {
  const found: Array<LocatedTransfer> = []
  for (const transaction of transactions) {
    const receiver = yield* findReceiver(reader, client, transaction.account, watch)
    const transfer = receiver === null ? null : transferOf(transaction, receiver, watch.has, reader.environment)
    if (transfer !== null) found.push(transfer)
  }
  return found
})

/** Transactions that should lie in a block. */
interface TransactionsInBlock {
  readonly point: ChainPoint
  readonly watch: WatchSet
  readonly txHashes: ReadonlyArray<string>
}

const readAnswer = Effect.fnUntraced(function*(
  reader: Reader,
  client: Toncenter,
  { point, txHashes, watch }: TransactionsInBlock
): Effect.fn.Return<Answer, DriverError> {
  const transactions = yield* readByHashes(client, txHashes)
  if (transactions.some(({ block, height }) => block !== point.hash || height !== point.height)) {
    return { _tag: "Other" }
  }
  if (transactions.length < new Set(txHashes).size) {
    const { last } = yield* readMasterchain(client)
    return { _tag: last.height >= point.height + maximumIndexLagBlocks ? "Other" : "Nothing" }
  }
  const transfers = yield* transfersOf(reader, client, transactions, watch)
  return { _tag: "Whole", time: transactions[0]?.time ?? 0, transfers }
})

/** Answers counted. */
export interface AnswerCounts {
  /** The endpoint that the transactions were read from has shown them, or was not asked again. */
  readonly own: number
  /** Others that have shown them. */
  readonly same: number
  /** Endpoints that do not have them, or have them elsewhere. */
  readonly other: number
  /** Endpoints that should answer within a moment. */
  readonly pending: number
  /** Whether anybody has shown them just now. */
  readonly isRead: boolean
}

/** See `Corroboration`: silence is consent only of those that are away for long or stand still. */
export const agreementOf = ({ isRead, other, own, pending, same }: AnswerCounts): Corroboration["_tag"] => {
  if (other > 0 && other >= own + same) return "Disagreed"
  if (same > 0) return "Agreed"
  if (pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

const nothing: Answer = { _tag: "Nothing" }

/** See `ChainDriver.corroborate`. */
export const makeCorroborate = (
  reader: Reader,
  endpoints: Endpoints<Toncenter>,
  read: EndpointsRead
): NonNullable<ChainDriver["corroborate"]> => {
  const readAgain = (client: Toncenter, expected: TransactionsInBlock): Effect.Effect<Answer> =>
    Effect.catch(
      endpoints.attempt(client, (each) => readAnswer(reader, each, expected)),
      (error) => Effect.as(Effect.logDebug("transactions could not be read again", error.reason), nothing)
    )
  return Effect.fnUntraced(function*(point, watch, isThorough, txHashes) {
    yield* watch.refresh
    const isSingle = endpoints.endpoints.length === 1
    const ownPlace = read.placeOf(point.hash)
    // Where nobody knows whom it was read from, one more has to show it than where it is known.
    const isReaderAsked = isThorough || isSingle || ownPlace === null
    const readings: Array<Extract<Answer, { readonly _tag: "Whole" }>> = []
    const counts = { own: isReaderAsked ? 0 : 1, same: 0, other: 0, pending: 0 }
    for (const place of endpointsByPreference(endpoints.pool(), yield* Clock.currentTimeMillis)) {
      if (!isReaderAsked && place === ownPlace) continue
      const canAsk = isSingle || isWorthAsking(endpoints.pool(), place)
      const answer = canAsk ? yield* readAgain(endpoints.endpoints[place]!, { point, watch, txHashes }) : nothing
      if (answer._tag === "Whole") {
        readings.push(answer)
        counts[isReaderAsked && counts.own === 0 && (ownPlace ?? place) === place ? "own" : "same"] += 1
      } else if (answer._tag === "Other") {
        counts.other += 1
      } else if (isExpectedToAnswer(endpoints.pool(), place, yield* Clock.currentTimeMillis)) {
        counts.pending += 1
      }
      if (!isThorough && counts.same > 0 && counts.own + counts.same > counts.other) {
        break
      }
    }
    const agreement = agreementOf({ ...counts, isRead: readings.length > 0 })
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    return {
      _tag: agreement,
      time: readings[0]!.time,
      readings: readings.map(({ transfers }) => transfers),
      hasAllAnswers: readings.length === endpoints.endpoints.length
    }
  })
}
