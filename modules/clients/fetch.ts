/**
 * The API for programs without Effect. Typed by the OpenAPI document, it keeps one Idempotency-Key over all tries of a
 * write, tries again what may succeed, and walks lists. Runs in merchants' programs.
 */
import type { Event as ServiceEvent, Paths } from "./openapi.ts"

type Method = "get" | "post" | "put" | "patch" | "delete"

/** The paths that take a method. */
export type PathsOf<M extends Method> = {
  [P in keyof Paths]: Paths[P] extends Record<M, { answer: unknown }> ? P : never
}[keyof Paths]

type Operation<P extends keyof Paths, M extends Method> = Paths[P] extends Record<M, infer O> ? O : never

/** What a call answers. */
export type Answer<P extends keyof Paths, M extends Method> = Operation<P, M> extends { answer: infer A } ? A
  : undefined

/** The part of a call as its operation has it: required, optional, or not at all. */
type CallPart<O, Name extends "path" | "query" | "body"> = Name extends keyof O ? Readonly<Pick<O, Name>>
  : { readonly [_ in Name]?: never }

/** What a path has in braces. */
type PathNames<P> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | PathNames<Rest> : never

/** What stands in a path's braces: any text, where the operation does not say which. */
type PathPart<P, O> = "path" extends keyof O ? CallPart<O, "path">
  : [PathNames<P>] extends [never] ? { readonly path?: never }
  : { readonly path: { readonly [_ in PathNames<P>]: string } }

/** What any call may say. */
export interface CallOptions {
  /** Default: a new UUID for each write, kept over its tries. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** What a call says: parts that its operation needs are required. */
export type Call<P extends keyof Paths, M extends Method> =
  & CallOptions
  & PathPart<P, Operation<P, M>>
  & CallPart<Operation<P, M>, "query">
  & CallPart<Operation<P, M>, "body">

/** The last argument may be left out where nothing in it is required. */
type Arguments<C> = {} extends C ? [call?: C] : [call: C]

/** The objects of a list, whichever family of bodies it has. */
export type Item<A> = A extends { data: ReadonlyArray<infer T> } ? T
  : A extends { data: { data: ReadonlyArray<infer T> } } ? T
  : never

type ListPaths = { [P in PathsOf<"get">]: [Item<Answer<P, "get">>] extends [never] ? never : P }[PathsOf<"get">]

/** A secret key for servers, a wallet's access token, or the session of one payment page. */
export type Credential =
  | { readonly apiKey: string }
  | { readonly accessToken: string | (() => string) }
  | { readonly session: { readonly token: string; readonly signature: string } }
  | { readonly apiKey?: never; readonly accessToken?: never; readonly session?: never }

export type ClientOptions = Credential & {
  /** Where the service is, e.g. `https://pay.example`. */
  readonly baseUrl: string
  /** A date; default: what the key is pinned to. */
  readonly version?: string
  /** Tries of one call, the first included. Default 4. */
  readonly attempts?: number
  /** Milliseconds that one call may take with all its tries. Default 60,000. */
  readonly timeoutMillis?: number
  readonly fetch?: typeof fetch
}

/** Milliseconds of the first pause between two tries, doubled each time up to the longest. */
const firstPauseMillis = 500
const longestPauseMillis = 8_000

const defaultAttempts = 4
const defaultTimeoutMillis = 60_000

/** Objects of a page while a list is walked: the most that lists give. */
const pageSize = 100

/** A call that failed: what the service said, or why nothing was heard (`NETWORK_ERROR`, status 0). */
export class TillwireError extends Error {
  override readonly name = "TillwireError"
  readonly status: number
  /** Decide by this; see `/docs/errors/{code}`. */
  readonly code: string
  /** The field at fault, where the service names one. */
  readonly param: string | null
  readonly details: Readonly<Record<string, unknown>> | null
  /** Names the call in the service's logs. */
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null

  constructor(
    message: string,
    facts: Partial<Pick<TillwireError, "status" | "code" | "param" | "details" | "requestId" | "retryAfterSeconds">>,
    cause?: unknown
  ) {
    super(message, { cause })
    this.status = facts.status ?? 0
    this.code = facts.code ?? "NETWORK_ERROR"
    this.param = facts.param ?? null
    this.details = facts.details ?? null
    this.requestId = facts.requestId ?? null
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null
  }
}

const parseJson = (text: string): any => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An error of either family; what is neither came from something in between. */
const errorOf = (response: Response, text: string): TillwireError => {
  const body = parseJson(text) ?? {}
  const isWrapped = typeof body.error === "object" && body.error !== null
  const fields = isWrapped ? body.error : { code: body.code, message: body.error }
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  const message = typeof fields.message === "string" ? fields.message : `The answer was ${response.status}`
  return new TillwireError(message, {
    ...fields,
    status: response.status,
    code: typeof fields.code === "string" ? fields.code : `HTTP_${response.status}`,
    requestId: response.headers.get("x-request-id"),
    retryAfterSeconds: seconds >= 0 ? seconds : null
  })
}

const headersOf = (options: ClientOptions): Record<string, string> => {
  const { accessToken, apiKey, session, version } = options as {
    readonly accessToken?: string | (() => string)
    readonly apiKey?: string
    readonly session?: { readonly token: string; readonly signature: string }
    readonly version?: string
  }
  const token = typeof accessToken === "function" ? accessToken() : accessToken
  return {
    ...apiKey === undefined ? {} : { "x-api-key": apiKey },
    ...token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...session === undefined ? {} : { "x-session-token": session.token, "x-signature": session.signature },
    ...version === undefined ? {} : { "x-service-version": version }
  }
}

interface AnyCall extends CallOptions {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** A part of a path as it is sent. Throws where it is missing, or would lead to another path. */
const segmentOf = (name: string, value: unknown): string => {
  const text = String(value ?? "")
  if (text === "" || text === "." || text === "..") {
    throw new Error(`The path needs ${name}, and ${text || "nothing"} is none`)
  }
  return encodeURIComponent(text)
}

const addressOf = (baseUrl: string, path: string, call: AnyCall): string => {
  const pathname = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(name, call.path?.[name]))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined && value !== null) query.set(name, String(value))
  }
  return `${baseUrl.replace(/\/+$/, "")}${pathname}${query.size === 0 ? "" : `?${query}`}`
}

const pause = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop)
      resolve()
    }, millis)
    signal.addEventListener("abort", stop, { once: true })
  })

/** Sign-in takes no Idempotency-Key, and what it answers is good once: only a refusal to listen is tried again. */
const isSingleUse = (path: string) => path.startsWith("/api/v1/auth/")

const mayRetry = ({ code, status }: TillwireError, path: string): boolean =>
  status === 429 || !isSingleUse(path) && (status === 0 || status >= 500 || code === "IDEMPOTENCY_REQUEST_IN_PROGRESS")

/** Full jitter, and never sooner than the service asked for. */
const pauseMillis = ({ retryAfterSeconds }: TillwireError, attempt: number): number => {
  const longest = Math.min(longestPauseMillis, firstPauseMillis * 2 ** (attempt - 1))
  return (retryAfterSeconds ?? 0) * 1_000 + Math.random() * longest
}

export interface Client {
  get<P extends PathsOf<"get">>(path: P, ...call: Arguments<Call<P, "get">>): Promise<Answer<P, "get">>
  post<P extends PathsOf<"post">>(path: P, ...call: Arguments<Call<P, "post">>): Promise<Answer<P, "post">>
  put<P extends PathsOf<"put">>(path: P, ...call: Arguments<Call<P, "put">>): Promise<Answer<P, "put">>
  patch<P extends PathsOf<"patch">>(path: P, ...call: Arguments<Call<P, "patch">>): Promise<Answer<P, "patch">>
  delete<P extends PathsOf<"delete">>(path: P, ...call: Arguments<Call<P, "delete">>): Promise<Answer<P, "delete">>
  /** Every object of a list, newest first, page after page. */
  pages<P extends ListPaths>(path: P, ...call: Arguments<Call<P, "get">>): AsyncIterable<Item<Answer<P, "get">>>
  readonly events: {
    /**
     * The events after the one with `id`, oldest first, up to the newest there is. Keep the last id for the next time.
     */
    since(id: string, call?: Call<"/api/v1/events", "get">): AsyncIterable<ServiceEvent>
  }
}

/**
 * A client of one deployment. Throws if a secret key is given to a browser: everyone who opens the page could read it.
 *
 * @example
 * const tillwire = createClient({ baseUrl: "https://pay.example", apiKey })
 * const { payment_url } = await tillwire.post("/api/v1/invoices", { body: { amount_usd: 5 } })
 */
export const createClient = (options: ClientOptions): Client => {
  if ("apiKey" in options && options.apiKey !== undefined && "document" in globalThis) {
    throw new Error("An API key must not be in a browser: use the payment session there")
  }
  const { attempts = defaultAttempts, baseUrl, fetch: send = fetch, timeoutMillis = defaultTimeoutMillis } = options

  /** One try. A lost connection is an error like any other; an abort by the caller is not. */
  const sendOnce = async (url: string, init: RequestInit): Promise<unknown> => {
    let response: Response
    let text: string
    try {
      response = await send(url, init)
      text = await response.text()
    } catch (cause) {
      throw new TillwireError("No answer", {}, cause)
    }
    if (!response.ok) throw errorOf(response, text)
    return text === "" ? undefined : parseJson(text)
  }

  const request = async (method: Uppercase<Method>, path: string, call: AnyCall = {}): Promise<any> => {
    const deadline = AbortSignal.timeout(timeoutMillis)
    const end = Date.now() + timeoutMillis
    const signal = call.signal === undefined ? deadline : AbortSignal.any([deadline, call.signal])
    const url = addressOf(baseUrl, path, call)
    const key = call.idempotencyKey ?? crypto.randomUUID()
    const init: RequestInit = {
      method,
      signal,
      headers: {
        ...headersOf(options),
        ...method === "GET" ? {} : { "idempotency-key": key },
        ...call.body === undefined ? {} : { "content-type": "application/json" },
        ...call.headers
      },
      ...call.body === undefined ? {} : { body: JSON.stringify(call.body) }
    }
    for (let attempt = 1;; attempt++) {
      try {
        return await sendOnce(url, init)
      } catch (error) {
        call.signal?.throwIfAborted()
        if (!(error instanceof TillwireError) || attempt >= attempts || !mayRetry(error, path)) throw error
        const wait = pauseMillis(error, attempt)
        if (Date.now() + wait >= end) throw error
        await pause(wait, signal)
      }
    }
  }

  const listOf = (answer: any): { readonly data: ReadonlyArray<any>; readonly has_more: boolean } =>
    Array.isArray(answer.data) ? answer : answer.data

  async function* pages(path: string, call: AnyCall = {}): AsyncGenerator<any> {
    let query: Readonly<Record<string, unknown>> = { limit: pageSize, ...call.query }
    for (;;) {
      const { data, has_more } = listOf(await request("GET", path, { ...call, query }))
      yield* data
      const last = data.at(-1)
      if (!has_more || last === undefined) return
      query = { ...query, page: undefined, starting_after: last.id }
    }
  }

  async function* since(id: string, call: AnyCall = {}): AsyncGenerator<any> {
    let after = id
    for (;;) {
      const query = { limit: pageSize, ...call.query, ending_before: after }
      const { data, has_more } = listOf(await request("GET", "/api/v1/events", { ...call, query }))
      yield* data.toReversed()
      after = data[0]?.id ?? after
      if (!has_more) return
    }
  }

  return {
    get: (path, ...[call]) => request("GET", path, call as AnyCall),
    post: (path, ...[call]) => request("POST", path, call as AnyCall),
    put: (path, ...[call]) => request("PUT", path, call as AnyCall),
    patch: (path, ...[call]) => request("PATCH", path, call as AnyCall),
    delete: (path, ...[call]) => request("DELETE", path, call as AnyCall),
    pages: (path, ...[call]) => pages(path, call as AnyCall),
    events: { since: (id, call) => since(id, call as AnyCall) }
  }
}
