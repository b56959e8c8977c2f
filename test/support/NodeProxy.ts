/** A JSON-RPC endpoint in front of a real node, that can go wrong as nodes and providers do. */
import { Effect, type Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface NodeCall {
  readonly method: string
  readonly params: ReadonlyArray<any>
}

/**
 * What an endpoint does with calls: `through` passes them on, `cut` ends each connection, `held` never answers; a
 * function answers in the node's place, given how to ask the node.
 */
export type NodeFault = "through" | "cut" | "held" | NodeAnswers

export type NodeAnswers = (call: NodeCall, ask: (call: NodeCall) => Promise<any>) => Promise<unknown>

export interface NodeProxy {
  readonly url: string
  readonly set: (fault: NodeFault) => void
  /** Leads to another node from now on. */
  readonly lead: (nodeUrl: string) => void
  /** Methods asked so far. */
  readonly calls: () => ReadonlyArray<string>
}

/** An endpoint in front of the node at `nodeUrl`, until the scope closes. */
export const nodeProxy = (nodeUrl: string): Effect.Effect<NodeProxy, never, Scope.Scope> =>
  Effect.gen(function*() {
    let target = nodeUrl
    let fault: NodeFault = "through"
    const calls: Array<string> = []

    const ask = async ({ method, params }: NodeCall) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
      const response = await fetch(target, { method: "POST", headers: { "content-type": "application/json" }, body })
      const answer: any = await response.json()
      if (answer.error !== undefined) throw new Error(answer.error.message)
      return answer.result
    }

    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const made = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const call: NodeCall & { readonly id: unknown } = JSON.parse(Buffer.concat(chunks).toString("utf8"))
            calls.push(call.method)
            if (fault === "held") return
            if (fault === "cut") return void request.socket.destroy()
            const answer = fault === "through" ? ask(call) : fault(call, ask)
            const send = (body: object) => response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, ...body }))
            answer.then(
              (result) => send({ result: result ?? null }),
              (error: unknown) => send({ error: { code: -32_000, message: String(error) } })
            )
          })
        })
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
      lead: (next) => {
        target = next
      },
      calls: () => calls
    }
  })

/** Shows no block above `height`, and that one as the newest, whatever the chain does. */
export const frozenAt = (height: bigint): NodeFault => async (call, ask) => cappedAnswer(height, call, ask)

/** As {@link frozenAt}, and finds no log above `height`: as nodes do that are asked for blocks they do not have yet. */
export const stoppedAt = (height: bigint): NodeAnswers => async (call, ask) =>
  call.method === "eth_getLogs" && BigInt(call.params[0].toBlock) > height ? [] : cappedAnswer(height, call, ask)

const cappedAnswer = async (
  height: bigint,
  call: NodeCall,
  ask: (call: NodeCall) => Promise<any>
): Promise<unknown> => {
  if (call.method !== "eth_getBlockByNumber") return ask(call)
  const [at, full] = call.params
  const hex = `0x${height.toString(16)}`
  if (at === "latest") return ask({ method: call.method, params: [hex, full] })
  return at.startsWith("0x") && BigInt(at) > height ? null : ask(call)
}

/** Shows so many blocks less than there are, asked for each call. */
export const behind = (blocksOf: () => number): NodeAnswers => async (call, ask) => {
  const blocks = blocksOf()
  if (blocks === 0 || call.method !== "eth_getBlockByNumber") return ask(call)
  const head = BigInt(await ask({ method: "eth_blockNumber", params: [] }))
  return cappedAnswer(head > BigInt(blocks) ? head - BigInt(blocks) : 0n, call, ask)
}

/** Answers `eth_getBlockReceipts` as `edit` changes each receipt that has logs, and all log searches with nothing. */
export const withLogs = (edit: (logs: ReadonlyArray<any>) => ReadonlyArray<any>): NodeAnswers => async (call, ask) => {
  if (call.method === "eth_getLogs") return edit(await ask(call))
  if (call.method !== "eth_getBlockReceipts") return ask(call)
  const receipts = await ask(call)
  return receipts?.map((receipt: any) => ({ ...receipt, logs: edit(receipt.logs) })) ?? null
}

/** Hides all logs and shows headers without the mark of any, as a node does that lies to its reader. */
export const forgedHeaders: NodeFault = async (call, ask) => {
  const answer: any = await withLogs(() => [])(call, ask)
  if (call.method !== "eth_getBlockByNumber" || answer === null) return answer
  return { ...answer, logsBloom: `0x${"00".repeat(256)}` }
}

/** A node that has removed the blocks below `height`, as go-ethereum says so and as others answer. */
export const prunedBelow = (height: bigint): NodeAnswers => async (call, ask) => {
  const at = call.params[0]
  const isOld = typeof at === "string" && at.startsWith("0x") && BigInt(at) < height
  if (call.method === "eth_getBlockByNumber") return isOld ? null : ask(call)
  if (call.method === "eth_getBlockReceipts" && isOld) throw new Error("pruned history unavailable")
  return ask(call)
}

/** Has no header of the heights that `isLacking` names, whatever its head is; tells of each time it is asked for one. */
export const lacking =
  (isLacking: (height: bigint) => boolean, onAsked: () => void): NodeAnswers => async (call, ask) => {
    const at = call.params[0]
    const isNamed = call.method === "eth_getBlockByNumber" && at.startsWith("0x") && isLacking(BigInt(at))
    if (isNamed) onAsked()
    return isNamed ? null : ask(call)
  }
