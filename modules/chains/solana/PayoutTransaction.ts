/** A part of a batch as the instructions of one transaction, and how many lines fit into one. Pure. */
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { partReference } from "../../../schemas/Batch.ts"
import type { PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import {
  associatedTokenAccount,
  associatedTokenProgram,
  computeBudgetProgram,
  memoProgram,
  systemProgram
} from "./Addresses.ts"
import {
  encodeMessage,
  type Instruction,
  type InstructionAccount,
  maximumTransactionBytes,
  unsignedTransaction
} from "./MessageEncoder.ts"

/** Compute units of the memo and the limits, of a transfer, and of creating a token account, each rounded up. */
const generalUnits = 60_000
const transferUnits = 30_000
const creationUnits = 60_000

/**
 * Priority fee in millionths of a lamport for each compute unit: about 8,000 lamports for 8 lines with new accounts.
 * Wallets may replace it by their own figure.
 */
const unitPrice = 10_000n

/** Fee of a signature (`DEFAULT_TARGET_LAMPORTS_PER_SIGNATURE` of Agave), in lamports. */
const signatureLamports = 5_000n

/** The memo of the part's transaction. It never changes, so every execution of the part is found by it. */
export const memoOf = (part: Pick<PayoutPart, "batchId" | "part">): string => partReference(part)

/** A line with what the chain says of its token; null: the network's own coin. */
export interface PlannedLine {
  readonly line: PayoutLine
  readonly token: {
    readonly mint: string
    readonly program: string
    readonly decimals: number
    /** The receiver's token account. */
    readonly account: string
    readonly isMissing: boolean
  } | null
}

/** An instruction, and the line that it is for, counted from 0; null: for all. */
export interface PlannedInstruction {
  readonly line: number | null
  readonly instruction: Instruction
}

const signerAccount = (key: string): InstructionAccount => ({ key, isSigner: true, isWritable: true })
const writableAccount = (key: string): InstructionAccount => ({ key, isSigner: false, isWritable: true })
const readOnlyAccount = (key: string): InstructionAccount => ({ key, isSigner: false, isWritable: false })

/** Whole numbers of so many bytes each, the lowest byte first. */
const bytesOf = (...numbers: ReadonlyArray<readonly [value: bigint, length: number]>): Uint8Array =>
  Uint8Array.from(
    numbers.flatMap(([value, length]) =>
      Array.from({ length }, (_, place) => Number((value >> BigInt(8 * place)) & 0xffn))
    )
  )

/** `ComputeBudgetInstruction`: 2 limits the units, 3 sets their price. */
const budget = (units: number): ReadonlyArray<Instruction> =>
  [bytesOf([2n, 1], [BigInt(units), 4]), bytesOf([3n, 1], [unitPrice, 8])]
    .map((data) => ({ program: computeBudgetProgram, accounts: [], data }))

const memo = (text: string): Instruction => ({ program: memoProgram, accounts: [], data: utf8ToBytes(text) })

/** `SystemInstruction::Transfer`. */
const coinTransfer = (from: string, to: string, amount: bigint): Instruction => ({
  program: systemProgram,
  accounts: [signerAccount(from), writableAccount(to)],
  data: bytesOf([2n, 4], [amount, 8])
})

/** `AssociatedTokenAccountInstruction::CreateIdempotent`: it does nothing where somebody made the account meanwhile. */
const accountCreation = (from: string, owner: string, token: NonNullable<PlannedLine["token"]>): Instruction => ({
  program: associatedTokenProgram,
  accounts: [
    signerAccount(from),
    writableAccount(token.account),
    readOnlyAccount(owner),
    readOnlyAccount(token.mint),
    readOnlyAccount(systemProgram),
    readOnlyAccount(token.program)
  ],
  data: Uint8Array.of(1)
})

/** `TokenInstruction::TransferChecked`. The authority pays the fee as well, so it is writable in the message. */
const tokenTransfer = (from: string, amount: bigint, token: NonNullable<PlannedLine["token"]>): Instruction => ({
  program: token.program,
  accounts: [
    writableAccount(associatedTokenAccount(from, token.mint, token.program)),
    readOnlyAccount(token.mint),
    writableAccount(token.account),
    { key: from, isSigner: true, isWritable: false }
  ],
  data: bytesOf([12n, 1], [amount, 8], [BigInt(token.decimals), 1])
})

/** Token accounts that the lines need and that are missing, each once, with the first line that needs it. */
export const missingAccounts = (lines: ReadonlyArray<PlannedLine>): ReadonlyMap<string, number> => {
  const missing = new Map<string, number>()
  for (const [place, { token }] of lines.entries()) {
    if (token?.isMissing === true && !missing.has(token.account)) missing.set(token.account, place)
  }
  return missing
}

const unitsOf = (lines: ReadonlyArray<PlannedLine>): number =>
  generalUnits + lines.length * transferUnits + missingAccounts(lines).size * creationUnits

/** The network's fee in lamports. A wallet may pay a higher priority fee. */
export const feeOf = (lines: ReadonlyArray<PlannedLine>): bigint =>
  signatureLamports + BigInt(unitsOf(lines)) * unitPrice / 1_000_000n + 1n

/** What one transaction does: limits, the memo, and the lines in their order. */
export const instructionsOf = (from: string, text: string, lines: ReadonlyArray<PlannedLine>) => {
  const missing = missingAccounts(lines)
  const general = [...budget(unitsOf(lines)), memo(text)]
  return [
    ...general.map((instruction): PlannedInstruction => ({ line: null, instruction })),
    ...lines.flatMap(({ line, token }, place): ReadonlyArray<PlannedInstruction> => {
      if (token === null) return [{ line: place, instruction: coinTransfer(from, line.destination, line.amount) }]
      const creation = missing.get(token.account) === place ? [accountCreation(from, line.destination, token)] : []
      return [...creation, tokenTransfer(from, line.amount, token)]
        .map((instruction) => ({ line: place, instruction }))
    })
  ]
}

/** The unsigned transaction of the instructions. */
export const transactionOf = (
  from: string,
  blockhash: string,
  planned: ReadonlyArray<PlannedInstruction>
): Uint8Array => unsignedTransaction(encodeMessage(from, blockhash, planned.map(({ instruction }) => instruction)))

/** Lines of the coin, and of tokens, that go into one transaction at most. */
const coinLines = 19
const tokenLines = 8

/** Bytes of a key, and of what stands for it in the table of keys. */
const keyBytes = 32
/** Signature with its count, version, header, counts of keys, instructions and lookup tables, and the blockhash. */
const frameBytes = 1 + 64 + 1 + 3 + 1 + keyBytes + 1 + 1
/** The wallet, the programs of limits and memo. */
const generalKeys = 3
/** Limit, price, and a memo with a part's number of 4 digits. */
const generalBytes = 8 + 12 + 3 + 41
/** Program, accounts and data of each, with their lengths. */
const coinTransferBytes = 1 + 3 + 13
const tokenTransferBytes = 1 + 5 + 11
const creationBytes = 1 + 7 + 2

/** Bytes of a transaction of these lines when every token account is missing: never less than it will have. */
export const worstBytes = (lines: ReadonlyArray<Pick<PayoutLine, "destination" | "tokenAddress">>): number => {
  const mints = new Set(lines.flatMap(({ tokenAddress }) => tokenAddress ?? []))
  const owners = new Set(lines.map(({ destination }) => destination))
  const accounts = new Set(
    lines.flatMap((each) => each.tokenAddress === null ? [] : [`${each.destination} ${each.tokenAddress}`])
  )
  // The mint and the wallet's own account of it; the programs that make token accounts, and those of the tokens, of
  // which there are two.
  const tokenKeys = mints.size === 0 ? 0 : 2 * mints.size + 1 + Math.min(mints.size, 2)
  const keys = generalKeys + 1 + owners.size + accounts.size + tokenKeys
  const transfers = lines.reduce(
    (sum, { tokenAddress }) => sum + (tokenAddress === null ? coinTransferBytes : tokenTransferBytes),
    0
  )
  return frameBytes + generalBytes + keys * keyBytes + transfers + accounts.size * creationBytes
}

const fits = (lines: ReadonlyArray<PayoutLine>): boolean => {
  const tokens = lines.filter(({ tokenAddress }) => tokenAddress !== null).length
  return tokens <= tokenLines && lines.length <= coinLines && worstBytes(lines) <= maximumTransactionBytes
}

/** See `PayoutDriver.partSizes`. One line always fits. */
export const partSizes = (lines: ReadonlyArray<PayoutLine>): ReadonlyArray<number> => {
  const sizes: Array<number> = []
  for (let start = 0; start < lines.length;) {
    let size = 1
    while (start + size < lines.length && fits(lines.slice(start, start + size + 1))) size++
    sizes.push(size)
    start += size
  }
  return sizes
}
