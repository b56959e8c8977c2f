/**
 * The bytes of a transaction that pays a part of a batch (Conway's CDDL, in the order of CIP-21), its size, its fee and
 * its id. Pure.
 */
import { blake2b } from "@noble/hashes/blake2.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { maximumAddressLength } from "../../../schemas/Address.ts"
import { array, byteString, emptyMap, integer, map, text, yes } from "./CborWriter.ts"
import type { AssetAmount } from "./Transactions.ts"

/** Parameters of the protocol that a payment depends on. */
export interface ProtocolParameters {
  /** Lovelace for each byte of a transaction, and for any transaction beside that. */
  readonly feePerByte: bigint
  readonly feeFixed: bigint
  readonly maximumBytes: number
  /** Lovelace that an output holds at least, for each of its bytes. */
  readonly lovelacePerByte: bigint
}

/** What they have been since Babbage (mainnet's protocol parameters). */
export const usualParameters: ProtocolParameters = {
  feePerByte: 44n,
  feeFixed: 155_381n,
  maximumBytes: 16_384,
  lovelacePerByte: 4_310n
}

/** An output to be written. */
export interface NewOutput {
  /** Bech32. */
  readonly address: string
  readonly lovelace: bigint
  readonly assets: ReadonlyArray<AssetAmount>
}

/** An output that is spent. */
export interface SpentOutput {
  readonly txHash: string
  readonly index: number
}

export interface PayoutTransaction {
  readonly inputs: ReadonlyArray<SpentOutput>
  /** As {@link writeOutput} writes them. */
  readonly outputs: ReadonlyArray<Uint8Array>
  readonly fee: bigint
  /** The first slot in which it is not valid any more. */
  readonly ttl: bigint
  /** What it is for: metadata with the label 674 (CIP-20), at most 64 bytes. */
  readonly message: string
}

/** Keys of a transaction's body. */
const bodyKeys = { inputs: 0n, outputs: 1n, fee: 2n, ttl: 3n, metadataHash: 7n } as const

/** Label of a message to people, and the key of its lines (CIP-20). */
const messageLabel = 674n
const messageKey = "msg"

/** Hex digits of a policy in an asset's unit. */
const policyDigits = 56

/** Bytes beside an output's own that the ledger counts (Babbage ledger specification, `minUTxOValue`). */
const outputOverheadBytes = 160n

/**
 * Bytes that one signature adds: a map with a key, a set that newer wallets tag, one pair of a public key and a
 * signature. The empty map that stands in its place counts already.
 */
const signatureBytes = 106

/** Bytes of each further signature, and of the longer count of more than 23 of them. */
const furtherSignatureBytes = 101
const countBytes = 2

const addressBytes = (address: string): Uint8Array =>
  bech32.fromWords(bech32.decode(address as `${string}1${string}`, maximumAddressLength).words)

/** A base address, the longest that can be paid: what an output to it must hold is enough for any other. */
export const longestAddress = bech32.encode("addr", bech32.toWords(new Uint8Array(57).fill(1)), maximumAddressLength)

/** Whether a script decides who can spend from an address: every second header type of Shelley (CIP-19). */
export const isScriptAddress = (address: string): boolean => (addressBytes(address)[0]! >> 4 & 1) === 1

/** Bytes of a base address: its header, the hash of the payment key and the one of the stake key. */
const baseAddressBytes = 57
const stakeKeyAt = 29

/**
 * The account that an address is of, as the address of its stake key (CIP-19, header types 0 and 14); null: none that a
 * key spends from.
 */
export const accountOf = (address: string): string | null => {
  const bytes = addressBytes(address)
  const network = bytes[0]! & 0xf
  return bytes.length !== baseAddressBytes || bytes[0]! >> 4 !== 0 ? null : bech32.encode(
    network === 1 ? "stake" : "stake_test",
    bech32.toWords(Uint8Array.of(0xe0 | network, ...bytes.subarray(stakeKeyAt))),
    maximumAddressLength
  )
}

const writeAssets = (assets: ReadonlyArray<AssetAmount>): Uint8Array =>
  map(
    [...Map.groupBy(assets, ({ unit }) => unit.slice(0, policyDigits))].map(([policy, each]) => [
      byteString(hexToBytes(policy)),
      map(each.map(({ quantity, unit }) => [byteString(hexToBytes(unit.slice(policyDigits))), integer(quantity)]))
    ])
  )

export const writeOutput = ({ address, assets, lovelace }: NewOutput): Uint8Array =>
  array([
    byteString(addressBytes(address)),
    assets.length === 0 ? integer(lovelace) : array([integer(lovelace), writeAssets(assets)])
  ])

/** Lovelace that the ledger asks an output to hold; what it holds itself takes bytes too. */
export const minimumLovelace = (
  output: Pick<NewOutput, "address" | "assets">,
  { lovelacePerByte }: Pick<ProtocolParameters, "lovelacePerByte">
): bigint => {
  const of = (lovelace: bigint) =>
    (outputOverheadBytes + BigInt(writeOutput({ ...output, lovelace }).length)) * lovelacePerByte
  return of(of(0n))
}

const compareInputs = (one: SpentOutput, other: SpentOutput): number =>
  one.txHash === other.txHash ? one.index - other.index : one.txHash < other.txHash ? -1 : 1

/** What other parts, and a part that is stored, call an output. */
export const inputName = ({ index, txHash }: SpentOutput): string => `${txHash}#${index}`

/** A transaction before anybody signed it. */
export interface WrittenTransaction {
  /** Hash of its body: no other transaction has it, whatever witnesses it gets. */
  readonly id: string
  readonly bytes: Uint8Array
}

export const writeTransaction = (
  { fee, inputs, message, outputs, ttl }: PayoutTransaction
): WrittenTransaction => {
  const metadata = map([[integer(messageLabel), map([[text(messageKey), array([text(message)])]])]])
  const body = map([
    [
      integer(bodyKeys.inputs),
      array(
        inputs.toSorted(compareInputs).map(({ index, txHash }) =>
          array([byteString(hexToBytes(txHash)), integer(BigInt(index))])
        )
      )
    ],
    [integer(bodyKeys.outputs), array(outputs)],
    [integer(bodyKeys.fee), integer(fee)],
    [integer(bodyKeys.ttl), integer(ttl)],
    [integer(bodyKeys.metadataHash), byteString(blake2b(metadata, { dkLen: 32 }))]
  ])
  return { id: bytesToHex(blake2b(body, { dkLen: 32 })), bytes: array([body, emptyMap, yes, metadata]) }
}

/** Bytes that it has once so many keys have signed it. */
export const signedBytes = ({ bytes }: Pick<WrittenTransaction, "bytes">, keys = 1): number =>
  bytes.length + signatureBytes + (keys - 1) * furtherSignatureBytes + (keys > 23 ? countBytes : 0)

/** What the protocol asks for a transaction of so many bytes. */
export const feeOf = (bytes: number, { feeFixed, feePerByte }: ProtocolParameters): bigint =>
  feeFixed + feePerByte * BigInt(bytes)
