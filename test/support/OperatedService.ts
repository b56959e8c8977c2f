/**
 * The service on mainnet rules as an operator runs it: the real process between endpoints that go wrong on demand, a
 * real node behind them, and the internal port, spoken to byte by byte so that anything can be said to it.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { HDKey } from "@scure/bip32"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { type Anvil, anvil } from "./Anvil.ts"
import { usdc } from "./chaos/TestChain.ts"
import { chaosDeployment } from "./chaos/Run.ts"
import { connect, migratedDatabase } from "./Database.ts"
import { type NodeProxy, nodeProxy } from "./NodeProxy.ts"
import { freePort } from "./Ports.ts"
import { makeRestartable } from "./Restartable.ts"
import { exchange, rpcToken, type Service, startService, temporaryDirectory, until } from "./Service.ts"

/** What the door answered to one call. */
export interface RpcAnswer {
  readonly value?: any
  /** The public error, if it is one. */
  readonly error?: { readonly code: string; readonly param: string | null; readonly message: string }
  /** The whole answer, for what is neither. */
  readonly text: string
}

export interface Shop {
  readonly key: string
  readonly merchantId: number
}

/** An invoice and the address that its payor was given. */
export interface PayableInvoice {
  readonly id: string
  readonly address: string
}

export interface OperatedService {
  readonly node: Anvil
  readonly endpoints: readonly [NodeProxy, NodeProxy]
  readonly sql: SqlClient.SqlClient
  /** The process that runs now. */
  readonly service: () => Service
  /** A second process on the same database, with ports of its own. */
  readonly another: Effect.Effect<Service, never, Scope.Scope>
  /** Ends the process and starts it again on the same data; `between` happens while none runs. */
  readonly restart: (signal?: "SIGTERM" | "SIGKILL", between?: Effect.Effect<void>) => Effect.Effect<void>
  /** One call of the internal port, with whatever payload. */
  readonly call: (name: string, payload: unknown, service?: Service) => Effect.Effect<RpcAnswer>
  readonly openShop: Effect.Effect<Shop>
  readonly order: (shop: Shop, amountUsd: number, fields?: object) => Effect.Effect<PayableInvoice>
  /** The invoice with its payments, as its merchant reads it. */
  readonly invoice: (
    shop: Shop,
    id: string
  ) => Effect.Effect<{ readonly invoice: any; readonly payments: ReadonlyArray<any> }>
  /** Mints USDC to an address and mines a block; where it is. */
  readonly pay: (to: string, usd: number) => Effect.Effect<Payment>
  readonly status: Effect.Effect<any>
  /** Until the newest block of the node was read. */
  readonly caughtUp: Effect.Effect<void>
}

/** A transfer of USDC on the chain. */
export interface Payment {
  readonly hash: string
  readonly height: bigint
  readonly blockHash: string
  readonly blockTime: number
  /** As the journal counts: 1 + the place of the log in its receipt. */
  readonly index: number
  readonly amount: string
}

const answerOf = (text: string): RpcAnswer => {
  const lines = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
  const exit = lines.find(({ _tag }) => _tag === "Exit")?.exit
  if (exit?._tag === "Success") return { value: exit.value, text }
  const failure = exit?.cause?.find?.((each: any) => each._tag === "Fail")
  return failure?.error?._tag === "PublicError" ? { error: failure.error, text } : { text }
}

export const rpcCall = (service: Service, name: string, payload: unknown): Effect.Effect<RpcAnswer> =>
  Effect.map(
    exchange(service.rpcUrl, "/rpc", {
      headers: { authorization: `Bearer ${rpcToken}`, "content-type": "application/ndjson" },
      body: `${JSON.stringify({ _tag: "Request", id: "1", tag: name, payload, headers: [] })}\n`
    }),
    ({ text }) => answerOf(text)
  )

/** Two endpoints in front of one node, and the service between them; `pollMillis` is the follower's pace. */
export const operatedService = (pollMillis = 25): Effect.Effect<OperatedService, never, Scope.Scope> =>
  Effect.gen(function*() {
    const database = yield* migratedDatabase
    const directory = yield* temporaryDirectory
    const node = yield* anvil("base", "mainnet")
    yield* node.setCode(usdc)
    const endpoints = [yield* nodeProxy(node.url), yield* nodeProxy(node.url)] as const
    const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(0x3c)).derive("m/44'/60'/0'").publicExtendedKey
    const deployment = chaosDeployment(database.url, {
      rpc: [endpoints[0].url, endpoints[1].url],
      xpub,
      pollMillis
    })
    const ports = { http: yield* freePort, rpc: yield* freePort }
    const sql = Context.get(yield* Effect.orDie(Layer.build(connect(database))), SqlClient.SqlClient)
    const { boot, current, end } = yield* makeRestartable(startService({ directory, ports, ...deployment }))
    const service = () => current()!
    const another = Effect.flatMap(temporaryDirectory, (other) => startService({ directory: other, ...deployment }))

    const call: OperatedService["call"] = (name, payload, at = service()) => rpcCall(at, name, payload)
    const openShop = Effect.gen(function*() {
      const { value: { id } } = yield* call("auth.merchants.create", { name: "Shop", email: "pay@shop.example" })
      const { value: { key } } = yield* call("auth.keys.create", {
        merchant_id: id,
        name: "till",
        scope: "merchant",
        environment: "mainnet"
      })
      service().guard(key)
      yield* service().call("/api/v1/merchant/settings", {
        method: "PATCH",
        headers: { "x-api-key": key },
        body: { confirmation_policy: "fast" }
      })
      return { key, merchantId: id }
    })
    const order: OperatedService["order"] = Effect.fnUntraced(function*(shop, amountUsd, fields = {}) {
      const made = yield* service().call("/api/v1/invoices", {
        headers: { "x-api-key": shop.key, "idempotency-key": randomUUID() },
        body: { amount_usd: amountUsd, ...fields }
      })
      if (made.status !== 200) return yield* Effect.die(new Error(made.text))
      const { invoice_id: id, payment_session_headers: session } = made.json
      const offered = yield* until(
        "USDC is offered",
        service().call("/api/v1/payments/available-tokens?mode=network&network=base", { headers: session }),
        ({ json }) => json.some(({ token_symbol }: any) => token_symbol === "USDC")
      )
      const token = offered.json.find(({ token_symbol }: any) => token_symbol === "USDC")
      const shown = yield* until(
        "an address",
        service().call("/api/v1/payments/payment-addresses", {
          headers: session,
          body: { network: "base", token_id: token.id }
        }),
        ({ status }) => status === 200
      )
      return { id, address: String(shown.json.temp_address).toLowerCase() }
    })
    const invoice: OperatedService["invoice"] = (shop, id) =>
      Effect.gen(function*() {
        const headers = { "x-api-key": shop.key }
        const found = yield* service().call(`/api/v1/invoices/${id}`, { headers })
        const payments = yield* service().call(`/api/v1/invoices/${id}/payments`, { headers })
        if (found.status !== 200 || payments.status !== 200) {
          return yield* Effect.die(new Error(found.text + payments.text))
        }
        return { invoice: found.json, payments: payments.json.data }
      })
    const placeOf = Effect.fnUntraced(function*(hash: string, to: string, amount: bigint) {
      const receipt = yield* node.rpc("eth_getTransactionReceipt", hash)
      const block = yield* node.rpc("eth_getBlockByHash", receipt.blockHash, false)
      const log = receipt.logs.findIndex(({ topics }: any) => topics[2]?.endsWith(to.slice(2)))
      return {
        hash,
        height: BigInt(receipt.blockNumber),
        blockHash: receipt.blockHash,
        blockTime: Number(block.timestamp),
        index: log + 1,
        amount: amount.toString()
      }
    })
    const pay: OperatedService["pay"] = Effect.fnUntraced(function*(to, usd) {
      const amount = BigInt(Math.round(usd * 1e6))
      return yield* placeOf(yield* node.token("mint", [to, amount], { at: usdc }), to, amount)
    })
    const status = Effect.suspend(() =>
      Effect.map(call("chains.status", { environment: "mainnet" }), ({ value }) => value[0])
    )
    const caughtUp = Effect.gen(function*() {
      const head = BigInt(yield* node.rpc("eth_blockNumber"))
      yield* until("the newest block is read", status, (found) => found.head !== null && BigInt(found.head) >= head)
    })
    yield* caughtUp
    return {
      node,
      endpoints,
      sql,
      service,
      another,
      call,
      openShop,
      order,
      invoice,
      pay,
      status,
      caughtUp,
      restart: (signal = "SIGTERM", between = Effect.void) => Effect.andThen(end(signal), Effect.andThen(between, boot))
    }
  })

/** A report of a payment, as an operator writes it. */
export const reportOf = (payment: Payment, to: string) => ({
  network: "base",
  environment: "mainnet",
  tx_hash: payment.hash,
  index: payment.index,
  match_key: to,
  token_address: usdc,
  amount: payment.amount,
  from: null,
  height: payment.height.toString(),
  block_hash: payment.blockHash,
  block_time: payment.blockTime
})
