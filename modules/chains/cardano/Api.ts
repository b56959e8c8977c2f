/**
 * Blockfrost's REST API (docs.blockfrost.io), as Blockfrost itself, its self-hosted backend and Dolos serve it: the six
 * routes that following a chain takes. What it answers is hostile input: every answer has a form and a size.
 */
import { Effect, Schema } from "effect"
import type { Connection } from "../../../runtime/nodes/Endpoints.ts"
import { largeCall } from "../../../runtime/nodes/NodeHttp.ts"
import { type RestClient, restClient } from "../../../runtime/nodes/Rest.ts"
import { type ChainPoint, DriverError, type DriverErrorKind, isOutage } from "../../../runtime/Chains.ts"
import { slotZeroOf } from "./Slots.ts"
import {
  assetPlaces,
  readTransaction,
  sortedAssets,
  type TransactionOutput,
  type TransactionOutputs
} from "./Transactions.ts"

/** Entries that a page holds at most, by the API's own limit. */
const largestPage = 100

const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Quantity = Schema.String.check(Schema.isPattern(/^\d{1,20}$/))

const Genesis = Schema.Struct({ network_magic: Count, system_start: Schema.optionalKey(Schema.NullOr(Count)) })

const Eras = Schema.Array(Schema.Struct({
  start: Schema.Struct({ time: Count, slot: Count }),
  parameters: Schema.Struct({ slot_length: Schema.Finite })
}))

const BlockAnswer = Schema.Struct({
  time: Count,
  height: Count,
  hash: Hash,
  tx_count: Count,
  previous_block: Schema.NullOr(Schema.String)
})

/** Hex digits of a transaction, at most: the protocol's `maxTxSize` is 16,384 bytes, and this is eight times that. */
const maximumTransactionDigits = 262_144

const TransactionAnswer = Schema.Struct({
  tx_hash: Hash,
  cbor: Schema.String.check(Schema.isMaxLength(maximumTransactionDigits))
})

const ValidityAnswer = Schema.Struct({ valid_contract: Schema.Boolean })

/** Flags that older servers leave out or answer with null. */
const Flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))
const Inputs = Schema.Struct({
  inputs: Schema.Array(Schema.Struct({ address: Schema.String, collateral: Flag, reference: Flag }))
})
const Outputs = Schema.Struct({
  outputs: Schema.Array(Schema.Struct({
    address: Schema.String,
    output_index: Count,
    amount: Schema.Array(Schema.Struct({ unit: Schema.String, quantity: Quantity })),
    collateral: Flag
  }))
})

export interface BlockHeader extends ChainPoint {
  /** Hash of the block before it. */
  readonly previous: string
  /** Epoch seconds. */
  readonly time: number
  readonly transactionCount: number
}

/** A transaction of a block; `outputs` is null where it has a form that is not known here. */
export interface BlockTransaction {
  readonly txHash: string
  readonly outputs: TransactionOutputs | null
}

export interface FullBlock extends BlockHeader {
  readonly transactions: ReadonlyArray<BlockTransaction>
}

/** The client of one endpoint. */
export type Api = RestClient

/** A server's own limits on what one call may ask for: less is asked for then. */
const kindOf = (status: number, message: string): DriverErrorKind | null =>
  status === 413 || (status === 400 && /count|limit|too (?:many|large)|exceed/i.test(message)) ? "too_large" : null

export const makeApi = (connection: Connection): Api => restClient(connection, { kindOf })

const headerOf = (raw: typeof BlockAnswer.Type): BlockHeader => ({
  height: BigInt(raw.height),
  hash: raw.hash,
  previous: raw.previous_block ?? "",
  time: raw.time,
  transactionCount: raw.tx_count
})

const contradiction = (api: Api, reason: string) =>
  new DriverError({ network: api.network, reason: `${api.name} contradicts itself: ${reason}`, kind: "contradiction" })

/** What a server says of its network. */
export interface NetworkFacts {
  /** What tells a network from every other: 764824073 is mainnet, 1 preprod, 2 preview. */
  readonly magic: number
  /** See {@link slotZeroOf}; null: the server does not say. */
  readonly slotZero: number | null
}

/**
 * Not every server tells of eras, and one that does not is as good as others for all else. One that only fails to
 * answer is asked again, because its slots would never be compared.
 */
const readEras = (api: Api) =>
  Effect.catchIf(
    api.find("/network/eras", Eras),
    (error) => !isOutage(error),
    ({ reason }) =>
      Effect.as(Effect.logDebug("a server does not tell of eras, so its slots are not compared", { reason }), null)
  )

export const readNetwork = Effect.fnUntraced(function*(api: Api): Effect.fn.Return<NetworkFacts, DriverError> {
  const { network_magic: magic, system_start: start } = yield* api.get("/genesis", Genesis)
  const eras = start == null ? null : yield* readEras(api)
  return { magic, slotZero: start == null || eras === null ? null : slotZeroOf(start, eras) }
})

/** A block by its height, its hash or as the newest; null where the server has none. */
export const readHeader = (api: Api, name: bigint | string): Effect.Effect<BlockHeader | null, DriverError> =>
  Effect.map(api.find(`/blocks/${name}`, BlockAnswer), (raw) => raw === null ? null : headerOf(raw))

export const readHead = Effect.fnUntraced(function*(api: Api) {
  const head = yield* readHeader(api, "latest")
  return head ?? (yield* contradiction(api, "it has no newest block"))
})

/** Blocks that are asked for at once: half of what a page may hold, so that a long way is made in even steps. */
export const blocksPerPage = 50

/**
 * The blocks after one, lowest first, and whether more may follow; null where the server does not have that one. A
 * server that will not show as many is asked for fewer.
 */
export const readNext = (
  api: Api,
  hash: string,
  count = blocksPerPage
): Effect.Effect<{ readonly blocks: ReadonlyArray<BlockHeader>; readonly isFull: boolean } | null, DriverError> =>
  api.find(`/blocks/${hash}/next?count=${count}&page=1`, Schema.Array(BlockAnswer).check(Schema.isMaxLength(count)))
    .pipe(
      Effect.map((raws) => raws === null ? null : { blocks: raws.map(headerOf), isFull: raws.length === count }),
      Effect.catchIf(
        ({ kind }) => kind === "too_large" && count > 1,
        () => readNext(api, hash, Math.floor(count / 2))
      )
    )

/** A page of a block's transactions; null where the server does not have the block. */
const readPage = (api: Api, hash: string, count: number, page: number) =>
  api.find(
    `/blocks/${hash}/txs/cbor?count=${count}&page=${page}`,
    Schema.Array(TransactionAnswer).check(Schema.isMaxLength(count)),
    largeCall
  )

/** Every page until one is not full; null where the server lost the block meanwhile. */
const readPages = Effect.fnUntraced(function*(api: Api, header: BlockHeader, count: number) {
  const found: Array<typeof TransactionAnswer.Type> = []
  for (let page = 1; found.length < header.transactionCount; page++) {
    const part = yield* readPage(api, header.hash, count, page)
    if (part === null) return null
    found.push(...part)
    if (part.length < count) break
  }
  return found
})

const readTransactions = (
  api: Api,
  header: BlockHeader,
  count = largestPage
): Effect.Effect<ReadonlyArray<typeof TransactionAnswer.Type> | null, DriverError> =>
  Effect.catchIf(
    readPages(api, header, count),
    ({ kind }) => kind === "too_large" && count > 1,
    () => readTransactions(api, header, Math.floor(count / 2))
  )

const bytesOf = (cbor: string): Uint8Array | null =>
  /^(?:[0-9a-f]{2})+$/i.test(cbor) ? Uint8Array.from(Buffer.from(cbor, "hex")) : null

/** A transaction under another hash than its body's is of no known form. */
const transactionOf = ({ cbor, tx_hash: txHash }: typeof TransactionAnswer.Type): BlockTransaction => {
  const bytes = bytesOf(cbor)
  const outputs = bytes === null ? null : readTransaction(bytes)
  return { txHash, outputs: outputs?.txHash === txHash ? outputs : null }
}

/**
 * A block with its transactions; null where the server does not have it any more: the caller looks again. Fails where
 * the server shows fewer or more transactions than the block has, or one twice.
 */
export const readWhole = Effect.fnUntraced(function*(
  api: Api,
  header: BlockHeader
): Effect.fn.Return<FullBlock | null, DriverError> {
  const raws = yield* readTransactions(api, header)
  if (raws === null) return null
  const hashes = new Set(raws.map(({ tx_hash }) => tx_hash))
  if (raws.length !== header.transactionCount || hashes.size !== raws.length) {
    const shown = `${hashes.size} of ${header.transactionCount} transactions`
    return yield* contradiction(api, `it shows ${shown} of block ${header.height}`)
  }
  return { ...header, transactions: raws.map(transactionOf) }
})

/** Addresses that a transaction spends from; null where the server does not have it. */
export const readSources = (
  api: Api,
  { isValid, txHash }: TransactionOutputs
): Effect.Effect<ReadonlyArray<string> | null, DriverError> =>
  Effect.map(api.find(`/txs/${txHash}/utxos`, Inputs, largeCall), (found) =>
    found === null
      ? null
      : found.inputs.filter(({ collateral, reference }) => reference !== true && (collateral === true) === !isValid)
        .map(({ address }) => address))

/** An output as the server's own reading shows it; null where it cannot be one. */
const outputOf = (raw: (typeof Outputs.Type)["outputs"][number]): TransactionOutput | null => {
  const coin = raw.amount.find(({ unit }) => unit === "lovelace")
  const others = raw.amount.filter(({ unit }) => unit !== "lovelace")
  const assets = sortedAssets(others.map(({ quantity, unit }) => ({ unit, quantity: BigInt(quantity) })))
  if (coin === undefined || assets === null || raw.output_index >= assetPlaces) return null
  return { index: raw.output_index, address: raw.address, lovelace: BigInt(coin.quantity), assets }
}

/**
 * What a transaction leaves, in the server's own reading: for one whose bytes have a form that is not known here. Null
 * where the server does not have it.
 */
export const readOutputs = Effect.fnUntraced(function*(
  api: Api,
  txHash: string
): Effect.fn.Return<TransactionOutputs | null, DriverError> {
  const validity = yield* api.find(`/txs/${txHash}`, ValidityAnswer)
  const found = yield* api.find(`/txs/${txHash}/utxos`, Outputs, largeCall)
  if (validity === null || found === null) return null
  const isValid = validity.valid_contract
  const outputs = found.outputs.filter(({ collateral }) => (collateral === true) === !isValid).map(outputOf)
  const whole = outputs.filter((output) => output !== null)
  return whole.length === outputs.length
    ? { txHash, isValid, outputs: whole }
    : yield* contradiction(api, `an output of transaction ${txHash} cannot be one`)
})
