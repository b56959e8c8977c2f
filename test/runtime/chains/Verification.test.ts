/**
 * Goal: no payment counts that most endpoints do not show, none is forgotten that most of them do, and a report that
 * is wrong about a transfer stands in nobody's way. Method: any readings of a block by three endpoints, against what
 * each of them really showed.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Corroboration, JournalEntry, ObservedTransfer } from "../../../runtime/Chains.ts"
import { alternateEntryId, contradictsReport, entryIds, matchEntry } from "../../../runtime/chains/TransferIdentity.ts"
import { type BlockDecision, decideBlock } from "../../../runtime/chains/BlockDecision.ts"

const transfer = (txHash: string, change: Partial<ObservedTransfer> = {}): ObservedTransfer => ({
  txHash,
  index: 1,
  kind: "direct",
  matchKey: "ours",
  tokenAddress: "listed",
  amount: baseUnits(5n),
  from: null,
  ...change
})

const entry = (txHash: string, change: Partial<JournalEntry> = {}): JournalEntry => ({
  ...transfer(txHash),
  id: `base:mainnet:${txHash}:1`,
  network: "base",
  environment: "mainnet",
  merchantId: 1,
  invoiceId: "invoice",
  height: 5n,
  blockHash: "0xblock",
  blockTime: 1,
  observedAt: 1,
  status: "seen",
  handledStatus: "seen",
  requiredDepth: { blocks: 3, finalized: false },
  confirmations: 1,
  attempts: 0,
  version: 1,
  ...change
})
const large = (txHash: string) => entry(txHash, { requiredDepth: { blocks: 3, finalized: false, agreement: true } })

const isListed = ({ tokenAddress }: Pick<ObservedTransfer, "tokenAddress">) => tokenAddress !== "strange"

const read = (
  _tag: "Agreed" | "Alone",
  readings: ReadonlyArray<ReadonlyArray<ObservedTransfer>>,
  hasAllAnswers = true
): Corroboration => ({ _tag, time: 1, readings, hasAllAnswers })

const judged = (deep: ReadonlyArray<JournalEntry>, corroboration: Corroboration, isThorough = true) =>
  decideBlock(deep, deep, corroboration, isThorough, isListed)

const verdict = (change: Partial<BlockDecision>): BlockDecision => ({
  confirm: [],
  revert: [],
  undecidedIds: [],
  missing: [],
  isInconclusive: false,
  ...change
})

const [a, b] = [transfer("a"), transfer("b")]
const idOf = (txHash: string) => entry(txHash).id

describe("a payment's block that is read again", () => {
  const cases: ReadonlyArray<readonly [string, BlockDecision | null, BlockDecision | null]> = [
    [
      "confirms what every reading shows",
      judged([entry("a")], read("Agreed", [[a], [a]])),
      verdict({ confirm: [idOf("a")] })
    ],
    ["asks all endpoints before it decides against a payment", judged([entry("a")], read("Agreed", [[]]), false), null],
    [
      "asks all endpoints before it believes a payment that nobody was shown",
      judged([entry("a")], read("Agreed", [[a, b]]), false),
      null
    ],
    [
      "takes a payment back that no endpoint shows, where all of them were asked",
      judged([entry("a")], read("Agreed", [[], []])),
      verdict({ revert: [idOf("a")] })
    ],
    [
      "holds it where one of them did not answer",
      judged([entry("a")], read("Agreed", [[], []], false)),
      verdict({ undecidedIds: [idOf("a")] })
    ],
    [
      "holds a payment that one of two shows, whose amount is another at the other",
      judged([entry("a")], read("Agreed", [[a], [transfer("a", { amount: baseUnits(6n) })]])),
      verdict({ undecidedIds: [idOf("a")] })
    ],
    [
      "credits what two of three show, and waits for nothing",
      judged([], read("Agreed", [[a], [a], []])),
      verdict({ missing: [a] })
    ],
    [
      "decides nothing about what one of two shows",
      judged([], read("Agreed", [[a], []])),
      verdict({ isInconclusive: true })
    ],
    [
      "leaves tokens out that nobody listed",
      judged([], read("Agreed", [[transfer("a", { tokenAddress: "strange" })]])),
      verdict({})
    ],
    [
      "tells a transfer to one address from the same one to another",
      judged([entry("a")], read("Agreed", [[transfer("a", { matchKey: "other" })]])),
      verdict({ revert: [idOf("a")], missing: [transfer("a", { matchKey: "other" })] })
    ],
    [
      "holds a large payment that only its own endpoint shows while another is configured",
      judged([large("a"), entry("b")], read("Alone", [[a, b]], false)),
      verdict({ confirm: [idOf("b")], undecidedIds: [idOf("a")] })
    ],
    [
      "confirms a small payment without the other endpoint, and holds a large one",
      judged([large("a"), entry("b")], { _tag: "Unavailable" }, false),
      verdict({ confirm: [idOf("b")], undecidedIds: [idOf("a")], isInconclusive: true })
    ],
    [
      "confirms nothing that nobody could read when all were asked",
      judged([entry("b")], { _tag: "Unavailable" }),
      verdict({ undecidedIds: [idOf("b")], isInconclusive: true })
    ],
    [
      "confirms nothing on a branch that others contradict",
      judged([entry("a")], { _tag: "Disagreed" }, false),
      verdict({ undecidedIds: [idOf("a")], isInconclusive: true })
    ]
  ]
  for (const [promise, found, wanted] of cases) it(promise, () => assert.deepStrictEqual(found, wanted))

  const Shown = Schema.Struct({
    tx: Schema.Literals(["a", "b", "c"]),
    amount: Schema.Literals([5, 6]),
    matchKey: Schema.Literals(["ours", "other"]),
    tokenAddress: Schema.Literals(["listed", "strange"])
  })
  const Readings = Schema.Array(Schema.Array(Shown).check(Schema.isMaxLength(4))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(3)
  )
  const Deep = Schema.Array(Schema.Struct({ tx: Schema.Literals(["a", "b"]), isLarge: Schema.Boolean }))
    .check(Schema.isMaxLength(2))

  it.effect.prop("comes to one end for each payment, and only a majority confirms or adds", [
    Readings,
    Deep,
    Schema.Boolean
  ], (
    [shown, wanted, isWhole]
  ) =>
    Effect.sync(() => {
      // An endpoint shows each place of a transaction once.
      const readings = shown.map((reading) => [...new Map(reading.map(({ amount, tx, ...rest }) =>
        [tx, transfer(tx, { ...rest, amount: baseUnits(BigInt(amount)) })] as const
      )).values()])
      const deep = [...new Map(wanted.map(({ isLarge, tx }) => [tx, isLarge ? large(tx) : entry(tx)])).values()]
      const { confirm, undecidedIds, missing, revert } = judged(deep, read("Agreed", readings, isWhole))!
      assert.deepStrictEqual(
        [...confirm, ...revert, ...undecidedIds].sort(),
        deep.map(({ id }) =>
          id
        ).sort()
      )
      const times = (one: ObservedTransfer | JournalEntry) =>
        readings.filter((reading) =>
          reading.some((each) =>
            each.txHash === one.txHash && each.amount === one.amount &&
            each.matchKey === one.matchKey && each.tokenAddress === one.tokenAddress
          )
        ).length
      for (const one of deep) {
        assert.strictEqual(confirm.includes(one.id), times(one) * 2 > readings.length)
        assert.strictEqual(revert.includes(one.id), isWhole && times(one) === 0)
      }
      for (const one of missing) {
        assert.isFalse(deep.some(({ matchKey, txHash }) =>
          txHash === one.txHash && matchKey === one.matchKey
        ))
        assert.isTrue(isListed(one))
      }
    }))
})

describe("the journal entry of a transfer", () => {
  const first = entry("a")
  const journal = (...entries: ReadonlyArray<JournalEntry>) => new Map(entries.map((each) => [each.id, each]))

  it("has the transfer's id, and stands beside a report that named another receiver", () => {
    const beside = entry("a", { id: alternateEntryId(first.id, "other"), matchKey: "other" })
    assert.deepStrictEqual(matchEntry(journal(), first.id, "ours"), { id: first.id, entry: undefined })
    assert.deepStrictEqual(matchEntry(journal(first), first.id, "ours"), { id: first.id, entry: first })
    assert.deepStrictEqual(matchEntry(journal(first), first.id, "other"), { id: beside.id, entry: undefined })
    assert.deepStrictEqual(matchEntry(journal(first, beside), first.id, "other"), { id: beside.id, entry: beside })
    assert.deepStrictEqual(entryIds(first.id, "other"), [first.id, beside.id])
  })

  it("refuses another receiver where a driver saw it or nobody looks, and lets two reports be looked into", () => {
    const reportedOnly = { ...first, confirmations: 0 }
    const cases: ReadonlyArray<readonly [JournalEntry | undefined, boolean, boolean]> = [
      [undefined, false, false],
      [first, true, true],
      [{ ...first, status: "reverted" }, true, false],
      [reportedOnly, true, false],
      [reportedOnly, false, true],
      [{ ...reportedOnly, status: "confirmed" }, true, true]
    ]
    for (const [other, isFollowed, isRefused] of cases) {
      assert.strictEqual(contradictsReport(other, "other", isFollowed), isRefused)
      assert.isFalse(contradictsReport(other, "ours", isFollowed))
    }
  })
})
