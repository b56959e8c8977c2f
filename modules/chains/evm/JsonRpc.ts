/** JSON-RPC to the nodes of one EVM network: ordered endpoints, failover, and proof of the chain before any trust. */
import { Effect, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { Network } from "../../../schemas/Network.ts"
import { DriverError } from "../../../runtime/Chains.ts"

/** One call takes at most this long; a block of a busy chain with its receipts is a few megabytes. */
const callTimeoutMillis = 15_000

/** One endpoint: everything read through it comes from the same node, as far as its operator keeps that promise. */
export interface Endpoint {
  readonly call: <A>(
    method: string,
    params: ReadonlyArray<unknown>,
    result: Schema.Codec<A, any>
  ) => Effect.Effect<A, DriverError>
  /** What `eth_call` of `data` to `to` returns at the newest block; `0x` when the call reverts. */
  readonly read: (to: string, data: string) => Effect.Effect<string, DriverError>
}

export interface JsonRpc {
  /**
   * Runs `work` against one endpoint whose chain id was checked; on failure against the next, each at most once.
   * What worked is tried first the next time.
   */
  readonly pinned: <A>(work: (endpoint: Endpoint) => Effect.Effect<A, DriverError>) => Effect.Effect<A, DriverError>
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

const readJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Response))

/** `urls` may hold keys: no message names more of one than its place in the list. */
export const make = Effect.fnUntraced(function*(options: {
  readonly network: Network
  readonly urls: ReadonlyArray<Redacted.Redacted>
  readonly chainId: number
}) {
  const { chainId, network, urls } = options
  const client = yield* HttpClient.HttpClient
  const fail = (reason: string) => new DriverError({ network, reason })
  let preferred = 0

  const endpoints = urls.map((url, place): Endpoint & { readonly proven: () => boolean; readonly prove: Prove } => {
    const name = `rpc ${place + 1} of ${urls.length}`
    let proven = false
    const ask = Effect.fnUntraced(function*(method: string, params: ReadonlyArray<unknown>) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
      const request = HttpClientRequest.post(Redacted.value(url)).pipe(
        HttpClientRequest.bodyText(body, "application/json")
      )
      const text = yield* client.execute(request).pipe(
        Effect.flatMap((response) => response.text),
        Effect.timeout(callTimeoutMillis),
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
        Effect.mapError((error) => fail(`${name}, ${method}: ${error._tag}`))
      )
      return yield* readJson(text).pipe(Effect.mapError(() => fail(`${name}, ${method}: not JSON-RPC`)))
    })
    const resultOf = Effect.fnUntraced(function*<A>(method: string, answer: Response, result: Schema.Codec<A, any>) {
      if (answer.error !== undefined) return yield* fail(`${name}, ${method}: ${answer.error.message.slice(0, 200)}`)
      return yield* Schema.decodeUnknownEffect(result)(answer.result ?? null).pipe(
        Effect.mapError((error) => fail(`${name}, ${method}: ${error.message.slice(0, 300)}`))
      )
    })
    const call: Endpoint["call"] = (method, params, result) =>
      Effect.flatMap(ask(method, params), (answer) => resultOf(method, answer, result))
    const read: Endpoint["read"] = Effect.fnUntraced(function*(to, data) {
      const answer = yield* ask("eth_call", [{ to, data }, "latest"])
      if (answer.error !== undefined && isReverted(answer.error)) return "0x"
      return yield* resultOf("eth_call", answer, Data)
    })
    const prove = Effect.gen(function*() {
      const id = BigInt(yield* call("eth_chainId", [], Quantity))
      if (id === BigInt(chainId)) {
        proven = true
        return "proven" as const
      }
      return { found: id }
    })
    return { call, read, prove, proven: () => proven }
  })

  const wrongChain = (place: number, found: bigint) =>
    fail(`rpc ${place + 1} of ${urls.length} is on chain ${found}, but ${network} is chain ${chainId} here: ` +
      "correct the url, the network or the environment, or set `chainId` for a private network")

  const verify = Effect.forEach(endpoints, (endpoint, place) =>
    endpoint.prove.pipe(
      Effect.catch((error) => Effect.as(Effect.logWarning("a node does not answer yet", error.reason), "proven" as const)),
      Effect.flatMap((outcome) => outcome === "proven" ? Effect.void : Effect.fail(wrongChain(place, outcome.found)))
    ), { discard: true, concurrency: "unbounded" })

  const pinned: JsonRpc["pinned"] = Effect.fnUntraced(function*(work) {
    let last: DriverError = fail("no endpoint")
    for (let tried = 0; tried < endpoints.length; tried++) {
      const place = (preferred + tried) % endpoints.length
      const endpoint = endpoints[place]!
      const outcome = yield* Effect.result(Effect.gen(function*() {
        if (!endpoint.proven()) {
          const proof = yield* endpoint.prove
          if (proof !== "proven") return yield* wrongChain(place, proof.found)
        }
        return yield* work(endpoint)
      }))
      if (outcome._tag === "Success") {
        preferred = place
        return outcome.success
      }
      last = outcome.failure
    }
    return yield* last
  })

  return { pinned, verify } satisfies JsonRpc
})

type Prove = Effect.Effect<"proven" | { readonly found: bigint }, DriverError>
