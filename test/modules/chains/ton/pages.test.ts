/**
 * Goal: whatever number of transactions a second holds, each is read, or reading fails.
 * Method: an API that pages as toncenter does, over seconds of many transactions, with pages as small as may be; and
 * nodes whose pages are wrong.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type ListedTransaction,
  startPages,
  stepPages,
  transactionsPerReading,
  transactionsPerSecond
} from "../../../../modules/chains/ton/TransactionPages.ts"
import { readTransactions, type Toncenter } from "../../../../modules/chains/ton/Toncenter.ts"
import { type TransactionJson, transactionsPage } from "../../../support/ton/Toncenter.ts"

const account = `0:${"A7".repeat(32)}`

/** A transaction of a second, the `number`-th of all. */
const made = (number: number, second: number): TransactionJson => {
  const hash = Buffer.alloc(32)
  hash.writeUInt32BE(number + 1)
  return {
    account,
    hash: hash.toString("base64"),
    lt: `${number}`,
    now: second,
    mc_block_seqno: 1,
    block_ref: { workchain: 0, shard: "8000000000000000", seqno: 1 },
    description: { type: "ord", aborted: false },
    in_msg: null,
    emulated: false,
    finality: "finalized"
  } as unknown as TransactionJson
}

/** Seconds from 10 on, each with so many transactions. */
const chainOf = (...counts: ReadonlyArray<number>): ReadonlyArray<TransactionJson> => {
  let number = 0
  return counts.flatMap((count, place) => Array.from({ length: count }, () => made(number++, 10 + place)))
}

/** An API that gives `pageSize` transactions at most, and says so. */
const apiOf = (
  all: () => ReadonlyArray<TransactionJson>,
  pageSize: number,
  queryOf = (query: URLSearchParams): URLSearchParams => query
): Toncenter => ({
  network: "ton",
  name: "api 1 of 1",
  place: 0,
  get: (path: string) => {
    const query = queryOf(new URL(path, "http://rig").searchParams)
    return Number(query.get("limit")) > pageSize
      ? Effect.fail({ kind: "refused", reason: "limit is not allowed" })
      : Effect.succeed({ transactions: transactionsPage(all(), query, () => account) })
  }
} as unknown as Toncenter)

/** Everything from second 10 to 20, reading after reading. */
const readAll = Effect.fnUntraced(function*(api: Toncenter) {
  const hashes = new Set<string>()
  for (let from = 10; from <= 20;) {
    const { transactions, until } = yield* readTransactions(api, [account], from, 20)
    for (const { hash } of transactions) hashes.add(hash)
    from = until + 1
  }
  return hashes.size
})

describe("pages of TON's transactions", () => {
  for (
    const { counts, pageSize } of [
      { counts: [60], pageSize: 2 },
      { counts: [3, 60, 3], pageSize: 2 },
      { counts: [50, 50], pageSize: 1 },
      { counts: [25_000], pageSize: 1_000 },
      { counts: [1, 25_000, 1], pageSize: 1_000 },
      { counts: [0, 999, 1, 1_000, 2_001], pageSize: 1_000 }
    ]
  ) {
    it.effect(`read each of ${counts.join(" + ")} transactions a second by pages of ${pageSize}`, () =>
      Effect.gen(function*() {
        const chain = chainOf(...counts)
        assert.strictEqual(yield* readAll(apiOf(() => chain, pageSize)), chain.length)
      }))
  }

  it.effect("lose none where more of the same second comes while it is read", () =>
    Effect.gen(function*() {
      const late = chainOf(40)
      let calls = 0
      const shown = () => {
        calls += 1
        // Those of lower logical time come last, in front of what was read.
        return calls < 12 ? late.slice(5) : late
      }
      const before = new Set(late.slice(5).map(({ hash }) => Buffer.from(hash, "base64").toString("hex")))
      const { transactions } = yield* readTransactions(apiOf(shown, 2), [account], 10, 20)
      for (const hash of before) assert.isTrue(transactions.some((each) => each.hash === hash))
    }))

  it.effect("fail where a node's pages do not go on, are of another time or in no order", () =>
    Effect.gen(function*() {
      const chain = chainOf(60, 5)
      const wrong = [
        [
          /its pages do not go on/,
          apiOf(() => chain, 2, (query) => {
            query.delete("offset")
            return query
          })
        ],
        [
          /a time that was not asked for/,
          apiOf(() => chain, 2, (query) => {
            query.set("end_utime", "99")
            query.set("start_utime", "0")
            return query
          })
        ],
        [
          /not in the order of time/,
          apiOf(() => chain, 100, (query) => {
            query.set("sort", "desc")
            return query
          })
        ]
      ] as const
      for (const [reason, api] of wrong) {
        const error = yield* Effect.flip(
          readTransactions(api, [account], 11, 11).pipe(
            Effect.andThen(readTransactions(api, [account], 10, 20))
          )
        )
        assert.strictEqual(error.kind, "contradiction")
        assert.match(error.reason, reason)
      }
    }))

  it("stop with a sentence at a second of more transactions than any has, and leave none out", () => {
    let number = 0
    const pageOf = (size: number): ReadonlyArray<ListedTransaction> =>
      Array.from({ length: size }, () => ({ hash: `${number++}`, time: 10 }))
    let state = startPages(10, 20)
    for (let pages = 1;; pages++) {
      const next = stepPages(state, pageOf(1_000), 1_000)
      if (typeof next === "string") {
        assert.match(next, /more than 50000 transactions of second 10/)
        assert.strictEqual(pages * 1_000, transactionsPerSecond)
        break
      }
      assert.isNull(next.readUntil)
      state = next
    }
  })

  it("end a reading of many with its last whole second", () => {
    let number = 0
    let state = startPages(10, 20)
    const page = (second: number): ReadonlyArray<ListedTransaction> =>
      Array.from({ length: 1_000 }, () => ({ hash: `${number++}`, time: second }))
    let pages = 0
    while (state.readUntil === null) {
      const next = stepPages(state, page(pages === 0 ? 10 : 11), 1_000)
      if (typeof next === "string") throw new Error(next)
      state = next
      pages += 1
    }
    assert.strictEqual(pages * 1_000, transactionsPerReading)
    assert.strictEqual(state.readUntil, 10)
  })
})
