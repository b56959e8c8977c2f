/**
 * Goal: no line is released while an export of it can be executed, none is paid on anybody's word, and every second
 * payment is told at first sight. Method: the pure machine on a model of a chain that executes exports in any order, at
 * any time, twice where the chain allows it, and takes transactions back.
 */
import { assert, describe, it } from "@effect/vitest"
import { makeRandom } from "../../fixtures/histories.ts"
import {
  type BatchCommand,
  type BatchState,
  decide,
  dueParts,
  isOpen,
  linesOf,
  statusOf,
  type UnexpectedTransfer
} from "../../../modules/batches/machine.ts"
import type { PayoutExecution, PayoutFormat } from "../../../runtime/Payouts.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { after, approval, batchOf, exportOf, from, refusal, transferTo } from "./MachineBatches.ts"

describe("people", () => {
  it("must be as many as the batch needs, each counted once, before anything is given out", () => {
    const batch = batchOf(1, 2)
    const give: BatchCommand = { _tag: "Export", part: 1, export: exportOf("eip5792", 300, 1n) }
    assert.strictEqual(refusal(batch, give), "APPROVAL_REQUIRED")
    const once = after(batch, { _tag: "Approve", approval: approval("ada") })
    assert.strictEqual(refusal(once, { _tag: "Approve", approval: approval("ada") }), "APPROVER_MUST_DIFFER")
    assert.strictEqual(refusal(once, give), "APPROVAL_REQUIRED")
    const twice = after(once, { _tag: "Approve", approval: approval("grace") })
    assert.strictEqual(statusOf(twice), "ready")
    assert.strictEqual(statusOf(after(twice, give)), "open")
    assert.strictEqual(refusal(twice, { _tag: "Approve", approval: approval("joan") }), "INVALID_TRANSITION")
  })
})

describe("a look at the chain", () => {
  it("that finds nothing new moves the time of the next one, and shows no change", () => {
    const ready = after(batchOf(2), { _tag: "Approve", approval: approval("ada") }, 10)
    const out = after(ready, { _tag: "Export", part: 1, export: exportOf("csv", null, 1n) }, 20)
    const looked = after(
      out,
      { _tag: "Observe", part: 1, search: { executions: [], searchedTo: 9n, isOver: false } },
      30
    )
    assert.deepStrictEqual([looked.updatedAt, looked.parts[0]!.searchedTo, looked.dueAt], [20, 9n, 35])
    const search = { executions: [transferTo(looked, 0, false)], searchedTo: 9n, isOver: false }
    const seen = after(looked, { _tag: "Observe", part: 1, search }, 40)
    assert.deepStrictEqual([seen.updatedAt, seen.lines[0]!.status], [40, "seen"])
    assert.strictEqual(after(seen, { _tag: "Observe", part: 1, search }, 50).updatedAt, 40)
    const gone = { executions: [], searchedTo: 9n, isOver: false }
    assert.strictEqual(after(seen, { _tag: "Observe", part: 1, search: gone }, 60).updatedAt, 60)
  })
})

/** A chain that has one wallet's executions of one part; the newest blocks are not final. */
interface Model {
  readonly height: bigint
  readonly time: number
  readonly executions: ReadonlyArray<PayoutExecution>
}

/** Blocks after which nothing is taken back. */
const depth = 3n
/** Seconds between blocks. */
const blockSeconds = 10

const finalAt = ({ height }: Model): bigint => height - depth

const withFinality = (model: Model): ReadonlyArray<PayoutExecution> =>
  model.executions.map((each) => ({ ...each, isFinal: each.block.height <= finalAt(model) }))

const execute = (batch: BatchState, model: Model, count: number): Model => ({
  height: model.height + 1n,
  time: model.time + blockSeconds,
  executions: [...model.executions, {
    txHash: `0x${count}`,
    block: { height: model.height + 1n, hash: `${model.height}`, time: model.time + blockSeconds },
    isFinal: false,
    fee: null,
    transfers: linesOf(batch, 1).map((line, place) => ({
      index: place,
      line: place,
      destination: line.destination.address,
      tokenAddress: line.tokenAddress,
      amount: line.units,
      from
    }))
  }]
})

type Step = "execute" | "mine" | "look" | "reorganise" | "cancel" | "export"

/** What happened to money: lines that the model paid, and what the machine said of each. */
const run = (steps: ReadonlyArray<Step>, format: PayoutFormat, isGuarded: boolean) => {
  let model: Model = { height: 100n, time: 1_000, executions: [] }
  let batch = after(batchOf(2), { _tag: "Approve", approval: approval("ada") })
  let count = 0
  /** Exports that a wallet has in hand, with the second in which each ends. */
  let given: ReadonlyArray<number> = []
  const told = new Map<string, UnexpectedTransfer>()
  const paidLines = new Map<number, number>()
  const look = () => {
    const part = batch.parts[0]!
    if (part.export === null || !part.isWatched) return
    const executions = withFinality(model)
    const finalTime = model.time - Number(depth) * blockSeconds
    const decision = decide(batch, {
      _tag: "Observe",
      part: 1,
      search: { executions, searchedTo: finalAt(model), isOver: finalTime > part.export.validUntil! }
    }, model.time)
    assert.isFalse(isPublicError(decision))
    if (isPublicError(decision)) return
    for (const { line, status } of decision.finalLines) {
      assert.strictEqual(status, "paid")
      paidLines.set(line.line, (paidLines.get(line.line) ?? 0) + 1)
    }
    for (const each of decision.unexpected) told.set(`${each.txHash}:${each.transfer.index}`, each)
    batch = decision.next
  }
  for (const step of steps) {
    switch (step) {
      case "export": {
        const decision = decide(batch, {
          _tag: "Export",
          part: 1,
          export: exportOf(format, model.time + 60, model.height)
        }, model.time)
        if (!isPublicError(decision) && decision.next !== batch) {
          given = [...given, decision.next.parts[0]!.export!.validUntil!]
          batch = decision.next
        }
        break
      }
      case "execute": {
        const isValid = given.some((end) => model.time + blockSeconds <= end)
        const mayRepeat = !isGuarded || model.executions.length === 0
        if (isValid && mayRepeat) model = execute(batch, model, count++)
        break
      }
      case "mine":
        model = { ...model, height: model.height + 1n, time: model.time + blockSeconds }
        break
      case "reorganise": {
        const kept = model.executions.filter(({ block }) => block.height <= finalAt(model))
        model = { ...model, executions: kept }
        break
      }
      case "cancel": {
        const decision = decide(batch, { _tag: "Cancel" }, model.time)
        if (!isPublicError(decision)) batch = decision.next
        break
      }
      case "look":
        look()
    }
    // Whatever is released can never be paid any more: nobody holds an export that the chain would take.
    if (batch.lines.some(({ status }) => status === "released")) {
      assert.isFalse(given.some((end) => model.time + blockSeconds <= end), "released while it can be executed")
    }
  }
  // To the end: everything that is out ends, and is final.
  for (let block = 0; block < 30; block++) {
    model = { ...model, height: model.height + 1n, time: model.time + blockSeconds }
    look()
  }
  return { batch, model, told, paidLines }
}

/** Steps of a history, the same for the same seed. */
const stepsOf = (seed: number): ReadonlyArray<Step> => {
  const roll = makeRandom(seed)
  const choices: ReadonlyArray<Step> = [
    "execute",
    "mine",
    "mine",
    "look",
    "look",
    "reorganise",
    "cancel",
    "export",
    "export"
  ]
  return Array.from({ length: roll(41) }, () => choices[roll(choices.length)]!)
}

const seeds = Array.from({ length: 1_000 }, (_, seed) => seed)

describe("a part", () => {
  it("that the chain executes once is never paid twice, whatever happens in which order", () => {
    for (const seed of seeds) {
      const { batch, model, paidLines, told } = run(["export", ...stepsOf(seed)], "eip5792", true)
      assert.isAtMost(model.executions.length, 1)
      assert.strictEqual(told.size, 0)
      for (const times of paidLines.values()) assert.strictEqual(times, 1)
      // The books agree with the chain.
      const expected = model.executions.length === 1 ? "paid" : "not paid"
      assert.strictEqual(statusOf(batch) === "paid" ? "paid" : "not paid", expected)
      if (batch.isCanceled) assert.isFalse(isOpen(batch), `seed ${seed}`)
    }
  })

  it("that a chain may execute twice tells every second execution, and releases nothing that was paid", () => {
    for (const seed of seeds) {
      const { batch, model, told } = run(["export", ...stepsOf(seed)], "solana", false)
      const transfers = model.executions.flatMap(({ transfers: made, txHash }) =>
        made.map(({ index }) => `${txHash}:${index}`)
      )
      const paid = batch.lines.flatMap(({ status, transferIndex, txHash }) =>
        status === "paid" ? [`${txHash}:${transferIndex}`] : []
      )
      for (const transfer of transfers) {
        assert.isTrue(paid.includes(transfer) || told.has(transfer), `${transfer} was told to nobody`)
      }
      assert.strictEqual(batch.lines.some(({ status }) => status === "paid"), model.executions.length > 0)
    }
  })

  it("that brought less than a line says is a mismatch once it is final, and no other line suffers", () => {
    const batch = after(
      after(batchOf(2), { _tag: "Approve", approval: approval("ada") }),
      { _tag: "Export", part: 1, export: exportOf("eip5792", 300, 1n) }
    )
    const model = execute(batch, { height: 1n, time: 0, executions: [] }, 1)
    const [execution] = model.executions
    const short = {
      ...execution!,
      isFinal: true,
      transfers: execution!.transfers.map((each) => each.index === 0 ? { ...each, amount: baseUnits(1n) } : each)
    }
    const decision = decide(batch, {
      _tag: "Observe",
      part: 1,
      search: { executions: [short], searchedTo: 2n, isOver: false }
    }, 10)
    assert.isFalse(isPublicError(decision))
    if (isPublicError(decision)) return
    assert.deepStrictEqual(decision.next.lines.map(({ status }) => status), ["mismatch", "paid"])
    assert.deepStrictEqual([decision.next.parts[0]!.status, statusOf(decision.next)], ["mismatch", "partly_paid"])
  })

  for (const format of ["solana", "ton"] as const) {
    it(`that may be executed once more gives up no line before it is over (${format})`, () => {
      const batch = after(
        after(batchOf(2), { _tag: "Approve", approval: approval("ada") }),
        { _tag: "Export", part: 1, export: exportOf(format, 300, 1n) }
      )
      const [given] = execute(batch, { height: 1n, time: 0, executions: [] }, 1).executions
      const final = { ...given!, isFinal: true }
      const changed = (change: object) => ({
        ...final,
        txHash: "0xchanged",
        transfers: final.transfers.map((each) => each.index === 0 ? { ...each, ...change } : each)
      })
      const observed = (state: BatchState, executions: ReadonlyArray<PayoutExecution>, isOver: boolean) => {
        const decision = decide(state, { _tag: "Observe", part: 1, search: { executions, searchedTo: 2n, isOver } }, 10)
        if (isPublicError(decision)) throw new Error(decision.code)
        const { finalLines, next, unexpected } = decision
        return {
          next,
          found: [next.lines.map(({ status }) => status), next.parts[0]!.status, statusOf(next)],
          given: finalLines.map(({ line, status }) => `${line.line} ${status}`),
          told: unexpected.map(({ line, txHash, type }) => `${type} ${line?.line ?? null} ${txHash}`)
        }
      }
      const elsewhere = changed({ destination: "0xthief", line: null })
      const one = observed(batch, [elsewhere], false)
      const searchedTo = (state: BatchState) => state.parts[0]!.searchedTo
      assert.strictEqual(searchedTo(one.next), searchedTo(batch), "the look that decides must find it once more")
      assert.deepStrictEqual([one.found, one.given], [[["pending", "paid"], "seen", "open"], ["2 paid"]])
      assert.deepStrictEqual(one.told, ["payout_mismatch 1 0xchanged"])
      const never = observed(one.next, [elsewhere], true)
      // Each message on TON stands alone: that another went elsewhere says nothing of this one.
      const left = format === "ton" ? "released" : "mismatch"
      assert.deepStrictEqual(never.found, [[left, "paid"], "mismatch", "partly_paid"])
      const both = observed(one.next, [elsewhere, final], true)
      assert.deepStrictEqual([both.found, both.given], [[["paid", "paid"], "paid", "paid"], ["1 paid"]])
      assert.deepStrictEqual(both.told, ["payout_mismatch 1 0xchanged", `duplicate_payout 2 ${final.txHash}`])

      const short = changed({ amount: baseUnits(1n) })
      const less = observed(batch, [short], false)
      assert.deepStrictEqual([less.found, less.given], [[["seen", "paid"], "seen", "open"], ["2 paid"]])
      assert.deepStrictEqual(observed(less.next, [short], true).found[0], ["mismatch", "paid"])
      assert.deepStrictEqual(observed(less.next, [short, final], true).given, ["1 paid"])

      const nothing = { ...elsewhere, transfers: elsewhere.transfers.filter(({ line }) => line === null) }
      const stolen = observed(batch, [nothing], false)
      assert.deepStrictEqual(stolen.found, [["pending", "pending"], "seen", "open"], "nobody signs it again")
    })
  }
})

describe("a transaction that somebody reports", () => {
  const tell = (txHash: string): BatchCommand => ({ _tag: "Hint", part: 1, txHash })

  it("gives way to another one unless a line that it pays is on the chain and not final", () => {
    const out = after(after(batchOf(2), { _tag: "Approve", approval: approval("ada") }), {
      _tag: "Export",
      part: 1,
      export: exportOf("csv", null, 1n)
    })
    const see = (batch: BatchState, isFinal: boolean) =>
      after(batch, {
        _tag: "Observe",
        part: 1,
        search: { executions: [transferTo(batch, 0, isFinal)], searchedTo: 1n, isOver: false }
      })
    const told = after(after(out, tell("0xdead")), tell("0xa0"))
    const seen = see(told, false)
    assert.strictEqual(seen.lines[0]!.txHash, "0xa0")
    assert.strictEqual(refusal(seen, tell("0xa1")), "INVALID_TRANSITION")
    assert.strictEqual(after(seen, tell("0xa0")), seen)
    assert.strictEqual(after(see(seen, true), tell("0xa1")).parts[0]!.hint, "0xa1")
    // What is found without a report is found again.
    assert.strictEqual(after(see(out, false), tell("0xa1")).parts[0]!.hint, "0xa1")
    // What came while the chain was searched by another report, and would have been refused a moment later.
    const late = after(after(told, tell("0xa1")), {
      _tag: "Observe",
      part: 1,
      hint: "0xa0",
      search: { executions: [transferTo(told, 0, false)], searchedTo: 1n, isOver: false }
    })
    assert.deepStrictEqual([late.parts[0]!.hint, late.lines[0]!.txHash], ["0xa0", "0xa0"])
  })
})

describe("the next check of the chain", () => {
  const hash = `0x${"ab".repeat(32)}`
  const give = (format: PayoutFormat, validUntil: number | null): BatchState =>
    after(after(batchOf(2), { _tag: "Approve", approval: approval("ada") }), {
      _tag: "Export",
      part: 1,
      export: exportOf(format, validUntil, 1n)
    })
  const execution = (batch: BatchState, isFinal: boolean, lines: number): PayoutExecution => {
    const [each] = execute(batch, { height: 1n, time: 10, executions: [] }, 1).executions
    return { ...each!, isFinal, transfers: each!.transfers.slice(0, lines) }
  }

  it("is at once where somebody names a transaction, and none once nothing can follow", () => {
    const out = give("eip5792", 300)
    assert.strictEqual(after(out, { _tag: "Hint", part: 1, txHash: hash }, 100).dueAt, 100)
    const search = { executions: [execution(out, true, 2)], searchedTo: 2n, isOver: true }
    const paid = after(out, { _tag: "Observe", part: 1, search }, 400)
    assert.isNull(paid.dueAt)
    // Due with no part to check, it would be read again without a pause.
    assert.strictEqual(after(paid, { _tag: "Hint", part: 1, txHash: hash }, 500), paid)
  })

  it("is each part's own: one that was just given out has none of the others looked for", () => {
    const month = 2_592_000
    const exportPart = (batch: BatchState, part: number, now: number) =>
      after(batch, { _tag: "Export", part, export: exportOf("csv", null, 1n) }, now)
    const approved = after(batchOf(4, 1, [2, 2]), { _tag: "Approve", approval: approval("ada") })
    const first = exportPart(approved, 1, 0)
    const search = { executions: [], searchedTo: 1n, isOver: false }
    const rare = after(first, { _tag: "Observe", part: 1, search }, month)
    assert.strictEqual(rare.dueAt! - month, 3_600)
    const both = exportPart(rare, 2, month)
    assert.strictEqual(both.dueAt! - month, 5)
    assert.deepStrictEqual(dueParts(both, month + 5).map(({ part }) => part), [2])
    assert.deepStrictEqual(dueParts(both, month + 3_600).map(({ part }) => part), [1, 2])
    // Due although no part is: a search has failed.
    assert.deepStrictEqual(dueParts(both, month).map(({ part }) => part), [1, 2])
    const told = after(both, { _tag: "Hint", part: 1, txHash: hash }, month + 1)
    assert.deepStrictEqual([told.dueAt, dueParts(told, month + 1).map(({ part }) => part)], [month + 1, [1]])
  })

  it("of a list whose other lines may never be paid gets rarer, although a line is paid", () => {
    const month = 2_592_000
    const out = give("csv", null)
    const search = { executions: [execution(out, false, 1)], searchedTo: 1n, isOver: false }
    const seen = after(out, { _tag: "Observe", part: 1, search }, month)
    assert.strictEqual(seen.dueAt! - month, 5)
    const final = { executions: [execution(out, true, 1)], searchedTo: 2n, isOver: false }
    const paid = after(out, { _tag: "Observe", part: 1, search: final }, month)
    assert.strictEqual(paid.parts[0]!.status, "seen")
    assert.strictEqual(paid.dueAt! - month, 3_600)
  })
})
