/** A merchant of a whole devnet who makes batches, and a wallet of play money that signs them. */
import { assert } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import type { MerchantId } from "../../../schemas/Ids.ts"
import { Timers } from "../../../runtime/Timers.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import type { Network } from "../../../schemas/Network.ts"
import { until } from "../../support/Service.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"

export const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
export const receiver = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"

type Credential = Readonly<Record<string, string>>

/** A merchant who is signed in, with a key beside. */
export interface Shop {
  readonly merchantId: MerchantId
  readonly key: Credential
  readonly person: Credential
}

export const send = Effect.fnUntraced(function*(by: Credential, path: string, body?: object) {
  return yield* (yield* DevnetService).call(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...by, "idempotency-key": randomUUID() },
    ...(body === undefined ? {} : { body })
  })
})

export const ask = (by: Credential, path: string, body?: object) => Effect.map(send(by, path, body), okData)

export const newShop = Effect.gen(function*() {
  const account = privateKeyToAccount(generatePrivateKey())
  const { message } = yield* ask({}, "/api/v1/auth/nonce", { address: account.address, network: "base" })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  const session = yield* ask({}, "/api/v1/auth/verify", { message, signature })
  const person = { authorization: `Bearer ${session.access_token}` }
  const { key } = yield* ask(person, "/api/v1/api-keys", { name: "shop", scope: "merchant", environment: "devnet" })
  const shop: Shop = { merchantId: session.merchant.id, key: { "x-api-key": key }, person }
  return shop
})

/** A refund that is approved and waits to be paid. */
export const newRefund = Effect.fnUntraced(function*(shop: Shop, usd = 5, network = "base", destination = receiver) {
  const { invoice_id: id } = yield* ask(shop.key, "/api/v1/invoices", { amount_usd: usd, accepted_networks: [network] })
  yield* ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "pay", network })
  const refund = yield* ask(shop.person, "/api/v1/refunds", {
    invoice_id: id,
    amount_mode: "remaining",
    reason: "requested_by_customer",
    fee_bearer: "merchant",
    destination: { network, address: destination },
    auto_approve: true
  })
  assert.strictEqual(refund.status, "processing")
  return refund
})

export const refundsBatch = (by: Credential, ids: ReadonlyArray<string> | "all", network = "base", from = wallet) =>
  ask(by, "/api/v1/batches", { kind: "refunds", network, from, refund_ids: ids })

export interface Payout {
  readonly token_id: number
  readonly token_amount: string
  readonly destination: { readonly address: string; readonly memo: string | null }
  readonly reference: string
}

/** A line of a batch of payouts. */
export const payout = Effect.fnUntraced(function*(tokenAmount: string, symbol = "USDC", network: Network = "base") {
  const { services } = yield* DevnetService
  const token = Context.get(services, TokenCatalog).list("devnet").find((each) =>
    each.network === network && each.symbol === symbol
  )
  const line: Payout = {
    token_id: token!.id,
    token_amount: tokenAmount,
    destination: { address: receiver, memo: null },
    reference: "supplier"
  }
  return line
})

export const payoutsBatch = (by: Credential, lines: ReadonlyArray<Payout>, network = "base", from = wallet) =>
  send(by, "/api/v1/batches", { kind: "payouts", network, from, lines })

export const approve = (shop: Shop, { id }: { readonly id: string }) =>
  ask(shop.person, `/api/v1/batches/${id}/approve`, {})

export const giveOut = (by: Credential, { id }: { readonly id: string }, format = "eip5792", part = 1) =>
  send(by, `/api/v1/batches/${id}/export`, { part, format })

export const play = (shop: Shop, { id }: { readonly id: string }, outcome = "once", part = 1) =>
  ask(shop.key, `/api/v1/devnet/batches/${id}/simulate`, { part, outcome })

export const read = (shop: Shop, { id }: { readonly id: string }) => ask(shop.key, `/api/v1/batches/${id}?expand=lines`)

/** Has the chain looked at for a batch now, and not only when its five seconds are over; nobody is told anything. */
const lookNow = Effect.fnUntraced(function*({ id }: { readonly id: string }) {
  const { services } = yield* DevnetService
  const sql = Context.get(services, SqlClient.SqlClient)
  yield* Effect.orDie(sql`UPDATE batches SET due_at = 0 WHERE id = ${id} AND due_at > 0`)
  yield* Context.get(services, Timers).wake("batches")
})

/** Says that a transaction was sent, which is a reason to look, and no more, and has the chain looked at. */
export const look = Effect.fnUntraced(function*(shop: Shop, { id }: { readonly id: string }, part = 1) {
  const { network } = yield* ask(shop.key, `/api/v1/batches/${id}`)
  const digits = randomUUID().replaceAll("-", "").repeat(2)
  yield* mine(network, 1)
  yield* send(shop.key, `/api/v1/batches/${id}/sent`, { part, tx_hash: network === "ton" ? digits : `0x${digits}` })
  yield* lookNow({ id })
})

export const mine = (network: "base" | "ton", blocks: number) =>
  Effect.flatMap(DevnetService, ({ services }) => Context.get(services, SimulatedChain).mine(network, blocks))

/** Reads it until it has the status; the chain goes on meanwhile. */
export const readUntil = (
  shop: Shop,
  batch: { readonly id: string },
  status: string,
  network: "base" | "ton" = "base"
) =>
  until(
    `the batch is ${status}`,
    Effect.andThen(Effect.andThen(mine(network, 1), lookNow(batch)), read(shop, batch)) as Effect.Effect<
      any,
      never,
      DevnetService
    >,
    (found) => found.status === status
  )

/** Asserts that an answer is what its schema says. */
export const decodes = (schema: Schema.Top, answer: unknown) =>
  Effect.orDie(Schema.decodeUnknownEffect(schema as Schema.Codec<unknown>)(answer))
