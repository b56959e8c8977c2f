/**
 * A Solana ledger for tests: transactions are executed by litesvm, the real runtime with the real token programs. What
 * a cluster adds is made here: slots, commitment, an index of accounts that may lag, and transactions that a fork
 * drops.
 */
import {
  type Address,
  address,
  getAddressDecoder,
  getAddressEncoder,
  getBase58Decoder,
  getBase58Encoder,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  lamports,
  type Transaction
} from "@solana/kit"
import { FailedTransactionMetadata, LiteSVM } from "litesvm"
import { sha256 } from "@noble/hashes/sha2.js"

export type Commitment = "processed" | "confirmed" | "finalized"

const base58Text = getBase58Decoder()
const readKey = getAddressDecoder()

const tokenPrograms: ReadonlySet<string> = new Set([
  "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
])
const lookupTableKeysAt = 56
/** `TransactionErrorFieldless` of litesvm, by its number. */
const fieldlessErrors: ReadonlyMap<number, string> = new Map([
  [2, "AccountNotFound"],
  [4, "InsufficientFundsForFee"],
  [6, "AlreadyProcessed"],
  [7, "BlockhashNotFound"]
])
const clockSysvar = "SysvarC1ock11111111111111111111111111111111"
const systemProgram = "11111111111111111111111111111111"

type Account = ReturnType<LiteSVM["getAccount"]>

export interface LedgerAccount {
  readonly lamports: bigint
  readonly owner: string
  readonly executable: boolean
  readonly data: Uint8Array
}

interface Balance {
  readonly lamports: bigint
  readonly token:
    | { readonly mint: string; readonly owner: string; readonly amount: bigint; readonly program: string }
    | null
}

interface LedgerInstruction {
  readonly programIdIndex: number
  readonly accounts: ReadonlyArray<number>
  readonly data: string
}

export interface LedgerTransaction {
  readonly signature: string
  readonly slot: number
  readonly error: object | null
  /** Those of the message, then those of lookup tables: {@link loaded}. */
  readonly keys: ReadonlyArray<string>
  readonly loaded: { readonly writable: ReadonlyArray<string>; readonly readonly: ReadonlyArray<string> }
  readonly signers: number
  readonly before: ReadonlyArray<Balance>
  readonly after: ReadonlyArray<Balance>
  readonly instructions: ReadonlyArray<LedgerInstruction>
  readonly inner: ReadonlyArray<{ readonly index: number; readonly instructions: ReadonlyArray<LedgerInstruction> }>
}

/**
 * `now`: epoch seconds; where it is given, blocks have the time of their making, else 0.4 s lie between slots.
 * `genesisHash`: that of a cluster; absent: of one that nobody knows.
 */
export class SolanaLedger {
  readonly svm: LiteSVM
  readonly genesisHash: string
  slot = 1_000
  /** Slots by which the index of accounts lies behind the newest one. */
  indexLag = 0
  /** Slots from a confirmed one to a final one; more: finality is late. */
  finalityDepth = 31
  transactions: Array<LedgerTransaction> = []
  private readonly times = new Map<number, number>()
  /** Slots without a block, the lowest first. */
  private readonly skipped: Array<number> = []
  /** What each transaction changed, as it was before, and the bytes that were sent, by signature. */
  private readonly undo = new Map<string, { readonly wire: Uint8Array; readonly accounts: ReadonlyArray<Account> }>()
  private readonly now: (() => number) | null
  /** Blockhashes that a node gave out, and the last height at which each can be used. */
  private readonly blockhashes = new Map<string, number>()
  /** Blocks of earlier slots were cleaned up. */
  firstSlot = 0

  constructor(
    now: (() => number) | null = null,
    genesisHash = base58Text.decode(sha256(crypto.getRandomValues(new Uint8Array(8))))
  ) {
    // Slots go on by the clock while a transaction is being signed.
    this.svm = new LiteSVM().withBlockhashCheck(false)
    this.now = now
    this.genesisHash = genesisHash
    for (let slot = 0; slot <= this.slot; slot++) this.times.set(slot, this.timeFor(slot))
    this.svm.warpToSlot(BigInt(this.slot))
  }

  private timeFor(slot: number): number {
    return this.now === null ? 1_763_800_000 + Math.floor(slot * 0.4) : Math.floor(this.now())
  }

  /** Makes slots; those before the last are without a block where `areSkipped`. */
  advance(slots = 1, areSkipped = false): void {
    for (let step = 1; step <= slots; step++) {
      const slot = this.slot + step
      if (!areSkipped || step === slots) this.times.set(slot, this.timeFor(slot))
      else this.skipped.push(slot)
    }
    this.slot += slots
    this.svm.warpToSlot(BigInt(this.slot))
    this.svm.expireBlockhash()
  }

  account(key: string): LedgerAccount | null {
    const found = this.svm.getAccount(address(key))
    if (!found.exists) return null
    const { data, executable, programAddress } = found
    return { lamports: found.lamports, owner: programAddress, executable, data: Uint8Array.from(data) }
  }

  /** Puts an account where no instruction could: a mint at an address that a catalogue names. */
  place(key: string, owner: string, data: Uint8Array): void {
    this.svm.setAccount({
      address: address(key),
      programAddress: address(owner),
      lamports: lamports(this.svm.minimumBalanceForRentExemption(BigInt(data.length))),
      executable: false,
      space: BigInt(data.length),
      data
    })
  }

  fund(key: string, amount: bigint): void {
    const result = this.svm.airdrop(address(key), lamports(amount))
    if (result === null || result instanceof FailedTransactionMetadata) throw new Error(`${key} was given nothing`)
  }

  private balanceOf(key: Address): Balance {
    const found = this.account(key)
    if (found === null) return { lamports: 0n, token: null }
    const { data, owner } = found
    const isTokenAccount = tokenPrograms.has(owner) && (data.length === 165 || (data.length > 165 && data[165] === 2))
    if (!isTokenAccount) return { lamports: found.lamports, token: null }
    const view = new DataView(data.buffer, data.byteOffset)
    const token = {
      mint: readKey.decode(data.subarray(0, 32)),
      owner: readKey.decode(data.subarray(32, 64)),
      amount: view.getBigUint64(64, true),
      program: owner
    }
    return { lamports: found.lamports, token }
  }

  decimalsOf(mint: string): number {
    return this.account(mint)?.data[44] ?? 0
  }

  /** Puts a lookup table there with these keys: an account whose keys begin at byte 56 (`AddressLookupTable`). */
  placeLookupTable(key: string, keys: ReadonlyArray<string>): void {
    const data = new Uint8Array(lookupTableKeysAt + 32 * keys.length)
    const view = new DataView(data.buffer)
    view.setUint32(0, 1, true)
    view.setBigUint64(4, 2n ** 64n - 1n, true)
    for (const [place, each] of keys.entries()) {
      data.set(getAddressEncoder().encode(address(each)), lookupTableKeysAt + 32 * place)
    }
    this.place(key, "AddressLookupTab1e1111111111111111111111111", data)
  }

  private keysOfTable(key: Address, places: ReadonlyArray<number>): ReadonlyArray<Address> {
    const { data } = this.account(key)!
    return places.map((place) => readKey.decode(data.subarray(lookupTableKeysAt + 32 * place)))
  }

  /** Blocks up to a slot. */
  blockHeightAt(slot: number): number {
    return slot + 1 - this.skipped.filter((each) => each <= slot).length
  }

  /** A blockhash for wallets. Those that were not given out here can be used for ever. */
  giveBlockhash(commitment: Commitment) {
    const blockhash = this.svm.latestBlockhash()
    const lastValidBlockHeight = this.blockHeightAt(this.slotAt(commitment)) + 150
    this.blockhashes.set(blockhash, lastValidBlockHeight)
    return { blockhash, lastValidBlockHeight }
  }

  private isExpired(wire: Uint8Array): boolean {
    const message = getCompiledTransactionMessageDecoder().decode(getTransactionDecoder().decode(wire).messageBytes)
    const token = "lifetimeToken" in message ? message.lifetimeToken : ""
    return (this.blockhashes.get(token) ?? Infinity) < this.blockHeightAt(this.slot)
  }

  /** What would come of a transaction that nobody has signed: its error as JSON-RPC shows it; null: none. */
  simulate(wire: Uint8Array): unknown {
    if (this.isExpired(wire)) return "BlockhashNotFound"
    this.svm.withSigverify(false)
    const result = this.svm.simulateTransaction(getTransactionDecoder().decode(wire))
    this.svm.withSigverify(true)
    if (!(result instanceof FailedTransactionMetadata)) return null
    const error = result.err()
    if (typeof error === "object" && "index" in error && "err" in error) {
      const reason = error.err()
      return {
        InstructionError: [
          error.index,
          typeof reason === "object" && "code" in reason ? { Custom: reason.code } : `${reason}`
        ]
      }
    }
    if (typeof error === "object" && "accountIndex" in error) {
      return { InsufficientFundsForRent: { account_index: error.accountIndex } }
    }
    return fieldlessErrors.get(error as number) ?? `${error}`
  }

  /** The memos of a transaction as a node lists them; null: it has none. */
  memoOf({ instructions, keys }: LedgerTransaction): string | null {
    const memos = instructions
      .filter(({ programIdIndex }) => keys[programIdIndex] === "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
      .map(({ data }) => Buffer.from(getBase58Encoder().encode(data)).toString("utf8"))
    return memos.length === 0 ? null : memos.map((memo) => `[${memo.length}] ${memo}`).join("; ")
  }

  /** Executes a transaction as it comes from a wallet, in a slot of its own. Answers its signature. */
  execute(wire: Uint8Array): string {
    if (this.isExpired(wire)) throw new Error("Blockhash not found")
    const transaction: Transaction = getTransactionDecoder().decode(wire)
    const signature = getSignatureFromTransaction(transaction)
    if (this.transactions.some((each) => each.signature === signature)) throw new Error("AlreadyProcessed")
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    const lookups = "addressTableLookups" in message ? message.addressTableLookups ?? [] : []
    const loaded = {
      writable: lookups.flatMap((each) => this.keysOfTable(each.lookupTableAddress, each.writableIndexes)),
      readonly: lookups.flatMap((each) => this.keysOfTable(each.lookupTableAddress, each.readonlyIndexes))
    }
    const keys = [...message.staticAccounts, ...loaded.writable, ...loaded.readonly]
    const balances = () => keys.map((key) => this.balanceOf(key))
    const before = balances()
    const accounts = keys.map((key) => this.svm.getAccount(key))
    const result = this.svm.sendTransaction(transaction)
    const after = balances()
    this.undo.set(signature, { wire, accounts: accounts.filter((account) => this.isChanged(account)) })
    const isFailed = result instanceof FailedTransactionMetadata
    if ("instructions" in message === false) throw new Error("a transaction of a version that is not known")
    this.advance()
    this.transactions.push({
      signature,
      slot: this.slot,
      error: isFailed ? { InstructionError: [0, { Custom: 1 }] } : null,
      keys,
      loaded,
      signers: message.header.numSignerAccounts,
      before,
      after,
      instructions: message.instructions.map(({ accountIndices = [], data, programAddressIndex }) => ({
        programIdIndex: programAddressIndex,
        accounts: accountIndices,
        data: data === undefined ? "" : base58Text.decode(data)
      })),
      inner: isFailed ? [] : result.innerInstructions().map((instructions, index) => ({
        index,
        instructions: instructions.map((each) => {
          const instruction = each.instruction()
          return {
            programIdIndex: instruction.programIdIndex(),
            accounts: [...instruction.accounts()],
            data: base58Text.decode(instruction.data())
          }
        })
      })).filter(({ instructions }) => instructions.length > 0)
    })
    return signature
  }

  private isChanged(account: Account): boolean {
    const now = this.svm.getAccount(account.address)
    if (!account.exists || !now.exists) return account.exists !== now.exists
    return account.lamports !== now.lamports || Buffer.compare(account.data, now.data) !== 0
  }

  /**
   * What a fork does that has none of the newest transactions: those of so many slots, none of which may be final. The
   * accounts are as they were. Answers the bytes of the transactions, the oldest first: any may be executed again.
   */
  leaveOut(slots: number): ReadonlyArray<Uint8Array> {
    // Else the machine would refuse a transaction that it has executed on the other fork.
    this.svm.withTransactionHistory(0n)
    const isLeftOut = ({ slot }: LedgerTransaction) => slot > this.slot - slots
    const leftOut = this.transactions.filter(isLeftOut).map(({ signature }) => this.undo.get(signature)!)
    this.transactions = this.transactions.filter((each) => !isLeftOut(each))
    for (const { accounts } of leftOut.toReversed()) {
      for (const account of accounts) {
        this.svm.setAccount(
          account.exists ? account : {
            address: account.address,
            programAddress: address(systemProgram),
            lamports: lamports(0n),
            executable: false,
            space: 0n,
            data: new Uint8Array()
          }
        )
      }
    }
    return leftOut.map(({ wire }) => wire)
  }

  /** What a fork does to one transaction that was only confirmed; the accounts stay as they are. */
  drop(signature: string): LedgerTransaction {
    const dropped = this.transactions.find((each) => each.signature === signature)
    if (dropped === undefined) throw new Error(`no transaction ${signature}`)
    this.transactions = this.transactions.filter((each) => each !== dropped)
    return dropped
  }

  /** Puts a dropped transaction into a new slot. */
  include(transaction: LedgerTransaction): void {
    this.advance()
    this.transactions.push({ ...transaction, slot: this.slot })
  }

  /** Newest slot of a commitment. */
  slotAt(commitment: Commitment): number {
    const behind = commitment === "processed" ? 0 : commitment === "confirmed" ? 1 : 1 + this.finalityDepth
    let slot = Math.max(0, this.slot - behind)
    while (slot > 0 && !this.times.has(slot)) slot--
    return slot
  }

  commitmentOf({ slot }: { readonly slot: number }): Commitment {
    return slot <= this.slotAt("finalized") ? "finalized" : slot <= this.slotAt("confirmed") ? "confirmed" : "processed"
  }

  /** Epoch seconds; undefined: the slot was skipped, or is older than what is kept. */
  timeOf(slot: number): number | undefined {
    return slot < this.firstSlot ? undefined : this.times.get(slot)
  }

  /** The sysvar that says slot and time, as it stands in the newest block of a commitment. */
  clockAt(commitment: Commitment): LedgerAccount {
    const slot = this.slotAt(commitment)
    const data = new Uint8Array(40)
    const view = new DataView(data.buffer)
    view.setBigUint64(0, BigInt(slot), true)
    view.setBigInt64(32, BigInt(this.times.get(slot)!), true)
    return { lamports: 1_169_280n, owner: "Sysvar1111111111111111111111111111111111111", executable: false, data }
  }

  /** An account as it stood before the first transaction with it that is not final. */
  private finalAccount(key: string): LedgerAccount | null {
    const found = this.account(key)
    const later = this.transactions.find(({ keys, slot }) =>
      slot > this.slotAt("finalized") && keys.includes(address(key))
    )
    if (found === null || later === undefined) return found
    const { lamports, token } = later.before[later.keys.indexOf(address(key))]!
    const data = Uint8Array.from(found.data)
    if (token === null) return lamports === 0n ? null : { ...found, lamports }
    new DataView(data.buffer).setBigUint64(64, token.amount, true)
    return { ...found, lamports, data }
  }

  accountAt(key: string, commitment: Commitment): LedgerAccount | null {
    if (key === clockSysvar) return this.clockAt(commitment)
    const found = commitment === "finalized" ? this.finalAccount(key) : this.account(key)
    // What has neither coins nor data is no account.
    return found === null || (found.lamports === 0n && found.owner === systemProgram) ? null : found
  }
}
