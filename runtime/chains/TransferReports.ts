/** Transfers that a watcher elsewhere reports: what makes a report acceptable, and its entry in the journal. */
import { Effect } from "effect"
import { nowSeconds } from "../Clock.ts"
import { publicError } from "../../schemas/Errors.ts"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import type { Chains, JournalEntry, ReportState } from "../Chains.ts"
import { contradictsReport, entryIds, matchEntry } from "./TransferIdentity.ts"
import { reportedEntry } from "./Confirmations.ts"
import {
  type ArgumentFault,
  driverOf,
  followerOf,
  type JournalContext,
  rejectFault,
  retryWrite,
  wakeHandler,
  withPublicErrors,
  write
} from "./JournalContext.ts"
import { findReceivers } from "./Receivers.ts"
import { transferId, transferWrite } from "./ChainsRepo.ts"

type TransferSighting = Parameters<Chains["Service"]["report"]>[0]

/** Entries of networks without a driver that are confirmed at once. */
const reportedLimit = 500

/** Blocks by which a report may be ahead of the follower: its reporter's node may be faster, a wrong unit is more. */
const maximumHeightAhead = 1_000n

/** Seconds by which a reported block's time may be in the future: clocks differ, and milliseconds are a wrong unit. */
const maximumSecondsAhead = 900

/** How a reported entry stands. */
const stateOf = ({ confirmations, status }: JournalEntry): ReportState =>
  status === "seen" && confirmations === 0 ? "reported" : status

/** What is wrong with a report by itself; null: nothing. `now`: epoch seconds. */
const sightingFault = ({ time, txHash }: TransferSighting, now: number): ArgumentFault | null => {
  if (time < 0 || time > now + maximumSecondsAhead) {
    const message = `\`block_time\` is the time of the block in epoch seconds, 0 to ${now + maximumSecondsAhead}, ` +
      `and it was ${time}`
    return { param: "block_time", message }
  }
  // Credits by comparing balances have such ids, and no transaction of a chain has.
  return txHash.startsWith("balance:")
    ? { param: "tx_hash", message: "`tx_hash` is the hash of a transaction, as the chain spells it" }
    : null
}

const unknownAddress = (network: Network, environment: Environment): ArgumentFault => ({
  param: "match_key",
  message: `No invoice of ${environment} was given the address \`match_key\` on ${familyOf(network)}: correct ` +
    "it, the network or the environment"
})

const otherReceiver = (index: number, matchKey: string): ArgumentFault => ({
  param: "match_key",
  message: `Transfer ${index} of this transaction went to ${matchKey}: correct \`match_key\` or \`index\``
})

/** What is wrong with a height above the newest block read; null: nothing, or none was read. */
const heightFault = (height: bigint, head: bigint | null): ArgumentFault | null =>
  head === null || height <= head + maximumHeightAhead ? null : {
    param: "height",
    message: `The newest block read here is ${head}: \`height\` may be at most ${maximumHeightAhead} above it`
  }

/** Whom a reported transfer is for; undefined: nobody. */
const receiverOf = Effect.fnUntraced(function*(journal: JournalContext, sighting: TransferSighting) {
  const { environment, matchKey, network, point, time } = sighting
  const place = { network, environment, point: { ...point, time } }
  const receivers = yield* findReceivers(journal, place, [matchKey])
  // The time is the reporter's: where the network is followed, the block says whether it is older than the target.
  const given = driverOf(journal, network, environment) === undefined
    ? undefined
    : (yield* journal.repo.targetsByKey(familyOf(network), environment, [matchKey]))[0]
  return given ?? receivers.get(matchKey)
})

const record = Effect.fnUntraced(function*(journal: JournalContext, sighting: TransferSighting) {
  const { environment, index, matchKey, network, point, time, tokenAddress, txHash } = sighting
  yield* rejectFault(sightingFault(sighting, yield* nowSeconds))
  const receiver = yield* receiverOf(journal, sighting)
  if (receiver === undefined) return yield* publicError("VALIDATION_ERROR", unknownAddress(network, environment))
  const first = transferId(network, environment, txHash, index)
  const found = yield* journal.repo.entriesById(entryIds(first, matchKey))
  const entries = new Map(found.map((entry) => [entry.id, entry]))
  const { entry: before, id } = matchEntry(entries, first, matchKey)
  const other = entries.get(first)
  if (contradictsReport(other, matchKey, driverOf(journal, network, environment) !== undefined)) {
    yield* rejectFault(otherReceiver(index, other!.matchKey))
  }
  const follower = followerOf(journal, network, environment)
  yield* rejectFault(heightFault(point.height, follower?.head() ?? null))
  const entry = reportedEntry(before, sighting, receiver, {
    network,
    environment,
    point: { ...point, time },
    observedAt: yield* nowSeconds,
    isUnlisted: tokenAddress !== null && journal.catalog.find(network, environment, tokenAddress) === undefined,
    id
  })
  if (entry !== undefined) {
    yield* write(journal, environment, [transferWrite(entry)])
    yield* wakeHandler(journal)
    yield* follower?.check ?? Effect.void
  }
  return stateOf(entry ?? before!)
})

export const report = (journal: JournalContext): Chains["Service"]["report"] => (sighting) =>
  withPublicErrors(record(journal, sighting))

/** A report is all there is where nobody follows the network: the watcher elsewhere answers for its depth. */
export const confirmReported = (journal: JournalContext): Effect.Effect<void> =>
  journal.confirmLock.withPermits(1)(
    Effect.gen(function*() {
      const found = yield* journal.repo.reportedEntries([...journal.drivers.keys()], reportedLimit)
      if (found.length === 0) return
      const writes = found.map((entry) => transferWrite({ ...entry, status: "confirmed", version: entry.version + 1 }))
      yield* write(journal, found[0]!.environment, writes)
      yield* wakeHandler(journal)
    }).pipe(
      retryWrite,
      Effect.catchCause((cause) => Effect.logWarning("reported transfers could not be confirmed", cause))
    )
  )
