/**
 * One running service that attacks are run against, and what must hold for every answer to one: it is no 5xx, it tells
 * nothing of our insides, and the log neither holds a secret nor calls it our error.
 */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { connect as connectTo, migratedDatabase } from "../../support/Database.ts"
import {
  configOf,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../../support/Service.ts"

/** Traces of our insides. A message may say "select", a trace is never so short. */
const insides = /\n\s+at |node:internal|\.ts:\d|node_modules|SqlError|PostgresError|syntax error at|\bSELECT .* FROM\b/

/** Fails on an answer that an attack must never get. */
export const assertHarmless = (found: TestResponse): TestResponse => {
  assert.isAtLeast(found.status, 200, found.text)
  assert.isBelow(found.status, 500, found.text)
  assert.notMatch(found.text, insides)
  return found
}

/** The code of a refusal, in the exact body of its family. */
export const codeOf = (found: TestResponse): string => {
  const { json, text } = assertHarmless(found)
  if (json?.success === false) {
    assert.deepStrictEqual(Object.keys(json), ["success", "error"], text)
    assert.deepStrictEqual(Object.keys(json.error), ["code", "message", "param", "details", "request_id"], text)
    return json.error.code
  }
  assert.deepStrictEqual(Object.keys(json ?? {}), ["error", "code"], text)
  return json.code
}

/** `<status> <code>`, or the status alone of what is no refusal. */
export const outcome = (found: TestResponse): string =>
  found.status < 400 ? String(assertHarmless(found).status) : `${found.status} ${codeOf(found)}`

/** What came over a connection of its own. */
export interface RawAnswer {
  readonly text: string
  readonly closed: boolean
}

/** How long a peer may say nothing before it counts as waiting for us. */
const silenceMillis = 1_500

const sendUntil = (
  isOver: (text: string) => boolean,
  url: string,
  parts: ReadonlyArray<string | Buffer>
): Effect.Effect<RawAnswer> =>
  Effect.callback<RawAnswer>((resume) => {
    const { hostname, port } = new URL(url)
    const chunks: Array<Buffer> = []
    const text = () => Buffer.concat(chunks).toString("latin1")
    const socket = connect(Number(port), hostname)
    const done = (closed: boolean) => {
      resume(Effect.succeed({ text: text(), closed }))
      socket.destroy()
    }
    socket.setTimeout(silenceMillis)
    socket.on("timeout", () => {
      if (isOver(text())) done(false)
      // Node tells of silence once, until something is sent or comes.
      else socket.setTimeout(silenceMillis)
    })
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", () => done(true))
    socket.on("close", () => done(true))
    for (const part of parts) socket.write(part)
    return Effect.sync(() => socket.destroy())
  })

/**
 * Sends bytes as they are: for what no HTTP client would send. Answers what came until the peer closed, however late it
 * was.
 */
export const sendRaw = (url: string, ...parts: ReadonlyArray<string | Buffer>): Effect.Effect<RawAnswer> =>
  sendUntil(() => false, url, parts)

/** The same for a peer that goes on waiting once it has answered: until it says nothing more. */
export const sendUnfinished = (url: string, ...parts: ReadonlyArray<string | Buffer>): Effect.Effect<RawAnswer> =>
  sendUntil((text) => text !== "", url, parts)

/** The same for a peer that has to wait for us and say nothing. */
export const sendUnanswered = (url: string, ...parts: ReadonlyArray<string | Buffer>): Effect.Effect<RawAnswer> =>
  sendUntil(() => true, url, parts)

/** The statuses of the answers in a text of a connection, in order. */
export const statusesIn = ({ text }: RawAnswer): ReadonlyArray<number> =>
  [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))

export class AttackedService extends Context.Service<AttackedService, {
  readonly service: Service
  /** A pool on the service's database. */
  readonly sql: SqlClient.SqlClient
  /** Keys of the demo merchant. */
  readonly key: string
  readonly commerceKey: string
  /** A call with the merchant's key. */
  readonly call: (path: string, sent?: TestRequest) => Effect.Effect<TestResponse>
  /** A new invoice of these fields, or of this body as it is, under a key of its own. */
  readonly create: (
    body: unknown,
    headers?: Readonly<Record<string, string | ReadonlyArray<string>>>
  ) => Effect.Effect<TestResponse>
}>()("test/AttackedService") {}

/** A deployment with limits of the test's own; the suite ends with a look at its log. */
export const attackedService = (
  limits?: Readonly<Record<string, unknown>>,
  http?: Readonly<Record<string, unknown>>,
  ownProcess = false
) =>
  Layer.effect(
    AttackedService,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          chains: [{ use: "simulated" }],
          ...(limits === undefined ? {} : { limits }),
          ...(http === undefined ? {} : { http })
        }),
        ownProcess
      })
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          const errors = service.errors()
          return errors.length === 0 ? Effect.void : Effect.die(new Error(`our own errors: ${errors.join("\n")}`))
        })
      )
      const { commerce_key: commerceKey, merchant_key: key } = yield* service.keys
      const call = (path: string, sent: TestRequest = {}) =>
        service.call(path, { ...sent, headers: { "x-api-key": key, ...sent.headers } })
      return AttackedService.of({
        service,
        sql: Context.get(yield* Layer.build(connectTo(database)), SqlClient.SqlClient),
        key,
        commerceKey,
        call,
        create: (body, headers = {}) =>
          Effect.suspend(() =>
            call("/api/v1/invoices", { body, headers: { "idempotency-key": randomUUID(), ...headers } })
          )
      })
    })
  )
