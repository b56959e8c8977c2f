/** Payments on a Solana ledger, built and signed as wallets do it: with `@solana/kit` and the programs' own clients. */
import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners
} from "@solana/kit"
import { getCreateAccountInstruction, getTransferSolInstruction } from "@solana-program/system"
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS
} from "@solana-program/token"
import { Effect } from "effect"
import type { SolanaLedger } from "./SolanaLedger.ts"

/** Token-2022; its client wants another version of the kit, and only one of its instructions is needed here. */
export const token2022Program = address("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
export const memoProgram = address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")

/** Circle's test USDC: the catalogue's devnet address, where {@link openBank} puts a mint of its own. */
export const usdc = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"

/** Hundredths of a percent that the fee token keeps of each transfer: 1 %. */
const feeBasisPoints = 100
const tokenDecimals = 6
/** Bytes of a Token-2022 mint with the extension for fees: 166, and 4 + 108 of the extension. */
const feeMintLength = 278n

export interface Payment {
  readonly to: string
  /** Mint; null: the coin. */
  readonly token: string | null
  readonly amount: bigint
  /** Keys that the transfer names. */
  readonly references?: ReadonlyArray<string>
  readonly memo?: string
}

/** `TransferFeeConfig` of a mint, before it is initialised (`spl_token_2022::extension::transfer_fee`). */
const initializeFee = (mint: string, authority: string): Instruction => {
  const key = getAddressEncoder().encode(address(authority))
  const data = new Uint8Array(2 + 33 + 33 + 2 + 8)
  const view = new DataView(data.buffer)
  data.set([26, 0, 1])
  data.set(key, 3)
  data[35] = 1
  data.set(key, 36)
  view.setUint16(68, feeBasisPoints, true)
  view.setBigUint64(70, 10n ** 12n, true)
  return { programAddress: token2022Program, accounts: [{ address: address(mint), role: AccountRole.WRITABLE }], data }
}

/** A mint of the classic program, as bytes. */
const mintBytes = (authority: string): Uint8Array => {
  const data = new Uint8Array(82)
  const view = new DataView(data.buffer)
  view.setUint32(0, 1, true)
  data.set(getAddressEncoder().encode(address(authority)), 4)
  data[44] = tokenDecimals
  data[45] = 1
  return data
}

export const memoInstruction = (text: string): Instruction => ({
  programAddress: memoProgram,
  accounts: [],
  data: new TextEncoder().encode(text)
})

const promised = <A>(run: () => Promise<A>): Effect.Effect<A> => Effect.promise(run)

/** An address that nothing has ever been sent to. */
export const newAddress = promised(async () => (await generateKeyPairSigner()).address as string)

/**
 * A payor with coins and three tokens, two of them: `dollar` of the classic program, and one of Token-2022 that keeps a
 * fee.
 */
export const openBank = (ledger: SolanaLedger, dollar = usdc) =>
  Effect.gen(function*() {
    const payer: KeyPairSigner = yield* promised(() => generateKeyPairSigner())
    const feeMint = yield* promised(() => generateKeyPairSigner())
    ledger.fund(payer.address, 1_000_000_000_000n)

    const programOf = (mint: string) => mint === feeMint.address ? token2022Program : TOKEN_PROGRAM_ADDRESS

    /** Signs, sends, and answers the signature. `tables`: lookup tables, and the keys in each. */
    const send = (
      instructions: ReadonlyArray<Instruction>,
      signer: KeyPairSigner = payer,
      tables: Readonly<Record<string, ReadonlyArray<string>>> = {}
    ) =>
      promised(async () => {
        const message = pipe(
          createTransactionMessage({ version: 0 }),
          (each) => setTransactionMessageFeePayerSigner(signer, each),
          (each) =>
            setTransactionMessageLifetimeUsingBlockhash(
              { blockhash: blockhash(ledger.svm.latestBlockhash()), lastValidBlockHeight: 2n ** 60n },
              each
            ),
          (each) => appendTransactionMessageInstructions(instructions, each),
          (each) => compressTransactionMessageUsingAddressLookupTables(each, tables as never)
        )
        return ledger.execute(Uint8Array.from(
          getTransactionEncoder().encode(
            await signTransactionMessageWithSigners(message)
          )
        ))
      })

    const tokenAccount = (owner: string, mint: string) =>
      promised(async () =>
        (await findAssociatedTokenPda({ owner: address(owner), mint: address(mint), tokenProgram: programOf(mint) }))[0]
      )

    const createAccount = (owner: string, mint: string) =>
      promised(() =>
        getCreateAssociatedTokenIdempotentInstructionAsync({
          payer,
          owner: address(owner),
          mint: address(mint),
          tokenProgram: programOf(mint)
        })
      )

    const withReferences = (instruction: Instruction, references: ReadonlyArray<string>): Instruction => ({
      ...instruction,
      accounts: [
        ...instruction.accounts ?? [],
        ...references.map((key) => ({ address: address(key), role: AccountRole.READONLY }))
      ]
    })

    /** The instructions of a payment: the memo stands before the transfer (Solana Pay 1.1). */
    const instructionsOf = ({ amount, memo, references = [], to, token }: Payment) =>
      Effect.gen(function*() {
        const memos = memo === undefined ? [] : [memoInstruction(memo)]
        if (token === null) {
          const transfer = getTransferSolInstruction({
            source: payer,
            destination: address(to),
            amount: lamports(amount)
          })
          return [...memos, withReferences(transfer, references)]
        }
        const transfer = getTransferCheckedInstruction({
          source: yield* tokenAccount(payer.address, token),
          mint: address(token),
          destination: yield* tokenAccount(to, token),
          authority: payer,
          amount,
          decimals: tokenDecimals
        }, { programAddress: programOf(token) })
        return [yield* createAccount(to, token), ...memos, withReferences(transfer, references)]
      })

    const mintSome = (mint: string) =>
      Effect.gen(function*() {
        const config = { programAddress: programOf(mint) }
        const token = yield* tokenAccount(payer.address, mint)
        yield* send([
          yield* createAccount(payer.address, mint),
          getMintToInstruction({ mint: address(mint), token, mintAuthority: payer, amount: 10n ** 15n }, config)
        ])
      })

    ledger.place(dollar, TOKEN_PROGRAM_ADDRESS, mintBytes(payer.address))
    yield* mintSome(dollar)
    const unlistedToken = yield* newAddress
    ledger.place(unlistedToken, TOKEN_PROGRAM_ADDRESS, mintBytes(payer.address))
    yield* mintSome(unlistedToken)
    yield* send([
      getCreateAccountInstruction({
        payer,
        newAccount: feeMint,
        lamports: lamports(ledger.svm.minimumBalanceForRentExemption(feeMintLength)),
        space: feeMintLength,
        programAddress: token2022Program
      }),
      initializeFee(feeMint.address, payer.address),
      getInitializeMint2Instruction({
        mint: feeMint.address,
        decimals: tokenDecimals,
        mintAuthority: payer.address
      }, { programAddress: token2022Program })
    ])
    yield* mintSome(feeMint.address)
    const isDone = ledger.transactions.every(({ error }) => error === null)
    if (!isDone) return yield* Effect.die(new Error("the bank could not be opened"))

    return {
      payer,
      /** The token that keeps 1 % of each transfer. */
      feeToken: feeMint.address as string,
      /** One that no catalogue has. */
      unlistedToken,
      send,
      createAccount,
      tokenAccount,
      instructionsOf,
      /** Pays in one transaction; answers its signature. */
      pay: (...payments: ReadonlyArray<Payment>) =>
        Effect.flatMap(Effect.forEach(payments, instructionsOf), (all) => send(all.flat()))
    }
  })

export type SolanaBank = Effect.Success<ReturnType<typeof openBank>>
