/**
 * Goal: what a released version stored is opened by this one, and goes on: nothing is lost, the books balance, no
 * address is given twice. And an instance goes on while a newer version brings the tables to another form beside it.
 * Method: for each release the rows of a service of that version after some days of a shop, in `test/releases/`, over
 * tables made by the steps of that release; then this version as a process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, type Scope } from "effect"
import { RpcClient } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { LedgerRpc } from "../../modules/ledger/rpc.ts"
import { migrate } from "../../runtime/Migrate.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { connect, emptyDatabase, migratedDatabase, type TestDatabase } from "../support/Database.ts"
import { allMigrations } from "../support/Migrations.ts"
import { linkWallet } from "../support/Merchants.ts"
import { makeReceiver, type Receiver } from "../support/Receiver.ts"
import { dumpRows, restoreRows } from "../support/ReleaseFixture.ts"
import { configOf, rpcToken, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { assertStatus, chooseToken, newInvoice, openShop, readInvoice, type Shop, verifySignatures } from "./Shop.ts"

const root = new URL("../../", import.meta.url)
const releases = new URL("test/releases/", root)
const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as { readonly version: string }
const databaseFile = (release: string) => new URL(`${release}/database.gz`, releases)
const factsFile = (release: string) => new URL(`${release}/facts.json`, releases)

/** What a database is asked for after the upgrade. Its keys open nothing but this play money. */
interface Facts {
  readonly madeAt: number
  readonly merchant: number
  readonly key: string
  readonly endpoint: string
  readonly secret: string
  /** Statuses of invoices that are over. */
  readonly invoices: Readonly<Record<string, string>>
  readonly refunds: Readonly<Record<string, string>>
  readonly batch: string
  readonly link: string
  readonly exceptions: number
  /** Events that the list shows, at most 100. */
  readonly events: number
  /** All addresses that were given out. */
  readonly addresses: ReadonlyArray<string>
}

/** Events are kept for 365 days: a database that is older has none left to read. */
const eventSeconds = 364 * 86_400

const start = (database: TestDatabase, receiver: Receiver, directory: string) =>
  startService({
    directory,
    config: configOf({
      database: database.url,
      chains: [{ use: "simulated", options: { networks: ["base"] } }],
      receivers: [receiver.host],
      webhooks: { retryBaseSeconds: 0.1, retryFactor: 2 }
    })
  })

/** `credential`: an API key, or `Bearer` and an access token. */
const send = (service: Service, credential: string, path: string, body?: object, method?: string) =>
  Effect.map(
    service.call(path, {
      headers: {
        ...(credential.startsWith("Bearer ") ? { authorization: credential } : { "x-api-key": credential }),
        "idempotency-key": randomUUID()
      },
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method })
    }),
    (answer) => {
      const json = assertStatus(200, answer)
      return json.data ?? json
    }
  )

const listOf = (service: Service, key: string, path: string): Effect.Effect<ReadonlyArray<any>> =>
  Effect.map(send(service, key, path), (found) => Array.isArray(found) ? found : found.data ?? found.invoices)

const query = <A extends object>(database: TestDatabase, text: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<A>(text)).pipe(
    Effect.provide(connect(database), { local: true }),
    Effect.orDie
  )

const addressesOf = (database: TestDatabase) =>
  Effect.map(
    query<{ address: string }>(database, "SELECT DISTINCT address FROM receive_targets ORDER BY address"),
    (rows) => rows.map(({ address }) => address)
  )

/** A few days of a shop: invoices that ended in every way, what was decided about them, refunds, a link. */
const fillShop = Effect.fnUntraced(function*(shop: Shop, merchant: number) {
  const { key, service } = shop
  const simulate = (id: string, body: object) => send(service, key, `/api/v1/devnet/invoices/${id}/simulate`, body)
  const open = Effect.fnUntraced(function*() {
    const invoice = yield* newInvoice(shop, { amount_usd: 40, customer_id: "cust_1", metadata: { order_id: "ORD-1" } })
    yield* chooseToken(shop, invoice, "USDC")
    return invoice.id
  })
  const ways = ["pay", "overpay", "partial", "expire", "late"] as const
  const ids: Array<string> = []
  for (const action of ways) {
    const id = yield* open()
    yield* simulate(id, { action })
    ids.push(id)
  }
  const canceled = yield* open()
  yield* send(service, key, `/api/v1/invoices/${canceled}/cancel`, {})
  yield* open()
  yield* newInvoice(shop, { amount_usd: 5 })
  // A person, because programs approve nothing.
  const account = privateKeyToAccount(generatePrivateKey())
  yield* linkWallet(service, merchant, "base", account.address)
  const { message } = yield* send(service, key, "/api/v1/auth/nonce", { address: account.address, network: "base" })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  const { access_token } = yield* send(service, key, "/api/v1/auth/verify", { message, signature })
  const person = `Bearer ${access_token}`
  const refund = (amount: number, isApproved: boolean) =>
    Effect.map(
      send(service, person, "/api/v1/refunds", {
        invoice_id: ids[0],
        amount_mode: "custom",
        amount,
        reason: "requested_by_customer",
        fee_bearer: "merchant",
        destination: { network: "base", address: privateKeyToAccount(generatePrivateKey()).address },
        ...(isApproved ? { auto_approve: true } : {})
      }),
      ({ id }) => id as string
    )
  const refunds = [yield* refund(1_000, true), yield* refund(2_000, true), yield* refund(3_000, false)]
  yield* send(service, key, `/api/v1/devnet/refunds/${refunds[0]}/simulate`, { outcome: "succeeded" })
  const batch = yield* send(service, person, "/api/v1/batches", {
    kind: "refunds",
    network: "base",
    from: account.address,
    refund_ids: [refunds[1]],
    valid_for_seconds: 300
  })
  const link = yield* send(service, key, "/api/v1/payment-links", { title: "Coffee", amount_usd: 3 })
  return { invoices: [...ids, canceled], refunds, batch: batch.id as string, link: link.id as string }
})

const over: ReadonlySet<string> = new Set(["paid", "expired", "canceled"])

/** Writes the files of this version. */
const writeRelease = Effect.gen(function*() {
  const database = yield* migratedDatabase
  const receiver = yield* makeReceiver()
  const service = yield* start(database, receiver, yield* temporaryDirectory)
  const { merchant_id: merchant, merchant_key: key } = yield* service.keys
  const shop = yield* openShop(service, receiver, key)
  const filled = yield* fillShop(shop, merchant)
  yield* until(
    "all webhooks are sent",
    query<{ n: number }>(database, "SELECT count(*)::integer AS n FROM webhook_deliveries WHERE status = 'pending'"),
    ([row]) => row!.n === 0
  )
  const invoices = yield* Effect.forEach(filled.invoices, (id) => readInvoice(shop, id))
  const refunds = yield* Effect.forEach(filled.refunds, (id) => send(service, key, `/api/v1/refunds/${id}`))
  const [endpoint] = yield* listOf(service, key, "/api/v1/webhooks")
  const facts: Facts = {
    madeAt: Math.floor(
      Number((yield* query<{ at: number }>(database, "SELECT extract(epoch FROM now())::float8 AS at"))[0]!.at)
    ),
    merchant,
    key,
    endpoint: endpoint.id,
    secret: shop.secret,
    invoices: Object.fromEntries(
      invoices.filter(({ status }) => over.has(status)).map(({ id, status }) => [id, status])
    ),
    refunds: Object.fromEntries(refunds.map(({ id, status }) => [id, status])),
    batch: filled.batch,
    link: filled.link,
    exceptions: (yield* query<{ n: number }>(database, "SELECT count(*)::integer AS n FROM exceptions"))[0]!.n,
    events: (yield* listOf(service, key, "/api/v1/events?limit=100")).length,
    addresses: yield* addressesOf(database)
  }
  yield* service.stop()
  writeFileSync(databaseFile(version), yield* Effect.provide(dumpRows, connect(database), { local: true }))
  writeFileSync(factsFile(version), `${JSON.stringify(facts, null, 2)}\n`)
})

/** A database as the release left it: its steps, then its rows. */
const restored = Effect.fnUntraced(function*(release: string) {
  const steps = JSON.parse(readFileSync(new URL(`${release}/steps.json`, releases), "utf8"))
  const database = yield* emptyDatabase
  const owners = yield* Effect.promise(allMigrations)
  yield* Effect.gen(function*() {
    for (const { migrations, name } of owners) {
      const released = Object.entries(migrations).filter(([step]) => steps[name]?.[step] !== undefined)
      if (released.length > 0) yield* migrate(name, Object.fromEntries(released))
    }
    yield* restoreRows(readFileSync(databaseFile(release)))
  }).pipe(Effect.provide(connect(database), { local: true }))
  const facts: Facts = JSON.parse(readFileSync(factsFile(release), "utf8"))
  return { database, facts }
})

/** A shop that was opened with an older version, whose endpoint now listens here. */
const reopen = Effect.fnUntraced(function*(service: Service, receiver: Receiver, { endpoint, key, secret }: Facts) {
  const hooks = `/${randomUUID()}`
  yield* send(service, key, `/api/v1/webhooks/${endpoint}`, { url: receiver.url(hooks), status: "enabled" }, "PATCH")
  return { key, secret, receiver, hooks, service } satisfies Shop
})

/** The books of all merchants are right. */
const assertBooks = (service: Service) =>
  Effect.flatMap(RpcClient.make(LedgerRpc), (client) => client["ledger.check"]({})).pipe(
    Effect.scoped,
    Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }), { local: true }),
    Effect.map((found) => assert.deepStrictEqual(found, { is_balanced: true, differences: [], more: 0 })),
    Effect.orDie
  )

/** A sale from the first call to the verified webhook, to an address that nobody had. */
const sell = Effect.fnUntraced(function*(shop: Shop, given: ReadonlyArray<string>) {
  const invoice = yield* newInvoice(shop, { amount_usd: 12 })
  const shown = yield* chooseToken(shop, invoice, "USDC")
  assert.notInclude(given, shown.temp_address)
  yield* send(shop.service, shop.key, `/api/v1/devnet/invoices/${invoice.id}/simulate`, { action: "pay" })
  const isPaid = ({ body }: { readonly body: Buffer }) => {
    const event = JSON.parse(body.toString("utf8"))
    return event.type === "invoice.paid" && event.data.object.id === invoice.id
  }
  const arrivals = yield* until(
    "the webhook of the payment",
    Effect.sync(() => shop.receiver.arrivals(shop.hooks)),
    (all) => all.some(isPaid)
  )
  verifySignatures(arrivals.find(isPaid)!, shop.secret)
  return shown.temp_address as string
})

const withRelease = <A>(
  release: string,
  use: (opened: {
    readonly database: TestDatabase
    readonly facts: Facts
    readonly shop: Shop
    readonly directory: string
    readonly receiver: Receiver
  }) => Effect.Effect<A, unknown, Scope.Scope>
) =>
  Effect.gen(function*() {
    const { database, facts } = yield* restored(release)
    const receiver = yield* makeReceiver()
    const directory = yield* temporaryDirectory
    const service = yield* start(database, receiver, directory)
    return yield* use({ database, facts, shop: yield* reopen(service, receiver, facts), directory, receiver })
  }).pipe(Effect.scoped)

if (process.env["WRITE_RELEASE"] === "1") {
  it.live(`the rows of ${version} are written`, () => Effect.scoped(writeRelease))
}

const released = readdirSync(releases, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

describe.for(released)("a database of %s", (release) => {
  it.live(
    "is opened by this version: all is there, the books balance, and the shop sells on",
    () =>
      withRelease(release, ({ facts, shop }) =>
        Effect.gen(function*() {
          for (const [id, status] of Object.entries(facts.invoices)) {
            assert.strictEqual((yield* readInvoice(shop, id)).status, status, id)
          }
          assert.includeMembers(Object.values(facts.invoices), ["paid", "expired", "canceled"])
          for (const [id, status] of Object.entries(facts.refunds)) {
            assert.strictEqual((yield* send(shop.service, facts.key, `/api/v1/refunds/${id}`)).status, status, id)
          }
          assert.strictEqual(
            (yield* send(shop.service, facts.key, `/api/v1/payment-links/${facts.link}`)).id,
            facts.link
          )
          assert.strictEqual((yield* send(shop.service, facts.key, `/api/v1/batches/${facts.batch}`)).id, facts.batch)
          const exceptions = yield* listOf(shop.service, facts.key, "/api/v1/exceptions?limit=100")
          assert.isAtLeast(exceptions.length, facts.exceptions)
          const [endpoint] = yield* listOf(shop.service, facts.key, "/api/v1/webhooks")
          if (endpoint.updated_at - facts.madeAt < eventSeconds) {
            const events = yield* listOf(shop.service, facts.key, "/api/v1/events?limit=100")
            assert.isAtLeast(events.length, facts.events)
          }
          yield* assertBooks(shop.service)
          yield* sell(shop, facts.addresses)
          yield* assertBooks(shop.service)
          assert.deepStrictEqual(shop.service.errors(), [])
        }))
  )
})

describe("an instance of this version", () => {
  it.live(
    "goes on while a newer one adds to its tables, and does not start over them again",
    () =>
      withRelease(released.at(-1)!, ({ database, directory, facts, receiver, shop }) =>
        Effect.gen(function*() {
          const first = yield* sell(shop, facts.addresses)
          const sql = (text: string) => query(database, text)
          const additions = [
            "ALTER TABLE invoices ADD made_up text, ADD more integer NOT NULL DEFAULT 0",
            "ALTER TABLE events ADD made_up text",
            "ALTER TABLE webhook_endpoints ADD made_up boolean NOT NULL DEFAULT false",
            "ALTER TABLE invoice_payments ADD made_up text DEFAULT 'x'",
            "ALTER TABLE idempotency ADD made_up text",
            "CREATE TABLE made_up (id text PRIMARY KEY)"
          ]
          const selling = yield* Effect.forkChild(
            Effect.forEach([1, 2, 3], () => sell(shop, [...facts.addresses, first]), { discard: true })
          )
          for (const addition of additions) yield* sql(addition)
          yield* sql("INSERT INTO migrations_invoices (name) VALUES ('0002_made_up')")
          yield* Fiber.join(selling)
          yield* sell(shop, [...facts.addresses, first])
          yield* assertBooks(shop.service)
          yield* shop.service.stop()
          const refused = yield* Effect.exit(start(database, receiver, directory))
          assert.strictEqual(refused._tag, "Failure")
          assert.include(
            String(refused._tag === "Failure" ? refused.cause : ""),
            "The database holds migration 0002_made_up, which this build does not know."
          )
        }))
  )
})
