import { assert, describe, it } from "@effect/vitest"
import {
  encode,
  type EncodedCommit,
  maximumBatch,
  maximumBatchBytes,
  takeBatch
} from "../../../runtime/commit/Batch.ts"
import { commitOf, eventDraft, thing } from "./CommitFixture.ts"

const shapes = new Map([["things", {
  name: "things",
  columns: [],
  keyConstraint: "things_pkey",
  key: ["merchant_id", "id"],
  place: 0
}]])

const waiting = (...ids: ReadonlyArray<string>) =>
  ids.map((id, n) => ({ id, n, encoded: encode(commitOf(1, { writes: id === "" ? [] : [thing(1, id, 1)] }), shapes) }))

describe("a batch", () => {
  it("holds no row twice, and what waits keeps its place before later commits of that row", () => {
    const queue = waiting("a", "b", "a", "c", "a")
    assert.deepStrictEqual(takeBatch(queue).map(({ n }) => n), [0, 1, 3])
    assert.deepStrictEqual(takeBatch(queue).map(({ n }) => n), [2])
    assert.deepStrictEqual(takeBatch(queue).map(({ n }) => n), [4])
    assert.deepStrictEqual(queue, [])
  })

  it("holds no idempotency scope twice in one environment of one merchant", () => {
    const of = (merchant: number, environment: "devnet" | "mainnet") => ({
      encoded: encode(
        commitOf(merchant, {
          reply: { environment, scope: "k", fingerprint: "f", status: 200, sealedBody: "b" }
        }),
        shapes
      )
    })
    const queue = [of(1, "devnet"), of(1, "devnet"), of(1, "mainnet"), of(2, "devnet")]
    assert.strictEqual(takeBatch(queue).length, 3)
  })

  it("does not let a later commit overtake one that waits for a row they share", () => {
    const both: EncodedCommit = encode(commitOf(1, { writes: [thing(1, "a", 2), thing(1, "b", 2)] }), shapes)
    const queue = [...waiting("a"), { id: "both", n: 1, encoded: both }, ...waiting("b")]
    assert.deepStrictEqual(takeBatch(queue).map(({ id }) => id), ["a"])
    assert.deepStrictEqual(takeBatch(queue).map(({ id }) => id), ["both"])
  })

  it("is bounded in commits and in bytes, but never empty", () => {
    const many = waiting(...Array.from({ length: 600 }, (_, n) => `t${n}`))
    assert.deepStrictEqual([takeBatch(many).length, takeBatch(many).length, takeBatch(many).length], [
      maximumBatch,
      maximumBatch,
      600 - 2 * maximumBatch
    ])
    const huge = { encoded: encode(commitOf(1, { events: [eventDraft("x".repeat(maximumBatchBytes))] }), shapes) }
    const queue = [huge, huge]
    assert.strictEqual(takeBatch(queue).length, 1)
    assert.strictEqual(takeBatch(queue).length, 1)
  })

  it("tells each event its own data, and nothing to a payor of types that are not for payors", () => {
    const object = { object: "invoice", id: "i", metadata: { secret: true } }
    const previousAttributes = { status: "unpaid" }
    const events = [
      { type: "invoice.updated", object, previousAttributes },
      { type: "invoice.paid", object, previousAttributes },
      { type: "test.ping", object, previousAttributes },
      { type: "invoice.paid", object: { ...object, id: "j" }, previousAttributes }
    ] as const
    const { drafts } = encode(commitOf(1, { events }), shapes)
    assert.deepStrictEqual(drafts.map(({ data }) => JSON.parse(data).object.id), ["i", "i", "i", "j"])
    assert.deepStrictEqual(drafts.map(({ isForPayors }) => isForPayors), [true, true, false, true])
  })
})
