/**
 * Goal: two instances that book one merchant's payments at once keep one set of books, also when one of them is killed
 * in the middle. Method: two processes on one database; payments go to both, and after the kill to the one that lives.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { LedgerRpc } from "../../../modules/ledger/rpc.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { configOf, rpcToken, type Service, startService, temporaryDirectory, until } from "../../support/Service.ts"

const amountUsd = 10

it.live(
  "two instances keep one set of books, also when one is killed",
  () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({
        database: database.url,
        chains: [{ use: "simulated", options: { networks: ["base"] } }]
      })
      const start = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
      const services = yield* Effect.all([start, start], { concurrency: 2 })
      const owner = services.find(({ dataDirectory }) => existsSync(join(dataDirectory, "demo-keys.json")))!
      const { merchant_key: key } = yield* owner.keys
      const ask = (service: Service, path: string, body?: object) =>
        service.call(path, {
          method: body === undefined ? "GET" : "POST",
          headers: { "x-api-key": key, "idempotency-key": randomUUID() },
          ...(body === undefined ? {} : { body })
        })
      /** A payment by one instance; whether it was answered. */
      const pay = (service: Service) =>
        Effect.gen(function*() {
          const invoice = yield* ask(service, "/api/v1/invoices", { amount_usd: amountUsd })
          if (invoice.status !== 200) return false
          const path = `/api/v1/devnet/invoices/${invoice.json.invoice_id}/simulate`
          return (yield* ask(service, path, { action: "pay" })).status === 200
        }).pipe(Effect.catchCause(() => Effect.succeed(false)))
      const check = (service: Service) =>
        Effect.flatMap(RpcClient.make(LedgerRpc), (client) => client["ledger.check"]({})).pipe(
          Effect.scoped,
          Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) })),
          Effect.orDie
        )

      const first = yield* Effect.forEach(
        Array.from({ length: 60 }, (_, n) => services[n % 2]!),
        pay,
        { concurrency: 20 }
      )
      assert.isTrue(first.every((paid) => paid))
      assert.deepStrictEqual(yield* check(services[0]), { is_balanced: true, differences: [], more: 0 })

      const [dying, living] = services
      const [second] = yield* Effect.all([
        Effect.forEach(Array.from({ length: 40 }, (_, n) => services[n % 2]!), pay, { concurrency: 20 }),
        Effect.delay(dying.stop("SIGKILL"), "60 millis")
      ], { concurrency: 2 })
      yield* until("the other instance goes on", pay(living), (paid) => paid)
      assert.deepStrictEqual(yield* check(living), { is_balanced: true, differences: [], more: 0 })
      const { available } = (yield* ask(living, "/api/v1/balance")).json.data
      const answered = [...first, ...second].filter((paid) => paid).length + 1
      // What was committed when its caller was not answered is in the books as well.
      assert.isAtLeast(available, answered * amountUsd * 1_000)
    }).pipe(Effect.scoped)
)
