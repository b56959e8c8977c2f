/**
 * Goal: every block is searched, none is passed over without an alarm, and those that one endpoint alone could be asked
 * about are searched again.
 * Method: any outcomes of searches, over the schedule alone.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { DriverError, DriverErrorKind, isOutage } from "../../../runtime/Chains.ts"
import {
  blocksPerSearch,
  failedAgain,
  type FollowerPosition,
  isGivenUp,
  nextRepeatedSearch,
  nextSearch,
  noFailure,
  repeatSearchBlocks,
  searchedAgainTo,
  searchedTo,
  type SearchFailure,
  searchLag,
  type SearchProgress,
  searchTries,
  singleSourceUpTo
} from "../../../runtime/chains/SearchSchedule.ts"

const ring = [{ height: 100n, hash: "0x100", time: 1 }]
const position = (change: Partial<FollowerPosition> = {}): FollowerPosition => ({
  generation: 0,
  ring,
  heights: { head: 140n, finalized: null },
  searchedHeight: null,
  singleSourceFrom: null,
  ...change
})
const moved = (at: FollowerPosition, progress: SearchProgress): FollowerPosition => ({ ...at, ...progress })

describe("the search of new blocks", () => {
  it("begins above the oldest point, and ends one block below the head", () => {
    assert.deepStrictEqual(nextSearch(position(), noFailure), { from: 101n, to: 108n, failures: 0 })
    const nearlyDone = position({ searchedHeight: 137n })
    assert.deepStrictEqual(nextSearch(nearlyDone, noFailure), { from: 138n, to: 139n, failures: 0 })
    assert.isNull(nextSearch(position({ searchedHeight: 140n - searchLag }), noFailure))
  })

  it.prop(
    "leaves out no block, whatever fails, and remembers from where one endpoint alone was asked",
    [Schema.Array(Schema.Literals(["both", "alone", "refused"]))],
    ([outcomes]) => {
      let at = position()
      let failure: SearchFailure = noFailure
      const searchedAlone: Array<bigint> = []
      for (const outcome of outcomes) {
        const range = nextSearch(at, failure)
        if (range === null) break
        assert.strictEqual(range.from, (at.searchedHeight ?? 100n) + 1n)
        assert.isTrue(range.to >= range.from && range.to < range.from + blocksPerSearch && range.to <= 139n)
        assert.isTrue(range.failures === 0 || range.to === range.from)
        if (outcome === "refused") {
          failure = failedAgain(range)
          continue
        }
        if (outcome === "alone") searchedAlone.push(range.from)
        at = moved(at, searchedTo(at, range.from, range.to, outcome === "alone"))
      }
      assert.strictEqual(at.singleSourceFrom, searchedAlone[0] ?? null)
    }
  )

  it("tries a block alone after a failure, and gives it up after sixty", () => {
    let failure: SearchFailure = noFailure
    for (let each = 0; each < searchTries; each++) {
      const range = nextSearch(position(), failure)!
      assert.isFalse(isGivenUp(range))
      failure = failedAgain(range)
    }
    const last = nextSearch(position(), failure)!
    assert.deepStrictEqual(last, { from: 101n, to: 101n, failures: searchTries })
    assert.isTrue(isGivenUp(last))
  })

  it("tells an outage, also one of 5xx or of too many calls, from a refusal", () => {
    const kinds = [...DriverErrorKind.literals, undefined].filter((kind) =>
      isOutage(new DriverError({ network: "base", reason: "none", ...(kind === undefined ? {} : { kind }) }))
    )
    assert.deepStrictEqual(kinds, ["unanswered", "timeout", "unavailable", "rate_limited"])
  })
})

describe("the search of blocks that one endpoint alone was asked about", () => {
  it("goes on until what was searched, and is over then", () => {
    let at = position({ searchedHeight: 130n, singleSourceFrom: 120n })
    const ranges: Array<readonly [bigint, bigint]> = []
    for (let each = 0; each < 10; each++) {
      const range = nextRepeatedSearch(at, noFailure)
      if (range === null) break
      assert.isNull(range.passed)
      ranges.push([range.from, range.to])
      at = moved(at, searchedAgainTo(at, range.to))
    }
    assert.deepStrictEqual(ranges, [[120n, 127n], [128n, 130n]])
    assert.isNull(at.singleSourceFrom)
  })

  it("passes what is older than a day of Base, and says which blocks", () => {
    const searchedHeight = repeatSearchBlocks + 1_000n
    const range = nextRepeatedSearch(position({ searchedHeight, singleSourceFrom: 10n }), noFailure)
    assert.strictEqual(range?.from, 1_000n)
    assert.deepStrictEqual(range?.passed, { from: 10n, to: 999n })
  })

  it("is over where a rollback takes its blocks back", () => {
    assert.strictEqual(singleSourceUpTo(120n, 130n), 120n)
    assert.isNull(singleSourceUpTo(120n, 119n))
    assert.isNull(singleSourceUpTo(120n, null))
    assert.isNull(singleSourceUpTo(null, 130n))
  })
})
