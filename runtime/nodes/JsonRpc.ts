/**
 * JSON-RPC 2.0 over HTTP POST, as a client of one endpoint: results are decoded by a schema, and a node's error is a
 * {@link DriverError} of the kind the driver gives it. See `Endpoints.ts` for how a driver uses it.
 */
import { Effect, MutableRef, Schema } from "effect"
import type { DriverError, DriverErrorKind } from "../Chains.ts"
import type { Connection, NodeEndpoint } from "./Endpoints.ts"
import { type CallLimits, kindOfStatus, smallCall } from "./NodeHttp.ts"
import { parseJson } from "./NodeJson.ts"

const JsonRpcError = Schema.Struct({
  code: Schema.optionalKey(Schema.Int),
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
})
export type JsonRpcError = typeof JsonRpcError.Type

const JsonRpcAnswer = Schema.Struct({
  id: Schema.optionalKey(Schema.Unknown),
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(JsonRpcError)
})
/** What a node answered: a result, or its own error. */
export type JsonRpcAnswer = typeof JsonRpcAnswer.Type

export interface JsonRpcClient extends NodeEndpoint {
  /** The result of a method. An error of the node fails with the kind that `kindOf` gives it. */
  readonly call: <A>(
    method: string,
    params: ReadonlyArray<unknown>,
    result: Schema.Codec<A, any>
  ) => Effect.Effect<A, DriverError>
  /** The answer to a method as it is, for callers to whom an error of the node is an answer. */
  readonly ask: (method: string, params: ReadonlyArray<unknown>) => Effect.Effect<JsonRpcAnswer, DriverError>
  /** What {@link JsonRpcClient.call} makes of an answer. */
  readonly resultOf: <A>(
    method: string,
    answer: JsonRpcAnswer,
    result: Schema.Codec<A, any>
  ) => Effect.Effect<A, DriverError>
}

export interface JsonRpcOptions {
  /** What a call may cost; absent: `smallCall`. */
  readonly limitsOf?: (method: string, params: ReadonlyArray<unknown>) => CallLimits
  /** What kind of failure a node's own error is; absent: `refused`. */
  readonly kindOf?: (error: JsonRpcError) => DriverErrorKind
  /** Whole numbers of 2^53 and more come as bigint; absent: they come as doubles. */
  readonly isExact?: boolean
}

/**
 * Whether an answer belongs to a call. An error without an id is to a call that the node could not read (JSON-RPC 2.0,
 * "Response object").
 */
const isAnswerTo = (id: number, answer: JsonRpcAnswer): boolean =>
  String(answer.id) === String(id) || (answer.error !== undefined && (answer.id ?? null) === null)

const decodeAnswer = Schema.decodeUnknownEffect(JsonRpcAnswer)

/** The client of one endpoint. */
export const jsonRpcClient = (connection: Connection, options: JsonRpcOptions = {}): JsonRpcClient => {
  const { fail, name, network, place } = connection
  const { isExact = false, kindOf = () => "refused", limitsOf = () => smallCall } = options

  const lastId = MutableRef.make(0)

  const ask: JsonRpcClient["ask"] = Effect.fnUntraced(function*(method, params) {
    const id = MutableRef.incrementAndGet(lastId)
    const { bytes, status } = yield* connection.send({
      subject: method,
      method: "POST",
      body: { content: JSON.stringify({ jsonrpc: "2.0", id, method, params }), type: "application/json" },
      limits: limitsOf(method, params)
    })
    // A node may give its own error with any status, but a result with success alone: a cache or a proxy may have sent
    // another.
    const kind = kindOfStatus(status)
    const notJsonRpc = () =>
      kind === null ? fail(method, "not JSON-RPC", "unanswered") : fail(method, `HTTP status ${status}`, kind)
    const json = yield* Effect.mapError(Effect.fromResult(parseJson(bytes.toString("utf8"), isExact)), notJsonRpc)
    const answer = yield* Effect.mapError(decodeAnswer(json), notJsonRpc)
    if (answer.error === undefined && kind !== null) return yield* notJsonRpc()
    if (!isAnswerTo(id, answer)) return yield* fail(method, "its answer is to another call", "contradiction")
    return answer
  })

  const resultOf: JsonRpcClient["resultOf"] = Effect.fnUntraced(function*(method, { error, result = null }, codec) {
    if (error !== undefined) return yield* fail(method, error.message.slice(0, 200), kindOf(error))
    return yield* Schema.decodeUnknownEffect(codec)(result).pipe(
      Effect.mapError(({ message }) => fail(method, message.slice(0, 300), "contradiction"))
    )
  })

  const call: JsonRpcClient["call"] = (method, params, result) =>
    Effect.flatMap(ask(method, params), (answer) => resultOf(method, answer, result))

  return { network, place, name, call, ask, resultOf }
}
