/** A request of node:http as routes see it: an `HttpServerRequest` that reads each part when it is asked for. */
import { NodeHttpIncomingMessage } from "@effect/platform-node/NodeHttpIncomingMessage"
import * as NodeMultipart from "@effect/platform-node/NodeMultipart"
import { MaxBytesError } from "@effect/platform-node/NodeStream"
import { Effect, Stream } from "effect"
import { Cookies, Headers, HttpIncomingMessage, HttpServerError, HttpServerRequest, type Multipart } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"

const headersPrototype = Object.getPrototypeOf(Headers.empty)

/** Node has the names in lower case already, so they are copied as they are. */
const headersOf = ({ headers }: IncomingMessage): Headers.Headers => {
  const copy = Object.assign(Object.create(headersPrototype), headers)
  const cookies = headers["set-cookie"]
  if (cookies !== undefined) copy["set-cookie"] = cookies.join(", ")
  return copy
}

const absoluteTarget = /^https?:\/\//i

/** Requests whose sender waits to be told that it may send the body (`Expect: 100-continue`). */
const awaitingContinue = new WeakSet<IncomingMessage>()

/** Notes that the sender waits until somebody reads the body. */
export const markAwaitingContinue = (source: IncomingMessage): void => void awaitingContinue.add(source)

/** Whether the sender still waits to be told that it may send the body. */
export const isAwaitingContinue = (source: IncomingMessage): boolean => awaitingContinue.has(source)

type Changes = Parameters<HttpServerRequest.HttpServerRequest["modify"]>[0]

export class NodeRequest extends NodeHttpIncomingMessage<HttpServerError.HttpServerError>
  implements HttpServerRequest.HttpServerRequest
{
  readonly [HttpServerRequest.TypeId]: typeof HttpServerRequest.TypeId = HttpServerRequest.TypeId
  /** What it is answered by, where `NodeHttpServerRequest.toServerResponse` finds it. */
  readonly response: ServerResponse
  readonly url: string
  readonly protocol: "http" | "https" | undefined = undefined
  // The connection is kept after an answer, and `NodeResponse.ts` says what becomes of a body that nobody read.
  protected override readonly destroyOnOverflow = false
  protected override readonly closeOnDone = false
  private headersRead: Headers.Headers | undefined = undefined
  private cookiesRead: Readonly<Record<string, string>> | undefined = undefined
  private multipartRead: HttpServerRequest.HttpServerRequest["multipart"] | undefined = undefined

  constructor(source: IncomingMessage, response: ServerResponse) {
    super(source, (cause) => this.parseError(cause instanceof MaxBytesError ? "BodyTooLarge" : "Parse", cause))
    this.response = response
    const target = source.url!
    const absolute = target.startsWith("/") || !absoluteTarget.test(target) ? null : URL.parse(target)
    this.url = absolute === null ? target : absolute.pathname + absolute.search
    // The host of an absolute target is the one that is meant (RFC 9112, section 3.2.2).
    if (absolute !== null) this.headersRead = Headers.set(headersOf(source), "host", absolute.host)
  }

  private parseError(reason: "BodyTooLarge" | "Parse", cause: unknown): HttpServerError.HttpServerError {
    return new HttpServerError.HttpServerError({
      reason: new HttpServerError.RequestParseError({ request: this, reason, cause })
    })
  }

  get method(): HttpServerRequest.HttpServerRequest["method"] {
    return this.source.method!
  }

  override get headers(): Headers.Headers {
    return this.headersRead ??= headersOf(this.source)
  }

  get cookies(): Readonly<Record<string, string>> {
    return this.cookiesRead ??= Cookies.parseHeader(this.headers["cookie"] ?? "")
  }

  get originalUrl(): string {
    const { headers: { host }, url } = this.source
    return url![0] !== "/" || host === undefined ? url! : `http://${host}${url}`
  }

  get peerAddress(): HttpServerRequest.HttpServerRequest["peerAddress"] {
    return this.remoteAddress
  }

  /** Lets the sender send the body, where it waits for that. */
  private letSend(): void {
    if (awaitingContinue.delete(this.source) && !this.response.headersSent) this.response.writeContinue()
  }

  override get stream(): Stream.Stream<Uint8Array, HttpServerError.HttpServerError> {
    return Stream.suspend(() => {
      this.letSend()
      return super.stream
    })
  }

  override get arrayBuffer(): Effect.Effect<ArrayBuffer, HttpServerError.HttpServerError> {
    return Effect.suspend(() => {
      this.letSend()
      return super.arrayBuffer
    })
  }

  get multipart(): HttpServerRequest.HttpServerRequest["multipart"] {
    return this.multipartRead ??= Effect.runSync(Effect.cached(Effect.suspend(() => {
      this.letSend()
      return NodeMultipart.persisted(this.source, this.source.headers)
    })))
  }

  get multipartStream(): Stream.Stream<Multipart.Part, Multipart.MultipartError> {
    return Stream.suspend(() => {
      this.letSend()
      return NodeMultipart.stream(this.source, this.source.headers)
    })
  }

  get upgrade(): HttpServerRequest.HttpServerRequest["upgrade"] {
    return this.upgradeWith()
  }

  /** Upgrades come to the server as an event of their own. */
  upgradeWith(): HttpServerRequest.HttpServerRequest["upgrade"] {
    return Effect.fail(this.parseError("Parse", new Error("the request asks for no upgrade")))
  }

  toJSON(): unknown {
    return HttpIncomingMessage.inspect(this, { _id: "HttpServerRequest", method: this.method, url: this.url })
  }

  /** The same request, seen with `changes`. */
  modify(changes: Changes): HttpServerRequest.HttpServerRequest {
    const properties = Object.entries(changes).map(([name, value]) => [name, { value }] as const)
    return Object.create(this, Object.fromEntries(properties)) as NodeRequest
  }
}
