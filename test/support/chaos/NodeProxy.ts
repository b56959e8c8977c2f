/**
 * A JSON-RPC endpoint over HTTP in front of a node, as a provider stands there: honest, or wrong in one of the ways in
 * which providers are wrong. What it answers is the node's own answer, changed by the fault of the moment.
 */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { askNode, finalityDepth, type TestChain } from "./TestChain.ts"

/** What is wrong with an endpoint. */
export type Fault =
  | { readonly _tag: "Honest" }
  /** Takes every request and answers none, not even later. */
  | { readonly _tag: "Silent" }
  /** Ends every connection. */
  | { readonly _tag: "Refused" }
  /** HTTP errors and JSON-RPC errors in turn. */
  | { readonly _tag: "Errors" }
  | { readonly _tag: "Slow"; readonly millis: number }
  /** Its head stands still, and everything else is answered. */
  | { readonly _tag: "Frozen"; readonly height: number }
  /** So many blocks behind all the time. */
  | { readonly _tag: "Lagging"; readonly blocks: number }
  /** Follows the minority branch. */
  | { readonly _tag: "Forked" }
  /** Receipts without their logs; the header still tells by its bloom filter that there are some, or is forged, too. */
  | { readonly _tag: "HiddenLogs"; readonly isBloomKept: boolean }
  /** Blocks without their transactions: hash and header as they should be. */
  | { readonly _tag: "HiddenTransactions" }
  /** Every log of a receipt twice. */
  | { readonly _tag: "DoubledLogs" }
  /** The receipts of the block before. */
  | { readonly _tag: "ForeignReceipts" }
  /** Answers without an end. */
  | { readonly _tag: "Oversized" }
  /** Answers that are no JSON, no JSON-RPC, or cut off. */
  | { readonly _tag: "Garbage" }
  /** The right blocks under another chain's id. */
  | { readonly _tag: "WrongChain" }

export interface NodeProxy {
  readonly url: string
  readonly set: (fault: Fault) => void
  readonly fault: () => Fault
  /** Calls that came, by method. */
  readonly calls: ReadonlyMap<string, number>
}

interface Call {
  readonly id: unknown
  readonly method: string
  readonly params: ReadonlyArray<any>
}

/** Bytes of an answer without an end, unless the reader gives up before. */
const oversizedBytes = 64_000_000

const garbage = ["<html>502 Bad Gateway</html>", "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu", "[]", "null", "{\"id\":1}"]

/** Of a block without logs. */
const emptyBloom = `0x${"00".repeat(256)}`

const hex = (value: number): string => `0x${value.toString(16)}`

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

/** Position of the block among a method's parameters, for those that read state at a block. */
const blockParameter: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_getBalance: 1,
  eth_getTransactionCount: 1,
  eth_getCode: 1,
  eth_getStorageAt: 2
}

/** The node as it was at `cap`: nothing above it is there. */
const cappedAnswer = async (url: string, { method, params }: Call, cap: number): Promise<unknown> => {
  const heightOf = (at: unknown): number =>
    at === "finalized" || at === "safe"
      ? Math.max(0, cap - finalityDepth)
      : typeof at === "string" && at.startsWith("0x")
      ? Number(at)
      : at === "earliest"
      ? 0
      : cap
  switch (method) {
    case "eth_blockNumber":
      return hex(cap)
    case "eth_getBlockByNumber":
    case "eth_getBlockReceipts": {
      const [at, ...rest] = params
      if (typeof at === "string" && at.length === 66) break
      const height = heightOf(at)
      return height > cap ? null : askNode(url, method, hex(height), ...rest)
    }
    case "eth_getLogs": {
      const [filter] = params
      if (filter?.blockHash !== undefined) break
      const to = Math.min(cap, heightOf(filter?.toBlock))
      return to < heightOf(filter?.fromBlock) ? [] : askNode(url, method, { ...filter, toBlock: hex(to) })
    }
    default: {
      const place = blockParameter[method]
      if (place === undefined || typeof (params[place] ?? "latest") !== "string") break
      const height = heightOf(params[place] ?? "latest")
      if (height > cap) throw new Error("header not found")
      return askNode(url, method, ...params.with(place, hex(height)))
    }
  }
  const answer = await askNode(url, method, ...params)
  const height = answer?.number ?? answer?.blockNumber ?? (Array.isArray(answer) ? answer[0]?.blockNumber : undefined)
  return height !== undefined && Number(height) > cap ? null : answer
}

const eachReceipt = (method: string, answer: any, change: (receipt: any) => any): any => {
  if (method === "eth_getBlockReceipts" && Array.isArray(answer)) return answer.map(change)
  return method === "eth_getTransactionReceipt" && answer !== null ? change(answer) : answer
}

/** What an endpoint with the fault answers to a call that it does answer. */
const answerOf = async (world: TestChain, fault: Fault, call: Call): Promise<unknown> => {
  const { method, params } = call
  const honest = () => askNode(world.url, method, ...params)
  switch (fault._tag) {
    case "Frozen":
      return cappedAnswer(world.url, call, Math.min(fault.height, world.head()))
    case "Lagging":
      return cappedAnswer(world.url, call, Math.max(0, world.head() - fault.blocks))
    case "Forked":
      return askNode(world.forkUrl(), method, ...params)
    case "HiddenLogs": {
      if (method === "eth_getLogs") return []
      const answer = await honest()
      const bloom = fault.isBloomKept ? {} : { logsBloom: emptyBloom }
      if (method.startsWith("eth_getBlockBy")) return answer === null ? null : { ...answer, ...bloom }
      return eachReceipt(method, answer, (receipt) => ({ ...receipt, logs: [], ...bloom }))
    }
    case "HiddenTransactions": {
      const answer = await honest()
      if (method === "eth_getBlockReceipts" || method === "eth_getLogs") return answer === null ? null : []
      if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash") return null
      return method.startsWith("eth_getBlockBy") && answer !== null ? { ...answer, transactions: [] } : answer
    }
    case "DoubledLogs": {
      const answer = await honest()
      if (method === "eth_getLogs") return answer.flatMap((log: unknown) => [log, log])
      return eachReceipt(method, answer, (receipt) => ({
        ...receipt,
        logs: receipt.logs.flatMap((log: unknown) => [log, log])
      }))
    }
    case "ForeignReceipts": {
      const [at] = params
      const isHeight = typeof at === "string" && at.length < 66 && Number(at) > 0
      return method === "eth_getBlockReceipts" && isHeight
        ? askNode(world.url, method, hex(Number(at) - 1))
        : honest()
    }
    case "WrongChain":
      return method === "eth_chainId" ? hex(1337) : method === "net_version" ? "1337" : honest()
    default:
      return honest()
  }
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Writes until the limit or until the reader goes away. */
const pour = async (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x")
  const chunk = "0".repeat(1_000_000)
  for (let sent = 0; sent < oversizedBytes && !response.destroyed; sent += chunk.length) {
    const isTaken = response.write(chunk)
    if (!isTaken) await Promise.race([new Promise((resolve) => response.once("drain", resolve)), pause(200)])
  }
  response.end("\"}")
}

/** An endpoint on this machine in front of the world's nodes, honest at first. */
export const makeNodeProxy = (world: TestChain): Effect.Effect<NodeProxy, never, Scope.Scope> =>
  Effect.gen(function*() {
    const calls = new Map<string, number>()
    let fault: Fault = { _tag: "Honest" }
    let served = 0

    const one = async (call: Call) => {
      calls.set(call.method, (calls.get(call.method) ?? 0) + 1)
      const head = { jsonrpc: "2.0", id: call.id }
      try {
        return { ...head, result: await answerOf(world, fault, call) }
      } catch (cause) {
        return { ...head, error: { code: -32000, message: String(cause).slice(0, 200) } }
      }
    }

    const serve = async (request: IncomingMessage, response: ServerResponse) => {
      const asked = JSON.parse(await bodyOf(request))
      served += 1
      switch (fault._tag) {
        case "Silent":
          return
        case "Refused":
          return void response.destroy()
        case "Errors":
          if (served % 3 === 0) return void response.writeHead(429).end("slow down")
          if (served % 3 === 1) return void response.writeHead(503).end()
          return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
            jsonrpc: "2.0",
            id: asked.id ?? null,
            error: { code: -32005, message: "limit exceeded" }
          }))
        case "Oversized":
          return pour(response)
        case "Garbage":
          return void response.writeHead(200, { "content-type": "application/json" })
            .end(garbage[served % garbage.length])
        case "Slow":
          await pause(fault.millis)
      }
      const answer = Array.isArray(asked) ? await Promise.all(asked.map(one)) : await one(asked)
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer))
    }

    const server = yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const made = createServer((request, response) => {
          serve(request, response).catch(() => response.destroy())
        })
        made.keepAliveTimeout = 60_000
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      set: (next) => {
        fault = next
      },
      fault: () => fault,
      calls
    }
  })
