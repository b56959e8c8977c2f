/**
 * Goal: an internal service sets up merchants, makes invoices, follows events, reports transfers and repairs payments
 * over the internal port, and nobody does so without the credential.
 * Method: a typed client in another process (`rpcProcess.ts`), the service, and a real EVM node.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import {
  compileCache,
  configOf,
  exchange,
  prices,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"
import { timed } from "../support/Stopwatch.ts"
import { asPayor, assertStatus, type Invoice, offeredToken, requestAddress, type Shop } from "./Shop.ts"

const script = new URL("../support/rpcProcess.ts", import.meta.url).pathname

interface Line {
  readonly id: string
  readonly value?: any
  readonly item?: any
  readonly error?: { readonly tag: string; readonly code: string | null }
}

/** A client process; `call` answers the value or the error, `stream` what has come so far. */
interface Client {
  readonly call: (name: string, payload?: object) => Effect.Effect<Line>
  readonly stream: (name: string, payload: object) => Effect.Effect<() => ReadonlyArray<Line>>
}

const openClient = (service: Service, token = rpcToken): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.gen(function*() {
    const lines: Array<Line> = []
    let rest = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [script, service.rpcUrl, token], {
          env: { NODE_COMPILE_CACHE: compileCache },
          stdio: ["pipe", "pipe", "inherit"]
        })
      ),
      (child) =>
        Effect.callback<void>((resume) => {
          child.once("close", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )
    child.stdout.on("data", (chunk) => {
      const whole = (rest + String(chunk)).split("\n")
      rest = whole.pop() ?? ""
      for (const line of whole) lines.push(JSON.parse(line))
    })
    const send = (name: string, payload: object) =>
      Effect.sync(() => {
        const id = randomUUID()
        child.stdin.write(`${JSON.stringify({ id, call: name, payload })}\n`)
        return () => lines.filter((line) => line.id === id)
      })
    return {
      stream: send,
      call: (name, payload = {}) =>
        Effect.flatMap(
          send(name, payload),
          (answers) =>
            Effect.map(until(name, Effect.sync(answers), (found) => found.length > 0), ([line]) => {
              if (typeof line!.value?.key === "string") service.guard(line!.value.key)
              return line!
            })
        )
    }
  })

class Office extends Context.Service<Office, {
  readonly node: Anvil
  readonly service: Service
  readonly client: Client
  readonly sql: SqlClient.SqlClient
  /** Starts the service anew with these prices. */
  readonly start: (prices: Readonly<Record<string, string>>) => Effect.Effect<Service, never, Scope.Scope>
  readonly merchantId: number
  readonly key: { readonly id: string; readonly key: string }
}>()("test/Office") {
  static readonly layer = Layer.effect(
    Office,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
      const database = yield* migratedDatabase
      const directory = yield* temporaryDirectory
      const start = (known: Readonly<Record<string, string>>) =>
        startService({
          directory,
          config: configOf({
            database: database.url,
            prices: known,
            // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
            chains: [
              {
                use: "evm",
                options: {
                  network: "base",
                  environment: "devnet",
                  rpc: [node.url],
                  xpub: devnetXpub,
                  startIndex: 10,
                  pollMillis: 25
                }
              }
            ]
          })
        })
      const { ethereum: _unpriced, ...others } = prices
      const service = yield* start(others)
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const client = yield* openClient(service)
      const merchant = yield* client.call("auth.merchants.create", { name: "Shop", email: "pay@shop.example" })
      const merchantId = merchant.value.id
      const made = yield* client.call(
        "auth.keys.create",
        { merchant_id: merchantId, name: "till", scope: "merchant", environment: "devnet" }
      )
      return Office.of({ node, service, client, sql, start, merchantId, key: made.value })
    })
  )
}

const makeInvoice = Effect.fnUntraced(function*(fields: object) {
  const { client, merchantId } = yield* Office
  const { value } = yield* client.call("invoices.create", { merchant_id: merchantId, environment: "devnet", fields })
  const invoice: Invoice = { id: value.invoice_id, session: value.payment_session_headers, created: value }
  return invoice
})

/** The address of an invoice for a token of base, as its payor asks for it. */
const addressFor = Effect.fnUntraced(function*(invoice: Invoice, symbol: string) {
  const { service } = yield* Office
  const shop = { service } as Shop
  const token = yield* offeredToken(shop, invoice, symbol)
  return assertStatus(200, yield* requestAddress(shop, invoice, { network: "base", token_id: token.id }))
})

const paidInvoice = Effect.fnUntraced(function*(id: string, status = "paid") {
  const { client, merchantId } = yield* Office
  const read = Effect.map(
    client.call("invoices.get", { merchant_id: merchantId, invoice_id: id }),
    ({ value }) => value
  )
  return yield* until(`the invoice is ${status}`, read, ({ invoice }) => invoice.status === status)
})

/** An endpoint with its lane: health, failures in a row, since when, openings, open until when, held until when. */
const endpointRow = Effect.fnUntraced(function*(id: string, merchant: number, lane: string, status = "enabled") {
  const { sql } = yield* Office
  yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, environment, commerce_only, url, status, filters,
      api_version, sealed_secret, created_at, updated_at)
    VALUES (${id}, ${merchant}, 1, 'devnet', false, 'https://hooks.example:8443/s3cret?token=s3cret', ${status}, '{}',
      '2026-01-15', '', 1, 1)`
  yield* sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, consecutive_failures, failing_since, openings,
      open_until, held_until) ${sql.literal(`SELECT ${merchant}, '${id}', ${lane}`)}`
})

layer(Office.layer, { excludeTestServices: true })("an internal service", (it) => {
  it.effect(
    "is told how the service and the networks are, and nothing without the credential",
    () =>
      Effect.gen(function*() {
        const { client, service } = yield* Office
        assert.strictEqual((yield* client.call("health.check")).value.status, "ok")
        const { value } = yield* client.call("chains.status", { environment: "devnet" })
        assert.deepStrictEqual(value.map(({ healthy, network }: any) => [network, healthy]), [["base", true]])

        const stranger = yield* openClient(service, "wrong-credential-wrong-credential")
        assert.strictEqual((yield* stranger.call("health.check")).error?.tag, "RpcClientError")
        for (
          const headers of [{}, { authorization: "Bearer wrong-credential-wrong" }, {
            "x-api-key": (yield* Office).key.key
          }]
        ) {
          const refused = yield* exchange(service.rpcUrl, "/rpc", { headers, body: "{}" })
          assert.deepStrictEqual(
            [refused.status, refused.headers["www-authenticate"]],
            [401, "Bearer realm=\"tillwire-internal\""]
          )
        }
        const outside = yield* service.call("/rpc", { headers: { authorization: `Bearer ${rpcToken}` }, body: "{}" })
        assert.strictEqual(outside.status, 404)
      })
  )

  it.effect(
    "declares that a backup was restored, and sees the blocks since then read again",
    () =>
      Effect.gen(function*() {
        const { client } = yield* Office
        const backupTime = Math.floor(Date.now() / 1000) - 5
        const declare = (time: number) =>
          client.call("chains.restored", { environment: "devnet", backup_time: time, skip: 3 })
        assert.strictEqual((yield* declare(backupTime * 1000)).error?.code, "VALIDATION_ERROR")
        const { value } = yield* declare(backupTime)
        assert.strictEqual(value.wallet_count, 1)
        const [{ from_index: from, to_index: to, watched_to: watchedTo }] = value.wallets
        assert.deepStrictEqual([to - from, watchedTo - from], [3, 1_000])
        const [done] = yield* until(
          "the blocks to be read",
          Effect.map(client.call("chains.status", { environment: "devnet" }), ({ value }) => value[0].repairs),
          ([repair]: ReadonlyArray<any>) => repair?.status === "done"
        )
        assert.deepInclude(done, { kind: "restore", reason: null })
        assert.strictEqual(BigInt(done.next), BigInt(done.to) + 1n)
      })
  )

  it.effect(
    "makes merchants and keys, lists keys without their text, and revokes one within five seconds",
    () =>
      Effect.gen(function*() {
        const { client, merchantId, service } = yield* Office
        const request = { merchant_id: merchantId, name: "old", scope: "merchant", environment: "devnet" }
        const { value: made } = yield* client.call("auth.keys.create", request)
        const use = service.call("/api/v1/events", { headers: { "x-api-key": made.key } })
        assert.strictEqual((yield* use).status, 200)
        const { value: listed } = yield* client.call("auth.keys.list", { merchant_id: merchantId })
        assert.strictEqual(listed.find(({ id }: any) => id === made.id).status, "active")
        assert.notInclude(JSON.stringify(listed), made.key)

        const { value: revoked } = yield* client.call("auth.keys.revoke", { merchant_id: merchantId, key_id: made.id })
        assert.strictEqual(revoked.status, "revoked")
        const refusal = until("the key is refused", use, ({ status }) => status === 401)
        const { answer: refused, millis } = yield* timed(refusal)
        assert.strictEqual(refused.json.error.code, "API_KEY_INVALID")
        assert.isBelow(millis, 5_000)

        const elsewhere = yield* client.call("auth.keys.create", { ...request, environment: "mainnet" })
        assert.strictEqual(elsewhere.error?.code, "MAINNET_NOT_ENABLED")
        const nobody = yield* client.call("auth.keys.create", { ...request, merchant_id: 999_999_999 })
        assert.strictEqual(nobody.error?.code, "NOT_FOUND")
      })
  )

  it.effect(
    "follows a merchant's events from a cursor on, and live, in the very text of the API",
    () =>
      Effect.gen(function*() {
        const { key, merchantId, service } = yield* Office
        // A client of its own: its streams end with it.
        const client = yield* openClient(service)
        const all = yield* client.stream("events.stream", { merchant_id: merchantId })
        const first = yield* makeInvoice({ amount_usd: 1 })
        const heard = yield* until(
          "the first event",
          Effect.sync(all),
          (found) => found.some(({ item }) => item?.text.includes(first.id))
        )
        const cursor = heard.at(-1)!.item.id

        const later = yield* client.stream("events.stream", { merchant_id: merchantId, after: cursor })
        const next = [yield* makeInvoice({ amount_usd: 2 }), yield* makeInvoice({ amount_usd: 3 })]
        const found = yield* until("the next events", Effect.sync(later), (lines) => lines.length >= 2)
        assert.deepStrictEqual(found.map(({ item }) => JSON.parse(item.text).data.object.id), next.map(({ id }) => id))
        assert.include(found[0]!.item, { merchant_id: merchantId, environment: "devnet", type: "invoice.created" })
        const api = yield* service.call(`/api/v1/events/${found[0]!.item.id}`, { headers: { "x-api-key": key.key } })
        assert.strictEqual(api.text, `{"success":true,"data":${found[0]!.item.text}}`)

        const bad = yield* client.call("events.stream", { merchant_id: merchantId, after: "nonsense" })
        assert.strictEqual(bad.error?.code, "INVALID_CURSOR")
        // What comes after a cursor must still be there, or there is a gap. The newest event counts as the last one
        // removed.
        const { sql } = yield* Office
        yield* sql`UPDATE merchant_streams SET pruned_ms = last_ms, pruned_seq = last_seq WHERE merchant_id = ${merchantId}`
        const old = yield* client.call("events.stream", { merchant_id: merchantId, after: cursor })
        assert.strictEqual(old.error?.code, "INVALID_CURSOR")
        yield* sql`UPDATE merchant_streams SET pruned_ms = 0, pruned_seq = 0 WHERE merchant_id = ${merchantId}`
      })
  )

  it.effect("makes and reads invoices of one merchant only, by the rules of the API", () =>
    Effect.gen(function*() {
      const { client, key, merchantId, service } = yield* Office
      const invoice = yield* makeInvoice({ amount_usd: "12.5", metadata: { from: "rpc" } })
      const { value } = yield* client.call("invoices.get", { merchant_id: merchantId, invoice_id: invoice.id })
      const read = yield* service.call(`/api/v1/invoices/${invoice.id}`, { headers: { "x-api-key": key.key } })
      assert.deepStrictEqual(value, { invoice: read.json, payments: [] })
      const foreign = yield* client.call("invoices.get", { merchant_id: merchantId + 1, invoice_id: invoice.id })
      assert.strictEqual(foreign.error?.code, "INVOICE_NOT_FOUND")
      const cheap = yield* client.call(
        "invoices.create",
        { merchant_id: merchantId, environment: "devnet", fields: { amount: 1 } }
      )
      assert.strictEqual(cheap.error?.code, "INVALID_AMOUNT_RANGE")
    }))

  it.effect(
    "reports a transfer its own watcher saw first; the node's follower confirms it, and it counts once",
    () =>
      Effect.gen(function*() {
        const { client, node, sql } = yield* Office
        const invoice = yield* makeInvoice({ amount_usd: 4 })
        const shown = yield* addressFor(invoice, "USDC")
        yield* node.rpc("evm_setAutomine", false)
        const hash = yield* node.token("transfer", [shown.temp_address, 4_000_000n])
        const head = yield* node.rpc("eth_getBlockByNumber", "latest", false)
        const report = {
          network: "base",
          environment: "devnet",
          tx_hash: hash,
          index: 1,
          match_key: shown.temp_address.toLowerCase(),
          token_address: usdc.toLowerCase(),
          amount: "4000000",
          from: node.accounts[0]!.toLowerCase(),
          height: String(BigInt(head.number) + 1n),
          block_hash: `0x${"0".repeat(64)}`,
          block_time: Number(BigInt(head.timestamp))
        }
        for (const time of ["first", "again"]) {
          assert.isUndefined(
            (yield* client.call("chains.report", report)).error,
            time
          )
        }
        const zero = yield* client.call("chains.report", { ...report, amount: "0" })
        assert.strictEqual(zero.error?.code, "VALIDATION_ERROR")
        const payments = sql<any>`SELECT status, tx_hash FROM invoice_payments WHERE invoice_id = ${invoice.id}`.pipe(
          Effect.orDie
        )
        const pending = yield* until("the reported payment", payments, (rows) => rows.length > 0)
        assert.deepStrictEqual(pending, [{ status: "pending", tx_hash: hash }])

        yield* node.rpc("evm_setAutomine", true)
        yield* node.mine(1)
        const { invoice: paid, payments: counted } = yield* paidInvoice(invoice.id)
        assert.strictEqual(paid.amount_paid, 4_000)
        assert.deepStrictEqual(
          counted.map(({ payer_tx_hash, status }: any) => [payer_tx_hash, status]),
          [[hash, "confirmed"]]
        )
      })
  )

  it.effect(
    "sees which endpoints fail and how, page by page, and nothing of an address that may be secret",
    () =>
      Effect.gen(function*() {
        const { client, merchantId, sql } = yield* Office
        const strange = merchantId + 1_000
        yield* endpointRow(
          "we_a",
          merchantId,
          "'failing', 12, now() - interval '2 hours', 3, now() + interval '1 hour', '-infinity'"
        )
        yield* endpointRow("we_b", merchantId, "'healthy', 0, NULL, 0, NULL, '-infinity'")
        yield* endpointRow(
          "we_c",
          merchantId,
          "'failing', 2, now() - interval '1 minute', 0, NULL, '-infinity'",
          "disabled"
        )
        yield* endpointRow(
          "we_d",
          merchantId,
          "'failing', 2, now() - interval '1 minute', 0, NULL, '-infinity'",
          "deleted"
        )
        yield* endpointRow("we_e", strange, "'healthy', 0, NULL, 1, now() - interval '1 second', '-infinity'")
        yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, due_at, created_at)
        SELECT ${merchantId}, 'we_a', n, n, now() - interval '1 hour', now() - (2000 - n) * interval '1 second'
        FROM generate_series(1, 1200) n`
        yield* sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, status, error,
          latency_ms)
        SELECT ${merchantId}, ${randomUUID()}::uuid, n, 'we_a', now() - n * interval '1 minute', 'failed', 500 + n, NULL, n
        FROM generate_series(1, 3) n`

        const { value } = yield* client.call("webhooks.failing", { merchant_id: merchantId })
        assert.notInclude(JSON.stringify(value), "s3cret")
        assert.deepStrictEqual([value.next, value.endpoints.map((each: any) => each.endpoint_id)], [null, [
          "we_a",
          "we_c"
        ]])
        const { failing_since, last_attempt, oldest_waiting_seconds, open_until, ...first } = value.endpoints[0]
        assert.deepStrictEqual(first, {
          merchant_id: merchantId,
          endpoint_id: "we_a",
          environment: "devnet",
          url_origin: "https://hooks.example:8443",
          status: "enabled",
          disabled_reason: null,
          breaker: "open",
          openings: 3,
          consecutive_failures: 12,
          waiting: 1_000
        })
        assert.approximately(open_until - failing_since, 10_800, 2)
        assert.approximately(oldest_waiting_seconds, 1_999, 60)
        assert.deepInclude(last_attempt, { status: "failed", response_status: 501, error: null, latency_ms: 1 })

        const page = yield* client.call("webhooks.failing", { limit: 2 })
        assert.deepStrictEqual(page.value.next, { merchant_id: merchantId, endpoint_id: "we_c" })
        const rest = yield* client.call("webhooks.failing", { limit: 2, after: page.value.next })
        assert.deepStrictEqual(
          [
            rest.value.next,
            rest.value.endpoints.map((each: any) => [each.merchant_id, each.breaker, each.waiting, each.last_attempt])
          ],
          [null, [[strange, "half_open", 0, null]]]
        )
      })
  )

  it.effect(
    "sends a delivery once more for a merchant, and nothing to an endpoint that is disabled",
    () =>
      Effect.gen(function*() {
        const { client, merchantId, sql } = yield* Office
        const merchant = merchantId + 2_000
        // Held for good by nobody: the service sends nothing to them.
        yield* endpointRow("we_r", merchant, "'unknown', 0, NULL, 0, NULL, 'infinity'")
        yield* endpointRow("we_s", merchant, "'unknown', 0, NULL, 0, NULL, 'infinity'", "disabled")
        yield* sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
        VALUES (${merchant}, 1766320496000, 1, 'devnet', 'invoice.paid', false, 2,
          '{"object":{"object":"invoice","id":"i"},"previous_attributes":{}}')`
        const made = yield* sql<{ id: string; endpoint_id: string }>`
        INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, status, due_at, finished_at)
        SELECT ${merchant}, w.id, 1766320496000, 1, 'failed', NULL, now() FROM unnest(ARRAY['we_r', 'we_s']) AS w(id)
        RETURNING id, endpoint_id`
        const retry = (endpoint: string, owner = merchant) =>
          client.call("webhooks.deliveries.retry", {
            merchant_id: owner,
            delivery_id: `whd_${made.find(({ endpoint_id }) => endpoint_id === endpoint)!.id}`
          })
        const { value } = yield* retry("we_r")
        assert.strictEqual(value.event_id, "evt_1766320496000-1")
        const [queued] =
          yield* sql`SELECT endpoint_id, status, attempt, due_at IS NOT NULL AS waits FROM webhook_deliveries
        WHERE merchant_id = ${merchant} AND id = ${value.delivery_id.slice(4)}::uuid`
        assert.deepStrictEqual(queued, { endpoint_id: "we_r", status: "pending", attempt: 0, waits: true })
        assert.strictEqual((yield* retry("we_s")).error?.code, "WEBHOOK_DISABLED")
        assert.strictEqual((yield* retry("we_r", merchantId)).error?.code, "DELIVERY_NOT_FOUND")
      })
  )

  it.effect("retries a payment that had no price, once there is one", () =>
    Effect.gen(function*() {
      const { node, service, sql, start } = yield* Office
      const invoice = yield* makeInvoice({ amount_usd: 35 })
      const shown = yield* addressFor(invoice, "ETH")
      assert.include(shown, { quote_status: "unavailable", estimated_token_amount: null, exchange_rate: null })
      yield* node.send({ to: shown.temp_address, value: 10n ** 16n })
      const pending = sql<any>`SELECT id, status FROM invoice_payments WHERE invoice_id = ${invoice.id}`.pipe(
        Effect.orDie
      )
      const [payment] = yield* until("the payment", pending, (rows) => rows.length > 0)
      // Half an hour of tries is skipped: all but the last are counted as done, and it is due now.
      const hurry = Effect.orDie(
        sql`UPDATE transfers SET attempts = 9, retry_at = 0 WHERE invoice_id = ${invoice.id} AND attempts < 9`
      )
      yield* until(
        "the payment is given up",
        Effect.andThen(hurry, pending),
        ([row]) => row.status === "manual_retry"
      )
      const { client } = yield* Office
      const early = yield* client.call("payments.retry", { payment_id: payment.id })
      assert.strictEqual(early.error?.code, "QUOTE_UNAVAILABLE")
      const told = Effect.sync(() => service.errors().filter((line) => line.includes("an operator must retry it")))
      assert.lengthOf(yield* until("the operator is told", told, ({ length }) => length > 0), 1)

      yield* service.stop()
      const again = yield* start(prices)
      const operator = yield* openClient(again)
      const retried = yield* operator.call("payments.retry", { payment_id: payment.id })
      assert.include(retried.value.payment, { id: payment.id, status: "confirmed", amount: 35_000 })
      const twice = yield* operator.call("payments.retry", { payment_id: payment.id })
      assert.strictEqual(twice.error?.code, "INVALID_TRANSITION")
      const nobody = yield* operator.call("payments.retry", { payment_id: randomUUID() })
      assert.strictEqual(nobody.error?.code, "INVOICE_NOT_FOUND")
      const read = yield* asPayor({ service: again } as Shop, invoice, "payment-status")
      assert.include(read, { status: "paid", amount_paid: 35_000 })

      // Who deletes the module of settlement has no calls of it.
      if (!existsSync(new URL("../../modules/settlement", import.meta.url))) return
      const report = (told: object, payment_id: string = payment.id) =>
        operator.call("settlements.report", { payment_id, report: told })
      assert.strictEqual(retried.value.payment.settlement_status, "pending")
      const settled = { status: "settled", tx_hash: "0xforwarded", network: "base", amount: null }
      const more = yield* report({ ...settled, amount: 35_001 })
      assert.strictEqual(more.error?.code, "VALIDATION_ERROR")
      const review = yield* report({ status: "review", reason: "who sent this?" })
      assert.strictEqual(review.value.payment.settlement_status, "manual")
      const { value: waiting } = yield* operator.call("settlements.list", { environment: "devnet" })
      assert.deepInclude(waiting.settlements.find((one: any) => one.payment_id === payment.id), {
        invoice_id: invoice.id,
        settlement_status: "manual",
        reason: "who sent this?",
        is_open: true
      })
      const done = yield* report(settled)
      assert.include(done.value.payment, { settlement_status: "settled", settled_amount: 35_000 })
      const { value: one } = yield* operator.call("settlements.get", { payment_id: payment.id })
      assert.include(one.settlement, { settlement_status: "settled", is_open: false })
      const after = yield* report({ status: "failed", reason: "too late" })
      assert.strictEqual(after.error?.code, "INVALID_TRANSITION")
      const unknown = yield* report(settled, randomUUID())
      assert.strictEqual(unknown.error?.code, "NOT_FOUND")
    }))
})
