/**
 * A network of the EVM family as a model: a tree of blocks of which one branch is the chain. What is `finalDepth` below
 * the head is final, and no reorganisation reaches it.
 */
import { createHash } from "node:crypto"
import type { Draws } from "../Draws.ts"

export interface ModelTransfer {
  /** Address of the contract as it is checksummed; null: the network's own coin. */
  readonly token: string | null
  readonly from: string
  readonly to: string
  readonly amount: bigint
}

export interface ModelTransaction {
  readonly hash: string
  /** At most one of the network's own coin, and then the first. */
  readonly transfers: ReadonlyArray<ModelTransfer>
  /** It is in a block and moved nothing. */
  readonly isFailed: boolean
}

export interface ModelBlock {
  readonly height: number
  readonly hash: string
  readonly parentHash: string
  /** Epoch seconds. */
  readonly time: number
  readonly transactions: ReadonlyArray<ModelTransaction>
}

/** Blocks below the head at which a block is final: more than the ten that a payment waits for. */
export const finalDepth = 14

/** Contracts of tokens as the service's list has them; the last one is on no list. */
export const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
export const eurc = "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
export const unlisted = "0xABcdEFABcdEFabcdEfAbCdefabcdeFABcDEFabCD"

/** Seconds between two blocks. */
export const blockSeconds = 2

export class ModelChain {
  /** Of the chain, the oldest first; its place is its height. */
  readonly blocks: Array<ModelBlock> = []
  /** Every block there ever was, by its hash. */
  readonly byHash = new Map<string, ModelBlock>()
  private readonly seed: number
  /** The most blocks that were ever on top of a transaction's, its own counted; absent: it was in no block. */
  readonly depths = new Map<string, number>()
  private names = 0
  private waiting: Array<ModelTransaction> = []

  constructor(seed: number, firstTime: number, length: number) {
    this.seed = seed
    for (let place = 0; place < length; place++) this.mine(firstTime + place * blockSeconds)
  }

  /** A hash that only depends on the seed and on how many there were before. */
  newHash(): string {
    return `0x${createHash("sha256").update(`${this.seed} ${this.names++}`).digest("hex")}`
  }

  get head(): ModelBlock {
    return this.blocks.at(-1)!
  }

  /** Height up to which everything is final. */
  get finalHeight(): number {
    return Math.max(0, this.head.height - finalDepth)
  }

  /** A transaction that the next block takes. */
  send(transfers: ReadonlyArray<ModelTransfer>, isFailed = false): ModelTransaction {
    const transaction = { hash: this.newHash(), transfers, isFailed }
    this.waiting.push(transaction)
    return transaction
  }

  /** Hashes of what the next block takes. */
  waitingHashes(): ReadonlyArray<string> {
    return this.waiting.map(({ hash }) => hash)
  }

  mine(time: number): void {
    const parent = this.blocks.at(-1)
    this.append(parent, time, this.waiting)
    this.waiting = []
    this.countDepths()
  }

  private countDepths(): void {
    for (const { height, transactions } of this.blocks.slice(-finalDepth)) {
      for (const { hash } of transactions) {
        this.depths.set(hash, Math.max(this.depths.get(hash) ?? 0, this.head.height - height + 1))
      }
    }
  }

  private append(
    parent: ModelBlock | undefined,
    time: number,
    transactions: ReadonlyArray<ModelTransaction>
  ): void {
    const block: ModelBlock = {
      height: (parent?.height ?? -1) + 1,
      hash: this.newHash(),
      parentHash: parent?.hash ?? `0x${"0".repeat(64)}`,
      time,
      transactions
    }
    this.blocks.push(block)
    this.byHash.set(block.hash, block)
  }

  /**
   * Another branch takes the place of the newest blocks. Each of their transactions is in the same block again, in a
   * later one, or nowhere any more. Every block that the service has read may be among them.
   */
  reorganise(depth: number, draws: Draws): void {
    const length = Math.min(depth, this.head.height - this.finalHeight)
    const gone = this.blocks.splice(this.blocks.length - length, length)
    for (const { time, transactions } of gone) {
      const kept: Array<ModelTransaction> = []
      for (const transaction of transactions) {
        const fate = draws.fraction()
        if (fate < 0.5) kept.push(transaction)
        else if (fate < 0.75) this.waiting.push(transaction)
      }
      this.append(this.head, time, kept)
    }
    this.countDepths()
  }

  /** Everything that moved something on the chain, with where it is. */
  transfers(): ReadonlyArray<ModelTransfer & { readonly hash: string; readonly block: ModelBlock; index: number }> {
    return this.blocks.flatMap((block) =>
      block.transactions.filter(({ isFailed }) => !isFailed).flatMap(({ hash, transfers }) =>
        transfers.map((transfer, place) => ({
          ...transfer,
          hash,
          block,
          // As the service numbers them: 0 the coin, from 1 on the logs.
          index: transfer.token === null ? 0 : 1 + place - (transfers[0]!.token === null ? 1 : 0)
        }))
      )
    )
  }
}
