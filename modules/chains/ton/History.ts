/** Reading again what was passed: one transaction, a stretch of blocks, the time of a block. */
import { Effect } from "effect"
import { type AccountHistory, DriverError, type LocatedTransfer } from "../../../runtime/Chains.ts"
import { findAtAny, readUnlessPruned } from "../../../runtime/nodes/Absence.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { readHash } from "./Account.ts"
import { maximumIndexLagBlocks, transfersOf } from "./Corroboration.ts"
import { batchesOf, type Reader, readOwners } from "./Reader.ts"
import { accountsPerCall, readBlockAt, readByHashes, readMasterchain, type Toncenter } from "./Toncenter.ts"

/**
 * Seconds before the time of a block in which transactions that it made final may lie: a shard's block waits for the
 * masterchain, on a bad day for minutes.
 */
const shardLagSeconds = 900

/** A transaction's hash in any of its spellings; null when it is none. */
const readTxHash = (text: string): string | null =>
  /^(0x)?[0-9a-f]{64}$/i.test(text)
    ? text.replace(/^0x/i, "").toLowerCase()
    : readHash(text.replaceAll("-", "+").replaceAll("_", "/"))

/** Epoch seconds of a block; null: the endpoint keeps none so old. */
const readTime = Effect.fnUntraced(function*(client: Toncenter, height: bigint) {
  const block = yield* readBlockAt(client, height)
  if (block !== null) return block.time
  const { first } = yield* readMasterchain(client)
  if (height < first.height) return null
  return yield* new DriverError({
    network: client.network,
    reason: `${client.name} does not have block ${height}`,
    kind: "not_found"
  })
})

const readTransaction = (reader: Reader, endpoints: Endpoints<Toncenter>): AccountHistory["readTransaction"] =>
  Effect.fnUntraced(function*(txHash, watch, height) {
    const hash = readTxHash(txHash)
    if (hash === null) return []
    yield* watch.refresh
    const found = yield* findAtAny(
      endpoints,
      "the transaction",
      Effect.fnUntraced(function*(client) {
        // How far it has come is asked first: what it does not show after that is not there up to then.
        const { last } = yield* readMasterchain(client)
        const transactions = yield* readByHashes(client, [hash])
        if (transactions.length > 0) return yield* transfersOf(reader, client, transactions, watch)
        if (last.height >= height + maximumIndexLagBlocks) return null
        const { name, network } = client
        const reason = `${name} has come to block ${last.height}, and cannot say yet what is not in block ${height}`
        return yield* new DriverError({ network, reason, kind: "not_found" })
      })
    )
    return found ?? []
  })

const readTransfers = (reader: Reader, endpoints: Endpoints<Toncenter>): AccountHistory["readTransfers"] =>
  Effect.fnUntraced(function*(from, to, watch) {
    yield* watch.refresh
    const owners = watch.accounts().map(({ isOpen, key }) => ({ isOpen, key }))
    return yield* readUnlessPruned(
      endpoints,
      `block ${from}`,
      Effect.fnUntraced(function*(client) {
        const start = yield* readTime(client, from)
        const end = yield* readTime(client, to)
        if (start === null || end === null) {
          const reason = `${client.name} does not have block ${from} any more`
          return yield* new DriverError({ network: client.network, reason, kind: "pruned" })
        }
        const stretch = { from: start - shardLagSeconds, until: end }
        const found: Array<LocatedTransfer> = []
        for (const batch of batchesOf(owners, accountsPerCall)) {
          found.push(...yield* readOwners(reader, client, batch, stretch, watch))
        }
        return found.filter(({ at: { height } }) => height >= from && height <= to)
      })
    )
  })

/** See `AccountHistory`. */
export const makeHistory = (reader: Reader, endpoints: Endpoints<Toncenter>): AccountHistory => ({
  _tag: "AccountHistory",
  readTransaction: readTransaction(reader, endpoints),
  readTransfers: readTransfers(reader, endpoints),
  timeOf: (height) => findAtAny(endpoints, `block ${height}`, (client) => readTime(client, height))
})
