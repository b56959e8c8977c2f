/**
 * Goal: a plugin from outside can neither publish events nor move balances nor change rows of others by `Commit`.
 * Method: the service that such a plugin is given, over one that keeps what reaches it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import { type Append, Commit, noCause, type Write } from "../../../runtime/Commit.ts"
import * as OutsideCommits from "../../../runtime/commit/OutsideCommits.ts"

const entry: Write = { table: "audit_entries", row: { id: 1, version: 1 } }
const own: Write = { table: "acme_points", row: { id: 1, version: 1 } }

const draft = (part: Partial<Append>): Append => ({
  merchantId: 1,
  environment: "devnet",
  cause: noCause,
  writes: [],
  events: [],
  ...part
})

/** Runs as the plugin, and answers what was committed. */
const asPlugin = <A, E>(act: Effect.Effect<A, E, AuditLog | Commit>) =>
  Effect.suspend(() => {
    const committed: Array<Append> = []
    const kernel = Layer.merge(
      Layer.succeed(AuditLog, { register: () => Effect.void, writesOf: () => Effect.succeed([entry]) }),
      Layer.succeed(Commit, {
        append: (commit) => Effect.sync(() => (committed.push(commit), { events: [] }) as never)
      })
    )
    const services = OutsideCommits.layer({ name: "acme-points", tables: ["acme_points"] })
    return Effect.exit(act).pipe(
      Effect.map((exit) => ({ exit, committed })),
      Effect.provide(Layer.provide(services, kernel))
    )
  })

const append = (part: Partial<Append>) => Effect.flatMap(Commit, (commit) => commit.append(draft(part)))

const reasonOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? String((Cause.squash(exit.cause) as Error).message) : assert.fail("it was committed")

describe("commits of a plugin from outside", () => {
  it.effect("may hold rows of its own tables, and entries that the audit log gave it", () =>
    Effect.gen(function*() {
      const { committed, exit } = yield* asPlugin(Effect.gen(function*() {
        const writes = yield* (yield* AuditLog).writesOf({} as never)
        yield* append({ writes: [own, ...writes] })
      }))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(committed.map(({ writes }) => writes), [[own, entry]])
    }))

  it.effect("hold no row of another's table, no audit entry that it made up, no event and no balance", () =>
    Effect.gen(function*() {
      const event = { type: "invoice.paid" } as unknown as Append["events"][number]
      const balance = { account: "merchant_available" } as unknown as NonNullable<Append["balances"]>[number]
      const invoice = { table: "invoices", row: { id: "x", version: 2 } }
      for (
        const [part, reason] of [
          [{ writes: [own, invoice] }, /"acme-points" writes a row of invoices/],
          [{ writes: [{ ...entry }] }, /audit_entries, which is not its own/],
          [{ writes: [own], events: [event] }, /publishes invoice\.paid/],
          [{ writes: [own], balances: [balance] }, /moves the balance of merchant_available/]
        ] as const
      ) {
        const { committed, exit } = yield* asPlugin(append(part))
        assert.match(reasonOf(exit), reason)
        assert.deepStrictEqual(committed, [])
      }
    }))
})
