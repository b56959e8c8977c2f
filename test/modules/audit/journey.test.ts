/**
 * Goal: whatever is decided about money stands in the audit log once, with who decided it, and nothing else does.
 * Method: a whole devnet over HTTP and RPC; the chain is checked by code that reads the answers alone.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { randomBytes, randomUUID } from "node:crypto"
import { ExceptionsRpc } from "../../../modules/exceptions/rpc.ts"
import { MerchantId } from "../../../schemas/Ids.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { rpcToken, until } from "../../support/Service.ts"
import {
  assertRefused,
  type DevnetMerchant,
  DevnetService,
  newDevnetMerchant,
  okData
} from "../simulator/DevnetService.ts"
import { brokenPlace } from "./AuditChain.ts"

const send = Effect.fnUntraced(function*({ merchant }: DevnetMerchant, path: string, body?: unknown) {
  const service = yield* DevnetService
  return yield* service.call(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": merchant, "idempotency-key": randomUUID() },
    ...(body === undefined ? {} : { body })
  })
})

const call = (player: DevnetMerchant, path: string, body?: unknown) => Effect.map(send(player, path, body), okData)

const openException = Effect.fnUntraced(function*(player: DevnetMerchant) {
  const { invoice_id: id } = yield* call(player, "/api/v1/invoices", { amount_usd: 50 })
  yield* call(player, `/api/v1/devnet/invoices/${id}/simulate`, { action: "overpay" })
  const { data: [exception] } = yield* call(player, `/api/v1/exceptions?status=open&invoice_id=${id}`)
  return exception
})

const listOf = (player: DevnetMerchant, query = "") => call(player, `/api/v1/audit-log?${query}`)

/** Entries of a new merchant: each of its keys was created. */
const keysOfMerchant = 2

layer(DevnetService.layer, { excludeTestServices: true })("the audit log", (it) => {
  it.effect("holds each decision once, with who made it, however many tried, and nothing of a refused one", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const other = yield* newDevnetMerchant
      const first = yield* openException(player)
      const path = `/api/v1/exceptions/${first.id}/resolve`
      assertRefused(yield* send(player, path, { action: "accept" }), 400, "VALIDATION_ERROR")
      const tried = yield* Effect.all(
        Array.from({ length: 20 }, () => send(player, path, { action: "credit", note: "kept" })),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(tried.filter(({ status }) => status === 200), 1)
      const second = yield* openException(player)
      const { internalUrl } = yield* DevnetService
      yield* Effect.gen(function*() {
        const operator = yield* RpcClient.make(ExceptionsRpc)
        yield* operator["exceptions.resolve"]({
          merchant_id: MerchantId.make(player.id),
          exception_id: second.id,
          action: "ignore",
          actor: "back-office"
        })
      }).pipe(
        Effect.scoped,
        Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) }))
      )

      const { data, has_more } = yield* listOf(player, "action=exception.resolve")
      assert.isFalse(has_more)
      assert.deepStrictEqual(
        data.map(({ action, after, subject }: any) => [action, subject.id, after.action, after.note.slice(0, 5)]),
        [["exception.resolve", second.id, "ignore", ""], ["exception.resolve", first.id, "credit", "anon_"]]
      )
      const [byService, byKey] = data
      assert.strictEqual(byService.actor, "service:back-office")
      assert.match(byKey.actor, /^key_/)
      assert.match(byKey.request_id, /^req_/)
      assert.deepStrictEqual(byKey.before, { status: "open", type: "overpaid", amount: first.amount })
      assert.deepStrictEqual((yield* listOf(other, "action=exception.resolve")).data, [])
      const filtered = yield* listOf(player, `subject_id=${first.id}&action=exception.resolve`)
      assert.deepStrictEqual(filtered.data.map(({ id }: any) => id), [byKey.id])
      assertRefused(yield* send(player, "/api/v1/audit-log?starting_after=exc_1"), 400, "INVALID_CURSOR")
    }))

  it.effect("holds each change of settings, wallets and keys, and each export, and no secret of them", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const change = (method: string, path: string, body: unknown) =>
        Effect.flatMap(DevnetService, (service) =>
          Effect.map(
            service.call(path, {
              method,
              body,
              headers: { "x-api-key": player.merchant, "idempotency-key": randomUUID() }
            }),
            okData
          ))
      yield* change("PATCH", "/api/v1/merchant/settings", {
        late_window_seconds: 60,
        branding: { name: "Shop", logo_uri: `data:image/png;base64,iVBORw0KGgo${"A".repeat(4_001)}` }
      })
      yield* change("PATCH", "/api/v1/merchant/settings", { late_window_seconds: 60 })
      const wallet = `0x${randomBytes(20).toString("hex")}`
      yield* change("PUT", "/api/v1/merchant/wallets/evm", { kind: "pool", value: wallet })
      yield* change("DELETE", "/api/v1/merchant/wallets/evm", undefined)
      const made = yield* change("POST", "/api/v1/api-keys", { name: "till", scope: "merchant" })
      const next = yield* change("POST", `/api/v1/api-keys/${made.id}/rotate`, { overlap_seconds: 60 })
      yield* change("DELETE", `/api/v1/api-keys/${next.id}`, undefined)
      yield* call(player, "/api/v1/exports/invoices?format=json&from=0&to=86400")

      const { data } = yield* listOf(player, "limit=100")
      const mine = data.filter(({ actor }: any) => actor !== "service:rpc").toReversed()
      assert.deepStrictEqual(mine.map(({ action, subject }: any) => `${action} ${subject.id}`), [
        `settings.update ${player.id}`,
        "wallet.set evm",
        "wallet.remove evm",
        `key.create ${made.id}`,
        `key.rotate ${made.id}`,
        `key.create ${next.id}`,
        `key.revoke ${next.id}`,
        "export.read invoices"
      ])
      const [settings, set, removed] = mine
      assert.deepStrictEqual(Object.keys(settings.after).toSorted(), [
        "branding.logo_uri",
        "branding.name",
        "late_window_seconds"
      ])
      assert.deepStrictEqual([settings.before.late_window_seconds, settings.after.late_window_seconds], [604_800, 60])
      assert.deepStrictEqual([set.before, removed.after], [{}, {}])
      assert.deepStrictEqual(set.after, removed.before)
      assert.deepStrictEqual(mine.at(-1).after, { format: "json", from: 0, to: 86_400, metadata_keys: [] })
      const text = JSON.stringify(data)
      for (const secret of [wallet, made.key, next.key, made.key.slice(-8), "A".repeat(100)]) {
        assert.notInclude(text, secret)
      }
    }))

  it.effect("is one chain, whose pages hold each entry once in both directions", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const exceptions = yield* Effect.forEach(Array.from({ length: 7 }), () => openException(player))
      yield* Effect.forEach(
        exceptions,
        ({ id }) => call(player, `/api/v1/exceptions/${id}/resolve`, { action: "ignore" }),
        { concurrency: "unbounded" }
      )
      const { data: all } = yield* until(
        "every entry has its place",
        listOf(player),
        ({ data }) => data.length === 7 + keysOfMerchant && data.every(({ place }: any) => place !== null)
      )
      const inOrder = all.toSorted((a: any, b: any) => a.place - b.place)
      assert.isNull(brokenPlace(inOrder))
      assert.strictEqual(brokenPlace(inOrder.with(2, { ...inOrder[2], actor: "key_another" })), 3)

      const older = yield* listOf(player, `limit=3&starting_after=${all[2].id}`)
      assert.deepStrictEqual([older.data, older.has_more], [all.slice(3, 6), true])
      const newer = yield* listOf(player, `limit=3&ending_before=${all[2].id}`)
      assert.deepStrictEqual([newer.data, newer.has_more], [all.slice(0, 2), false])
    }))

  it.effect("goes on with a merchant's chain while another's is broken, and has more entries waiting than one run takes", () =>
    Effect.gen(function*() {
      const broken = yield* newDevnetMerchant
      const player = yield* newDevnetMerchant
      const decide = (merchant: DevnetMerchant) =>
        Effect.flatMap(
          openException(merchant),
          ({ id }) => call(merchant, `/api/v1/exceptions/${id}/resolve`, { action: "ignore" })
        )
      const chained = (merchant: DevnetMerchant, count: number) =>
        until(
          `${count} entries are chained`,
          listOf(merchant, "limit=100"),
          ({ data }) => data.filter(({ place }: any) => place !== null).length === keysOfMerchant + count
        )
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      yield* decide(broken)
      yield* chained(broken, 1)
      // Its next entry would take a place that is taken: the database refuses it, which the service cannot expect.
      yield* sql`UPDATE audit_chains SET chain_place = 0 WHERE merchant_id = ${broken.id}`
      yield* sql`INSERT INTO audit_entries SELECT merchant_id, replace(id, 'aud_0', 'aud_00' || n || '_'), 1, environment,
          actor, action, subject, before, after, request_id, created_at FROM audit_entries, generate_series(100, 349) n
        WHERE merchant_id = ${broken.id} AND action = 'exception.resolve'`
      yield* decide(player)
      yield* chained(player, 1)
      const places = (yield* listOf(broken, "limit=100")).data.filter(({ place }: any) => place !== null)
      assert.lengthOf(places, keysOfMerchant + 1)

      yield* sql`UPDATE audit_chains SET chain_place = ${keysOfMerchant + 1} WHERE merchant_id = ${broken.id}`
      yield* until(
        "the mended chain goes on",
        Effect.orDie(
          sql<{ waiting: number }>`SELECT count(*)::integer AS waiting FROM audit_entries WHERE chain_place IS NULL`
        ),
        ([row]) => row!.waiting === 0
      )
    }).pipe(Effect.orDie))
})
