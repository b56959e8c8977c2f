/**
 * The operator's API on the internal port. Its token is TILLWIRE_ADMIN_TOKEN, else `admin.token` of the config; its
 * address TILLWIRE_ADMIN_URL, else the config's. TILLWIRE_OPERATOR names who acts, for the log of operators.
 */
import { Effect, Schema } from "effect"
import { callFailure, places } from "./Connection.ts"
import { TillwireError } from "../clients/fetch.ts"
import { environment } from "./Environment.ts"
import { type CommandFailed, commandFailed } from "./Failure.ts"
import { loadConfig } from "./ServiceConfig.ts"

/** Milliseconds that a call may take. */
const callTimeoutMillis = 30_000

const ErrorBody = Schema.Struct({
  error: Schema.Struct({
    code: Schema.String,
    message: Schema.String,
    request_id: Schema.optional(Schema.NullOr(Schema.String))
  })
})

const noToken = commandFailed(
  "unauthorized",
  "there is no operator token",
  "Set admin.token in the config (openssl rand -hex 32), or TILLWIRE_ADMIN_TOKEN here."
)

const readToken = Effect.gen(function*() {
  const given = (yield* environment)["TILLWIRE_ADMIN_TOKEN"]
  if (given !== undefined && given !== "") return given
  const { config } = yield* loadConfig
  return config.settings.admin?.token ?? (yield* noToken)
})

/** An object of an answer, as it came. */
export type AdminObject = Readonly<Record<string, unknown>>

/** A page of a list. */
export interface AdminList {
  readonly data: ReadonlyArray<AdminObject>
  readonly has_more: boolean
}

export interface AdminRequest {
  readonly method: "GET" | "POST"
  /** Below `/admin/v1`. */
  readonly path: string
  /** What is undefined is not sent. */
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: Readonly<Record<string, unknown>>
}

/** The address of a request. Pure. */
export const addressOf = (base: string, { path, query = {} }: AdminRequest): string => {
  const url = new URL(`${base.replace(/\/+$/, "")}/admin/v1${path}`)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

const failureOf = (status: number, json: unknown, base: string): CommandFailed => {
  const body = Schema.decodeUnknownOption(ErrorBody)(json)
  const error = body._tag === "Some"
    ? body.value.error
    : { code: `HTTP_${status}`, message: `The answer was ${status}` }
  return callFailure(
    new TillwireError(error.message, {
      status,
      code: error.code,
      requestId: body._tag === "Some" ? body.value.error.request_id ?? null : null
    }),
    base,
    false
  )
}

/** One call; the answer is the `data` of its body. */
export const adminCall = Effect.fnUntraced(function*(request: AdminRequest) {
  const variables = yield* environment
  const base = variables["TILLWIRE_ADMIN_URL"] ?? (yield* places).internalUrl
  const token = yield* readToken
  const operator = variables["TILLWIRE_OPERATOR"]
  const { json, status } = yield* Effect.tryPromise({
    try: (signal) =>
      fetch(addressOf(base, request), {
        method: request.method,
        signal: AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMillis)]),
        headers: {
          authorization: `Bearer ${token}`,
          ...(operator === undefined ? {} : { "x-operator": operator }),
          ...(request.method === "POST" ? { "content-type": "application/json" } : {})
        },
        ...(request.method === "POST" ? { body: JSON.stringify(request.body ?? {}) } : {})
      }).then((response) =>
        response.json().then(
          (json: unknown) => ({ status: response.status, json }),
          () => ({ status: response.status, json: undefined })
        )
      ),
    catch: (cause) => callFailure(new TillwireError("No answer", {}, cause), base, false)
  })
  if (status >= 400) return yield* failureOf(status, json, base)
  return (json as { readonly data: AdminObject }).data
})

/** A call that answers a list. */
export const adminList = (path: string, query: AdminRequest["query"] = {}) =>
  Effect.map(adminCall({ method: "GET", path, query }), (data) => data as unknown as AdminList)
