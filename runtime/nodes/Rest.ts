/**
 * JSON over GET and POST, as a client of one endpoint: answers are decoded by a schema, and a status that is no success
 * is a {@link DriverError} of its kind. See `Endpoints.ts` for how a driver uses it.
 */
import { Effect, Schema } from "effect"
import type { DriverError, DriverErrorKind } from "../Chains.ts"
import type { Connection, NodeEndpoint } from "./Endpoints.ts"
import { type CallLimits, kindOfStatus, smallCall } from "./NodeHttp.ts"
import { parseJson } from "./NodeJson.ts"

export interface RestClient extends NodeEndpoint {
  /** What is at a path, query included. 404 fails with `not_found`, other statuses by {@link kindOfStatus}. */
  readonly get: <A>(path: string, answer: Schema.Codec<A, any>, limits?: CallLimits) => Effect.Effect<A, DriverError>
  /** As `get`, with null for 404: for what may be absent. */
  readonly find: <A>(
    path: string,
    answer: Schema.Codec<A, any>,
    limits?: CallLimits
  ) => Effect.Effect<A | null, DriverError>
  /** The answer to a JSON body. */
  readonly post: <A>(
    path: string,
    body: unknown,
    answer: Schema.Codec<A, any>,
    limits?: CallLimits
  ) => Effect.Effect<A, DriverError>
}

export interface RestOptions {
  /** What kind of failure a refusal is, by its status and its own words; absent or null: what its status says. */
  readonly kindOf?: (status: number, message: string) => DriverErrorKind | null
  /** Whole numbers of 2^53 and more come as bigint; absent: they come as doubles. */
  readonly isExact?: boolean
}

const Refusal = Schema.Struct({
  error: Schema.optionalKey(Schema.Unknown),
  message: Schema.optionalKey(Schema.Unknown)
})

/** What a refusal says for people: `message`, else `error`, which providers use for it. */
const messageOf = (json: unknown): string => {
  if (!Schema.is(Refusal)(json)) return ""
  const words = [json.message, json.error].find((each) => typeof each === "string")
  return typeof words === "string" ? words.slice(0, 200) : ""
}

/** The client of one endpoint. */
export const restClient = (connection: Connection, options: RestOptions = {}): RestClient => {
  const { fail, name, network, place } = connection
  const { isExact = false, kindOf = () => null } = options

  const ask = Effect.fnUntraced(function*<A>(
    route: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: unknown },
    answer: Schema.Codec<A, any>,
    limits: CallLimits
  ) {
    const { body, method, path } = route
    const subject = `${method} ${path.split("?")[0]!.slice(0, 100)}`
    const { bytes, status } = yield* connection.send({
      subject,
      method,
      path,
      headers: { accept: "application/json" },
      ...(body === undefined ? {} : { body: { content: JSON.stringify(body), type: "application/json" } }),
      limits
    })
    const text = bytes.toString("utf8")
    const kind = kindOfStatus(status)
    if (kind !== null) {
      const json = parseJson(text, false)
      const message = json._tag === "Success" ? messageOf(json.success) : ""
      return yield* fail(
        subject,
        `HTTP status ${status}${message === "" ? "" : `: ${message}`}`,
        kindOf(status, message) ?? kind
      )
    }
    const json = yield* Effect.mapError(
      Effect.fromResult(parseJson(text, isExact)),
      () => fail(subject, "not JSON", "unanswered")
    )
    return yield* Schema.decodeUnknownEffect(answer)(json).pipe(
      Effect.mapError((error) => fail(subject, error.message.slice(0, 300), "contradiction"))
    )
  })

  const get: RestClient["get"] = (path, answer, limits = smallCall) => ask({ method: "GET", path }, answer, limits)
  const find: RestClient["find"] = (path, answer, limits) =>
    Effect.catch(get(path, answer, limits), (error) => error.kind === "not_found" ? Effect.succeed(null) : error)
  const post: RestClient["post"] = (path, body, answer, limits = smallCall) =>
    ask({ method: "POST", path, body }, answer, limits)
  return { network, place, name, get, find, post }
}
