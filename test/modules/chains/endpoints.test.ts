/**
 * Goal: which endpoint is believed never depends on one answer, and no history of failures makes one lost for good.
 * Method: any history of answers, over the real rules; the model is what each endpoint really did.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { decideBranch } from "../../../runtime/nodes/Branches.ts"
import { contradictionOf } from "../../../modules/chains/evm/Blocks.ts"
import {
  absenceMillis,
  answersToReturn,
  conditionOf,
  disagreementMillis,
  emptyPool,
  type EndpointPool,
  endpointsByPreference,
  failuresToRest,
  isExpectedToAnswer,
  isFrozen,
  type Observation,
  step
} from "../../../runtime/nodes/EndpointPool.ts"
import { type AnswerCounts, corroborationOf } from "../../../runtime/nodes/Corroboration.ts"
import { plainHttpRefusal } from "../../../runtime/nodes/EndpointUrl.ts"

const standstillMillis = 30_000
const pool = (count: number) => emptyPool(count, { lagMillis: standstillMillis, standstillMillis }, 0)

const head = (height: number, at: number, place = 0): Observation => ({
  _tag: "Head",
  place,
  at,
  head: { height: BigInt(height), hash: `0x${height}`, time: Math.floor(at / 1000) }
})
const answered = (place: number): Observation => ({ _tag: "Answered", place, at: 0 })
const failed = (place: number, isTimeout = false): Observation => ({ _tag: "Failed", place, isTimeout, at: 0 })
const onBranch = (place: number, branch: "followed" | "other", at = 0): Observation => ({
  _tag: "Branch",
  place,
  branch,
  at
})
const after = (start: EndpointPool, ...all: ReadonlyArray<Observation>) => all.reduce(step, start)

const Histories = Schema.Array(Schema.Struct({
  place: Schema.Literals([0, 1, 2]),
  kind: Schema.Literals(["answered", "failed", "timeout"])
})).check(Schema.isMaxLength(60))

describe("order of endpoints", () => {
  it("is the configuration's; one failed call changes nothing, three in a row or one that hung do", () => {
    assert.deepStrictEqual(endpointsByPreference(after(pool(2), failed(0)), 0), [0, 1])
    assert.deepStrictEqual(endpointsByPreference(after(pool(2), failed(0), failed(0), answered(0), failed(0)), 0), [
      0,
      1
    ])
    assert.deepStrictEqual(endpointsByPreference(after(pool(2), failed(0), failed(0), failed(0)), 0), [1, 0])
    assert.deepStrictEqual(endpointsByPreference(after(pool(2), failed(0, true)), 0), [1, 0])
  })

  it.effect.prop("comes back by itself, whatever failed before", [Histories], ([history]) =>
    Effect.sync(() => {
      const failures = [0, 0, 0]
      const successes = [0, 0, 0]
      const isOut = [false, false, false]
      const end = history.reduce((before, { kind, place }) => {
        if (kind === "answered") {
          failures[place] = 0
          successes[place]! += 1
          if (successes[place]! >= answersToReturn) isOut[place] = false
        } else {
          failures[place]! += 1
          successes[place] = 0
          if (kind === "timeout" || failures[place]! >= failuresToRest) isOut[place] = true
        }
        return step(before, kind === "answered" ? answered(place) : failed(place, kind === "timeout"))
      }, pool(3))
      const wanted = [0, 1, 2].filter((place) => !isOut[place]).concat([0, 1, 2].filter((place) => isOut[place]))
      assert.deepStrictEqual(endpointsByPreference(end, 0), wanted)
      const healed = [0, 1, 2].flatMap((place) => Array.from({ length: answersToReturn }, () => answered(place)))
      assert.deepStrictEqual(endpointsByPreference(after(end, ...healed), 0), [0, 1, 2])
    }))
})

describe("a head that stands still", () => {
  it("is frozen after its time and not before, also when it goes round among old heads", () => {
    const moving = after(pool(1), head(1, 0), head(2, 10_000))
    assert.isFalse(isFrozen(moving, 0, 39_999))
    assert.isTrue(isFrozen(moving, 0, 40_000))
    assert.isTrue(isFrozen(after(moving, head(1, 20_000), head(2, 30_000), head(1, 39_000)), 0, 40_000))
    assert.isFalse(isFrozen(after(moving, head(3, 39_999)), 0, 40_000))
    assert.strictEqual(conditionOf(moving, 0, 40_000), "frozen")
  })

  it("is frozen when it lies behind another endpoint, but not behind one that is out or on another branch", () => {
    const behind = after(pool(2), head(1, 0), head(90, 31_000, 1), head(2, 31_000))
    const slow = {
      ...behind,
      endpoints: [{ ...behind.endpoints[0]!, head: { height: 2n, hash: "0x2", time: 0 } }, behind.endpoints[1]!]
    }
    assert.isTrue(isFrozen(slow, 0, 31_000))
    assert.deepStrictEqual(endpointsByPreference(slow, 31_000), [1, 0])
    assert.isFalse(isFrozen(after(slow, onBranch(1, "other")), 0, 31_000))
    assert.isFalse(isFrozen(after(slow, failed(1, true)), 0, 31_000))
  })

  it("may stand still for ever where chains make a block only for a transaction", () => {
    const devnet = emptyPool(1, { lagMillis: standstillMillis, standstillMillis: null }, 0)
    assert.isFalse(isFrozen(after(devnet, head(1, 0)), 0, 10 ** 9))
  })
})

describe("endpoints on different branches", () => {
  it("disagree once it has lasted; of three the two that agree are enough", () => {
    const two = after(pool(2), onBranch(0, "followed"), onBranch(1, "other"))
    assert.strictEqual(conditionOf(two, 0, disagreementMillis - 1), "ok")
    assert.strictEqual(conditionOf(two, 0, disagreementMillis), "disagreement")
    assert.strictEqual(conditionOf(after(two, onBranch(1, "followed")), 0, disagreementMillis), "ok")
    const three = after(pool(3), onBranch(0, "followed"), onBranch(1, "other"), onBranch(2, "followed"))
    assert.strictEqual(conditionOf(three, 0, disagreementMillis), "ok")
    assert.strictEqual(conditionOf(after(three, failed(2)), 0, disagreementMillis), "disagreement")
  })

  const Count = Schema.Literals([0, 1, 2, 3])

  it.effect.prop(
    "the followed branch is left only for one that more endpoints have, or the only one left after a long absence",
    [Count, Count, Count, Count, Schema.Literals([1, 11, 12, 100]), Schema.Literals([0, absenceMillis])],
    ([followed, others, third, missing, undone, waited]) =>
      Effect.sync(() => {
        const votes = { followed, other: others + 1, third, missing }
        const decision = decideBranch(votes, undone, 12, waited)
        const isAhead = votes.other > followed && votes.other > third
        const isSure = votes.other > Math.max(followed, third) + missing
        if (decision === "follow") assert.isTrue(isSure || (isAhead && undone < 12 && waited >= absenceMillis))
        if (isSure) assert.strictEqual(decision, "follow")
        if (!isAhead) assert.strictEqual(decision, "stay")
      })
  )

  it("one endpoint alone is followed at once, and one of two whose other is away for a moment is not", () => {
    const alone = { followed: 0, other: 1, third: 0, missing: 0 }
    assert.strictEqual(decideBranch(alone, 100, 12, 0), "follow")
    assert.strictEqual(decideBranch({ ...alone, missing: 1 }, 1, 12, 1_500), "wait")
    assert.strictEqual(decideBranch({ ...alone, missing: 1 }, 12, 12, 10 ** 9), "wait")
  })
})

describe("receipts of a block", () => {
  const receipt = (hash: string, index: number, ...logs: ReadonlyArray<number>) => ({
    transactionHash: hash,
    transactionIndex: `0x${index}`,
    logs: logs.map((logIndex) => ({ logIndex: `0x${logIndex}` }))
  })

  it("are taken whole and in order, and refused where a log or a receipt is doubled, left out or elsewhere", () => {
    const transactions = ["0xa", "0xb"]
    const judge = (...receipts: ReadonlyArray<ReturnType<typeof receipt>>) => contradictionOf(transactions, receipts)
    assert.isNull(judge(receipt("0xa", 0, 0, 1), receipt("0xb", 1, 2)))
    assert.isNull(judge(receipt("0xa", 0), receipt("0xb", 1)))
    assert.include(judge(receipt("0xa", 0, 0, 0), receipt("0xb", 1)), "log 1 has the number 0")
    assert.include(judge(receipt("0xa", 0, 0), receipt("0xb", 1, 2)), "log 1 has the number 2")
    assert.include(judge(receipt("0xa", 0, 0), receipt("0xa", 1, 1)), "receipt 1 is not of transaction 1")
    assert.include(judge(receipt("0xa", 0, 0), receipt("0xb", 7, 1)), "receipt 1 is not of transaction 1")
    assert.include(judge(receipt("0xa", 0, 0)), "1 receipts of 2 transactions")
  })
})

describe("URLs of nodes on mainnet", () => {
  it("plain http is taken to this machine and private hosts only, and the refusal says what to do", () => {
    for (
      const host of [
        "127.0.0.1",
        "localhost",
        "geth",
        "10.1.2.3",
        "192.168.0.9:8545",
        "[::1]",
        "[fd00::1]",
        "node.internal"
      ]
    ) {
      assert.isNull(plainHttpRefusal(`http://${host}/key`), host)
    }
    for (const host of ["rpc.example.com", "8.8.8.8", "[2001:4860::1]", "127.0.0.1.example.com", "172.32.0.1"]) {
      const refusal = plainHttpRefusal(`http://${host}/secret-key`)
      assert.include(refusal, "use https, or reach the node over a private address or a tunnel", host)
      assert.notInclude(refusal, "secret-key")
      assert.isNull(plainHttpRefusal(`https://${host}/secret-key`), host)
    }
    assert.include(plainHttpRefusal("secret-key"), "no http or https URL")
  })
})

describe("agreement about a block", () => {
  const silent: AnswerCounts = { own: 1, same: 0, branch: 0, other: 0, pending: 0, isRead: false }

  it("waits for an endpoint that has no such block yet or failed a moment ago, not for one that is away or stands still", () => {
    assert.strictEqual(corroborationOf({ ...silent, pending: 1 }), "Disagreed")
    assert.strictEqual(corroborationOf(silent), "Unavailable")
    const at = (millis: number): Observation => ({ _tag: "Failed", place: 1, isTimeout: false, at: millis })
    const failing = after(pool(2), at(1_000), at(2_000), at(30_000))
    assert.isTrue(isExpectedToAnswer(failing, 1, 999 + absenceMillis))
    assert.isFalse(isExpectedToAnswer(failing, 1, 1_000 + absenceMillis))
    const back = after(failing, answered(1), at(31_000))
    assert.isTrue(isExpectedToAnswer(back, 1, 1_000 + absenceMillis))
    const standing = after(pool(2), head(1, 0, 1))
    assert.isTrue(isExpectedToAnswer(standing, 1, standstillMillis - 1))
    assert.isFalse(isExpectedToAnswer(standing, 1, standstillMillis))
  })

  const Voices = Schema.Literals([0, 1, 2, 3])

  it.effect.prop("needs a second endpoint, and never overrules as many that have another block", [
    Voices,
    Voices,
    Voices,
    Voices,
    Voices,
    Schema.Boolean
  ], ([own, same, branch, other, pending, isRead]) =>
    Effect.sync(() => {
      const agreement = corroborationOf({ own, same, branch, other, pending, isRead })
      if (agreement === "Agreed") assert.isTrue(same > 0 && own + same + branch > other)
      if (other > 0 && other >= own + same + branch) assert.strictEqual(agreement, "Disagreed")
      if (agreement === "Alone" || agreement === "Unavailable") {
        assert.isTrue(same === 0 && (pending === 0 || branch > 0))
      }
    }))
})
