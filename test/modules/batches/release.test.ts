/**
 * Goal: a list is released only by as many people as there are to ask, 7 days after it was given out, never while the
 * chain shows something of it, and is watched for ever all the same. Method: the pure machine; then a whole devnet over
 * HTTP whose merchant's clock is moved.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isReleasable, statusOf } from "../../../modules/batches/machine.ts"
import { peopleRequired } from "../../../modules/refunds/plugin.ts"
import { until } from "../../support/Service.ts"
import { assertRefused, DevnetService, okData } from "../simulator/DevnetService.ts"
import {
  approve,
  ask,
  giveOut,
  look,
  newRefund,
  newShop,
  play,
  read,
  readUntil,
  refundsBatch,
  send,
  type Shop
} from "./BatchShop.ts"
import { after, approval, batchOf, exportOf, refusal, transferTo } from "./MachineBatches.ts"

const week = 7 * 86_400

const givenOut = (format: "csv" | "eip5792" = "csv") =>
  after(
    after(batchOf(2), { _tag: "Approve", approval: approval("ada") }),
    { _tag: "Export", part: 1, export: exportOf(format, format === "csv" ? null : 300, 1n) }
  )

const releaseBy = (person: string, required = 2) =>
  ({ _tag: "Release", part: 1, statement: { ...approval(person), note: "deleted" }, required }) as const

describe("a list", () => {
  it("is released by no fewer people than had to approve it, whoever may approve by then", () => {
    const approved = ["ada", "grace"].reduce(
      (batch, person) => after(batch, { _tag: "Approve", approval: approval(person) }),
      batchOf(2, 2)
    )
    const batch = after(approved, { _tag: "Export", part: 1, export: exportOf("csv", null, 1n) })
    const once = after(batch, releaseBy("ada", 1), week)
    assert.strictEqual(once.parts[0]!.status, "out")
    assert.strictEqual(after(once, releaseBy("grace", 1), week).parts[0]!.status, "released")
  })

  it("is released by as many people as there are, each counted once, and not earlier than after 7 days", () => {
    const batch = givenOut()
    assert.strictEqual(refusal(batch, releaseBy("ada"), week - 1), "INVALID_TRANSITION")
    const once = after(batch, releaseBy("ada"), week)
    assert.deepStrictEqual([once.parts[0]!.status, once.lines.map(({ status }) => status)], ["out", [
      "pending",
      "pending"
    ]])
    assert.strictEqual(refusal(once, releaseBy("ada"), week), "APPROVER_MUST_DIFFER")
    const twice = after(once, releaseBy("grace"), week + 1)
    assert.deepStrictEqual(
      [twice.parts[0]!.status, twice.lines.map(({ status }) => status), statusOf(twice), twice.closedAt],
      ["released", ["released", "released"], "expired", week + 1]
    )
    assert.isTrue(twice.parts[0]!.isWatched)
    assert.isNotNull(twice.dueAt)
    assert.isFalse(isReleasable(twice, twice.parts[0]!))
    assert.strictEqual(refusal(twice, releaseBy("joan"), week + 1), "INVALID_TRANSITION")
    assert.strictEqual(
      refusal(twice, { _tag: "Export", part: 1, export: exportOf("csv", null, 9n) }, week + 1),
      "INVALID_TRANSITION"
    )
    assert.strictEqual(peopleRequired(new Set(["ada"])), 1)
    assert.strictEqual(peopleRequired(new Set(["ada", "bob"])), 2)
  })

  it("that the chain limits, and one that was never given out, nobody releases", () => {
    assert.strictEqual(refusal(givenOut("eip5792"), releaseBy("ada", 1), week), "INVALID_TRANSITION")
    const ready = after(batchOf(2), { _tag: "Approve", approval: approval("ada") })
    assert.strictEqual(refusal(ready, releaseBy("ada", 1), week), "INVALID_TRANSITION")
  })

  it("keeps what the chain has paid of it, waits for what is not final, and tells what comes later", () => {
    const batch = givenOut()
    const search = (isFinal: boolean, lines: ReadonlyArray<number>) =>
      ({
        _tag: "Observe",
        part: 1,
        search: {
          executions: lines.map((line) => transferTo(batch, line, isFinal)),
          searchedTo: 10n,
          isOver: false
        }
      }) as const
    const seen = after(batch, search(false, [0]), 10)
    assert.strictEqual(refusal(seen, releaseBy("ada", 1), week), "INVALID_TRANSITION")
    const paid = after(batch, search(true, [0]), 10)
    const released = after(paid, releaseBy("ada", 1), week)
    assert.deepStrictEqual(
      [released.lines.map(({ status }) => status), released.parts[0]!.status, statusOf(released)],
      [["paid", "released"], "released", "partly_paid"]
    )
    const late = after(released, search(true, [0, 1]), week + 60)
    assert.deepStrictEqual(
      [late.lines.map(({ status }) => status), late.parts[0]!.status, statusOf(late)],
      [["paid", "released"], "released", "partly_paid"]
    )
  })
})

const release = (by: Shop["key"], { id }: { readonly id: string }, note = "the file was deleted") =>
  send(by, `/api/v1/batches/${id}/release`, { part: 1, note })

layer(DevnetService.layer, { excludeTestServices: true })("the release of a list", (it) => {
  it.effect("is a person's, is in the audit log, frees its refunds, and a late payment of it is told", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop, 31)
      const batch = yield* refundsBatch(shop.key, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "csv"))
      assertRefused(yield* release(shop.key, batch), 403, "CREDENTIAL_NOT_ALLOWED")
      const early = assertRefused(yield* release(shop.person, batch), 409, "INVALID_TRANSITION")
      const { parts: [{ releasable_at: at }] } = yield* read(shop, batch)
      assert.deepStrictEqual(early.details, { releasable_at: at })
      yield* ask(shop.key, "/api/v1/devnet/clock/advance", { seconds: week })
      assertRefused(yield* release(shop.person, batch, ""), 400, "VALIDATION_ERROR")
      const released = okData(yield* release(shop.person, batch))
      assert.deepStrictEqual(
        [
          released.status,
          released.parts[0].status,
          released.parts[0].releases[0].note,
          released.parts[0].releasable_at
        ],
        ["expired", "released", "the file was deleted", null]
      )
      const entries = yield* ask(shop.person, "/api/v1/audit-log?action=batch.release")
      assert.strictEqual(entries.data[0].after.parts[0].released_by[0].note, "the file was deleted")
      assert.strictEqual((yield* ask(shop.key, `/api/v1/refunds/${refund.id}`)).status, "processing")

      const { tx_hash: late } = yield* play(shop, batch)
      const [told] = yield* until(
        "the late payment is told",
        Effect.map(ask(shop.key, "/api/v1/exceptions"), ({ data }) => data) as Effect.Effect<any, never, DevnetService>,
        (found) => found.length > 0
      )
      assert.deepStrictEqual([told.type, told.tx_hash], ["duplicate_payout", late])
      assert.deepInclude(told.evidence, { batch_id: batch.id, line: 1, refund_id: refund.id })
      const again = yield* refundsBatch(shop.key, [refund.id])
      yield* approve(shop, again)
      okData(yield* giveOut(shop.key, again))
      yield* play(shop, again)
      yield* readUntil(shop, again, "paid")
      yield* look(shop, batch)
      assert.strictEqual((yield* read(shop, batch)).lines[0].status, "released")
      const { data: exceptions } = yield* ask(shop.key, "/api/v1/exceptions")
      assert.deepStrictEqual(exceptions.map(({ tx_hash }: any) => tx_hash), [late])
    }))

  it.effect("is refused where the chain shows by then that it was paid", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop, 37)
      const batch = yield* refundsBatch(shop.key, [refund.id])
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "csv"))
      yield* ask(shop.key, "/api/v1/devnet/clock/advance", { seconds: week })
      yield* play(shop, batch)
      assertRefused(yield* release(shop.person, batch), 409, "INVALID_TRANSITION")
      yield* readUntil(shop, batch, "paid")
    }))
})
