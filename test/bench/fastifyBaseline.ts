/**
 * The service most engineers would write: fastify and `pg`. It does the work of creating an invoice on a copy of the
 * service's own database: validated body, key look-up as cached as the service's, session, reply, and the rows of
 * `twinWrites.ts`, by one of three ways. It counts no sums, seals nothing and limits no rates.
 */
import fastify from "fastify"
import { createHash, createHmac, randomUUID } from "node:crypto"
import type { AddressInfo } from "node:net"
import { Pool } from "pg"
import { say, specification } from "../support/Process.ts"
import { writeInBatches, writeInOneStatement, writeInTransaction, type WriteInvoice } from "./twinWrites.ts"

const ways: Readonly<Record<string, (pool: Pool) => WriteInvoice>> = {
  transaction: writeInTransaction,
  statement: writeInOneStatement,
  batches: writeInBatches
}

export interface BaselineSpec {
  readonly host: string
  readonly database: string
  /** How it writes: statement after statement in a transaction, by one statement, or for all that wait at once. */
  readonly way: "transaction" | "statement" | "batches"
}

/** As many as the service's own pool. */
const connections = 10

/** As long as the service does not look up a good key again. */
const cacheMillis = 2_000

/** SHA-256 of a key, as the copied database holds it. */
export const baselineHash = (key: string): string => createHash("sha256").update(key).digest("hex")

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

/** The answer with the session that a payor opens the invoice with. */
const replyOf = (invoice: ReturnType<typeof invoiceOf>): string => {
  const token = createHmac("sha256", sessionSecret).update(invoice.id).digest("base64url")
  const signature = createHmac("sha256", sessionSecret).update(token).digest("hex")
  return JSON.stringify({
    invoice_id: invoice.id,
    payment_url: `http://127.0.0.1/pay/${invoice.id}?session_token=${token}&signature=${signature}`,
    session_token: token,
    signature,
    expires_at: invoice.expires_at,
    payment_session_headers: { "x-session-token": token, "x-signature": signature },
    invoice
  })
}

/** The merchant of a key; undefined where there is none. */
const makeKeyLookup = (pool: Pool) => {
  const cache = new Map<string, { readonly merchant: number; readonly untilMillis: number }>()
  return async (key: string): Promise<number | undefined> => {
    const cached = cache.get(key)
    if (cached !== undefined && Date.now() < cached.untilMillis) return cached.merchant
    const { rows: [row] } = await pool.query({
      name: "auth",
      text: "select merchant_id from api_keys where hash = $1 and status = 'active'",
      values: [baselineHash(key)]
    })
    if (row !== undefined) cache.set(key, { merchant: row.merchant_id, untilMillis: Date.now() + cacheMillis })
    return row?.merchant_id
  }
}

const serve = async ({ database, host, way }: BaselineSpec) => {
  const pool = new Pool({ host, database, user: "postgres", max: connections })
  const app = fastify()
  const merchantOf = makeKeyLookup(pool)
  const write = ways[way]!(pool)

  app.post<{ Body: Body }>("/api/v1/invoices", { schema: { body: bodySchema } }, async (request, answer) => {
    const merchant = await merchantOf(String(request.headers["x-api-key"]))
    if (merchant === undefined) return answer.code(401).send({ error: "unknown key" })
    const key = String(request.headers["idempotency-key"])
    const invoice = invoiceOf(merchant, request.body)
    const reply = replyOf(invoice)
    const isNew = await write({
      merchant,
      scope: `POST /api/v1/invoices ${key}`,
      fingerprint: createHash("sha256").update(JSON.stringify(request.body)).digest("hex"),
      reply,
      id: invoice.id,
      amount: invoice.amount,
      customerId: invoice.customer_id,
      expiresAt: invoice.expires_at,
      createdAt: invoice.created_at,
      metadata: JSON.stringify(invoice.metadata),
      details: JSON.stringify({ description: request.body.description ?? null }),
      idempotencyKey: key,
      data: JSON.stringify({ object: invoice, previous_attributes: {} })
    })
    return isNew ? answer.type("application/json").send(reply) : answer.code(409).send({ error: "the key was used" })
  })

  await app.listen({ port: 0, host: "127.0.0.1" })
  say({ port: (app.server.address() as AddressInfo).port })
}

if (import.meta.main) await serve(specification<BaselineSpec>())
