/**
 * Goal: a deployment with a file of screened addresses refuses their money, and lets a signed-in owner alone take it;
 * one whose file or order of modules is wrong does not start. Method: the running service over HTTP and RPC, with play
 * money.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { ExceptionsRpc } from "../../../modules/exceptions/rpc.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { playMoneySender } from "../../../schemas/PlayMoney.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { configOf, rpcToken, type Service, startService, temporaryDirectory } from "../../support/Service.ts"
import { assertStatus } from "../../journeys/Shop.ts"
import { makeKey, signIn } from "../../journeys/Tenants.ts"

const sender = playMoneySender("base")!

/** Starts a deployment with these entries of `modules` behind `payments`: where they stand does not matter. */
const start = Effect.fnUntraced(function*(
  entries: ReadonlyArray<object>,
  { text = `base ${sender}\n` } = {}
) {
  const directory = yield* temporaryDirectory
  writeFileSync(join(directory, "screened.txt"), text)
  const database = yield* migratedDatabase
  const config = configOf({ database: database.url, chains: [{ use: "simulated" }] })
  const list = entries.map((entry) => ({
    ...entry,
    ...("options" in entry ? { options: { file: join(directory, "screened.txt") } } : {})
  }))
  const modules = config.modules.flatMap((entry: { readonly use: string }) => {
    const own = entry.use === "identity" ? { ...entry, options: { signup: "open" } } : entry
    return entry.use === "payments" ? [own, ...list] : [own]
  })
  return yield* startService({ directory, config: { ...config, modules } })
})

const screeningByList = [{ use: "screening" }, { use: "screening/list", options: {} }]

class Deployed extends Context.Service<Deployed, {
  readonly service: Service
  readonly merchantId: number
  readonly jwt: Readonly<Record<string, string>>
  readonly key: Readonly<Record<string, string>>
}>()("test/Deployed") {
  static readonly layer = Layer.effect(
    Deployed,
    Effect.gen(function*() {
      const service = yield* start(screeningByList)
      const session = yield* signIn(service, privateKeyToAccount(generatePrivateKey()))
      const jwt = { authorization: `Bearer ${session.access_token}` }
      const { key } = yield* makeKey(service, jwt, { scope: "merchant", environment: "devnet" })
      return { service, merchantId: session.merchant.id as number, jwt, key: { "x-api-key": key } }
    })
  )
}

const post = Effect.fnUntraced(function*(path: string, body: object, credential?: Readonly<Record<string, string>>) {
  const { key, service } = yield* Deployed
  return yield* service.call(path, { headers: { ...credential ?? key, "idempotency-key": randomUUID() }, body })
})

const read = Effect.fnUntraced(function*(path: string) {
  const { key, service } = yield* Deployed
  return assertStatus(200, yield* service.call(path, { headers: key }))
})

/** An invoice that the listed sender has paid, and what waits for a decision. */
const screenedInvoice = Effect.gen(function*() {
  const made = assertStatus(200, yield* post("/api/v1/invoices", { amount_usd: 50 }))
  const id = made.invoice_id as string
  assertStatus(200, yield* post(`/api/v1/devnet/invoices/${id}/simulate`, { action: "pay" }))
  const { data: [exception] } = (yield* read(`/api/v1/exceptions?invoice_id=${id}`)).data
  return { id, exception, session: made.payment_session_headers as Readonly<Record<string, string>> }
})

const resolve = (
  exception: { readonly id: string },
  action: string,
  credential?: Readonly<Record<string, string>>,
  refund?: object
) => post(`/api/v1/exceptions/${exception.id}/resolve`, { action, note: "asked the customer", refund }, credential)

layer(Deployed.layer, { excludeTestServices: true })(
  "a deployment with screened addresses",
  (it) => {
    it.effect("rejects what a listed sender pays, and its invoice expires unpaid", () =>
      Effect.gen(function*() {
        const { exception, id } = yield* screenedInvoice
        assert.deepInclude(exception, {
          type: "screened",
          status: "open",
          allowed_actions: ["accept", "refund", "ignore"]
        })
        const paid = yield* read(`/api/v1/invoices/${id}?expand=latest_payment`)
        assert.include(paid, { status: "unpaid", amount_paid: 0 })
        assert.include(paid.latest_payment, { status: "rejected", amount: 0 })
        assertStatus(200, yield* post(`/api/v1/devnet/invoices/${id}/simulate`, { action: "expire" }))
        assert.include(yield* read(`/api/v1/invoices/${id}`), { status: "expired", amount_paid: 0 })
      }))

    it.effect("counts it when a signed-in owner accepts it, and refuses an API key and an internal service", () =>
      Effect.gen(function*() {
        const { jwt, merchantId, service } = yield* Deployed
        const { exception, id } = yield* screenedInvoice
        const byKey = assertStatus(403, yield* resolve(exception, "accept"))
        assert.include(byKey.error, { code: "CREDENTIAL_NOT_ALLOWED" })
        assert.include(byKey.error.message, "Only an owner of the merchant may accept it: sign in with a wallet")
        const byService = yield* Effect.gen(function*() {
          const operator = yield* RpcClient.make(ExceptionsRpc)
          return yield* Effect.flip(operator["exceptions.resolve"]({
            merchant_id: merchantId as never,
            exception_id: exception.id,
            action: "accept",
            actor: "back-office"
          }))
        }).pipe(
          Effect.scoped,
          Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }))
        )
        assert.propertyVal(byService, "code", "CREDENTIAL_NOT_ALLOWED")
        assert.include(yield* read(`/api/v1/invoices/${id}`), { status: "unpaid", amount_paid: 0 })
        const { data } = assertStatus(200, yield* resolve(exception, "accept", jwt))
        assert.deepInclude(data, { status: "resolved" })
        assert.include(yield* read(`/api/v1/invoices/${id}`), { status: "paid", amount_paid: 50_000 })
      }))

    it.effect("leaves the payment rejected where the merchant's key ignores it", () =>
      Effect.gen(function*() {
        const { exception, id } = yield* screenedInvoice
        assertStatus(200, yield* resolve(exception, "ignore"))
        const after = yield* read(`/api/v1/invoices/${id}?expand=latest_payment`)
        assert.include(after, { status: "unpaid", amount_paid: 0 })
        assert.include(after.latest_payment, { status: "rejected" })
      }))

    it.effect("gives it back as it came, to an address that is not listed, when a signed-in owner approves it", () =>
      Effect.gen(function*() {
        const { jwt } = yield* Deployed
        const { exception, id } = yield* screenedInvoice
        const to = (address: string) => ({ destination: { network: "base", address }, fee_bearer: "merchant" })
        const listed = assertStatus(400, yield* resolve(exception, "refund", undefined, to(sender)))
        assert.include(listed.error, { code: "WALLET_ADDRESS_INVALID", param: "refund.destination.address" })
        const address = privateKeyToAccount(generatePrivateKey()).address
        const { data, refunds: [opened] } = assertStatus(
          200,
          yield* resolve(exception, "refund", undefined, to(address))
        )
        assert.include(data, { status: "resolved" })
        assert.include(opened, {
          status: "pending_approval",
          amount: exception.amount,
          token_amount: exception.token_amount
        })
        const byKey = assertStatus(403, yield* post(`/api/v1/refunds/${opened.id}/approve`, {}))
        assert.include(byKey.error, { code: "CREDENTIAL_NOT_ALLOWED" })
        const approved = assertStatus(200, yield* post(`/api/v1/refunds/${opened.id}/approve`, {}, jwt))
        assert.include(approved.data, { status: "processing" })
        const after = yield* read(`/api/v1/invoices/${id}?expand=latest_payment`)
        assert.include(after, { status: "unpaid", amount_paid: 0 })
        assert.include(after.latest_payment, { status: "rejected" })
        const again = assertStatus(409, yield* resolve(exception, "accept", jwt))
        assert.include(again.error, { code: "EXCEPTION_ALREADY_RESOLVED" })
      }))

    it.effect("takes no listed refund address from a payor, and does not say why", () =>
      Effect.gen(function*() {
        const { session } = yield* screenedInvoice
        const body = { network: "ethereum", address: sender }
        const refused = yield* post("/api/v1/payments/refund-address", body, session)
        assert.propertyVal(assertStatus(400, refused), "code", "WALLET_ADDRESS_INVALID")
        assert.notMatch(refused.text, /list|screen|sanction/i)
      }))
  }
)

describe("a deployment whose screening is wrong", () => {
  layer(Layer.empty, { excludeTestServices: true })((it) => {
    it.effect("does not start, and names what to correct", () =>
      Effect.gen(function*() {
        const outputOf = (...wrong: Parameters<typeof start>) =>
          Effect.map(
            Effect.exit(Effect.scoped(start(...wrong))),
            (exit) => Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it started"
          )
        const [broken, alone] = yield* Effect.all([
          outputOf(screeningByList, { text: "base nobody\n" }),
          outputOf(screeningByList.slice(1))
        ])
        assert.include(broken, "did not start, code 2")
        assert.match(
          broken,
          /"screening\/list": did not start: \S+screened\.txt: line 1 \(base nobody\): "nobody" is no address of base/
        )
        assert.include(alone, "\"screening/list\" needs \"screening\"")
      }))
  })
})
