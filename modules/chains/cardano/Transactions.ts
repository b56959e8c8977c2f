/**
 * What a transaction leaves on the chain: the outputs of a transaction of the ledger (Shelley to Conway, as their CDDL
 * describes it), and what of them came to addresses of ours. Pure; null: a form that is not known here.
 */
import { blake2b } from "@noble/hashes/blake2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { maximumAddressLength } from "../../../schemas/Address.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { ObservedTransfer } from "../../../runtime/Chains.ts"
import { arrayAt, booleanAt, bytesAt, endOf, mapAt, unsignedAt } from "./Cbor.ts"

/** An amount of one asset of an output. */
export interface AssetAmount {
  /** Policy id and asset name, both in hex, as the catalogue writes a token's address. */
  readonly unit: string
  readonly quantity: bigint
}

/** An output of a transaction. */
export interface TransactionOutput {
  /** Its place, which spending it names: of a collateral return the number of the regular outputs. */
  readonly index: number
  /** Bech32; null: one that is not written so, as Byron addresses are. */
  readonly address: string | null
  readonly lovelace: bigint
  /** Other assets, sorted by their unit. */
  readonly assets: ReadonlyArray<AssetAmount>
}

/** A transaction as far as money goes. */
export interface TransactionOutputs {
  readonly txHash: string
  /** Whether its scripts succeeded: if not, it has spent its collateral and nothing else. */
  readonly isValid: boolean
  /** Those that are on the chain: where its scripts failed only the collateral's return is. */
  readonly outputs: ReadonlyArray<TransactionOutput>
}

/** Keys of a transaction body and of an output that is a map. */
const bodyKey = { outputs: 1n, collateralReturn: 16n } as const
const outputKey = { address: 0n, value: 1n } as const

/** Highest header type of an address that is written in Bech32 and can be paid (CIP-19). */
const payableTypes = 7

/**
 * More assets than this have no room in an output: the protocol's `maxValueSize` is 5,000 bytes, and an asset has at
 * least 4 of them beside the first 256 of a policy.
 */
export const assetPlaces = 4_096

/**
 * Lovelace for each byte that an output takes, and the bytes counted beside its own: what the ledger demands an output
 * to hold (Babbage ledger specification, `minUTxOValue`; the protocol parameter `coinsPerUTxOByte` is 4,310).
 */
const lovelaceForEachByte = 4_310n
const outputOverheadBytes = 160n

/** Bytes of an output with `assets`, by the sizes of its parts: within a few of what its writer made. */
const estimatedBytes = (assets: ReadonlyArray<AssetAmount>): bigint => {
  const policies = new Set(assets.map(({ unit }) => unit.slice(0, 56)))
  const ofAssets = assets.reduce((sum, { unit }) => sum + (unit.length - 56) / 2 + 10, 0)
  return BigInt(57 + 16 + policies.size * 32 + ofAssets)
}

/**
 * Whether the lovelace of an output is only what the ledger demands beside other assets, twice that at most: wallets
 * add it to a transfer of a token, and nobody pays with it.
 */
export const isCarrier = ({ assets, lovelace }: Pick<TransactionOutput, "assets" | "lovelace">): boolean =>
  assets.length > 0 &&
  lovelace <= 2n * lovelaceForEachByte * (outputOverheadBytes + estimatedBytes(assets))

const addressText = (bytes: Uint8Array): string | null => {
  const header = bytes[0] ?? 0xff
  if (header >> 4 > payableTypes || bytes.length > 64) return null
  return bech32.encode((header & 0xf) === 1 ? "addr" : "addr_test", bech32.toWords(bytes), maximumAddressLength)
}

/** The value under a key of a map of small numbers; null where it is not there or stands twice. */
const valueOf = (
  data: Uint8Array,
  pairs: ReadonlyArray<readonly [key: number, value: number]>,
  key: bigint
): number | null => {
  const found = pairs.filter(([at]) => unsignedAt(data, at) === key)
  return found.length === 1 ? found[0]![1] : null
}

const assetsAt = (data: Uint8Array, start: number): ReadonlyArray<AssetAmount> | null => {
  const policies = mapAt(data, start)
  if (policies === null) return null
  const assets: Array<AssetAmount> = []
  for (const [policyAt, namesAt] of policies) {
    const policy = bytesAt(data, policyAt)
    const names = policy?.length === 28 ? mapAt(data, namesAt) : null
    if (policy === null || names === null) return null
    for (const [nameAt, quantityAt] of names) {
      const name = bytesAt(data, nameAt)
      const quantity = unsignedAt(data, quantityAt)
      if (name === null || name.length > 32 || quantity === null) return null
      if (quantity > 0n) assets.push({ unit: `${bytesToHex(policy)}${bytesToHex(name)}`, quantity })
    }
  }
  return sortedAssets(assets)
}

/** In the order that gives each asset its place; null where there are too many, or one stands twice. */
export const sortedAssets = (assets: ReadonlyArray<AssetAmount>): ReadonlyArray<AssetAmount> | null => {
  if (assets.length >= assetPlaces || new Set(assets.map(({ unit }) => unit)).size < assets.length) return null
  return assets.toSorted((one, other) => one.unit < other.unit ? -1 : 1)
}

const valueAt = (data: Uint8Array, start: number): Pick<TransactionOutput, "assets" | "lovelace"> | null => {
  const lovelace = unsignedAt(data, start)
  if (lovelace !== null) return { lovelace, assets: [] }
  const parts = arrayAt(data, start)
  if (parts?.length !== 2) return null
  const coin = unsignedAt(data, parts[0]!)
  const assets = assetsAt(data, parts[1]!)
  return coin === null || assets === null ? null : { lovelace: coin, assets }
}

/** An output is an array since Shelley, and since Babbage it may be a map. */
const outputAt = (data: Uint8Array, start: number, index: number): TransactionOutput | null => {
  const items = arrayAt(data, start)
  const pairs = items === null ? mapAt(data, start) : null
  if (items === null && pairs === null) return null
  const [addressOffset = null, valueOffset = null] = items ??
    [valueOf(data, pairs!, outputKey.address), valueOf(data, pairs!, outputKey.value)]
  const address = addressOffset === null ? null : bytesAt(data, addressOffset)
  const value = valueOffset === null ? null : valueAt(data, valueOffset)
  return address === null || value === null ? null : { index, address: addressText(address), ...value }
}

const allOrNull = <A>(items: ReadonlyArray<A | null>): ReadonlyArray<A> | null =>
  items.includes(null) ? null : items as ReadonlyArray<A>

/**
 * Reads a transaction of a block, `[body, witnesses, is valid, metadata]`; before Alonzo there was no third part, and
 * every transaction was valid. Its hash is that of the body, so a node cannot show other outputs under it.
 */
export const readTransaction = (data: Uint8Array): TransactionOutputs | null => {
  const parts = arrayAt(data, 0)
  if (parts === null || endOf(data, 0) !== data.length || parts.length < 3 || parts.length > 4) return null
  const [body, witnesses, third] = parts as [number, number, number]
  const isValid = parts.length === 4 ? booleanAt(data, third) : true
  const pairs = mapAt(data, body)
  const outputsAt = pairs === null ? null : valueOf(data, pairs, bodyKey.outputs)
  const offsets = outputsAt === null ? null : arrayAt(data, outputsAt)
  if (isValid === null || pairs === null || offsets === null) return null
  const txHash = bytesToHex(blake2b(data.subarray(body, witnesses), { dkLen: 32 }))
  const returnsAt = valueOf(data, pairs, bodyKey.collateralReturn)
  const outputs = isValid
    ? offsets.map((offset, index) => outputAt(data, offset, index))
    : returnsAt === null
    ? []
    : [outputAt(data, returnsAt, offsets.length)]
  const read = allOrNull(outputs)
  return read === null ? null : { txHash, isValid, outputs: read }
}

/** Whether any output came to a watched address. */
export const paysWatched = ({ outputs }: TransactionOutputs, isWatched: (address: string) => boolean): boolean =>
  outputs.some(({ address }) => address !== null && isWatched(address))

/**
 * The transfers of a transaction to watched addresses; `sources`: the addresses that it spends from, null where they
 * are not known, and then neither is its sender. What an address sends to itself is none: wallets that use one
 * address send their change there. Every asset is a transfer of its own, whichever count is not decided here. ADA
 * counts as what arrived, save where it is only what the ledger demands beside other assets (see {@link isCarrier}).
 *
 * `index`: 4,096 times the output's place, and 1 + the place of the asset among the output's for other assets than ADA.
 */
export const transfersOf = (
  { outputs, txHash }: TransactionOutputs,
  isWatched: (address: string) => boolean,
  sources: ReadonlyArray<string> | null
): ReadonlyArray<ObservedTransfer> =>
  outputs.flatMap((output) => {
    const { address } = output
    if (address === null || !isWatched(address) || sources?.includes(address) === true) return []
    const transfer = (place: number, tokenAddress: string | null, quantity: bigint): ObservedTransfer => ({
      txHash,
      index: output.index * assetPlaces + place,
      kind: "direct",
      matchKey: address,
      tokenAddress,
      amount: baseUnits(quantity),
      from: sources?.[0] ?? null
    })
    const coin = output.lovelace === 0n || isCarrier(output) ? [] : [transfer(0, null, output.lovelace)]
    return [...coin, ...output.assets.map(({ quantity, unit }, place) => transfer(place + 1, unit, quantity))]
  })
