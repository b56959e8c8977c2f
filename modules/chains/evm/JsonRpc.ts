/** JSON-RPC to the nodes of one EVM network: ordered endpoints, failover, and proof of the chain before any trust. */
import { Clock, Effect, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { readText } from "../../../runtime/http/ResponseText.ts"
import type { Network } from "../../../schemas/Network.ts"
import { DriverError, type DriverErrorKind } from "../../../runtime/Chains.ts"
import {
  emptyPool,
  type EndpointPool,
  type Observation,
  placesByPreference,
  type PoolLimits,
  step
} from "./EndpointPool.ts"

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
  "eth_getTransactionReceipt",
  "eth_getLogs"
])

/** One endpoint: everything read through it comes from the same node, as far as its operator keeps that promise. */
export interface Endpoint {
  readonly network: Network
  /** Its place in the configuration, from 0. */
  readonly place: number
  readonly call: <A>(
    method: string,
    params: ReadonlyArray<unknown>,
    result: Schema.Codec<A, any>
  ) => Effect.Effect<A, DriverError>
  /** What `eth_call` of `data` to `to` returns at the newest block; `0x` when the call reverts or returns too much. */
  readonly ethCall: (to: string, data: string) => Effect.Effect<string, DriverError>
}

export interface JsonRpc {
  /** In the order of the configuration. */
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly pool: () => EndpointPool
  readonly observe: (observation: Observation) => void
  /** Runs `work` against an endpoint, and keeps whether it answered. The chain is proven before the first call. */
  readonly attempt: <A>(
    endpoint: Endpoint,
    work: (endpoint: Endpoint) => Effect.Effect<A, DriverError>
  ) => Effect.Effect<A, DriverError>
  /**
   * Runs `work` against the first endpoint in the pool's order; on failure against the next, each at most once. One
   * failure sends only this work to the next endpoint.
   */
  readonly withFailover: <A>(
    work: (endpoint: Endpoint) => Effect.Effect<A, DriverError>
  ) => Effect.Effect<A, DriverError>
  /** Asks every endpoint for its chain: fails with a message for people when one that answers is on another chain. */
  readonly verify: Effect.Effect<void, DriverError>
}

/** A quantity: minimal hex. */
export const Quantity = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]{1,64}$/i))

/** Bytes of any length. */
const Data = Schema.String.check(Schema.isPattern(/^0x(?:[0-9a-f]{2})*$/i))

const Response = Schema.Struct({
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Struct({ code: Schema.optionalKey(Schema.Int), message: Schema.String }))
})
type Response = typeof Response.Type

/**
 * Whether a node's error says that the contract ended the call, not that the node could not run it: code 3 by
 * go-ethereum and what follows it, -32015 by Nethermind, words by the others.
 */
const isReverted = ({ code, message }: NonNullable<Response["error"]>): boolean =>
  code === 3 || code === -32015 || /revert|invalid opcode|invalid jump|out of gas/i.test(message)

/**
 * Whether a node's error says that it has removed what was asked for: code 4444 of EIP-4444, by go-ethereum, Nethermind
 * and Reth; Erigon's "old data not available due to pruning"; "missing trie node" where receipts are made anew from
 * state.
 */
const isPruned = ({ code, message }: NonNullable<Response["error"]>): boolean =>
  code === 4444 || /\bprun(?:ed|ing)\b|history unavailable|missing trie node/i.test(message)

const readJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Response))

/** An answer that was larger than its method's answers may be: reading it stopped there. */
class AnswerTooLarge extends Schema.TaggedError<AnswerTooLarge>()("AnswerTooLarge", { limit: Schema.Int }) {}

/** A contract that returns more than anybody asks for has not answered the question. */
const noAnswer: Response = { result: "0x" }

/** `urls` may hold keys: no message names more of one than its place in the list. */
// oxlint-disable-next-line max-lines-per-function -- batches, pauses and failures of one client
export const make = Effect.fnUntraced(function*(options: {
  readonly network: Network
  readonly urls: ReadonlyArray<Redacted.Redacted>
  readonly chainId: number
  readonly limits: PoolLimits
}) {
  const { chainId, network, urls } = options
  const client = yield* HttpClient.HttpClient
  const clock = yield* Clock.Clock
  const fail = (reason: string, kind?: DriverErrorKind) =>
    new DriverError({ network, reason, ...(kind === undefined ? {} : { kind }) })
  let pool = emptyPool(urls.length, options.limits, clock.currentTimeMillisUnsafe())
  const observe = (observation: Observation) => {
    pool = step(pool, observation)
  }

  const wrongChain = (place: number, found: bigint) =>
    fail(
      `rpc ${place + 1} of ${urls.length} is on chain ${found}, but ${network} is chain ${chainId} here: ` +
        "correct the url, the network or the environment, or set `chainId` for a private network"
    )

  const nodes = urls.map((url, place) => {
    const name = `rpc ${place + 1} of ${urls.length}`
    let isProven = false
    const ask = Effect.fnUntraced(function*(method: string, params: ReadonlyArray<unknown>) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
      const request = HttpClientRequest.post(Redacted.value(url)).pipe(
        HttpClientRequest.bodyText(body, "application/json")
      )
      const limit = blockMethods.has(method) ? maximumBlockBytes : maximumAnswerBytes
      const isHeader = method === "eth_getBlockByNumber" && params[1] === false
      const millis = blockMethods.has(method) && !isHeader ? blockTimeoutMillis : callTimeoutMillis
      const text = yield* client.execute(request).pipe(
        Effect.flatMap((response) => readText(response, limit, () => new AnswerTooLarge({ limit }))),
        Effect.timeout(millis),
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
        Effect.mapError((error) => {
          const where = `${name}, ${method}`
          switch (error._tag) {
            case "AnswerTooLarge":
              return fail(`${where}: its answer has more than ${limit} bytes`, "too_large")
            case "TimeoutError":
              return fail(`${where}: no answer in ${millis / 1000} s`, "timeout")
            default:
              return fail(`${where}: ${error._tag}`, "unanswered")
          }
        })
      )
      return yield* readJson(text).pipe(Effect.mapError(() => fail(`${name}, ${method}: not JSON-RPC`, "unanswered")))
    })
    const resultOf = Effect.fnUntraced(function*<A>(method: string, answer: Response, result: Schema.Codec<A, any>) {
      if (answer.error !== undefined) {
        const kind = isPruned(answer.error) ? "pruned" : "refused"
        return yield* fail(`${name}, ${method}: ${answer.error.message.slice(0, 200)}`, kind)
      }
      return yield* Schema.decodeUnknownEffect(result)(answer.result ?? null).pipe(
        Effect.mapError((error) => fail(`${name}, ${method}: ${error.message.slice(0, 300)}`, "contradiction"))
      )
    })
    const prove = Effect.gen(function*() {
      const found = BigInt(yield* resultOf("eth_chainId", yield* ask("eth_chainId", []), Quantity))
      if (found !== BigInt(chainId)) return found
      isProven = true
      return null
    })
    const ensureChain = Effect.suspend(() =>
      isProven
        ? Effect.void
        : Effect.flatMap(prove, (found) => found === null ? Effect.void : Effect.fail(wrongChain(place, found)))
    )
    const call: Endpoint["call"] = Effect.fnUntraced(function*(method, params, result) {
      yield* ensureChain
      return yield* resultOf(method, yield* ask(method, params), result)
    })
    const ethCall: Endpoint["ethCall"] = Effect.fnUntraced(function*(to, data) {
      yield* ensureChain
      const answer = yield* ask("eth_call", [{ to, data }, "latest"]).pipe(
        Effect.catch((error) => error.kind === "too_large" ? Effect.succeed(noAnswer) : Effect.fail(error))
      )
      if (answer.error !== undefined && isReverted(answer.error)) return "0x"
      return yield* resultOf("eth_call", answer, Data)
    })
    const endpoint: Endpoint = { network, place, call, ethCall }
    return { endpoint, prove }
  })
  const endpoints = nodes.map(({ endpoint }) => endpoint)

  const verify = Effect.forEach(nodes, ({ prove }, place) =>
    prove.pipe(
      Effect.catch((error) => Effect.as(Effect.logWarning("a node does not answer yet", error.reason), null)),
      Effect.flatMap((found) => found === null ? Effect.void : Effect.fail(wrongChain(place, found)))
    ), { discard: true, concurrency: "unbounded" })

  const attempt: JsonRpc["attempt"] = (endpoint, work) =>
    work(endpoint).pipe(
      Effect.tap(() =>
        Effect.sync(() => observe({ _tag: "Answered", place: endpoint.place, at: clock.currentTimeMillisUnsafe() }))
      ),
      Effect.tapError((error) =>
        Effect.sync(() => {
          const source = { place: endpoint.place, at: clock.currentTimeMillisUnsafe() }
          // A node without old blocks is none the worse for new ones.
          observe(
            error.kind === "pruned"
              ? { _tag: "Answered", ...source }
              : { _tag: "Failed", isTimeout: error.kind === "timeout", ...source }
          )
        })
      )
    )

  const withFailover: JsonRpc["withFailover"] = Effect.fnUntraced(function*(work) {
    let last: DriverError = fail("no endpoint")
    for (const place of placesByPreference(pool, clock.currentTimeMillisUnsafe())) {
      const outcome = yield* Effect.result(attempt(endpoints[place]!, work))
      if (outcome._tag === "Success") return outcome.success
      last = outcome.failure
    }
    return yield* last
  })

  return { endpoints, pool: () => pool, observe, attempt, withFailover, verify } satisfies JsonRpc
})
