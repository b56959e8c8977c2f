/**
 * Coins of Sui as objects with versions, and the rules by which a transaction spends them: its bytes are read by the
 * BCS of Sui's own SDK, and its signature is checked by the SDK too.
 */
import { bcs } from "@mysten/sui/bcs"
import { TransactionDataBuilder } from "@mysten/sui/transactions"
import { verifyTransactionSignature } from "@mysten/sui/verify"
import { createHash } from "node:crypto"
import { type BalanceChange, digestOf, type GasUsed, type Ledger, suiCoin } from "./Ledger.ts"

export interface CoinObject {
  readonly id: string
  readonly version: bigint
  readonly digest: string
  readonly owner: string
  readonly coinType: string
  readonly balance: bigint
}

export interface ExecutionFailure {
  readonly description: string
  readonly command?: number
  /** `ExecutionErrorKind`. */
  readonly kind: number
  readonly denied?: { readonly address: string; readonly coinType: string }
}

export interface ExecutionResult {
  readonly gas: GasUsed
  readonly failure: ExecutionFailure | null
}

/** A coin while a transaction runs: it may have no owner yet. */
interface LiveCoin {
  readonly coinType: string
  balance: bigint
  owner: string | null
  isMerged: boolean
}

interface ExecutedRun extends ExecutionResult {
  readonly apply: () => void
}

class CommandFailure extends Error {
  readonly failure: ExecutionFailure
  constructor(failure: ExecutionFailure) {
    super(failure.description)
    this.failure = failure
  }
}

/** Storage of an object, and what of it comes back when it changes. */
const objectStorage = 988_000n
const objectRebate = 978_120n
const errorKinds = { insufficientGas: 1, insufficientBalance: 8, unusedValue: 22, addressDenied: 35 } as const

export class Coins {
  readonly ledger: Ledger
  referenceGasPrice = 1_000n
  /** `<coin type> <address>` of those whom the coin's issuer has frozen. */
  readonly frozen = new Set<string>()
  /** Money that lies in no coin, by `<address> <coin type>`. */
  readonly addressBalances = new Map<string, bigint>()
  readonly #coins = new Map<string, CoinObject>()
  readonly #executed = new Set<string>()
  #count = 0

  constructor(ledger: Ledger) {
    this.ledger = ledger
  }

  #newId(): string {
    return `0x${createHash("sha256").update(`coin ${this.#count++}`).digest("hex")}`
  }

  #put(coin: Omit<CoinObject, "digest">): CoinObject {
    const whole = { ...coin, digest: digestOf(`${coin.id} ${coin.version} ${coin.balance}`) }
    this.#coins.set(coin.id, whole)
    return whole
  }

  /** A new coin, out of nothing. */
  give(owner: string, coinType: string, balance: bigint): CoinObject {
    this.ledger.mint(owner, coinType, balance)
    return this.receive(owner, coinType, balance)
  }

  /** The coin in which an amount came that the ledger has counted already. */
  receive(owner: string, coinType: string, balance: bigint): CoinObject {
    return this.#put({ id: this.#newId(), version: 1n, owner, coinType, balance })
  }

  of(owner: string, coinType: string): ReadonlyArray<CoinObject> {
    return [...this.#coins.values()].filter((coin) => coin.owner === owner && coin.coinType === coinType)
  }

  /** The coin changes its version, as by a transaction of its owner's. */
  touch(id: string): void {
    const coin = this.#coins.get(id)!
    this.#put({ ...coin, version: coin.version + 1n })
  }

  #owned(reference: { readonly objectId: string; readonly version: unknown; readonly digest: string }, sender: string) {
    const coin = this.#coins.get(reference.objectId)
    const isCurrent = coin?.owner === sender && coin.version === BigInt(reference.version as string) &&
      coin.digest === reference.digest
    if (!isCurrent) throw new Error(`object ${reference.objectId} is not available for consumption`)
    return coin
  }

  /** What a transaction does. Throws where no validator would take it. */
  #run(bytes: Uint8Array): ExecutedRun {
    const data = bcs.TransactionData.parse(bytes).V1
    const { expiration, gasData, sender } = data
    const program = data.kind.ProgrammableTransaction!
    const digest = TransactionDataBuilder.getDigestFromBytes(bytes)
    if (this.#executed.has(digest)) throw new Error("it was executed before")
    if (expiration.Epoch === undefined || BigInt(expiration.Epoch) < this.ledger.epoch) {
      throw new Error("the transaction has expired")
    }
    if (BigInt(gasData.price) < this.referenceGasPrice) throw new Error("the gas price is below the reference")
    const gasCoins = gasData.payment.map((reference) => this.#owned(reference, sender))
    const inputCoins = program.inputs.flatMap(({ Object }) =>
      Object?.ImmOrOwnedObject === undefined ? [] : [this.#owned(Object.ImmOrOwnedObject, sender)]
    )
    const all = [...gasCoins, ...inputCoins]
    if (new Set(all.map(({ id }) => id)).size !== all.length) throw new Error("an object stands twice")
    const budget = BigInt(gasData.budget)
    const held = gasCoins.reduce((sum, { balance }) => sum + balance, 0n)
    if (gasCoins.some(({ coinType }) => coinType !== suiCoin) || held < budget) {
      throw new Error(`the gas coins hold ${held}, which is less than ${budget}`)
    }
    const gasCoin: LiveCoin = { coinType: suiCoin, balance: held, owner: sender, isMerged: false }
    const live = new Map<string, LiveCoin>(
      inputCoins.map(({ balance, coinType, id, owner }) => [id, { coinType, balance, owner, isMerged: false }])
    )
    const made: Array<LiveCoin> = []
    const price = BigInt(gasData.price)
    const failed = this.#program(program, gasCoin, live, made)
    const mutated = 1 + live.size
    const gas = {
      computation: (1_000n + 100n * BigInt(program.commands.length)) * price,
      storage: objectStorage * BigInt(failed === null ? made.length + mutated : 1),
      rebate: objectRebate * BigInt(failed === null ? all.length : gasCoins.length)
    }
    const isOutOfGas = gas.computation + gas.storage > budget
    const failure = isOutOfGas ? { description: "InsufficientGas", kind: errorKinds.insufficientGas } : failed
    return {
      gas,
      failure,
      apply: () => this.#apply({ digest, sender, gas, failure, gasCoins, gasCoin, live, inputCoins, made })
    }
  }

  #program(
    program: ReturnType<typeof bcs.ProgrammableTransaction.parse>,
    gasCoin: LiveCoin,
    live: ReadonlyMap<string, LiveCoin>,
    made: Array<LiveCoin>
  ): ExecutionFailure | null {
    const results: Array<ReadonlyArray<LiveCoin>> = []
    const coinOf = (argument: any): LiveCoin => {
      if (argument.GasCoin !== undefined) return gasCoin
      if (argument.Input !== undefined) {
        return live.get(program.inputs[argument.Input]!.Object!.ImmOrOwnedObject!.objectId)!
      }
      const [command, place] = argument.NestedResult
      return results[command]![place]!
    }
    const pureOf = (argument: any): Uint8Array => Buffer.from(program.inputs[argument.Input]!.Pure!.bytes, "base64")
    try {
      for (const [place, command] of program.commands.entries()) {
        const fail = (description: string, more: Partial<ExecutionFailure> = {}): never => {
          throw new CommandFailure({ description, command: place, kind: errorKinds.insufficientBalance, ...more })
        }
        if (command.SplitCoins !== undefined) {
          const from = coinOf(command.SplitCoins.coin)
          results.push(command.SplitCoins.amounts.map((argument) => {
            const amount = BigInt(bcs.u64().parse(pureOf(argument)))
            if (from.balance < amount) fail("InsufficientCoinBalance")
            from.balance -= amount
            const coin: LiveCoin = { coinType: from.coinType, balance: amount, owner: null, isMerged: false }
            made.push(coin)
            return coin
          }))
        } else if (command.MergeCoins !== undefined) {
          const into = coinOf(command.MergeCoins.destination)
          for (const argument of command.MergeCoins.sources) {
            const coin = coinOf(argument)
            if (coin.coinType !== into.coinType) fail("TypeMismatch")
            into.balance += coin.balance
            coin.balance = 0n
            coin.isMerged = true
          }
          results.push([])
        } else if (command.TransferObjects !== undefined) {
          const owner = bcs.Address.parse(pureOf(command.TransferObjects.address))
          for (const argument of command.TransferObjects.objects) coinOf(argument).owner = owner
          results.push([])
        } else fail(`the rig does not know ${command.$kind}`)
      }
    } catch (error) {
      if (error instanceof CommandFailure) return error.failure
      throw error
    }
    if (made.some(({ owner }) => owner === null)) return { description: "UnusedValue", kind: errorKinds.unusedValue }
    const denied = [...live.values(), ...made].find(({ coinType, owner }) => this.frozen.has(`${coinType} ${owner}`))
    return denied === undefined ? null : {
      description: "AddressDeniedForCoin",
      kind: errorKinds.addressDenied,
      denied: { address: denied.owner!, coinType: denied.coinType }
    }
  }

  #apply(run: {
    readonly digest: string
    readonly sender: string
    readonly gas: GasUsed
    readonly failure: ExecutionFailure | null
    readonly gasCoins: ReadonlyArray<CoinObject>
    readonly gasCoin: LiveCoin
    readonly live: ReadonlyMap<string, LiveCoin>
    readonly inputCoins: ReadonlyArray<CoinObject>
    readonly made: ReadonlyArray<LiveCoin>
  }): void {
    const { digest, failure, gas, gasCoin, gasCoins, inputCoins, live, made, sender } = run
    this.#executed.add(digest)
    const version = [...gasCoins, ...inputCoins].reduce((most, coin) => coin.version > most ? coin.version : most, 0n) +
      1n
    const [payer, ...smashed] = gasCoins as [CoinObject, ...Array<CoinObject>]
    const cost = gas.computation + gas.storage - gas.rebate
    const held = gasCoins.reduce((sum, { balance }) => sum + balance, 0n)
    for (const { id } of smashed) this.#coins.delete(id)
    this.#put({ ...payer, version, balance: (failure === null ? gasCoin.balance : held) - cost })
    const changes: Array<BalanceChange> = [{ address: sender, coinType: suiCoin, amount: -cost }]
    for (const coin of inputCoins) {
      const now = live.get(coin.id)!
      if (failure !== null) this.#put({ ...coin, version })
      else if (now.isMerged) this.#coins.delete(coin.id)
      else this.#put({ ...coin, version, balance: now.balance, owner: now.owner! })
    }
    for (const { balance, coinType, owner } of failure === null ? made : []) {
      this.#put({ id: this.#newId(), version, owner: owner!, coinType, balance })
      changes.push({ address: owner!, coinType, amount: balance }, { address: sender, coinType, amount: -balance })
    }
    this.ledger.execute(digest, sender, changes, failure === null, { gas, spent: [...gasCoins, ...inputCoins] })
  }

  /** What a transaction would do; a sentence where no validator would take it. */
  simulate(bytes: Uint8Array): ExecutionResult | string {
    try {
      return this.#run(bytes)
    } catch (error) {
      return (error as Error).message
    }
  }

  /** Executes a signed transaction, which waits for its checkpoint; a sentence where no validator takes it. */
  async submit(bytes: Uint8Array, signature: string): Promise<ExecutionResult | string> {
    try {
      const run = this.#run(bytes)
      await verifyTransactionSignature(bytes, signature, { address: bcs.TransactionData.parse(bytes).V1.sender })
      run.apply()
      return run
    } catch (error) {
      return (error as Error).message
    }
  }
}
