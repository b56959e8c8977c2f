/** The API as pages call it: for one person, of one merchant, in one environment. */
import { Effect } from "effect"
import { type Grant, readError } from "../../runtime/Http.ts"
import type { LocalAnswer, LocalCall, LocalCalls } from "../../runtime/LocalCalls.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type { Schema } from "effect"

type Path = `/api/${string}`
type Parameters = Readonly<Record<string, string | number | null | undefined>>

/** A list as the API answers it. */
export interface List<A> {
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

/**
 * Calls of one person. `A` is what the route's schema says of its answer, which was encoded by it a moment ago: it is
 * not checked again.
 */
export interface MerchantApi {
  /** The answer's data. Fails as the API does. */
  readonly get: <A>(path: Path, query?: Parameters) => Effect.Effect<A, PublicError>
  /** As `get`; null where the route is not served. Ask only for what the person may read: refusals are audited. */
  readonly find: <A>(path: Path, query?: Parameters) => Effect.Effect<A | null, PublicError>
  /** `formKey`: a form that is sent twice acts once. */
  readonly send: <A>(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: Path,
    body: Schema.Json | undefined,
    formKey: string | null
  ) => Effect.Effect<A, PublicError>
}

interface ErrorFields {
  readonly code: string
  readonly message: string
  readonly param?: string | null
  readonly details?: Readonly<Record<string, Schema.Json>> | null
}

/** Both forms of an error's body (modules/docs/reference/errors.md). */
export const errorOf = ({ body, headers }: Pick<LocalAnswer, "body" | "headers">): PublicError => {
  const wire = body as { readonly error?: string | ErrorFields; readonly code?: string }
  const fields: ErrorFields = typeof wire.error === "object"
    ? wire.error
    : { code: wire.code ?? "INTERNAL_ERROR", message: wire.error ?? "" }
  const retryAfter = Number(headers["retry-after"] ?? Number.NaN)
  return readError(fields.code, {
    message: fields.message,
    param: fields.param ?? null,
    details: fields.details ?? null,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null
  })
}

/** What a wrapped answer holds, or a flat one is. */
const dataOf = (body: Schema.Json): unknown =>
  typeof body === "object" && body !== null && "success" in body ? (body as { data: unknown }).data : body

/** The path with a query. */
export const withQuery = <P extends string>(path: P, query: Parameters = {}): P => {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]): Array<[string, string]> =>
      value === null || value === undefined || value === "" ? [] : [[name, String(value)]]
    )
  )
  return search.size === 0 ? path : `${path}?${search}` as P
}

export const makeMerchantApi = (
  { call }: LocalCalls["Service"],
  caller: Grant,
  requestId: string
): MerchantApi => {
  const ask = (request: LocalCall): Effect.Effect<unknown, PublicError> =>
    Effect.flatMap(
      call(caller, { ...request, requestId }),
      (answer) => answer.status < 300 ? Effect.succeed(dataOf(answer.body)) : Effect.fail(errorOf(answer))
    )
  const get: MerchantApi["get"] = (path, query) =>
    ask({ method: "GET", path: withQuery(path, query) }) as Effect.Effect<never, PublicError>
  return {
    get,
    find: (path, query) =>
      Effect.catch(
        get<never>(path, query),
        (error) => error.code === "NOT_FOUND" ? Effect.succeed(null) : Effect.fail(error)
      ),
    send: (method, path, body, formKey) =>
      ask({
        method,
        path,
        ...(body === undefined ? {} : { body }),
        ...(formKey === null ? {} : { idempotencyKey: formKey })
      }) as Effect.Effect<never, PublicError>
  }
}
