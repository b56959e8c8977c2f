/**
 * The service most engineers would write: fastify, `pg`, one transaction of one statement after another for each
 * request. It does the work of creating an invoice, no more and no less, on a copy of the service's own database: key
 * look-up, idempotency row, invoice with its due time, stream row, event, deliveries of the endpoints that match.
 */
import fastify from "fastify"
import { createHash, createHmac, randomUUID } from "node:crypto"
import type { AddressInfo } from "node:net"
import { Pool } from "pg"
import { say, specification } from "../support/Process.ts"

export interface BaselineSpec {
  readonly host: string
  readonly database: string
}

/** As many as the service's own pool. */
const connections = 10

/** SHA-256 of a key, as the copied database holds it. */
export const baselineHash = (key: string): string => createHash("sha256").update(key).digest("hex")

const filters = ["*", "invoice.*", "invoice.created"]
const sessionSecret = randomUUID()

interface Body {
  readonly amount_usd: number
  readonly description?: string
  readonly customer_id?: string
  readonly customer_email?: string
  readonly expires_in?: number
  readonly metadata?: Readonly<Record<string, unknown>>
}

const bodySchema = {
  type: "object",
  required: ["amount_usd"],
  properties: {
    amount_usd: { type: "number", minimum: 0.01, maximum: 1_000_000 },
    description: { type: "string", maxLength: 255 },
    customer_id: { type: "string", maxLength: 255 },
    customer_email: { type: "string", maxLength: 255 },
    expires_in: { type: "integer", minimum: 60_000, maximum: 86_400_000 },
    metadata: { type: "object" }
  }
}

const invoiceOf = (merchant: number, body: Body) => {
  const createdAt = Math.floor(Date.now() / 1000)
  const amount = Math.round(body.amount_usd * 1_000)
  return {
    id: randomUUID(),
    object: "invoice",
    merchant_id: merchant,
    status: "unpaid",
    invoice_type: "standard",
    currency: "usd",
    amount,
    amount_decimal: (amount / 1_000).toFixed(3),
    amount_paid: 0,
    amount_paid_decimal: "0.000",
    amount_remaining: amount,
    amount_remaining_decimal: (amount / 1_000).toFixed(3),
    amount_unit: "usd_millis",
    customer_id: body.customer_id ?? null,
    payer_wallet_address: null,
    payer_wallet_network: null,
    commerce_order_id: null,
    environment: "devnet",
    expires_at: createdAt + Math.floor((body.expires_in ?? 43_200_000) / 1_000),
    created_at: createdAt,
    paid_at: null,
    last_payment_at: null,
    metadata: body.metadata ?? {}
  }
}

const insertKey = `insert into idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
  values ($1, 'devnet', $2, $3, 200, $4) on conflict do nothing returning 1`
const insertInvoice = `insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid,
    customer_id, expires_at, created_at, metadata, policy, details, grace_ended, due_at)
  values ($1, $2, 1, 'devnet', 'unpaid', 'standard', $3, 0, $4, $5, $6, $7, $8, $9, false, $5)`
const moveStream = `update merchant_streams
  set last_ms = greatest(last_ms, floor(extract(epoch from clock_timestamp()) * 1000)), last_seq = nextval('event_seq')
  where merchant_id = $1 returning last_ms as ms, last_seq as seq`
const findEndpoints = `select id from webhook_endpoints
  where merchant_id = $1 and status = 'enabled' and environment = 'devnet' and filters && $2`
const insertEvent = `insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce,
    request_id, idempotency_key, pending_webhooks, data, is_for_payors)
  values ($1, $2, $3, 'devnet', 'invoice.created', $4, $5, false, $6, $7, $8, $9, true)`
const insertDeliveries = `insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
  select $1, id, $2, $3 from unnest($4::text[]) id`

const policy = JSON.stringify({ tolerance: 10, overpayTolerance: 1_000, latePayment: "spot_rate" })

const serve = async ({ database, host }: BaselineSpec) => {
  const pool = new Pool({ host, database, user: "postgres", max: connections })
  const app = fastify()

  const create = async (merchant: number, key: string, body: Body, text: string) => {
    const invoice = invoiceOf(merchant, body)
    const token = createHmac("sha256", sessionSecret).update(invoice.id).digest("base64url")
    const signature = createHmac("sha256", sessionSecret).update(token).digest("hex")
    const reply = JSON.stringify({
      invoice_id: invoice.id,
      payment_url: `http://127.0.0.1/pay/${invoice.id}?session_token=${token}&signature=${signature}`,
      session_token: token,
      signature,
      expires_at: invoice.expires_at,
      payment_session_headers: { "x-session-token": token, "x-signature": signature },
      invoice
    })
    const scope = `POST /api/v1/invoices ${key}`
    const fingerprint = createHash("sha256").update(text).digest("hex")
    const client = await pool.connect()
    try {
      await client.query("begin")
      const won = await client.query({ name: "key", text: insertKey, values: [merchant, scope, fingerprint, reply] })
      if (won.rowCount === 0) throw new Error("the key was used")
      await client.query({
        name: "invoice",
        text: insertInvoice,
        values: [
          merchant,
          invoice.id,
          invoice.amount,
          invoice.customer_id,
          invoice.expires_at,
          invoice.created_at,
          JSON.stringify(invoice.metadata),
          policy,
          JSON.stringify({ description: body.description ?? null })
        ]
      })
      const { rows: [at] } = await client.query({ name: "stream", text: moveStream, values: [merchant] })
      const { rows: endpoints } = await client.query({
        name: "endpoints",
        text: findEndpoints,
        values: [merchant, filters]
      })
      const data = JSON.stringify({ object: invoice, previous_attributes: {} })
      await client.query({
        name: "event",
        text: insertEvent,
        values: [
          merchant,
          at.ms,
          at.seq,
          invoice.id,
          invoice.customer_id,
          "req_twin",
          key,
          endpoints.length,
          data
        ]
      })
      await client.query({
        name: "deliveries",
        text: insertDeliveries,
        values: [
          merchant,
          at.ms,
          at.seq,
          endpoints.map(({ id }) => id)
        ]
      })
      await client.query("commit")
    } catch (error) {
      await client.query("rollback")
      throw error
    } finally {
      client.release()
    }
    return reply
  }

  app.post<{ Body: Body }>("/api/v1/invoices", { schema: { body: bodySchema } }, async (request, reply) => {
    const { rows: [caller] } = await pool.query({
      name: "auth",
      text: "select merchant_id from api_keys where hash = $1 and status = 'active'",
      values: [baselineHash(String(request.headers["x-api-key"]))]
    })
    if (caller === undefined) return reply.code(401).send({ error: "unknown key" })
    const key = String(request.headers["idempotency-key"])
    const made = await create(caller.merchant_id, key, request.body, JSON.stringify(request.body))
    return reply.type("application/json").send(made)
  })

  await app.listen({ port: 0, host: "127.0.0.1" })
  say({ port: (app.server.address() as AddressInfo).port })
}

if (import.meta.main) await serve(specification<BaselineSpec>())
