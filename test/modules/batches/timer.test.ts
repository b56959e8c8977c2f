/**
 * Goal: what is wrong with one batch keeps no other from being searched for.
 * Method: the timer, over a repository of which one row cannot be read.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DriverError } from "../../../runtime/Chains.ts"
import { Conflict, type Write } from "../../../runtime/Commit.ts"
import type { PayoutSearch } from "../../../runtime/Payouts.ts"
import { after, approval, batchOf, exportOf, transferTo } from "./MachineBatches.ts"
import type { BatchState } from "../../../modules/batches/machine.ts"
import type { BatchServices } from "../../../modules/batches/service/BatchServices.ts"
import { makeContradictions } from "../../../modules/batches/service/Contradictions.ts"
import { batchTimer } from "../../../modules/batches/service/Observations.ts"

it.effect("a run goes on with the other batches where one fails in a way that nobody has foreseen", () =>
  Effect.gen(function*() {
    const names: Array<string> = []
    const due = ["bat_1", "bat_2", "bat_3"].map((id) => ({ id, merchantId: 1, environment: "devnet", network: "base" }))
    const services = {
      repo: {
        due: () => Effect.succeed(due),
        find: (_merchantId: number, id: string) => {
          names.push(id)
          return id === "bat_1" ? Effect.die(new Error("a row of no known form")) : Effect.succeed(null)
        },
        nextDue: Effect.succeed(null)
      }
    } as unknown as BatchServices
    assert.strictEqual(yield* batchTimer(services, makeContradictions()).run(0, 10), 0)
    assert.includeMembers(names, ["bat_2", "bat_3"])
  }))

it.effect("a batch that endpoints contradict each other about waits, and health tells it until they agree", () =>
  Effect.gen(function*() {
    const reason = "endpoints do not agree what block 10 has of a payout"
    const contradiction = new DriverError({ network: "cardano", reason, kind: "contradiction" })
    const answers: Array<Effect.Effect<PayoutSearch, DriverError>> = [
      Effect.fail(contradiction),
      Effect.fail(new DriverError({ network: "cardano", reason: "no answer", kind: "unanswered" })),
      Effect.fail(contradiction),
      Effect.fail(contradiction),
      Effect.succeed({ executions: [], searchedTo: 9n, isOver: false })
    ]
    const ready = after(batchOf(1), { _tag: "Approve", approval: approval("ada") })
    const batch = after(ready, { _tag: "Export", part: 1, export: exportOf("cardano", 300, 1n) })
    const commits: Array<unknown> = []
    const times: Array<BatchState> = []
    const services = {
      repo: {
        due: () => Effect.succeed([batch]),
        find: () => Effect.succeed(batch),
        nextDue: Effect.succeed(null),
        storeTimes: (next: BatchState) => Effect.sync(() => void times.push(next))
      },
      clock: { nowSeconds: () => Effect.succeed(10) },
      chains: { driver: () => ({ payouts: { search: () => Effect.suspend(() => answers.shift()!) } }) },
      refunds: { findAll: () => Effect.succeed([]) },
      commit: { append: (commit: unknown) => Effect.sync(() => void commits.push(commit)) }
    } as unknown as BatchServices
    const contradictions = makeContradictions()
    const found = Effect.andThen(batchTimer(services, contradictions).run(0, 10), contradictions.check.run)
    const [told] = yield* found
    assert.strictEqual(told!.effect, "degraded")
    assert.notInclude(told!.message, batch.id, "health is public")
    assert.include(told!.message, reason)
    assert.strictEqual(times.at(-1)!.parts[0]!.status, "out", "nothing is decided")
    assert.deepStrictEqual(yield* found, [], "one that does not answer contradicts nobody")
    assert.lengthOf(yield* found, 1)
    yield* TestClock.adjust("3 minutes")
    assert.deepStrictEqual(yield* contradictions.check.run, [], "another instance looks for it")
    assert.lengthOf(yield* found, 1)
    assert.deepStrictEqual(yield* found, [])
    assert.deepStrictEqual(commits, [], "nothing was found")
  }))

it.effect("reports without end, one during every look, hold up neither what a look finds nor a look for the last one", () =>
  Effect.gen(function*() {
    const ready = after(batchOf(2), { _tag: "Approve", approval: approval("ada") })
    let stored = after(ready, { _tag: "Export", part: 1, export: exportOf("csv", 300, 1n) })
    const hints: Array<string | null> = []
    const rows: Array<Write["row"]> = []
    const services = {
      repo: {
        due: () => Effect.succeed([stored]),
        find: () => Effect.sync(() => stored),
        nextDue: Effect.succeed(null),
        proofs: () => Effect.succeed([]),
        openOf: () => Effect.succeed([])
      },
      clock: { nowSeconds: () => Effect.succeed(10) },
      chains: {
        driver: () => ({
          payouts: {
            search: ({ hint }: { readonly hint: string | null }) =>
              Effect.sync((): PayoutSearch => {
                hints.push(hint)
                stored = after(stored, { _tag: "Hint", part: 1, txHash: `0xb${hints.length}` }, 10)
                return { executions: [transferTo(stored, 0, false)], searchedTo: 9n, isOver: false }
              })
          }
        })
      },
      refunds: { findAll: () => Effect.succeed([]) },
      commit: {
        append: ({ writes }: { readonly writes: ReadonlyArray<Write> }) =>
          writes[0]!.row["version"] === stored.version + 1
            ? Effect.sync(() => void rows.push(...writes.map(({ row }) => row)))
            : Effect.fail(new Conflict({ table: "batches" }))
      }
    } as unknown as BatchServices
    yield* batchTimer(services, makeContradictions()).run(0, 10)
    const [batch, line] = rows
    assert.deepStrictEqual([line?.["line"], line?.["status"]], [1, "seen"])
    assert.deepStrictEqual(hints, [null], "one search was enough")
    assert.strictEqual(batch?.["due_at"], 10, "the report is looked at next")
  }))
