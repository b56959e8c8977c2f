/**
 * A node of Sui in front of a ledger: gRPC-Web over real HTTP on this machine, written and read by the protobuf types
 * of Sui's own SDK, with the limits, the lag and the faults that nodes and providers have.
 */
import { Effect, type Scope } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { answerOf } from "./Answers.ts"
import type { Coins } from "./Coins.ts"
import { requestOf, send } from "./GrpcWeb.ts"
import type { Ledger } from "./Ledger.ts"
import type { NodeLimits } from "./ListTransactions.ts"
import type { NodeCall, NodeReply } from "./Replies.ts"

/**
 * What a node does with calls: `held` never answers; `cut` ends each answer in the middle; `http` answers with that
 * status; a function answers in the node's place, given what an honest node says.
 */
export type NodeFault =
  | "through"
  | "held"
  | "cut"
  | { readonly http: number; readonly headers?: Readonly<Record<string, string>> }
  | ((call: NodeCall, honest: () => NodeReply) => NodeReply)

export interface SuiNodeRig {
  readonly url: string
  readonly ledger: Ledger
  readonly set: (fault: NodeFault) => void
  /** Checkpoints that it is behind, and those that its index is behind its head. */
  readonly lag: (head: number, index?: number) => void
  readonly limit: (limits: Partial<NodeLimits>) => void
  /** The oldest checkpoint it still has. */
  readonly prune: (lowest: bigint) => void
  /** Calls so far, by method. */
  readonly calls: () => Readonly<Record<string, number>>
  /** Bytes of all answers so far. */
  readonly answerBytes: () => number
  readonly resetCounts: () => void
}

const closing = (server: ReturnType<typeof createServer>) =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

const limitsOfNodes: NodeLimits = {
  filteredItems: 50,
  unfilteredItems: 500,
  scannedCheckpoints: 100_000n,
  terms: 10
}

/** How a node behaves, and what it has counted. */
interface NodeState {
  readonly fault: NodeFault
  readonly lag: { readonly head: number; readonly index: number }
  readonly limits: NodeLimits
  readonly lowest: bigint
  readonly calls: Readonly<Record<string, number>>
  readonly answerBytes: number
}

const firstState = ({ firstHeight }: Ledger): NodeState => ({
  fault: "through",
  lag: { head: 0, index: 0 },
  limits: limitsOfNodes,
  // What came before the ledger's first checkpoint is there, and is nothing.
  lowest: firstHeight - 100_000n,
  calls: {},
  answerBytes: 0
})

/** Answers a call as the node's state wants it; says how many bytes went out. */
const answer = (
  ledger: Ledger,
  coins: Coins,
  state: NodeState,
  call: NodeCall,
  response: ServerResponse
): number => {
  const { fault, lag, limits, lowest } = state
  if (fault === "held") return 0
  if (typeof fault === "object") {
    response.writeHead(fault.http, fault.headers)
    response.end("<html>no</html>")
    return 0
  }
  const behind = ledger.head.height - BigInt(lag.head)
  const head = behind < ledger.firstHeight ? ledger.firstHeight : behind
  const honest = () => answerOf(ledger, coins, call, { head, tip: head - BigInt(lag.index), lowest, limits })
  return send(response, typeof fault === "function" ? fault(call, honest) : honest(), fault === "cut")
}

/** A node in front of the ledger, until the scope closes. */
export const suiNode = (ledger: Ledger, coins: Coins): Effect.Effect<SuiNodeRig, never, Scope.Scope> =>
  Effect.gen(function*() {
    let state = firstState(ledger)
    const change = (more: Partial<NodeState>): void => {
      state = { ...state, ...more }
    }
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const made = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const method = request.url!.split("/").at(-1)!
            change({ calls: { ...state.calls, [method]: (state.calls[method] ?? 0) + 1 } })
            const call = { method, request: requestOf(method, Buffer.concat(chunks)) }
            const sent = answer(ledger, coins, state, call, response)
            change({ answerBytes: state.answerBytes + sent })
          })
        })
        // A test that computes for seconds must not find its idle connections closed.
        made.keepAliveTimeout = 600_000
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      closing
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ledger,
      set: (fault) => change({ fault }),
      lag: (head, index = 0) => change({ lag: { head, index } }),
      limit: (more) => change({ limits: { ...state.limits, ...more } }),
      prune: (lowest) => change({ lowest }),
      calls: () => state.calls,
      answerBytes: () => state.answerBytes,
      resetCounts: () => change({ calls: {}, answerBytes: 0 })
    }
  })
