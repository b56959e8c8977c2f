/**
 * Goal: nothing counts as paid, or as never to be paid, that most of the configured endpoints do not show.
 * Method: every combination of what up to four endpoints say goes through the rule.
 */
import { assert, describe, it } from "@effect/vitest"
import { majorityOf } from "../../../runtime/payouts/Agreement.ts"
import { agree, type EndpointReport } from "../../../runtime/payouts/TransactionSearch.ts"

type Report = EndpointReport<null>

const block = (name: string) => ({ height: 10n, hash: name, time: 1_000 })

/** What an endpoint may say; null: nothing. */
const sayings: Readonly<Record<string, Report | null>> = {
  silent: null,
  behind: { head: 9n, final: 8n, isOver: false, shown: null },
  absent: { head: 12n, final: 11n, isOver: false, shown: null },
  over: { head: 20n, final: 19n, isOver: true, shown: null },
  shows: { head: 10n, final: 9n, isOver: false, shown: { block: block("a"), facts: null, content: "pays" } },
  final: { head: 20n, final: 19n, isOver: true, shown: { block: block("a"), facts: null, content: "pays" } },
  fork: { head: 10n, final: 9n, isOver: false, shown: { block: block("b"), facts: null, content: "pays" } }
}

const combinations = (count: number): ReadonlyArray<ReadonlyArray<string>> =>
  count === 0
    ? [[]]
    : combinations(count - 1).flatMap((rest) => Object.keys(sayings).map((saying) => [...rest, saying]))

const countOf = (names: ReadonlyArray<string>, ...wanted: ReadonlyArray<string>) =>
  names.filter((name) => wanted.includes(name)).length

describe("what endpoints say of a transaction", () => {
  for (const configured of [1, 2, 3, 4]) {
    it(`of ${configured}, more than half decide, and one that shows it keeps it from being over`, () => {
      const majority = majorityOf(configured)
      for (const names of combinations(configured)) {
        const reports = names.flatMap((name) => sayings[name] ?? [])
        const outcome = agree("cardano", configured, reports, [])
        const label = names.join(" ")
        if (countOf(names, "silent") > configured - majority) assert.isTrue(outcome._tag === "Failure", label)
        if (outcome._tag === "Failure") continue
        const { final, isOver, shown } = outcome.success
        const showing = Math.max(countOf(names, "shows", "final"), countOf(names, "fork"))
        assert.strictEqual(shown !== null, showing >= majority, label)
        assert.strictEqual(shown?.isFinal ?? false, countOf(names, "final") >= majority, label)
        if (shown !== null) assert.strictEqual(isOver, shown.isFinal, label)
        if (shown === null && isOver) assert.isAtLeast(countOf(names, "over"), majority, label)
        if (shown === null && isOver) assert.strictEqual(countOf(names, "shows", "final", "fork"), 0, label)
        assert.isAtLeast(reports.filter((report) => report.final >= final).length, majority, label)
      }
    })
  }

  it("is a failure where one that has come so far does not show what another shows", () => {
    const outcome = agree("cardano", 2, [sayings["final"]!, sayings["over"]!], [])
    assert.include(outcome._tag === "Failure" ? outcome.failure.reason : "", "do not agree what block 10")
  })

  it("is a failure where they show different payments in one block, whoever is asked first", () => {
    const pays = (content: string): Report => ({
      ...sayings["final"]!,
      shown: { block: block("a"), facts: null, content }
    })
    for (const reports of [[pays("one"), pays("other")], [pays("other"), pays("one")]]) {
      const outcome = agree("cardano", 2, reports, [])
      assert.include(outcome._tag === "Failure" ? outcome.failure.reason : "", "do not agree what block 10")
    }
    const [most, single] = [pays("one"), pays("other")]
    const outcome = agree("cardano", 3, [single, most, most], [])
    assert.strictEqual(outcome._tag === "Success" ? outcome.success.shown?.content : null, "one", "most decide")
    const beside = (content: string): Report => ({
      ...sayings["over"]!,
      others: new Map([["c", { block: block("c"), facts: null, content }]])
    })
    assert.strictEqual(agree("cardano", 2, [beside("one"), beside("other")], [])._tag, "Failure")
  })

  it("is a failure where one shows it in a block that can never be", () => {
    const invented = {
      ...sayings["shows"]!,
      shown: { block: { ...block("z"), height: 1_000n }, facts: null, content: "pays" }
    }
    const outcome = agree("cardano", 3, [sayings["over"]!, invented, sayings["over"]!], [])
    assert.include(outcome._tag === "Failure" ? outcome.failure.reason : "", "do not agree what block 1000")
  })

  it("is nothing yet where the others have not come so far, and that block is searched again", () => {
    const outcome = agree("cardano", 2, [sayings["shows"]!, sayings["behind"]!], [])
    assert.deepStrictEqual(outcome._tag === "Success" ? outcome.success : null, {
      shown: null,
      others: [],
      final: 8n,
      isOver: false
    })
  })

  it("tells beside it what else pays its lines, once most show it, and is not over while one alone does", () => {
    const beside = {
      ...sayings["over"]!,
      others: new Map([["c", { block: block("c"), facts: null, content: "pays" }]])
    }
    const [both, single] = [[beside, beside], [beside, sayings["behind"]!]].map((reports) =>
      agree("cardano", 2, reports, [])
    )
    if (both?._tag !== "Success" || single?._tag !== "Success") return assert.fail("they do not agree")
    assert.deepStrictEqual(both.success.others.map((other) => [other.block.hash, other.isFinal]), [["c", true]])
    assert.deepStrictEqual([both.success.shown, both.success.isOver], [null, true])
    assert.deepStrictEqual([single.success.others, single.success.isOver, single.success.final], [[], false, 8n])
    const denied = agree("cardano", 2, [beside, sayings["over"]!], [])
    assert.strictEqual(denied._tag, "Failure")
  })
})
