/**
 * Transactions of version 0 as bytes, not signed (solana.com/docs/core/transactions; `solana-message`, `v0`): without
 * lookup tables, so that every wallet shows what it signs. Pure.
 */
import { concatBytes } from "@noble/hashes/utils.js"
import { base58 } from "@scure/base"

/** Bytes of a signed transaction, at most (`PACKET_DATA_SIZE` of Agave). */
export const maximumTransactionBytes = 1_232

const signatureLength = 64
/** The first byte of a message of version 0. */
const versionPrefix = 0x80

export interface InstructionAccount {
  readonly key: string
  readonly isSigner: boolean
  readonly isWritable: boolean
}

export interface Instruction {
  readonly program: string
  readonly accounts: ReadonlyArray<InstructionAccount>
  readonly data: Uint8Array
}

/** A length as Solana writes it: 7 bits in each byte, the lowest first (`short_vec`). */
const shortLength = (length: number): ReadonlyArray<number> =>
  length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...shortLength(length >> 7)]

/**
 * Every key once: who pays the fee first, then signers, then those that are written, then the rest. One that several
 * instructions name has the rights of all of them.
 */
const keysOf = (feePayer: string, instructions: ReadonlyArray<Instruction>): ReadonlyArray<InstructionAccount> => {
  const keys = new Map<string, InstructionAccount>([
    [feePayer, { key: feePayer, isSigner: true, isWritable: true }]
  ])
  for (const { accounts, program } of instructions) {
    for (const each of [...accounts, { key: program, isSigner: false, isWritable: false }]) {
      const before = keys.get(each.key)
      keys.set(each.key, {
        key: each.key,
        isSigner: each.isSigner || before?.isSigner === true,
        isWritable: each.isWritable || before?.isWritable === true
      })
    }
  }
  const rankOf = ({ isSigner, isWritable }: InstructionAccount) => (isSigner ? 0 : 2) + (isWritable ? 0 : 1)
  return [...keys.values()].toSorted((one, other) =>
    Number(other.key === feePayer) - Number(one.key === feePayer) || rankOf(one) - rankOf(other)
  )
}

/** The keys of a message in its order, by which nodes and instructions name them. */
export const messageKeys = (feePayer: string, instructions: ReadonlyArray<Instruction>): ReadonlyArray<string> =>
  keysOf(feePayer, instructions).map(({ key }) => key)

/** A message of version 0. `blockhash`: in base58. */
export const encodeMessage = (
  feePayer: string,
  blockhash: string,
  instructions: ReadonlyArray<Instruction>
): Uint8Array => {
  const keys = keysOf(feePayer, instructions)
  const places = new Map(keys.map(({ key }, place) => [key, place]))
  const signers = keys.filter(({ isSigner }) => isSigner)
  const encoded = instructions.map(({ accounts, data, program }) =>
    Uint8Array.of(
      places.get(program)!,
      ...shortLength(accounts.length),
      ...accounts.map(({ key }) => places.get(key)!),
      ...shortLength(data.length),
      ...data
    )
  )
  return concatBytes(
    Uint8Array.of(
      versionPrefix,
      signers.length,
      signers.filter(({ isWritable }) => !isWritable).length,
      keys.filter(({ isSigner, isWritable }) => !isSigner && !isWritable).length,
      ...shortLength(keys.length)
    ),
    ...keys.map(({ key }) => base58.decode(key)),
    base58.decode(blockhash),
    Uint8Array.from(shortLength(instructions.length)),
    ...encoded,
    // No lookup tables.
    Uint8Array.of(0)
  )
}

/** A message that one wallet signs, as the transaction that wallets take: the place of its signature is empty. */
export const unsignedTransaction = (message: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(1), new Uint8Array(signatureLength), message)
