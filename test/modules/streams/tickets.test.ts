/** Goal: a ticket is worth one connection, for as long as it says, and leaves nothing behind. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Tickets } from "../../../modules/streams/service.ts"
import { isTicket, objectionTo, ticketOf } from "../../../modules/streams/rules.ts"
import { migrations } from "../../../modules/streams/migrations.ts"
import * as Repo from "../../../modules/streams/repo.ts"
import { migrate } from "../../../runtime/Migrate.ts"
import type { StreamGrant } from "../../../runtime/sockets/EventsRoute.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"

const grant: StreamGrant = {
  merchantId: 1,
  scope: "merchant",
  environment: "devnet",
  apiVersion: "2026-01-15",
  credential: "key_a",
  revocableAs: "key_a",
  kind: "key",
  authority: { role: "support", permissions: ["read"], roleLimits: ["viewer"] }
}

const promise = <E>(name: string, body: Effect.Effect<void, E, Tickets | SqlClient.SqlClient>) =>
  it.live(name, () =>
    Effect.flatMap(migratedDatabase, (database) =>
      Effect.provide(
        body,
        Tickets.layer.pipe(
          Layer.provideMerge(Layer.effectDiscard(migrate("streams", migrations))),
          Layer.provideMerge(connect(database))
        ),
        { local: true }
      )).pipe(Effect.scoped))

describe("a ticket", () => {
  promise(
    "is redeemed by one of many, gives what it was made for, and is kept as a hash",
    Effect.gen(function*() {
      const tickets = yield* Tickets
      const sql = yield* SqlClient.SqlClient
      const { expiresAt, ticket } = yield* tickets.make(grant, 30)
      assert.isTrue(isTicket(ticket))
      const [row] = yield* sql<{ readonly text: string; readonly left: number }>`
      SELECT t::text AS text, ${expiresAt} - extract(epoch from now())::float8 AS left FROM stream_tickets t`
      assert.notInclude(row!.text, ticket.slice("wst_".length))
      assert.isTrue(row!.left > 20 && row!.left <= 30)
      const found = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.result(tickets.redeem(ticket)), {
        concurrency: 20
      })
      const won = found.flatMap((one) => one._tag === "Success" ? [one.success] : [])
      assert.deepStrictEqual(won, [grant])
      const codes = found.flatMap((one) => one._tag === "Failure" ? [one.failure.code] : [])
      assert.deepStrictEqual([...new Set(codes)], ["TOKEN_INVALID"])
    })
  )

  promise(
    "that has ended opens nothing, counts no more, and is removed a minute later",
    Effect.gen(function*() {
      const tickets = yield* Tickets
      const sql = yield* SqlClient.SqlClient
      const repo = yield* Repo.make
      const made = yield* Effect.forEach(Array.from({ length: 100 }), () => tickets.make(grant, 60))
      assert.strictEqual((yield* Effect.flip(tickets.make(grant, 60))).code, "RATE_LIMIT_EXCEEDED")
      yield* tickets.make({ ...grant, credential: "key_b" }, 60)
      yield* sql`UPDATE stream_tickets SET expires_at = now() WHERE credential = 'key_a'`
      assert.strictEqual((yield* Effect.flip(tickets.redeem(made[0]!.ticket))).code, "TOKEN_EXPIRED")
      const { ticket } = yield* tickets.make(grant, 60)
      assert.strictEqual(yield* repo.prune, 0)
      yield* sql`UPDATE stream_tickets SET expires_at = expires_at - interval '61 seconds' WHERE expires_at <= now()`
      assert.strictEqual(yield* repo.prune, 99)
      assert.deepStrictEqual(yield* tickets.redeem(ticket), grant)
    })
  )

  it("has a form that no key and no other token has, and a commerce key gets the commerce stream's only", () => {
    assert.isTrue(isTicket(ticketOf(new Uint8Array(32))))
    for (
      const text of [
        "",
        "wst_",
        "mk_dev_x",
        "a.b.c",
        `${ticketOf(new Uint8Array(32))}\n`,
        ticketOf(new Uint8Array(31)),
        ticketOf(new Uint8Array(33))
      ]
    ) {
      assert.isFalse(isTicket(text), text)
    }
    assert.isUndefined(objectionTo({ scope: "merchant" }, "merchant"))
    assert.isUndefined(objectionTo({ scope: "merchant" }, "commerce"))
    assert.isUndefined(objectionTo({ scope: "commerce" }, "commerce"))
    assert.strictEqual(objectionTo({ scope: "commerce" }, "merchant")?.code, "SCOPE_MISMATCH")
  })
})
