/**
 * The bytes of a transaction that pays a part of a batch: `TransactionData` in BCS (docs.sui.io, "Binary Canonical
 * Serialization"; crates/sui-types/src/transaction.rs), and its digest. Pure.
 */
import { blake2b } from "@noble/hashes/blake2.js"
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { base58 } from "@scure/base"

/** A coin object as it is now: a transaction spends this version, and no later one. */
export interface Coin {
  /** In full, lower case. */
  readonly id: string
  readonly version: bigint
  /** Base58. */
  readonly digest: string
  readonly balance: bigint
}

/** A version of a coin: what a transaction spends, and no other can then. */
export const versionName = ({ id, version }: Pick<Coin, "id" | "version">): string => `${id}#${version}`

/** What a command names: the coin that pays the gas, an input by its place, or a result of a command. */
export type Argument =
  | { readonly _tag: "GasCoin" }
  | { readonly _tag: "Input"; readonly place: number }
  | { readonly _tag: "Result"; readonly command: number; readonly place: number }

export type Input =
  | { readonly _tag: "Coin"; readonly coin: Coin }
  | { readonly _tag: "Amount"; readonly amount: bigint }
  | { readonly _tag: "Address"; readonly address: string }

export type Command =
  | { readonly _tag: "Split"; readonly coin: Argument; readonly amounts: ReadonlyArray<Argument> }
  | { readonly _tag: "Merge"; readonly into: Argument; readonly coins: ReadonlyArray<Argument> }
  | { readonly _tag: "Transfer"; readonly coin: Argument; readonly to: Argument }

export interface PayoutTransaction {
  readonly sender: string
  readonly inputs: ReadonlyArray<Input>
  readonly commands: ReadonlyArray<Command>
  /** Coins that pay the gas, and become one. */
  readonly gasCoins: ReadonlyArray<Coin>
  readonly gasPrice: bigint
  readonly gasBudget: bigint
  /** The last epoch in which it can be executed. */
  readonly lastEpoch: bigint
}

/** What a digest is a hash of, before the bytes (crates/sui-types/src/crypto.rs, `Signable`). */
const digestPrefix = new TextEncoder().encode("TransactionData::")

const littleEndian = (value: bigint, bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, place) => Number(value >> BigInt(8 * place) & 0xffn))

const u64 = (value: bigint): Uint8Array => littleEndian(value, 8)

/** Numbers of seven bits, the lowest first: lengths, and which variant of several follows. */
const uleb128 = (value: number): Uint8Array => {
  const bytes: Array<number> = []
  let rest = value
  while (rest > 0x7f) {
    bytes.push(rest & 0x7f | 0x80)
    rest >>>= 7
  }
  return Uint8Array.from([...bytes, rest])
}

const byteVector = (content: Uint8Array): Uint8Array => concatBytes(uleb128(content.length), content)

const vector = <A>(items: ReadonlyArray<A>, write: (item: A) => Uint8Array): Uint8Array =>
  concatBytes(uleb128(items.length), ...items.map(write))

const address = (text: string): Uint8Array => hexToBytes(text.slice(2))

const coinReference = ({ digest, id, version }: Coin): Uint8Array =>
  concatBytes(address(id), u64(version), byteVector(base58.decode(digest)))

/** Places of the variants in Sui's enumerations. */
const variants = {
  version1: 0,
  programmable: 0,
  pureInput: 0,
  objectInput: 1,
  ownedObject: 0,
  transferObjects: 1,
  splitCoins: 2,
  mergeCoins: 3,
  gasCoin: 0,
  input: 1,
  nestedResult: 3,
  untilEpoch: 1
} as const

const writeInput = (input: Input): Uint8Array => {
  switch (input._tag) {
    case "Coin":
      return concatBytes(Uint8Array.of(variants.objectInput, variants.ownedObject), coinReference(input.coin))
    case "Amount":
      return concatBytes(Uint8Array.of(variants.pureInput), byteVector(u64(input.amount)))
    case "Address":
      return concatBytes(Uint8Array.of(variants.pureInput), byteVector(address(input.address)))
  }
}

const writeArgument = (argument: Argument): Uint8Array => {
  switch (argument._tag) {
    case "GasCoin":
      return Uint8Array.of(variants.gasCoin)
    case "Input":
      return concatBytes(Uint8Array.of(variants.input), littleEndian(BigInt(argument.place), 2))
    case "Result":
      return concatBytes(
        Uint8Array.of(variants.nestedResult),
        littleEndian(BigInt(argument.command), 2),
        littleEndian(BigInt(argument.place), 2)
      )
  }
}

const writeCommand = (command: Command): Uint8Array => {
  switch (command._tag) {
    case "Split":
      return concatBytes(
        Uint8Array.of(variants.splitCoins),
        writeArgument(command.coin),
        vector(command.amounts, writeArgument)
      )
    case "Merge":
      return concatBytes(
        Uint8Array.of(variants.mergeCoins),
        writeArgument(command.into),
        vector(command.coins, writeArgument)
      )
    case "Transfer":
      return concatBytes(
        Uint8Array.of(variants.transferObjects),
        vector([command.coin], writeArgument),
        writeArgument(command.to)
      )
  }
}

/** A transaction before anybody signed it. */
export interface WrittenTransaction {
  readonly bytes: Uint8Array
  /** Base58; no other transaction has it, whoever signs it. */
  readonly digest: string
}

export const writeTransaction = (transaction: PayoutTransaction): WrittenTransaction => {
  const { commands, gasBudget, gasCoins, gasPrice, inputs, lastEpoch, sender } = transaction
  const bytes = concatBytes(
    Uint8Array.of(variants.version1, variants.programmable),
    vector(inputs, writeInput),
    vector(commands, writeCommand),
    address(sender),
    vector(gasCoins, coinReference),
    address(sender),
    u64(gasPrice),
    u64(gasBudget),
    Uint8Array.of(variants.untilEpoch),
    u64(lastEpoch)
  )
  return { bytes, digest: base58.encode(blake2b(concatBytes(digestPrefix, bytes), { dkLen: 32 })) }
}
