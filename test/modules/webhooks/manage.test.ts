/**
 * Goal: a merchant manages its own webhook endpoints and nobody else's, in whatever order and however often it asks.
 * Method: the real routes, middlewares and commit log over PostgreSQL, on virtual time.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { maximumDeleted } from "../../../modules/webhooks/repo.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Environment } from "../../../schemas/Network.ts"
import { Role, roleHas } from "../../../schemas/Roles.ts"
import {
  ask,
  assertOk,
  delivery,
  devnetUrl,
  endpoint,
  event,
  queue,
  refusal,
  wanted,
  webhooksApi
} from "./WebhooksService.ts"

const uncounted = (endpoint: any) => ({ ...endpoint, updated_at: null })

layer(webhooksApi)("a webhook endpoint", (it) => {
  it.effect("is listed, newest first, and read as it was made, but for the secret", () =>
    Effect.gen(function*() {
      const { secret, ...first } = yield* endpoint("1", { ordered: true, description: "<script>alert(1)</script>" })
      yield* TestClock.adjust("1 second")
      const { secret: _, ...second } = yield* endpoint("1")
      const list = yield* ask("1", "")
      assert.deepStrictEqual(assertOk(list), { object: "list", data: [second, first], has_more: false })
      const one = yield* ask("1", `/${first.id}`)
      assert.deepStrictEqual(assertOk(one), first)
      assert.strictEqual(first.ordered, true)
      for (const { text } of [list, one]) assert.notInclude(text, secret)
      assert.deepStrictEqual(assertOk(yield* ask("2", "")).data, [])
    }))

  it.effect("changes in every field that may change, and in no other", () =>
    Effect.gen(function*() {
      const { secret: _, ...made } = yield* endpoint("3")
      const patch = (body: unknown) => ask("3", `/${made.id}`, { method: "PATCH", body })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(uncounted(assertOk(yield* patch({}))), uncounted(made))
      const changes = {
        url: "https://shop.example/other",
        enabled_events: ["*"],
        description: "New",
        ordered: true,
        environment: null
      }
      for (const [field, value] of Object.entries(changes)) {
        const before = assertOk(yield* ask("3", `/${made.id}`))
        const after = assertOk(
          yield* patch({ [field]: value, id: "we_x", api_version: made.api_version, secret: "whsec_mine", unknown: 1 })
        )
        // Null is a key's own environment.
        assert.deepStrictEqual(
          uncounted(after),
          uncounted({ ...before, ...field === "environment" ? {} : { [field]: value } })
        )
        assert.isAbove(after.updated_at, made.created_at)
        assert.deepStrictEqual(assertOk(yield* ask("3", `/${made.id}`)), after)
      }
      assert.isNull(assertOk(yield* patch({ description: null })).description)
      const disabled = assertOk(yield* patch({ status: "disabled" }))
      assert.deepStrictEqual([disabled.status, disabled.disabled_reason], ["disabled", "merchant"])
      const enabled = assertOk(yield* patch({ status: "enabled" }))
      assert.deepStrictEqual([enabled.status, enabled.disabled_reason], ["enabled", null])
    }))

  it.effect("refuses wrong values and says which", () =>
    Effect.gen(function*() {
      const made = yield* endpoint("4")
      const patch = (body: unknown) => Effect.map(ask("4", `/${made.id}`, { method: "PATCH", body }), refusal)
      for (
        const [field, value, found] of [
          ["url", "http://shop.example/", "400 WEBHOOK_URL_INVALID url"],
          ["url", 7, "400 VALIDATION_ERROR url"],
          ["url", null, "400 VALIDATION_ERROR url"],
          ["enabled_events", [], "400 VALIDATION_ERROR enabled_events"],
          ["enabled_events", "*", "400 VALIDATION_ERROR enabled_events"],
          ["enabled_events", ["*", "invoice.lost"], "400 VALIDATION_ERROR enabled_events.1"],
          ["enabled_events", Array.from({ length: 51 }, () => "*"), "400 VALIDATION_ERROR enabled_events"],
          ["environment", "testnet", "400 INVALID_ENVIRONMENT environment"],
          ["environment", "mainnet", "403 ENVIRONMENT_FORBIDDEN environment"],
          ["description", "x".repeat(501), "400 VALIDATION_ERROR description"],
          ["description", { a: 1 }, "400 VALIDATION_ERROR description"],
          ["status", "deleted", "400 VALIDATION_ERROR status"],
          ["status", null, "400 VALIDATION_ERROR status"],
          ["ordered", "yes", "400 VALIDATION_ERROR ordered"],
          ["ordered", null, "400 VALIDATION_ERROR ordered"]
        ] as const
      ) assert.strictEqual(yield* patch({ [field]: value }), found)
      assert.strictEqual(yield* patch({ description: "a\u0000b" }), "400 VALIDATION_ERROR null")
      assert.strictEqual(yield* patch("[]"), "400 VALIDATION_ERROR null")
      for (const [overlap, found] of [[-1, 400], [604_801, 400], [1.5, 400], ["1", 400], [604_800, 200]] as const) {
        const rotated = yield* ask("4", `/${made.id}/rotate-secret`, { body: { overlap_seconds: overlap } })
        assert.strictEqual(rotated.status, found, String(overlap))
        if (found === 400) assert.strictEqual(refusal(rotated), "400 VALIDATION_ERROR overlap_seconds")
      }
      const after = assertOk(yield* ask("4", `/${made.id}`))
      assert.deepStrictEqual([after.url, after.enabled_events, after.status], [
        made.url,
        made.enabled_events,
        "enabled"
      ])
    }))

  it.effect("is managed by its merchant's keys of its environment and scope, and by its wallets", () =>
    Effect.gen(function*() {
      const ids = {
        devnet: (yield* endpoint("5")).id,
        mainnet: (yield* endpoint("5m")).id,
        commerce: (yield* endpoint("5c")).id,
        both: (yield* endpoint("w5", { environment: null })).id
      }
      const sees: Readonly<Record<string, ReadonlyArray<keyof typeof ids>>> = {
        "5": ["devnet", "commerce"],
        "5m": ["mainnet"],
        "5c": ["commerce"],
        "5cm": [],
        "6": [],
        "w6": [],
        "w5": ["devnet", "mainnet", "commerce", "both"]
      }
      for (const [who, names] of Object.entries(sees)) {
        const listed = assertOk(yield* ask(who, "")).data.map(({ id }: any) => id)
        assert.sameMembers(listed, names.map((name) => ids[name]), who)
        for (const [name, id] of Object.entries(ids)) {
          const wanted = names.some((each) => each === name) ? 200 : 404
          const found = [
            yield* ask(who, `/${id}`),
            yield* ask(who, `/${id}`, { method: "PATCH", body: { description: who } }),
            yield* ask(who, `/${id}/rotate-secret`, { body: {} }),
            yield* ask(who, `/${id}/replay`, { body: {} }),
            yield* ask(who, `/${id}/deliveries`)
          ]
          assert.deepStrictEqual(
            found.map(({ status }) => status),
            [wanted, wanted, wanted, wanted, wanted],
            `${who} ${name}`
          )
          if (wanted === 404) {
            for (const each of found) assert.strictEqual(refusal(each), "404 WEBHOOK_NOT_FOUND null")
          }
        }
      }
      const heard = (query: string, who = "w5") =>
        Effect.map(ask(who, query), (found) => assertOk(found).data.map(({ id }: any) => id))
      assert.sameMembers(yield* heard("?environment=mainnet"), [ids.mainnet, ids.both])
      assert.sameMembers(yield* heard("?environment=devnet", "5"), [ids.devnet, ids.commerce])
      assert.strictEqual(refusal(yield* ask("5", "?environment=mainnet")), "403 ENVIRONMENT_FORBIDDEN environment")
      assert.strictEqual(refusal(yield* ask("5", "?environment=x")), "400 INVALID_ENVIRONMENT environment")
      assert.strictEqual(
        assertOk(yield* ask("w5", `/${ids.devnet}`, { method: "PATCH", body: { environment: "mainnet" } })).environment,
        "mainnet"
      )
      assert.strictEqual((yield* ask("5", `/${ids.devnet}`)).status, 404)
    }))

  it.effect("is seen and changed only in roles that may do so where it hears of events, whichever environment is named", () =>
    Effect.gen(function*() {
      const made = {
        devnet: yield* endpoint("w7"),
        mainnet: yield* endpoint("w7", { environment: "mainnet" }),
        both: yield* endpoint("w7", { environment: null })
      }
      const delivered = {
        devnet: yield* delivery(7, made.devnet.id, 7_001, "failed"),
        mainnet: yield* delivery(7, made.mainnet.id, 7_001, "failed"),
        both: yield* delivery(7, made.both.id, 7_001, "failed")
      }
      yield* event(7, 7_001, { environment: "devnet" })
      for (const role of Role.literals) {
        for (const named of Environment.literals) {
          const who = `w7:${role}`
          const query = `?environment=${named}`
          for (const  of of["devnet", "mainnet", "both"] as const) {
            const { id } = made[of]
            // What is of both is play money in no part.
            const mayHere = [named, of === "devnet" ? "devnet" as const : "mainnet" as const]
              .every((environment) => roleHas(role, "webhooks:write", environment))
            const found = [
              yield* ask(who, `/${id}${query}`),
              yield* ask(who, `/${id}${query}`, { method: "PATCH", body: { description: who } }),
              yield* ask(who, `/${id}/rotate-secret${query}`, { body: {} }),
              yield* ask(who, `/${id}/deliveries${query}`),
              yield* ask(who, `/${id}/replay${query}`, { body: { from_event_id: "evt_8000-1" } }),
              yield* ask(who, `/deliveries/${delivered[of]}${query}`)
            ]
            const refused = mayHere ? [] : found.filter(({ json }) => json.error?.code !== "PERMISSION_DENIED")
            const what = `${role} naming ${named}: ${of}`
            if (mayHere) assert.notInclude(found.map(({ json }) => json.error?.code), "PERMISSION_DENIED", what)
            else assert.deepStrictEqual(refused.map(({ status, text }) => `${status} ${text}`), [], what)
          }
          const list = yield* ask(who, query)
          const seen = list.status === 200 ? list.json.data.data.map(({ environment }: any) => environment) : []
          const isTrusted = roleHas(role, "webhooks:read", "mainnet")
          assert.isTrue(isTrusted || seen.every((environment: any) => environment === "devnet"), `${role} ${seen}`)
        }
      }
      const support = "w7:support"
      const toBoth = { ...wanted, environment: null }
      assert.strictEqual(refusal(yield* ask(support, "", { body: toBoth })), "403 PERMISSION_DENIED null")
      const own = yield* endpoint(support)
      const moved = (environment: string | null) =>
        Effect.map(ask(support, `/${own.id}`, { method: "PATCH", body: { environment } }), ({ status }) => status)
      assert.deepStrictEqual([yield* moved(null), yield* moved("mainnet"), yield* moved("devnet")], [403, 403, 200])
    }))

  it.effect("has its secret told again only to the credential that it was told first", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("w8", { environment: "mainnet" })
      const rotate = (who: string) => ask(who, `/${id}/rotate-secret?environment=devnet`, { body: {}, key: "once" })
      const { secret } = assertOk(yield* rotate("w8:developer"))
      assert.strictEqual(assertOk(yield* rotate("w8:developer")).secret, secret)
      assert.strictEqual(refusal(yield* rotate("w8:support")), "403 PERMISSION_DENIED null")
    }))

  it.effect("gets a new secret from whoever has just proved who they are, and from keys", () =>
    Effect.gen(function*() {
      for (const environment of ["devnet", "mainnet", null]) {
        const { id } = yield* endpoint("w15", { environment })
        const rotate = (who: string) => ask(who, `/${id}/rotate-secret`, { body: {} })
        assert.strictEqual(refusal(yield* rotate("w15:owner!")), "403 FRESH_PROOF_REQUIRED null", String(environment))
        assertOk(yield* rotate("w15:owner"))
        assertOk(yield* ask("w15:owner!", `/${id}`))
      }
      const { id } = yield* endpoint("15")
      assertOk(yield* ask("15", `/${id}/rotate-secret`, { body: {} }))
    }))

  it.effect("may not be moved to an environment in which its address is refused", () =>
    Effect.gen(function*() {
      const { id } = yield* endpoint("w13", { url: devnetUrl })
      const patch = (body: object) => ask("w13", `/${id}`, { method: "PATCH", body })
      for (const environment of [null, "mainnet"]) {
        assert.strictEqual(refusal(yield* patch({ environment })), "400 WEBHOOK_URL_INVALID url")
      }
      assertOk(yield* patch({ environment: "mainnet", url: wanted.url }))
      assert.strictEqual(refusal(yield* patch({ url: devnetUrl })), "400 WEBHOOK_URL_INVALID url")
      assertOk(yield* patch({ url: devnetUrl, environment: "devnet" }))
    }))

  it.effect("has two secrets at most, sealed, however many rotate it at once", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const secrets = yield* Secrets
      const made = yield* endpoint("7")
      const rotate = (overlap_seconds?: number) =>
        Effect.map(
          ask("7", `/${made.id}/rotate-secret`, {
            body: { ...overlap_seconds === undefined ? {} : { overlap_seconds } }
          }),
          assertOk
        )
      const row = Effect.map(
        sql<
          any
        >`SELECT sealed_secret, sealed_previous_secret, version::text, url FROM webhook_endpoints WHERE id = ${made.id}`,
        ([found]) => found
      )
      const inUse = Effect.map(row, ({ sealed_previous_secret: old, sealed_secret: now }) =>
        [now, old].map((sealed) =>
          sealed === null ? null : secrets.open("webhook", sealed)
        ))
      const now = made.created_at
      const first = yield* rotate()
      assert.strictEqual(first.previous_secret_expires_at, now + 86_400)
      assert.deepStrictEqual(yield* inUse, [first.secret, made.secret])
      const answers = yield* Effect.all(Array.from({ length: 4 }, () => rotate(60)), { concurrency: "unbounded" })
      const left = yield* inUse
      assert.strictEqual(new Set(answers.map(({ secret }) => secret)).size, 4)
      for (const secret of left) assert.isTrue(answers.some((answer) => answer.secret === secret))
      assert.notStrictEqual(left[0], left[1])
      const text = JSON.stringify(yield* row)
      for (const { secret } of [made, first, ...answers]) assert.notInclude(text, secret.slice("whsec_".length))
      assert.strictEqual(assertOk(yield* ask("7", `/${made.id}`)).previous_secret_expires_at, now + 60)
      yield* TestClock.adjust("61 seconds")
      assert.isNull(assertOk(yield* ask("7", `/${made.id}`)).previous_secret_expires_at)
      yield* ask("7", `/${made.id}`, { method: "PATCH", body: {} })
      assert.deepStrictEqual(yield* inUse, [left[0], null])
      const last = yield* rotate(0)
      assert.isNull(last.previous_secret_expires_at)
      assert.deepStrictEqual(yield* inUse, [last.secret, null])
    }))

  it.effect("that is disabled gets nothing more of what waited, and begins anew when it is enabled", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* endpoint("8")
      for (
        const [ms, status] of [[1, "pending"], [2, "retrying"], [3, "delivering"], [4, "succeeded"], [
          5,
          "failed"
        ]] as const
      ) {
        yield* event(8, ms)
        yield* delivery(8, id, ms, status)
      }
      const patch = (body: object) => Effect.map(ask("8", `/${id}`, { method: "PATCH", body }), assertOk)
      yield* patch({ description: "still there" })
      assert.deepStrictEqual((yield* queue(id)).slice(0, 2), ["1 pending", "2 retrying"])
      yield* patch({ status: "disabled" })
      assert.deepStrictEqual(yield* queue(id), ["1 canceled", "2 canceled", "3 delivering", "4 succeeded", "5 failed"])
      const failing = sql`INSERT INTO webhook_lanes
          (merchant_id, endpoint_id, health, consecutive_failures, failing_since, open_until, openings)
        VALUES (8, ${id}, 'failing', 9, now() - interval '6 days', now() + interval '15 minutes', 5)
        ON CONFLICT (merchant_id, endpoint_id) DO UPDATE SET health = 'failing', consecutive_failures = 9,
          failing_since = excluded.failing_since, open_until = excluded.open_until, openings = 5`
      const lane = Effect.map(
        sql<
          any
        >`SELECT health, consecutive_failures AS n, failing_since, open_until, openings FROM webhook_lanes WHERE endpoint_id = ${id}`,
        ([found]) => found
      )
      const fresh = { health: "unknown", n: 0, failing_since: null, open_until: null, openings: 0 }
      yield* failing
      assert.strictEqual(assertOk(yield* ask("8", `/${id}`)).consecutive_failures, 9)
      assert.strictEqual((yield* patch({ status: "disabled", description: "why" })).consecutive_failures, 9)
      assert.strictEqual((yield* patch({ status: "enabled" })).consecutive_failures, 0)
      assert.deepStrictEqual(yield* lane, fresh)
      // Another address is another receiver; the same one, or another name for it, is not.
      yield* failing
      assert.strictEqual(
        (yield* patch({ url: wanted.url, status: "enabled", description: "x" })).consecutive_failures,
        9
      )
      assert.strictEqual((yield* patch({ url: "https://shop.example/mended" })).consecutive_failures, 0)
      assert.deepStrictEqual(yield* lane, fresh)
    }))

  it.effect("that is deleted is unknown for good, its deliveries too, and makes room for one other", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { secret: _, ...made } = yield* endpoint("9")
      yield* event(9, 1)
      const waiting = yield* delivery(9, made.id, 1, "pending")
      const remove = ask("9", `/${made.id}`, { method: "DELETE", key: "remove" })
      const gone = yield* remove
      assert.deepStrictEqual(assertOk(gone), { ...made, status: "disabled" })
      assert.deepStrictEqual(yield* queue(made.id), ["1 canceled"])
      for (
        const [path, sent] of [
          ["", {}],
          ["", { method: "PATCH", body: { status: "enabled" } }],
          ["", { method: "DELETE" }],
          ["/deliveries", {}],
          ["/rotate-secret", { body: {} }],
          ["/test", { method: "POST" }],
          ["/replay", { body: {} }]
        ] as const
      ) {
        for (const who of ["9", "w9"]) {
          assert.strictEqual(refusal(yield* ask(who, `/${made.id}${path}`, sent)), "404 WEBHOOK_NOT_FOUND null")
        }
      }
      assert.strictEqual(refusal(yield* ask("9", `/deliveries/${waiting}`)), "404 DELIVERY_NOT_FOUND null")
      assert.strictEqual(
        refusal(yield* ask("9", `/deliveries/${waiting}/redeliver`, { method: "POST" })),
        "404 DELIVERY_NOT_FOUND null"
      )
      assert.deepStrictEqual(assertOk(yield* ask("9", "")).data, [])
      // The same call again is answered as the first time; no secret is kept.
      assert.strictEqual((yield* remove).text, gone.text)
      const [row] = yield* sql<
        any
      >`SELECT sealed_secret, sealed_previous_secret FROM webhook_endpoints WHERE id = ${made.id}`
      assert.deepStrictEqual(row, { sealed_secret: "", sealed_previous_secret: null })
    }))

  it.effect("that is deleted leaves a row behind, but no more than a hundred of them", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = (status: string) =>
        Effect.map(
          sql<
            any
          >`SELECT id, updated_at::integer AS at FROM webhook_endpoints WHERE merchant_id = 12 AND status = ${status} ORDER BY updated_at`,
          (found) => found
        )
      yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, environment, commerce_only, url, status, filters,
          api_version, sealed_secret, created_at, updated_at)
        SELECT 'we_old_' || n, 12, 2, 'devnet', false, '', 'deleted', '{}', '', '', n, n - 500 FROM generate_series(1, 130) n`
      const kept = yield* endpoint("12")
      const { id } = yield* endpoint("12")
      assertOk(yield* ask("12", `/${id}`, { method: "DELETE" }))
      const left = yield* rows("deleted")
      assert.lengthOf(left, maximumDeleted)
      assert.deepStrictEqual([left[0].id, left.at(-1).id], ["we_old_32", id])
      assert.deepStrictEqual((yield* rows("enabled")).map((row: any) => row.id), [kept.id])
    }))

  it.effect("is never a seventeenth, whoever deletes and creates at the same time", () =>
    Effect.gen(function*() {
      const ids = (yield* Effect.all(Array.from({ length: 16 }, () => endpoint("10")), { concurrency: 4 })).map((
        { id }
      ) => id)
      const calls = [
        ...ids.slice(0, 6).flatMap((id) => [id, id]).map((id) => ask("10", `/${id}`, { method: "DELETE" })),
        ...Array.from({ length: 12 }, () => ask("10", "", { body: wanted }))
      ]
      const answers = yield* Effect.all(calls, { concurrency: "unbounded" })
      const deleted = answers.slice(0, 12).filter(({ status }) => status === 200).length
      const made = answers.slice(12).filter(({ status }) => status === 200).length
      assert.strictEqual(deleted, 6, "each once")
      const left = assertOk(yield* ask("10", "?limit=16")).data.length
      assert.strictEqual(left, 10 + made)
      assert.isAtMost(left, 16)
      const more = yield* Effect.all(Array.from({ length: 8 }, () => ask("10", "", { body: wanted })), {
        concurrency: "unbounded"
      })
      assert.strictEqual(more.filter(({ status }) => status === 200).length, 16 - left)
    }))

  it.effect("changes once for one idempotency key, and the answer is the same every time", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* endpoint("11")
      const version = Effect.map(
        sql<any>`SELECT version::integer AS v FROM webhook_endpoints WHERE id = ${id}`,
        ([row]) => row.v
      )
      const writes: ReadonlyArray<readonly [string, string, unknown, unknown]> = [
        ["PATCH", `/${id}`, { description: "a" }, { description: "b" }],
        ["POST", `/${id}/rotate-secret`, {}, { overlap_seconds: 5 }]
      ]
      for (const [method, path, body, other] of writes) {
        const before = yield* version
        const call = ask("11", path, { method, body, key: "k" })
        const answers = yield* Effect.all([call, call, call], { concurrency: "unbounded" })
        assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
        assert.strictEqual(answers[0]!.status, 200)
        assert.strictEqual(yield* version, before + 1)
        assert.strictEqual(
          refusal(yield* ask("11", path, { method, body: other, key: "k" })),
          "422 IDEMPOTENCY_KEY_REUSED null"
        )
      }
    }))
})
