/**
 * The real machine of Solana on mainnet's rules behind three nodes of which one may be wrong. Slots come on purpose,
 * and a fork leaves out transactions of the newest ones, with all that they did.
 */
import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  decompileTransactionMessage,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransaction
} from "@solana/kit"
import { getTransferSolInstruction } from "@solana-program/system"
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS
} from "@solana-program/token"
import { ed25519 } from "@noble/curves/ed25519.js"
import { base58 } from "@scure/base"
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import type { Roll } from "../money/Shop.ts"
import { type LedgerTransaction, SolanaLedger } from "../SolanaLedger.ts"
import { memoInstruction, openBank } from "../SolanaPayments.ts"
import { type RigFault, solanaNode } from "../SolanaRig.ts"
import type { ListedLine, MovedMoney, PaidToken, PayingChain, Signature } from "./PayingChain.ts"

/** A slot is final when so many lie above it. */
const finality = 32

/** Hash of the first block of `mainnet-beta` (solana.com/docs/references/clusters). */
const genesisHash = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"

/** Circle's USDC (developers.circle.com/stablecoins/usdc-contract-addresses). */
const usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

const systemProgram = "11111111111111111111111111111111"

const endpointCount = 3

/** More slots than an export is valid for, with those until one is final and those that an index may be late. */
const longSlots = 260

/** What every wallet owns, in base units. */
const fortune = 10n ** 12n
const coins = 10n ** 11n

const tokens: ReadonlyArray<PaidToken> = [
  { symbol: "USDC", decimals: 6, address: usdc, dollars: 1n },
  { symbol: "SOL", decimals: 9, address: null, dollars: 200n }
]

const secretOf = (seed: string): Uint8Array => createHash("sha256").update(seed).digest()
const addressOf = (seed: string): string => base58.encode(ed25519.getPublicKey(secretOf(seed)))

const answersTo = (wanted: string, edit: (answer: any) => unknown): RigFault => ({ method }, answer) =>
  method === wanted ? { result: edit(answer()) } : undefined

const behindBy = (slots: number): RigFault =>
  answersTo("getEpochInfo", (all) => ({
    ...all,
    absoluteSlot: all.absoluteSlot - slots,
    blockHeight: all.blockHeight - slots
  }))

const faults: Readonly<Record<string, RigFault>> = {
  behind: behindBy(60),
  ahead: behindBy(-900),
  hidden: answersTo("getSignaturesForAddress", () => []),
  holes: answersTo("getTransaction", () => null),
  early: answersTo("getLatestBlockhash", ({ context, value }) => ({
    context,
    value: { ...value, lastValidBlockHeight: value.lastValidBlockHeight - 140 }
  })),
  failed: answersTo(
    "getTransaction",
    (found) =>
      found === null ? null : { ...found, meta: { ...found.meta, err: { InstructionError: [0, { Custom: 1 }] } } }
  ),
  doubled: answersTo("getSignaturesForAddress", (list) => list?.flatMap((each: unknown) => [each, each])),
  cut: () => "cut",
  errors: () => ({ status: 503, body: "Service unavailable" })
}

const isCoinTransfer = ({ data = new Uint8Array(), programAddress }: Instruction): boolean =>
  programAddress === systemProgram && data.length === 12 && data[0] === 2
const isTokenTransfer = ({ data = new Uint8Array(), programAddress }: Instruction): boolean =>
  programAddress === TOKEN_PROGRAM_ADDRESS && data[0] === 12

/** The transfers of a transaction's own instructions. */
const transfersOf = ({ after, instructions, keys }: LedgerTransaction) =>
  instructions.flatMap(({ accounts, data: text, programIdIndex }): ReadonlyArray<ListedLine> => {
    const data = base58.decode(text)
    const instruction = { programAddress: address(keys[programIdIndex]!), data }
    const view = new DataView(data.buffer, data.byteOffset)
    if (isCoinTransfer(instruction)) {
      return [{ to: keys[accounts[1]!]!, token: null, units: view.getBigUint64(4, true) }]
    }
    if (!isTokenTransfer(instruction)) return []
    const { mint, owner } = after[accounts[2]!]!.token!
    return [{ to: owner, token: mint, units: view.getBigUint64(1, true) }]
  })

const partMemo = /bat_[0-9a-f]{32}\/\d+/

export interface SolanaPayingChain extends PayingChain {
  readonly urls: ReadonlyArray<string>
  /** The wallet of the deployment, to which invoices are paid. */
  readonly receiver: string
}

/** Ends with the scope. */
export const solanaPayingChain: Effect.Effect<SolanaPayingChain, never, Scope.Scope> = Effect.gen(function*() {
  const ledger = new SolanaLedger(() => Date.now() / 1000, genesisHash)
  const bank = yield* openBank(ledger, usdc)
  const nodes = yield* Effect.all(Array.from({ length: endpointCount }, () => solanaNode(ledger)))
  const wallets = new Map<string, KeyPairSigner>()
  /** Bytes that wait for the next slot; those that a fork left out and that somebody sends again later. */
  const waiting: Array<Uint8Array> = []
  const later: Array<Uint8Array> = []
  /** Of transactions that a wallet has sent otherwise than it was given them. */
  const changed = new Set<string>()
  let made = 0

  /** The chain refuses what is over, and what it has executed. */
  const execute = (wire: Uint8Array): void => {
    try {
      ledger.execute(wire)
    } catch (error) {
      if (!/Blockhash not found|AlreadyProcessed/.test(String(error))) throw error
    }
  }
  const mine = (blocks: number) =>
    Effect.sync(() => {
      for (const wire of [...later.splice(0, 1), ...waiting.splice(0)]) execute(wire)
      ledger.advance(blocks)
    })

  const signBytes = (wallet: string, compiled: Parameters<typeof signTransaction>[1]) =>
    Effect.promise(async () => {
      const signed = await signTransaction([wallets.get(wallet)!.keyPair], compiled)
      return {
        wire: Uint8Array.from(getTransactionEncoder().encode(signed)),
        txHash: base58.encode(Object.values(signed.signatures)[0]!)
      }
    })

  const accountOf = (owner: string) =>
    Effect.promise(async () => {
      const seeds = { owner: address(owner), mint: address(usdc), tokenProgram: TOKEN_PROGRAM_ADDRESS }
      return (await findAssociatedTokenPda(seeds))[0]
    })

  const createAccount = (payer: KeyPairSigner, owner: string) =>
    Effect.promise(() =>
      getCreateAssociatedTokenIdempotentInstructionAsync({ payer, owner: address(owner), mint: address(usdc) })
    )

  const thiefOf = (seed: string): string => addressOf(`thief ${seed}`)

  const newWallet = Effect.fnUntraced(function*(seed: string) {
    const signer = yield* Effect.promise(() => createKeyPairSignerFromPrivateKeyBytes(secretOf(`wallet ${seed}`)))
    wallets.set(signer.address, signer)
    ledger.fund(signer.address, coins)
    yield* bank.pay({ to: signer.address, token: usdc, amount: fortune })
    // Malware has seen to it that it can receive.
    yield* bank.send([yield* createAccount(bank.payer, thiefOf(seed))])
    ledger.fund(thiefOf(seed), coins)
    return signer.address as string
  })

  /** The instructions with another receiver for the first transfer. */
  const withThief = Effect.fnUntraced(function*(instructions: ReadonlyArray<Instruction>, thief: string) {
    const first = instructions.findIndex((each) => isCoinTransfer(each) || isTokenTransfer(each))
    const { accounts = [], ...rest } = instructions[first]!
    const [place, receiver] = isCoinTransfer(instructions[first]!)
      ? [1, address(thief)]
      : [2, yield* accountOf(thief)]
    const instruction = { ...rest, accounts: accounts.with(place, { address: receiver, role: AccountRole.WRITABLE }) }
    return instructions.with(first, instruction)
  })

  const sign = Effect.fnUntraced(function*(wallet: string, payload: string, how: Signature, thief: string) {
    const bytes = Buffer.from(JSON.parse(payload).transaction, "base64")
    const given = getTransactionDecoder().decode(bytes)
    if (how === "as_given") {
      waiting.push((yield* signBytes(wallet, given as never)).wire)
      return
    }
    const message = decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(given.messageBytes))
    const instructions = how === "changed_destination"
      ? yield* withThief(message.instructions, thief)
      : [...message.instructions, memoInstruction(`wallet ${made++}`)]
    const edited = { ...message, instructions } as typeof message
    const { txHash, wire } = yield* signBytes(wallet, compileTransaction(edited as never) as never)
    changed.add(txHash)
    waiting.push(wire)
  })

  const transferOf = Effect.fnUntraced(function*(source: KeyPairSigner, { to, token, units }: ListedLine) {
    if (token === null) {
      return [getTransferSolInstruction({ source, destination: address(to), amount: lamports(units) })]
    }
    const transfer = getTransferCheckedInstruction({
      source: yield* accountOf(source.address),
      mint: address(token),
      destination: yield* accountOf(to),
      authority: source,
      amount: units,
      decimals: 6
    })
    return [yield* createAccount(source, to), transfer]
  })

  const payLine = Effect.fnUntraced(function*(wallet: string, line: ListedLine) {
    const transfer = yield* transferOf(wallets.get(wallet)!, line)
    const given = ledger.giveBlockhash("confirmed")
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (each) => setTransactionMessageFeePayer(address(wallet), each),
      (each) =>
        setTransactionMessageLifetimeUsingBlockhash(
          { blockhash: blockhash(given.blockhash), lastValidBlockHeight: BigInt(given.lastValidBlockHeight) },
          each
        ),
      // Else the second of two in one slot would be the first once more.
      (each) => appendTransactionMessageInstructions([memoInstruction(`payment ${made++}`), ...transfer], each)
    )
    const { txHash, wire } = yield* signBytes(wallet, compileTransaction(message as never) as never)
    waiting.push(wire)
    return txHash
  })

  const reorganise = (depth: number, roll: Roll) =>
    Effect.sync(() => {
      for (const wire of ledger.leaveOut(depth)) {
        const fate = roll(100)
        if (fate < 60) execute(wire)
        else if (fate < 85) later.push(wire)
        if (roll(3) === 0) ledger.advance()
      }
      ledger.advance(2)
    })

  const moved = (wallet: string): ReadonlyArray<MovedMoney> =>
    ledger.transactions.filter(({ error, keys }) => error === null && keys[0] === wallet).flatMap((transaction) => {
      const { signature: txHash, slot: height } = transaction
      const guard = partMemo.exec(ledger.memoOf(transaction) ?? "")?.[0] ?? null
      const isFinal = ledger.commitmentOf(transaction) === "finalized"
      const isGuarded = guard !== null && !changed.has(txHash)
      return transfersOf(transaction).map((each) => ({ ...each, txHash, height, isFinal, guard, isGuarded }))
    })

  const chain: SolanaPayingChain = {
    urls: nodes.map(({ url }) => url),
    receiver: addressOf("receiver of the deployment"),
    network: "solana",
    environment: "mainnet",
    tokens,
    formats: ["solana"],
    isListing: true,
    changes: ["changed_destination", "added_instruction"],
    isGuardedChanged: false,
    receivingKind: null,
    finality,
    validitySeconds: Effect.succeed(300),
    newWallet,
    proveWallet: (wallet, message) =>
      Effect.promise(async () => {
        const { keyPair } = wallets.get(wallet)!
        const signature = await crypto.subtle.sign("Ed25519", keyPair.privateKey, Buffer.from(message))
        return { signature: base58.encode(new Uint8Array(signature)) }
      }),
    newReceiver: (seed) => addressOf(`receiver ${seed}`),
    newHash: (roll) => base58.encode(Uint8Array.from({ length: 64 }, () => 1 + roll(255))),
    thief: thiefOf,
    guardOf: (batchId, part) => `${batchId.replaceAll("-", "")}/${part}`,
    sign,
    payLine,
    receive: (to, { address: token }, amount, memo) =>
      Effect.andThen(
        bank.pay({ to, token, amount, ...memo === null ? {} : { memo } }),
        mine(1)
      ),
    mine,
    reorganise,
    // It is blocks that end a validity here.
    pass: () => mine(longSlots),
    moved: (wallet) => Effect.sync(() => moved(wallet)),
    time: Effect.sync(() => Math.floor(Date.now() / 1000)),
    head: Effect.sync(() => ledger.slot),
    disturb: (roll) => {
      const names = Object.keys(faults)
      const name = names[roll(names.length)]!
      const place = roll(endpointCount)
      nodes.forEach((each, other) => each.set(other === place ? faults[name]! : null))
      return `${name} ${place + 1}`
    },
    heal: () => nodes.forEach((each) => each.set(null))
  }
  return chain
})
