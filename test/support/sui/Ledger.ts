/**
 * A ledger with Sui's rules of money: balances by address and coin, transactions that change them or fail, gas that the
 * sender pays, and checkpoints that are never replaced.
 */
import { toBase58 } from "@mysten/sui/utils"
import { createHash } from "node:crypto"

/** The network's own coin, in full. */
export const suiCoin = `0x${"2".padStart(64, "0")}::sui::SUI`

/** Circle's USDC on Sui's testnet: the catalogue's devnet address. */
export const usdcCoin = "0xa1ec7fc00a6f40db9693ad1415d0c193ad3906494428cf252621037bd7117e29::usdc::USDC"

export interface BalanceChange {
  readonly address: string
  readonly coinType: string
  readonly amount: bigint
}

/** What a transaction cost, in MIST. */
export interface GasUsed {
  readonly computation: bigint
  readonly storage: bigint
  readonly rebate: bigint
}

/** A version of an object. */
export interface ObjectVersion {
  readonly id: string
  readonly version: bigint
}

export interface LedgerTransaction {
  readonly digest: string
  readonly sender: string
  readonly isSuccess: boolean
  readonly height: bigint
  /** Its place in the checkpoint. */
  readonly place: number
  readonly changes: ReadonlyArray<BalanceChange>
  /** Absent: nodes do not tell it. */
  readonly gas?: GasUsed
  readonly spent?: ReadonlyArray<ObjectVersion>
}

export interface Checkpoint {
  readonly height: bigint
  readonly epoch: bigint
  /** Epoch seconds. */
  readonly time: number
  readonly transactions: ReadonlyArray<LedgerTransaction>
}

export interface Payment {
  readonly to: string
  readonly coinType: string
  readonly amount: bigint
}

/** What a transfer costs its sender, about: 0.002 SUI. */
const gas = 2_000_000n

export const digestOf = (text: string): string => toBase58(createHash("sha256").update(text).digest())

export interface LedgerOptions {
  readonly chainId?: string
  readonly firstHeight?: bigint
  /** Epoch seconds, which checkpoints carry; absent: the clock's. */
  readonly now?: () => number
}

export class Ledger {
  readonly chainId: string
  readonly firstHeight: bigint
  readonly checkpoints: Array<Checkpoint> = []
  /** Checkpointed transactions by digest, and in order by each address whose balance they changed. */
  readonly byDigest = new Map<string, LedgerTransaction>()
  readonly byAddress = new Map<string, Array<LedgerTransaction>>()
  readonly all: Array<LedgerTransaction> = []
  /** The epoch that runs, and when it began, in epoch seconds. */
  epoch = 700n
  epochStart: number
  readonly #balances = new Map<string, bigint>()
  #pending: Array<Omit<LedgerTransaction, "height" | "place">> = []
  #count = 0
  readonly #now: () => number

  constructor(options: LedgerOptions = {}) {
    this.chainId = options.chainId ?? digestOf("the rig's first checkpoint")
    this.firstHeight = options.firstHeight ?? 250_000_000n
    this.#now = options.now ?? (() => Math.floor(Date.now() / 1000))
    this.epochStart = this.#now() - 3_600
    this.mine(1)
  }

  /** The next epoch begins with a checkpoint. */
  changeEpoch(): void {
    this.epoch += 1n
    this.epochStart = this.#now()
    this.mine(1)
  }

  get head(): Checkpoint {
    return this.checkpoints.at(-1)!
  }

  at(height: bigint): Checkpoint | undefined {
    return this.checkpoints[Number(height - this.firstHeight)]
  }

  balanceOf(address: string, coinType: string): bigint {
    return this.#balances.get(`${address} ${coinType}`) ?? 0n
  }

  /** Coins out of nothing, in no transaction. */
  mint(address: string, coinType: string, amount: bigint): void {
    this.#balances.set(`${address} ${coinType}`, this.balanceOf(address, coinType) + amount)
  }

  /**
   * A transaction that waits for its checkpoint. Where `fails`, or the sender has not enough, it moves nothing, and its
   * gas is paid all the same. Answers its digest.
   */
  transfer(sender: string, payments: ReadonlyArray<Payment>, fails = false): string {
    const digest = digestOf(`${this.chainId} transaction ${this.#count++}`)
    const totals = Map.groupBy(payments, ({ coinType }) => coinType)
    const isCovered = [...totals].every(([coinType, each]) =>
      this.balanceOf(sender, coinType) >=
        each.reduce((sum, { amount }) => sum + amount, coinType === suiCoin ? gas : 0n)
    )
    const isSuccess = !fails && isCovered && this.balanceOf(sender, suiCoin) >= gas
    const moves = isSuccess
      ? payments.flatMap(({ amount, coinType, to }) => [
        { address: sender, coinType, amount: -amount },
        { address: to, coinType, amount }
      ])
      : []
    return this.execute(digest, sender, [{ address: sender, coinType: suiCoin, amount: -gas }, ...moves], isSuccess)
  }

  /** A transaction with these changes of balances, whatever made them: a swap, a withdrawal of stake. */
  execute(
    digest: string,
    sender: string,
    changes: ReadonlyArray<BalanceChange>,
    isSuccess = true,
    effects: Pick<LedgerTransaction, "gas" | "spent"> = {}
  ): string {
    const merged = [...Map.groupBy(changes, ({ address, coinType }) => `${address} ${coinType}`)].map(([, each]) => ({
      ...each[0]!,
      amount: each.reduce((sum, { amount }) => sum + amount, 0n)
    })).filter(({ amount }) => amount !== 0n)
    for (const { address, amount, coinType } of merged) this.mint(address, coinType, amount)
    this.#pending.push({ digest, sender, isSuccess, changes: merged, ...effects })
    return digest
  }

  /** Makes checkpoints; the first holds what waits. `time`: epoch seconds of the last. */
  mine(count: number, time = this.#now()): void {
    for (let made = 0; made < count; made++) {
      const height = this.firstHeight + BigInt(this.checkpoints.length)
      const transactions = this.#pending.map((each, place) => ({ ...each, height, place }))
      this.#pending = []
      // About four a second, and none before the one below it.
      const ownTime = Math.max(time - Math.floor((count - 1 - made) / 4), this.checkpoints.at(-1)?.time ?? 0)
      this.checkpoints.push({ height, epoch: this.epoch, time: ownTime, transactions })
      for (const transaction of transactions) this.#index(transaction)
    }
  }

  #index(transaction: LedgerTransaction): void {
    this.all.push(transaction)
    this.byDigest.set(transaction.digest, transaction)
    for (const address of new Set([transaction.sender, ...transaction.changes.map((change) => change.address)])) {
      const list = this.byAddress.get(address)
      if (list === undefined) this.byAddress.set(address, [transaction])
      else list.push(transaction)
    }
  }
}
