/** The JSON-RPC methods of EVM nodes: what a call may cost, what their errors mean, and which chain they are on. */
import { Effect, type Redacted, Schema } from "effect"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { DriverError, type DriverErrorKind } from "../../../runtime/Chains.ts"
import type { PoolLimits } from "../../../runtime/nodes/EndpointPool.ts"
import * as Endpoints from "../../../runtime/nodes/Endpoints.ts"
import {
  type JsonRpcAnswer,
  type JsonRpcClient,
  jsonRpcClient,
  type JsonRpcError
} from "../../../runtime/nodes/JsonRpc.ts"
import type { CallLimits } from "../../../runtime/nodes/NodeHttp.ts"

/** Reading a block or logs takes at most this long: with its receipts a block is a few megabytes on a busy chain. */
const blockTimeoutMillis = 15_000
/** Any other call: a node that needs longer is as good as away. */
const callTimeoutMillis = 5_000

/**
 * Bytes of an answer that holds a block, its receipts or logs, at most. A block of the largest networks has 400 million
 * gas (Base), and each log costs at least 375 (`LOG0`): cheap logs can make more than this, and such a block's receipts
 * are then read one by one. Larger answers would take the process's memory and block its loop.
 */
const maximumBlockBytes = 64 * 1024 * 1024
/** Any other answer: a word, a mark, an error. */
const maximumAnswerBytes = 64 * 1024

const blockMethods: ReadonlySet<string> = new Set([
  "eth_getBlockByNumber",
  "eth_getBlockReceipts",
  "eth_getTransactionByHash",
  "eth_getTransactionReceipt",
  "eth_getLogs",
  "eth_simulateV1"
])

const limitsOf = (method: string, params: ReadonlyArray<unknown>): CallLimits => {
  const isHeader = method === "eth_getBlockByNumber" && params[1] === false
  return {
    maximumBytes: blockMethods.has(method) ? maximumBlockBytes : maximumAnswerBytes,
    timeoutMillis: blockMethods.has(method) && !isHeader ? blockTimeoutMillis : callTimeoutMillis
  }
}

export interface Endpoint extends JsonRpcClient {
  /**
   * What `eth_call` of `data` to `to` returns, at the newest block where no height is named in hexadecimal; `0x` when
   * the call reverts or returns too much.
   */
  readonly ethCall: (to: string, data: string, height?: string) => Effect.Effect<string, DriverError>
  /**
   * Whether a payment of the network's own coin would go through at the newest block, from an account that has it for
   * the length of the question (`eth_call` with a state override).
   */
  readonly canSend: (
    payment: { readonly from: string; readonly to: string; readonly value: string }
  ) => Effect.Effect<boolean, DriverError>
  /** What a transaction, or the estimate of its gas, would answer at the newest block, or end with. */
  readonly tryCall: (
    method: "eth_call" | "eth_estimateGas",
    transaction: { readonly from?: string; readonly to: string; readonly value?: string; readonly data?: string }
  ) => Effect.Effect<CallOutcome, DriverError>
}

/** `data`: what a call answers, or the error that a contract ends it with; `0x` where it names none. */
export interface CallOutcome {
  readonly isReverted: boolean
  readonly data: string
}

export type JsonRpc = Endpoints.Endpoints<Endpoint>

/** A quantity: minimal hex. */
export const Quantity = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{1,64}$/i))

/** Bytes of any length. */
export const Data = Schema.String.check(Schema.isPattern(/^0x(?:[0-9a-f]{2})*$/i))

/**
 * Whether a node's error says that the contract ended the call, not that the node could not run it: code 3 by
 * go-ethereum and what follows it, -32015 by Nethermind, words by the others.
 */
const isReverted = ({ code, message }: JsonRpcError): boolean =>
  code === 3 || code === -32015 || /revert|invalid opcode|invalid jump|out of gas/i.test(message)

/**
 * Whether a node's error says that it has removed what was asked for: code 4444 of EIP-4444, by go-ethereum, Nethermind
 * and Reth; Erigon's "old data not available due to pruning"; "missing trie node" where receipts are made anew from
 * state.
 */
const isPruned = ({ code, message }: JsonRpcError): boolean =>
  code === 4444 || /\bprun(?:ed|ing)\b|history unavailable|missing trie node/i.test(message)

/** The bytes that a contract ended a call with: nodes give them alone, or behind a word as "Reverted 0x...". */
const revertData = ({ data }: JsonRpcError): string =>
  typeof data === "string" ? /0x(?:[0-9a-f]{2})*$/i.exec(data)?.[0] ?? "0x" : "0x"

const kindOf = (error: JsonRpcError): DriverErrorKind => isPruned(error) ? "pruned" : "refused"

/** A contract that returns more than anybody asks for has not answered the question. */
const noAnswer: JsonRpcAnswer = { result: "0x" }

const endpointOf = (connection: Endpoints.Connection): Endpoint => {
  const client = jsonRpcClient(connection, { limitsOf, kindOf })
  const ethCall: Endpoint["ethCall"] = Effect.fnUntraced(function*(to, data, height = "latest") {
    const answer = yield* client.ask("eth_call", [{ to, data }, height]).pipe(
      Effect.catch((error) => error.kind === "too_large" ? Effect.succeed(noAnswer) : Effect.fail(error))
    )
    if (answer.error !== undefined && isReverted(answer.error)) return "0x"
    return yield* client.resultOf("eth_call", answer, Data)
  })
  const canSend: Endpoint["canSend"] = Effect.fnUntraced(function*(payment) {
    const answer = yield* client.ask("eth_call", [payment, "latest", { [payment.from]: { balance: payment.value } }])
    if (answer.error !== undefined && isReverted(answer.error)) return false
    yield* client.resultOf("eth_call", answer, Data)
    return true
  })
  const tryCall: Endpoint["tryCall"] = Effect.fnUntraced(function*(method, transaction) {
    const answer = yield* client.ask(method, method === "eth_call" ? [transaction, "latest"] : [transaction])
    if (answer.error !== undefined && isReverted(answer.error)) {
      return { isReverted: true, data: revertData(answer.error) }
    }
    const data = yield* client.resultOf(method, answer, method === "eth_call" ? Data : Quantity)
    return { isReverted: false, data }
  })
  return { ...client, ethCall, canSend, tryCall }
}

/** `urls` may hold keys: no message names more of one than its place in the list. */
export const make = (options: {
  readonly network: Network
  readonly environment: Environment
  readonly urls: ReadonlyArray<Redacted.Redacted>
  readonly chainId: number
  readonly limits: PoolLimits
}) => {
  const { chainId, environment, limits, network, urls } = options
  return Endpoints.make({
    network,
    environment,
    addresses: urls.map((url) => ({ url })),
    limits,
    client: endpointOf,
    prove: (client) =>
      Effect.map(client.call("eth_chainId", [], Quantity), (found) =>
        BigInt(found) === BigInt(chainId) ? null : (
          `is on chain ${BigInt(found)}, but ${network} is chain ${chainId} here: ` +
          "correct the url, the network or the environment, or set `chainId` for a private network"
        ))
  })
}
