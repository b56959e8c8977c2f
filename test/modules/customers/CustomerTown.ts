/**
 * A shop on devnet whose owner signs in with a wallet, its customers, and a look into the database as somebody has who
 * stole a copy of it.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { answers, makeReceiver, type Receiver } from "../../support/Receiver.ts"
import { makeRestartable } from "../../support/Restartable.ts"
import { configOf, startService, temporaryDirectory, type TestResponse, until } from "../../support/Service.ts"
import { assertStatus } from "../../journeys/Shop.ts"
import { makeKey, signIn } from "../../journeys/Tenants.ts"

/** A merchant with a token of its owner and its keys. */
export interface Owner {
  readonly merchantId: number
  readonly jwt: Readonly<Record<string, string>>
  readonly merchant: Readonly<Record<string, string>>
  readonly commerce: Readonly<Record<string, string>>
}

export class CustomerTown extends Context.Service<CustomerTown, {
  readonly sql: SqlClient.SqlClient
  readonly receiver: Receiver
  readonly mine: Owner
  readonly other: Owner
  /** A call with a fresh idempotency key, unless `headers` has one. */
  readonly ask: (
    credential: Readonly<Record<string, string>>,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    method?: string
  ) => Effect.Effect<TestResponse>
  /** Kills the service, and starts it again on its data. */
  readonly killAndRestart: Effect.Effect<void>
  readonly end: Effect.Effect<void>
  readonly boot: Effect.Effect<void>
}>()("test/CustomerTown") {
  static readonly layer = Layer.effect(
    CustomerTown,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }], receivers: [receiver.host] })
      const options: Readonly<Record<string, object>> = {
        identity: { signup: "open" },
        payments: { payorEmailDays: 30, refundAddressDays: 60 }
      }
      const start = Effect.flatMap(temporaryDirectory, (directory) =>
        startService({
          directory,
          config: {
            ...config,
            modules: config.modules.map((entry) =>
              options[entry.use] === undefined ? entry : { ...entry, options: options[entry.use] }
            )
          }
        }))
      const running = yield* makeRestartable(start)
      const service = () => running.current()!
      const settle = Effect.gen(function*() {
        const session = yield* signIn(service(), privateKeyToAccount(generatePrivateKey()))
        const jwt = { authorization: `Bearer ${session.access_token}` }
        const key = (scope: string) =>
          Effect.map(makeKey(service(), jwt, { scope, environment: "devnet" }), (made) => ({ "x-api-key": made.key }))
        const owner: Owner = {
          merchantId: session.merchant.id,
          jwt,
          merchant: yield* key("merchant"),
          commerce: yield* key("commerce")
        }
        return owner
      })
      const context = yield* Layer.build(Layer.orDie(connect(database)))
      const sql = Context.get(context, SqlClient.SqlClient)
      // What is started next need not wait until the leases of what was killed run out, half a minute for some.
      const end = Effect.andThen(
        running.end("SIGKILL"),
        Effect.orDie(Effect.asVoid(sql`UPDATE leases SET until = '-infinity'`))
      )
      return CustomerTown.of({
        sql,
        receiver,
        mine: yield* settle,
        other: yield* settle,
        ask: (credential, path, body, headers, method = body === undefined ? "GET" : "POST") =>
          service().call(path, {
            method,
            headers: { ...credential, ...(body === undefined ? {} : { "idempotency-key": randomUUID() }), ...headers },
            ...(body === undefined ? {} : { body })
          }),
        killAndRestart: Effect.andThen(end, running.boot),
        end,
        boot: running.boot
      })
    })
  )
}

/** The body of an answer with status 200. */
export const ok = (...sent: Parameters<CustomerTown["Service"]["ask"]>) =>
  Effect.flatMap(CustomerTown, ({ ask }) =>
    Effect.map(ask(...sent), (answer) => {
      const json = assertStatus(200, answer)
      return json.data ?? json
    }))

/** Where a customer's calls are. */
export const customerPath = (id: string, what: string) => `/api/v1/customers/${encodeURIComponent(id)}/${what}`

export const erased = Effect.fnUntraced(function*(owner: Owner, customerId: string) {
  const town = yield* CustomerTown
  return yield* until(
    "the customer is erased",
    Effect.provideService(ok(owner.merchant, customerPath(customerId, "erasure")), CustomerTown, town),
    ({ status }) => status === "done"
  )
})

/** Every table of the database that has one of these texts in a row, as `<table>: <text>`. */
export const tablesWith = Effect.fnUntraced(function*(texts: ReadonlyArray<string>) {
  const { sql } = yield* CustomerTown
  const tables = yield* sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
  const found = yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(
      sql<{ text: string }>`SELECT DISTINCT wanted AS text FROM unnest(${[...texts]}::text[]) AS wanted
        JOIN ${sql(name)} t ON position(lower(wanted) IN lower(t::text)) > 0`,
      (rows) => rows.map(({ text }) => `${name}: ${text}`)
    ))
  return found.flat().toSorted()
}, Effect.orDie)

/** A receiver that repeats what it was sent, as a careless one does. */
export const repeatsItsRequests = (receiver: Receiver, path: string) =>
  receiver.script(path, (n, arrival, response) => answers(200, {}, arrival.body)(n, arrival, response))
