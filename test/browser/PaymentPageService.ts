/**
 * The real service with its payment page, a merchant, and the world outside: an EVM node of a test network, one of a
 * main network (where payments need ten confirmations), and the chains that the process simulates.
 */
import { assert } from "@effect/vitest"
import { HDKey } from "@scure/bip32"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { RpcClient } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { randomBytes, randomUUID } from "node:crypto"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import {
  configOf,
  masterKey,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestResponse,
  until
} from "../support/Service.ts"

/** Circle's USDC on Base, where the node of the main network has a token of the tests' own. */
export const mainUsdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

/** Where a token lies that no catalogue knows. */
export const strangeToken = "0x00000000000000000000000000000000000bAd01"

/** What a payor brings: the address of the page, and the headers of the payor's API for the same session. */
export interface PayableInvoice {
  readonly id: string
  /** `payment_url`. */
  readonly url: string
  readonly session: Readonly<Record<string, string>>
  /** Key of its merchant. */
  readonly key: string
}

/** The body of an answer that must have `status`. */
export const assertStatus = (status: number, found: TestResponse): any => {
  assert.strictEqual(found.status, status, found.text)
  return found.json
}

export class PaymentPageService extends Context.Service<PaymentPageService, {
  /** The service as it runs now. */
  readonly service: () => Service
  /** Stops it and starts it again on the same ports, database and directory. */
  readonly restart: Effect.Effect<void>
  readonly sql: SqlClient.SqlClient
  readonly node: Anvil
  readonly mainNode: Anvil
  /** A new invoice of the demo merchant; of `key`'s where one is given. */
  readonly payableInvoice: (fields?: object, key?: string) => Effect.Effect<PayableInvoice>
  /** A key of a merchant of its own, with these settings. */
  readonly merchant: (settings: object, more?: {
    readonly environment?: "devnet" | "mainnet"
    readonly name?: string
  }) => Effect.Effect<string>
  /** The payor chooses, by the payor's API. */
  readonly choose: (bill: PayableInvoice, symbol?: string, network?: string) => Effect.Effect<any>
  /** The body of `session-details`, once it is as wanted. */
  readonly details: (bill: PayableInvoice, wanted: (details: any) => boolean) => Effect.Effect<any>
  /** Sends dollars of USDC (6 decimals) on the test network. */
  readonly pay: (address: string, amount: bigint) => Effect.Effect<string>
}>()("test/browser/PaymentPageService") {
  static readonly layer = Layer.effect(
    PaymentPageService,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      const mainNode = yield* anvil("base", "mainnet")
      for (const [at, one] of [[usdc, node], [strangeToken, node], [mainUsdc, mainNode]] as const) {
        yield* one.setCode(at)
        yield* one.token("mint", [one.accounts[0]!, 1_000_000_000_000n], { at })
      }
      const database = yield* migratedDatabase
      const directory = yield* temporaryDirectory
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey
      const base = configOf({
        database: database.url,
        // Wrapped ether has no price.
        prices: { "usd-coin": "1", tether: "1", ethereum: "3500" },
        chains: [
          // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
          {
            use: "evm",
            options: {
              network: "base",
              environment: "devnet",
              rpc: ["${env:NODE}"],
              xpub: "${env:XPUB}",
              startIndex: 10,
              pollMillis: 25
            }
          },
          {
            use: "evm",
            options: {
              network: "base",
              environment: "mainnet",
              rpc: ["${env:MAIN_NODE}"],
              xpub: "${env:MAIN_XPUB}",
              startIndex: 0,
              pollMillis: 25
            }
          },
          { use: "simulated", options: { networks: ["optimism", "arbitrum"] } }
        ]
      })
      const config = {
        ...base,
        environments: ["devnet", "mainnet"],
        pricing: { quorum: 1 },
        // A config that serves mainnet names its secrets and never holds one.
        rpc: { token: "${env:RPC_TOKEN}" },
        secrets: { master: ["${env:MASTER}"] }
      }
      const owner = yield* Effect.scope
      const start = Effect.fnUntraced(function*(ports?: Service["ports"]) {
        const scope = yield* Scope.fork(owner)
        const service = yield* startService({
          directory,
          config,
          environment: {
            RPC_TOKEN: rpcToken,
            MASTER: masterKey,
            NODE: node.url,
            XPUB: devnetXpub,
            MAIN_NODE: mainNode.url,
            MAIN_XPUB: account
          },
          ...ports === undefined ? {} : { ports }
        }).pipe(Scope.provide(scope))
        return { scope, service }
      })
      let running = yield* start()
      const demoKey = (yield* running.service.keys).merchant_key
      const sql = Context.get(yield* Layer.build(Layer.orDie(connect(database))), SqlClient.SqlClient)

      const payableInvoice = Effect.fnUntraced(function*(fields: object = {}, key = demoKey) {
        const made = yield* running.service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": randomUUID() },
          body: { amount_usd: 25, invoice_title: "Blue T-shirt", ...fields }
        })
        const { invoice_id, payment_session_headers, payment_url } = assertStatus(200, made)
        return { id: invoice_id, url: payment_url, session: payment_session_headers, key }
      })

      const merchant = Effect.fnUntraced(
        function*(settings: object, { environment = "devnet", name = "Blue Bottle Store" }: {
          readonly environment?: "devnet" | "mainnet"
          readonly name?: string
        } = {}) {
          const key = yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* RpcClient.make(AuthRpc)
            const { id } = yield* client["auth.merchants.create"]({ name })
            const made = yield* client["auth.keys.create"]({
              merchant_id: id,
              name: "test",
              scope: "merchant",
              environment
            })
            return made.key
          })).pipe(
            Effect.provide(InternalRpc.layer({ url: running.service.rpcUrl, token: Redacted.make(rpcToken) })),
            Effect.orDie
          )
          running.service.guard(key)
          const set = { method: "PATCH", headers: { "x-api-key": key }, body: settings }
          assertStatus(200, yield* running.service.call("/api/v1/merchant/settings", set))
          return key
        }
      )

      const choose = Effect.fnUntraced(function*({ session }: PayableInvoice, symbol = "USDC", network = "base") {
        const path = `/api/v1/payments/available-tokens?mode=network&network=${network}`
        const tokens = assertStatus(200, yield* running.service.call(path, { headers: session }))
        const token = tokens.find(({ token_symbol }: any) => token_symbol === symbol)
        assert.isDefined(token, `${symbol} is offered on ${network}`)
        const body = { network, token_id: token.id }
        // A service that has just begun to follow a mainnet gives out no address before it has read it up to its end,
        // and none where no block has come for long.
        const given = yield* until(
          "an address is given",
          Effect.tap(
            running.service.call("/api/v1/payments/payment-addresses", { headers: session, body }),
            ({ status }) => status === 503 ? mainNode.mine(1) : Effect.void
          ),
          ({ status }) => status !== 503
        )
        return assertStatus(200, given)
      })

      const details = ({ session }: PayableInvoice, wanted: (details: any) => boolean) =>
        until(
          "the invoice is as wanted",
          Effect.map(
            running.service.call("/api/v1/payments/session-details", { headers: session }),
            (found) => assertStatus(200, found)
          ),
          wanted
        )

      return PaymentPageService.of({
        service: () => running.service,
        restart: Effect.gen(function*() {
          yield* running.service.stop()
          yield* Scope.close(running.scope, Exit.void)
          running = yield* start(running.service.ports)
        }),
        sql,
        node,
        mainNode,
        payableInvoice,
        merchant,
        choose,
        details,
        pay: (address, amount) => node.token("transfer", [address, amount])
      })
    })
  )
}
