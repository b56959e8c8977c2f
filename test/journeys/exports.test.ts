/**
 * Goal: a merchant gets every row of its own once, knows whether the file is complete, and one export runs at a time.
 * Method: the running service over HTTP, with its trailers; what is exported against what the API lists.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type IncomingMessage, request } from "node:http"
import { connect } from "node:net"
import type { Service } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { ask, type Credential, Tenants, tenants } from "./Tenants.ts"

const open = (service: Service, credential: Credential, path: string, method = "GET") =>
  Effect.callback<IncomingMessage>((resume) => {
    request(new URL(path, service.url), { method, agent: false, headers: credential as Record<string, string> })
      .once("response", (response) => resume(Effect.succeed(response)))
      .once("error", (error) => resume(Effect.die(error)))
      .end()
  })

const read = (response: IncomingMessage) =>
  Effect.callback<{ readonly text: string; readonly complete: boolean }>((resume) => {
    const chunks: Array<Buffer> = []
    response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {})
    response.once(
      "close",
      () => resume(Effect.succeed({ text: Buffer.concat(chunks).toString("utf8"), complete: response.complete }))
    )
  })

const untilNow = Effect.sync(() =>
  `from=${Math.floor(Date.now() / 1000) - 3600}&to=${Math.floor(Date.now() / 1000) + 3600}`
)

layer(tenants, { excludeTestServices: true })("exports", (it) => {
  it.effect("hold every row of the merchant and of nobody else, with hostile text made harmless, and count them", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const ids: Array<string> = []
      for (const [index, customer] of ["=cmd", "cust_plain", "@sum"].entries()) {
        const made = assertStatus(
          200,
          yield* ask(service, a.merchant, "/api/v1/invoices", {
            method: "POST",
            body: { amount_usd: 5 + index, customer_id: customer, metadata: { note: "+1,\"2\"\r\n3" } }
          })
        )
        ids.push(made.invoice_id)
        assertStatus(
          200,
          yield* ask(service, a.merchant, `/api/v1/devnet/invoices/${made.invoice_id}/simulate`, {
            method: "POST",
            body: { action: "pay" }
          })
        )
      }
      const range = yield* untilNow
      const path = `/api/v1/exports/invoices?${range}&format=json&metadata_keys=note`
      const response = yield* open(service, a.merchant, path)
      assert.strictEqual(response.statusCode, 200)
      const { text } = yield* read(response)
      const rows = JSON.parse(text) as ReadonlyArray<Record<string, string>>
      assert.strictEqual(response.trailers["x-row-count"], String(rows.length))
      assert.includeMembers(rows.map(({ id }) => id!), ids)
      assert.strictEqual(rows.find(({ id }) => id === ids[0])!["metadata.note"], "+1,\"2\"\r\n3")
      const { data } = assertStatus(200, yield* ask(service, a.merchant, "/api/v1/metrics"))
      const millis = rows.reduce((sum, row) => sum + Number(row["amount_usd"]!.replace(".", "")), 0)
      assert.strictEqual(millis, data.totals.amount_created)

      const csv = yield* Effect.flatMap(open(service, a.merchant, path.replace("=json", "=csv")), read)
      assert.include(csv.text, ",'=cmd,")
      assert.include(csv.text, ",\"'+1,\"\"2\"\"\r\n3\"\r\n")

      const paid = yield* open(service, a.merchant, `/api/v1/exports/payments?${range}&format=json`)
      const payments = JSON.parse((yield* read(paid)).text) as ReadonlyArray<Record<string, string>>
      assert.includeMembers(payments.map(({ invoice_id }) => invoice_id!), ids)
      assert.strictEqual(paid.trailers["x-row-count"], String(payments.length))

      const foreign = yield* Effect.flatMap(open(service, b.merchant, path), read)
      for (const id of ids) assert.notInclude(foreign.text, id)
      assert.deepStrictEqual(JSON.parse(foreign.text).filter(({ environment }: any) => environment === "mainnet"), [])
    }))

  it.effect("hold what came in with its worth, and what went out, each once over many pages and over spans", () =>
    Effect.gen(function*() {
      const { b, service, sql } = yield* Tenants
      const pay = Effect.fnUntraced(function*(amount: number, action: object, more: object = {}) {
        const made = assertStatus(
          200,
          yield* ask(service, b.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: amount, ...more } })
        )
        const path = `/api/v1/devnet/invoices/${made.invoice_id}/simulate`
        const { data } = assertStatus(200, yield* ask(service, b.merchant, path, { method: "POST", body: action }))
        return { invoiceId: made.invoice_id as string, payment: data.invoice_payment }
      })
      const paid = yield* pay(12, { action: "pay" })
      const foreign = yield* pay(7, { action: "wrong_network" }, { accepted_networks: ["base"] })
      yield* pay(8, { action: "wrong_token" })
      yield* pay(9, { action: "pay", confirmations: 0 })
      // Refunds of orders are the only ones that are paid out so far, and an order needs a retailer.
      const refundCount = 1_100
      yield* sql`INSERT INTO refunds (merchant_id, id, version, environment, invoice_id, source, status, amount, fee,
          fee_free, destination, token, token_amount, tx_hash, reason, created_at, updated_at)
        SELECT ${b.merchantId}, 're_' || gen_random_uuid(), 3, 'devnet', ${paid.invoiceId}, 'all',
          CASE WHEN n <= ${refundCount} THEN 'succeeded' ELSE 'canceled' END, 1000 + n, 20, false,
          '{"network":"base","address":"0x52908400098527886E0F7030069857D2E4169EE7","memo":null}',
          '{"id":1,"symbol":"=USDC","decimals":6}', 980000, '0xabc', 'overpayment', 1000, 2000 + n % 2
        FROM generate_series(1, ${refundCount + 5}) n`
      const rowsOf = Effect.fnUntraced(function*(kind: string, range: string) {
        const response = yield* open(service, b.merchant, `/api/v1/exports/${kind}?${range}&format=json`)
        const rows = JSON.parse((yield* read(response)).text) as ReadonlyArray<Record<string, string | null>>
        assert.strictEqual(response.trailers["x-row-count"], String(rows.length))
        return rows
      })
      const range = yield* untilNow

      const lots = yield* rowsOf("lots", range)
      assert.sameMembers(lots.map((row) => row["payment_id"]!), [paid.payment.id, foreign.payment.id])
      const lot = lots.find((row) => row["payment_id"] === paid.payment.id)!
      assert.include(lot, {
        invoice_id: paid.invoiceId,
        token_amount: paid.payment.payer_amount_token,
        value_usd: "12.000",
        payment_status: "confirmed",
        tx_hash: paid.payment.payer_tx_hash
      })
      assert.include(lots.find((row) => row !== lot), { value_usd: "7.000", payment_status: "rejected" })

      const refunds = yield* rowsOf("refunds", "from=1000&to=1001")
      assert.lengthOf(new Set(refunds.map((row) => row["id"])), refundCount + 5)
      assert.deepStrictEqual(yield* rowsOf("refunds", "from=2000&to=2002"), [])

      const spans = [...yield* rowsOf("koinly", "from=2000&to=2001"), ...yield* rowsOf("koinly", "from=2001&to=2002")]
      assert.lengthOf(new Set(spans.map((row) => row["Description"])), refundCount)
      assert.include(spans.find((row) => row["Koinly Date"] === "1970-01-01 00:33:20 UTC"), {
        Amount: "-0.980000",
        Currency: "=USDC",
        "Net Worth Currency": "USD",
        TxHash: "0xabc"
      })
      const received = yield* rowsOf("koinly", range)
      assert.lengthOf(received, 2)
      assert.sameMembers(received.map((row) => row["Amount"]), lots.map((row) => row["token_amount"]))
      const csv = yield* Effect.flatMap(open(service, b.merchant, "/api/v1/exports/koinly?from=2000&to=2001"), read)
      assert.match(
        csv.text,
        /\r\n1970-01-01 00:33:20 UTC,-0\.980000,'=USDC,[0-9.]+,USD,,Refund re_[0-9a-f-]+ of invoice/
      )
    }))

  it.effect("are one at a time for a merchant, and free when the client has gone or asked for the head alone", () =>
    Effect.gen(function*() {
      const { a, service, sql } = yield* Tenants
      const range = yield* untilNow
      const path = `/api/v1/exports/invoices?${range}`
      const made = assertStatus(
        200,
        yield* ask(service, a.merchant, "/api/v1/invoices", {
          method: "POST",
          body: { amount_usd: 5, customer_id: "cust_alone" }
        })
      )
      yield* sql`INSERT INTO export_leases SELECT merchant_id, gen_random_uuid(), now() + interval '1 minute'
        FROM invoices WHERE id = ${made.invoice_id}`
      const refused = yield* ask(service, a.merchant, path)
      assert.strictEqual(refused.status, 429, refused.text)
      assert.include(refused.text, "one runs at a time")
      yield* sql`UPDATE export_leases SET until = now()`
      assert.strictEqual((yield* ask(service, a.merchant, path)).status, 200)
      const old = yield* Effect.callback<string>((resume) => {
        const socket = connect(Number(new URL(service.url).port), "127.0.0.1")
        let text = ""
        socket.on("data", (chunk) => (text += chunk.toString())).once("close", () => resume(Effect.succeed(text)))
        socket.write(
          `GET ${path} HTTP/1.0\r\nx-api-key: ${(a.merchant as Record<string, string>)["x-api-key"]}\r\n\r\n`
        )
      })
      assert.include(old, " 200 ")
      assert.include(old, made.invoice_id)
      const head = yield* open(service, a.merchant, path, "HEAD")
      assert.strictEqual(head.statusCode, 200)
      assert.include(head.headers["content-disposition"], "attachment")
      assert.strictEqual((yield* ask(service, a.merchant, path)).status, 200)
    }))
})
