/**
 * What a payout asks of Blockfrost's API: what an address holds, the protocol's parameters, the slots of blocks, and
 * where a transaction is. What it answers is hostile input, as in `Api.ts`.
 */
import { Effect, Schema } from "effect"
import { largeCall } from "../../../runtime/nodes/NodeHttp.ts"
import { type BlockPoint, DriverError } from "../../../runtime/Chains.ts"
import type { Api } from "./Api.ts"
import type { UnspentOutput } from "./PayoutPlan.ts"
import { inputName, type ProtocolParameters, usualParameters } from "./PayoutTransaction.ts"
import { sortedAssets } from "./Transactions.ts"

/** Entries of a page, by the API's own limit, and pages that are read: a transaction spends a few hundred outputs. */
const pageSize = 100
const maximumPages = 20

/** Parameters are believed up to so many times what they have been: a fee that a server makes up is money lost. */
const parameterFactor = 4n

const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Quantity = Schema.String.check(Schema.isPattern(/^\d{1,20}$/))
const Unit = Schema.String.check(Schema.isPattern(/^(?:lovelace|[0-9a-f]{56}(?:[0-9a-f]{2}){0,32})$/))

const UnspentAnswer = Schema.Struct({
  /** Of an account's; older servers leave it out for an address's own. */
  address: Schema.optionalKey(Schema.String),
  tx_hash: Hash,
  output_index: Count.check(Schema.isLessThan(65_536)),
  amount: Schema.Array(Schema.Struct({ unit: Unit, quantity: Quantity })),
  /** Of one that holds a script; spending it costs more. */
  reference_script_hash: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const ParametersAnswer = Schema.Struct({
  min_fee_a: Count,
  min_fee_b: Count,
  max_tx_size: Count,
  coins_per_utxo_size: Schema.optionalKey(Schema.NullOr(Quantity))
})

const SlotAnswer = Schema.Struct({ time: Count, height: Count, hash: Hash, slot: Schema.NullOr(Count) })

const PlaceAnswer = Schema.Struct({ block: Hash, block_height: Count, block_time: Count, fees: Quantity })

const ListedAnswer = Schema.Array(Schema.Struct({ tx_hash: Hash, block_height: Count }))
  .check(Schema.isMaxLength(pageSize))

const InputsAnswer = Schema.Struct({
  inputs: Schema.Array(Schema.Struct({
    address: Schema.String,
    tx_hash: Hash,
    output_index: Count,
    collateral: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
    reference: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
  }))
})

const contradiction = (api: Api, reason: string) =>
  new DriverError({ network: api.network, reason: `${api.name} contradicts itself: ${reason}`, kind: "contradiction" })

/** Null: it is not spent, because it holds a script or cannot be read. */
export const unspentOf = (raw: typeof UnspentAnswer.Type, address: string): UnspentOutput | null => {
  const coin = raw.amount.find(({ unit }) => unit === "lovelace")
  const assets = sortedAssets(
    raw.amount.filter(({ unit }) => unit !== "lovelace")
      .map(({ quantity, unit }) => ({ unit, quantity: BigInt(quantity) }))
  )
  if (coin === undefined || assets === null || (raw.reference_script_hash ?? null) !== null) return null
  return { address, txHash: raw.tx_hash, index: raw.output_index, lovelace: BigInt(coin.quantity), assets }
}

/** Outputs at a path, as far as 20 pages show them; null: the server has nothing there. */
export const readOutputsAt = Effect.fnUntraced(function*(
  api: Api,
  path: string
): Effect.fn.Return<ReadonlyArray<typeof UnspentAnswer.Type> | null, DriverError> {
  const found: Array<typeof UnspentAnswer.Type> = []
  for (let page = 1; page <= maximumPages; page++) {
    const paged = `${path}?count=${pageSize}&page=${page}`
    const raws = yield* api.find(paged, Schema.Array(UnspentAnswer).check(Schema.isMaxLength(pageSize)), largeCall)
    if (raws === null && page === 1) return null
    found.push(...raws ?? [])
    if ((raws?.length ?? 0) < pageSize) break
  }
  return found
})

/** What an address holds; one that was never paid holds nothing. */
export const readUnspent = (api: Api, address: string): Effect.Effect<ReadonlyArray<UnspentOutput>, DriverError> =>
  Effect.map(
    readOutputsAt(api, `/addresses/${address}/utxos`),
    (raws) => (raws ?? []).map((raw) => unspentOf(raw, address)).filter((output) => output !== null)
  )

/**
 * What addresses of one account hold; null: the server does not tell of accounts. What lies on other addresses with the
 * same stake key is left out: anybody can make one, and pay to it what the account's owner cannot spend.
 */
export const readAccountUnspent = (
  api: Api,
  account: string,
  addresses: ReadonlySet<string>
): Effect.Effect<ReadonlyArray<UnspentOutput> | null, DriverError> =>
  Effect.map(readOutputsAt(api, `/accounts/${account}/utxos`), (raws) =>
    raws === null
      ? null
      : raws.flatMap((raw) =>
        raw.address === undefined || !addresses.has(raw.address) ? [] : unspentOf(raw, raw.address) ?? []
      ))

/** The parameters of the epoch. */
export const readParameters = Effect.fnUntraced(function*(api: Api): Effect.fn.Return<ProtocolParameters, DriverError> {
  const raw = yield* api.get("/epochs/latest/parameters", ParametersAnswer)
  const { feeFixed, feePerByte, lovelacePerByte, maximumBytes } = usualParameters
  const found = {
    feePerByte: BigInt(raw.min_fee_a),
    feeFixed: BigInt(raw.min_fee_b),
    maximumBytes: Math.min(raw.max_tx_size, maximumBytes),
    lovelacePerByte: BigInt(raw.coins_per_utxo_size ?? lovelacePerByte)
  }
  const isUsual = found.feePerByte <= parameterFactor * feePerByte && found.feeFixed <= parameterFactor * feeFixed &&
    found.lovelacePerByte <= parameterFactor * lovelacePerByte
  return isUsual ? found : yield* contradiction(api, "its protocol parameters are far from what they have been")
})

/** A block with its slot. */
export interface SlotPoint extends BlockPoint {
  readonly slot: bigint
}

/** A block by its height, or the newest; null where the server has none. */
export const readSlot = (api: Api, name: bigint | "latest"): Effect.Effect<SlotPoint | null, DriverError> =>
  Effect.map(
    api.find(`/blocks/${name}`, SlotAnswer),
    (raw) =>
      raw === null ? null : { height: BigInt(raw.height), hash: raw.hash, time: raw.time, slot: BigInt(raw.slot ?? 0) }
  )

export const readTip = Effect.fnUntraced(function*(api: Api) {
  const tip = yield* readSlot(api, "latest")
  return tip ?? (yield* contradiction(api, "it has no newest block"))
})

/** Where a transaction is, and its fee; null where the server does not have it in a block. */
export const readPlace = (
  api: Api,
  txHash: string
): Effect.Effect<{ readonly block: BlockPoint; readonly fee: bigint } | null, DriverError> =>
  Effect.map(api.find(`/txs/${txHash}`, PlaceAnswer), (raw) =>
    raw === null ? null : {
      block: { height: BigInt(raw.block_height), hash: raw.block, time: raw.block_time },
      fee: BigInt(raw.fees)
    })

/**
 * Hashes of the transactions of an address, or of an account, from a block on, oldest first. Null: the server does not
 * list them, as it does for everyone that was ever paid where it lists any. `path`: `/addresses/…` or `/accounts/…`.
 */
export const readTransactionsAt = Effect.fnUntraced(function*(
  api: Api,
  path: string,
  from: bigint
): Effect.fn.Return<ReadonlyArray<string> | null, DriverError> {
  const found: Array<string> = []
  for (let page = 1; page <= maximumPages; page++) {
    const query = `from=${from}&order=asc&count=${pageSize}&page=${page}`
    const raws = yield* api.find(`${path}/transactions?${query}`, ListedAnswer)
    if (raws === null && page === 1) return null
    found.push(...(raws ?? []).map(({ tx_hash }) => tx_hash))
    if ((raws?.length ?? 0) < pageSize) return found
  }
  const reason = `${api.name}: ${path} has more transactions than are looked through`
  return yield* new DriverError({ network: api.network, reason })
})

/** {@link readTransactionsAt} of an address. */
export const readTransactionsOf = (api: Api, address: string, from: bigint) =>
  readTransactionsAt(api, `/addresses/${address}`, from)

const Flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))
const MovedAnswer = Schema.Struct({
  address: Schema.String,
  amount: Schema.Array(Schema.Struct({ unit: Unit, quantity: Quantity })),
  collateral: Flag,
  reference: Flag
})
const MovementAnswer = Schema.Struct({ inputs: Schema.Array(MovedAnswer), outputs: Schema.Array(MovedAnswer) })
const ValidityAnswer = Schema.Struct({ valid_contract: Schema.Boolean })

/** What a transaction took from addresses, and what it brought them. */
export const readMovement = Effect.fnUntraced(function*(
  api: Api,
  txHash: string,
  addresses: ReadonlySet<string>
) {
  const { valid_contract: isValid } = yield* api.get(`/txs/${txHash}`, ValidityAnswer)
  const { inputs, outputs } = yield* api.get(`/txs/${txHash}/utxos`, MovementAnswer, largeCall)
  const ownOf = (all: ReadonlyArray<typeof MovedAnswer.Type>) =>
    all.filter(({ address, collateral, reference }) =>
      addresses.has(address) && reference !== true && (collateral === true) === !isValid
    ).map(({ amount }) => ({
      lovelace: BigInt(amount.find(({ unit }) => unit === "lovelace")?.quantity ?? "0"),
      assets: amount.filter(({ unit }) => unit !== "lovelace")
        .map(({ quantity, unit }) => ({ unit, quantity: BigInt(quantity) }))
    }))
  return { spent: ownOf(inputs), received: ownOf(outputs) }
})

const MessagesAnswer = Schema.Array(Schema.Struct({ label: Schema.String, json_metadata: Schema.Unknown }))

/** A message as CIP-20 has it: lines of text under the label 674. */
const isMessage = Schema.is(Schema.Struct({ msg: Schema.Array(Schema.String) }))

/** The lines of a transaction's messages. */
export const readMessages = (api: Api, txHash: string): Effect.Effect<ReadonlyArray<string>, DriverError> =>
  Effect.map(
    api.find(`/txs/${txHash}/metadata`, MessagesAnswer),
    (found) =>
      (found ?? []).flatMap(({ json_metadata: content, label }) =>
        label === "674" && isMessage(content) ? content.msg : []
      )
  )

/** An output that a transaction spends. */
export interface SpentInput {
  /** As {@link inputName} names it. */
  readonly name: string
  readonly address: string
}

/** What a transaction spends; null where the server does not have it. */
export const readInputs = (api: Api, txHash: string): Effect.Effect<ReadonlyArray<SpentInput> | null, DriverError> =>
  Effect.map(api.find(`/txs/${txHash}/utxos`, InputsAnswer, largeCall), (found) =>
    found === null
      ? null
      : found.inputs.filter(({ collateral, reference }) => collateral !== true && reference !== true)
        .map(({ address, output_index: index, tx_hash }) => ({ name: inputName({ txHash: tx_hash, index }), address })))
