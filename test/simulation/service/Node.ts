/**
 * A node of a model chain as the service reaches it, by JSON-RPC: it may be away, slow, behind, on a branch that was
 * left, or say what is not true.
 */
import { Effect, Stream } from "effect"
import { Headers, HttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { Draws } from "../Draws.ts"
import {
  eurc,
  finalDepth,
  type ModelBlock,
  type ModelChain,
  type ModelTransaction,
  type ModelTransfer,
  usdc
} from "./Chain.ts"

const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
const chainId = 8_453

/** What is wrong with a node, each until a time of the world in milliseconds. */
export interface NodeTrouble {
  /** It does not answer. */
  awayUntil: number
  /** It takes seconds for an answer. */
  slowUntil: number
  /** It shows no block that came after `stoppedAt`. */
  stoppedUntil: number
  stoppedAt: number
  /** It goes on showing the branch that a reorganisation left. */
  otherBranchUntil: number
  otherBranch: ReadonlyArray<ModelBlock>
  /** It leaves out transfers of tokens, or shows ones that are not there. */
  liesUntil: number
  hidden: ReadonlySet<string>
  /** By the hash of the block they are shown in. */
  invented: ReadonlyMap<string, ModelTransaction>
}

const noTrouble = (): NodeTrouble => ({
  awayUntil: 0,
  slowUntil: 0,
  stoppedUntil: 0,
  stoppedAt: 0,
  otherBranchUntil: 0,
  otherBranch: [],
  liesUntil: 0,
  hidden: new Set(),
  invented: new Map()
})

const hex = (value: number | bigint): string => `0x${value.toString(16)}`
const word = (value: bigint | string): string =>
  typeof value === "bigint" ? value.toString(16).padStart(64, "0") : value.slice(2).toLowerCase().padStart(64, "0")

/** The answer of a server, without a socket. */
export const answerTo = (
  request: HttpClientRequest.HttpClientRequest,
  status: number,
  text: string
): HttpClientResponse.HttpClientResponse =>
  ({
    request,
    status,
    headers: Headers.fromInput({ "content-type": "application/json" }),
    stream: Stream.make(new TextEncoder().encode(text))
  }) as unknown as HttpClientResponse.HttpClientResponse

export class ModelNode {
  readonly trouble: NodeTrouble = noTrouble()
  /** Hashes of transactions whose transfers it has left out of an answer. */
  readonly leftOut = new Set<string>()
  readonly url: string
  private readonly chain: ModelChain
  private readonly now: () => number

  /** `now`: milliseconds of the world. */
  constructor(url: string, chain: ModelChain, now: () => number) {
    this.url = url
    this.chain = chain
    this.now = now
  }

  heal(): void {
    Object.assign(this.trouble, noTrouble())
  }

  /** Its blocks, the oldest first. */
  private blocks(): ReadonlyArray<ModelBlock> {
    const { otherBranch, otherBranchUntil, stoppedAt, stoppedUntil } = this.trouble
    const blocks = otherBranchUntil > this.now() ? otherBranch : this.chain.blocks
    return stoppedUntil > this.now() ? blocks.slice(0, stoppedAt + 1) : blocks
  }

  /** The transactions of a block as it shows them. */
  private shown(block: ModelBlock): ReadonlyArray<ModelTransaction> {
    const { hidden, invented, liesUntil } = this.trouble
    if (liesUntil <= this.now()) return block.transactions
    for (const { hash } of block.transactions) if (hidden.has(hash)) this.leftOut.add(hash)
    const more = invented.get(block.hash)
    return [
      ...block.transactions.map((transaction) =>
        hidden.has(transaction.hash) ? { ...transaction, transfers: [] } : transaction
      ),
      ...(more === undefined ? [] : [more])
    ]
  }

  private blockAt(at: unknown): ModelBlock | undefined {
    const blocks = this.blocks()
    if (at === "latest" || at === undefined) return blocks.at(-1)
    if (at === "finalized") return blocks[Math.max(0, blocks.length - 1 - finalDepth)]
    return blocks[Number(at)]
  }

  private header({ hash, height, parentHash, time }: ModelBlock) {
    return { number: hex(height), hash, parentHash, timestamp: hex(time) }
  }

  private transaction({ hash, transfers }: ModelTransaction, block: ModelBlock, place: number) {
    const [first] = transfers
    const isCoin = first !== undefined && first.token === null
    return {
      hash,
      from: first?.from ?? `0x${"11".repeat(20)}`,
      to: first === undefined ? null : isCoin ? first.to : first.token!.toLowerCase(),
      value: hex(isCoin ? first.amount : 0n),
      blockHash: block.hash,
      blockNumber: hex(block.height),
      transactionIndex: hex(place),
      input: "0x",
      nonce: "0x0"
    }
  }

  private receipts(block: ModelBlock) {
    let logIndex = 0
    return this.shown(block).map(({ hash, isFailed, transfers }, place) => ({
      transactionHash: hash,
      transactionIndex: hex(place),
      blockHash: block.hash,
      blockNumber: hex(block.height),
      status: isFailed ? "0x0" : "0x1",
      logs: (isFailed ? [] : transfers.filter(({ token }) => token !== null)).map((transfer) => ({
        ...this.log(transfer, block, hash),
        transactionIndex: hex(place),
        logIndex: hex(logIndex++)
      }))
    }))
  }

  private log({ amount, from, to, token }: ModelTransfer, block: ModelBlock, transactionHash: string) {
    return {
      address: token!.toLowerCase(),
      topics: [transferTopic, `0x${word(from)}`, `0x${word(to)}`],
      data: `0x${word(amount)}`,
      blockHash: block.hash,
      blockNumber: hex(block.height),
      transactionHash
    }
  }

  private holdings(address: string, token: string | null, at: unknown): bigint {
    const end = this.blockAt(at)?.height ?? -1
    let sum = 0n
    for (const block of this.blocks().slice(0, end + 1)) {
      for (const { isFailed, transfers } of this.shown(block)) {
        if (isFailed) continue
        for (const each of transfers) {
          if (each.token?.toLowerCase() !== token?.toLowerCase()) continue
          if (each.to.toLowerCase() === address.toLowerCase()) sum += each.amount
        }
      }
    }
    return sum
  }

  private callOf({ data, to }: { readonly to: string; readonly data: string }, at: unknown): string {
    const isKnown = [usdc, eurc].some((token) => token.toLowerCase() === to.toLowerCase())
    if (data.startsWith("0x313ce567")) return `0x${word(isKnown ? 6n : 18n)}`
    if (data.startsWith("0x70a08231")) return `0x${word(this.holdings(`0x${data.slice(-40)}`, to, at))}`
    return "0x"
  }

  private find(hash: unknown): { readonly block: ModelBlock; readonly place: number } | undefined {
    for (const block of this.blocks()) {
      const place = this.shown(block).findIndex((each) => each.hash === hash)
      if (place >= 0) return { block, place }
    }
    return undefined
  }

  /** What it says to a call; undefined: it knows no such method. */
  private resultOf(method: string, [first, second]: ReadonlyArray<any>): unknown {
    switch (method) {
      case "eth_chainId":
        return hex(chainId)
      case "eth_blockNumber":
        return hex(this.blockAt("latest")!.height)
      case "eth_getBlockByNumber": {
        const block = this.blockAt(first)
        if (block === undefined) return null
        return second !== true ? this.header(block) : {
          ...this.header(block),
          transactions: this.shown(block).map((each, place) => this.transaction(each, block, place))
        }
      }
      case "eth_getBlockReceipts": {
        const block = this.blockAt(first)
        return block === undefined ? null : this.receipts(block)
      }
      case "eth_getTransactionReceipt": {
        const found = this.find(first)
        return found === undefined ? null : this.receipts(found.block)[found.place]
      }
      case "eth_getTransactionByHash": {
        const found = this.find(first)
        return found === undefined
          ? null
          : this.transaction(this.shown(found.block)[found.place]!, found.block, found.place)
      }
      case "eth_getLogs": {
        const to = Math.min(Number(first.toBlock), this.blockAt("latest")!.height)
        return this.blocks().slice(Number(first.fromBlock), to + 1).flatMap((block) =>
          this.receipts(block).flatMap(({ logs }) => logs)
        )
      }
      case "eth_getBalance":
        return hex(this.holdings(first, null, second))
      case "eth_getTransactionCount":
        return "0x0"
      case "eth_getCode":
        return "0x"
      case "eth_gasPrice":
        return hex(10_000_000n)
      case "eth_call":
        return this.callOf(first, second)
      default:
        return undefined
    }
  }

  /** Answers a call of JSON-RPC. */
  answer(body: string): string {
    const { id, method, params } = JSON.parse(body)
    const result = this.resultOf(method, params ?? [])
    return JSON.stringify(
      result === undefined
        ? { jsonrpc: "2.0", id, error: { code: -32_601, message: `the method ${method} does not exist` } }
        : { jsonrpc: "2.0", id, result }
    )
  }
}

/** The way to the nodes: each call takes its time, and some connections break. */
export const clientOf = (
  nodes: ReadonlyArray<ModelNode>,
  network: Draws,
  now: () => number,
  isHealthy: () => boolean
): HttpClient.HttpClient =>
  HttpClient.make((request, url) =>
    Effect.gen(function*() {
      const node = nodes.find((each) => each.url === url.href.replace(/\/$/, ""))
      const unreachable = new HttpClientError.HttpClientError({
        reason: new HttpClientError.TransportError({ request, description: "the connection ended" })
      })
      yield* Effect.sleep(1 + network.below(30))
      if (node === undefined) return yield* unreachable
      if (!isHealthy() && network.happens(0.02)) return yield* unreachable
      if (node.trouble.awayUntil > now()) {
        yield* Effect.sleep(network.oneOf([1, 1, 200, 20_000]))
        return yield* unreachable
      }
      if (node.trouble.slowUntil > now()) yield* Effect.sleep(network.below(8_000))
      const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
      const text = node.answer(body)
      yield* Effect.sleep(1 + network.below(30))
      return answerTo(request, 200, text)
    })
  )
