/**
 * Goal: every checkpoint is asked for, of every address, whatever way looks divide the chain; and a node that leads a
 * scan nowhere is found out.
 * Method: random looks and restarts, and the checkpoints that they asked for; random pages.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { withoutForgotten } from "../../../../modules/chains/sui/SuiChain.ts"
import type { ListedTransactions } from "../../../../modules/chains/sui/Messages.ts"
import { closedScanPeriod, dueClosedScans, planLook, scansOf } from "../../../../modules/chains/sui/ScanPlan.ts"
import { emptyPagesBetweenMarks, startScan, stepScan } from "../../../../modules/chains/sui/ScanState.ts"
import { suiAddress } from "../../../support/SuiRig.ts"

const Steps = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9_000 })))
const start = 250_000_000n

const accounts = (open: number, closed: number) => [
  ...Array.from({ length: open }, (_, place) => ({ key: suiAddress(place), isOpen: true })),
  ...Array.from({ length: closed }, (_, place) => ({ key: suiAddress(open + place), isOpen: false }))
]

describe("sui scans", () => {
  it.prop("accounts that are not open are asked for every checkpoint up to the end of an hour", [Steps], ([steps]) => {
    const closed = Array.from({ length: 30 }, (_, place) => suiAddress(place))
    /** Up to where each address was asked for, without a gap since the start. */
    const asked = new Map(closed.map((address) => [address, start]))
    let passed = start
    for (const step of steps) {
      const range = { from: passed + 1n, to: passed + BigInt(step) }
      for (const { addresses, from, to } of dueClosedScans(closed, range)) {
        for (const address of addresses!) {
          assert.isTrue(from <= asked.get(address)! + 1n, "no gap")
          asked.set(address, to)
        }
      }
      passed = range.to
      for (const until of asked.values()) {
        assert.isTrue(passed - until < closedScanPeriod, "no address waits longer than an hour")
      }
    }
  })

  it.prop("open accounts are asked for in every look, and looks leave no gap", [Steps], ([steps]) => {
    let head = start
    let passed: bigint | null = null
    for (const step of steps) {
      head += BigInt(step) * 40n
      const { range, scans } = planLook(accounts(23, 5), passed, head)
      assert.strictEqual(range.from, passed === null ? head : passed + 1n)
      assert.isTrue(range.to <= head)
      const open = new Set(
        scans.flatMap(({ addresses, from, to }) => from <= range.from && to === range.to ? addresses ?? [] : [])
      )
      for (let place = 0; place < 23; place++) assert.isTrue(open.has(suiAddress(place)))
      for (const { addresses } of scans) assert.isTrue(addresses === null || addresses.length <= 10)
      passed = range.to
    }
  })

  it("accounts that are not open miss no checkpoint while looks change between addresses and everything", () => {
    const address = suiAddress(1_000_000)
    const byAddress = { open: 3, step: 900 }
    const everything = { open: 400, step: 300 }
    const looks = [
      ...Array.from({ length: 5 }, () => byAddress),
      ...Array.from({ length: 60 }, () => everything),
      ...Array.from({ length: 40 }, () => byAddress)
    ]
    const covered: Array<readonly [bigint, bigint]> = []
    let passed = start
    for (const { open, step } of looks) {
      const all = [...accounts(open, 0), { key: address, isOpen: false }]
      const { range, scans } = planLook(all, passed, passed + BigInt(step))
      for (const { addresses, from, to } of scans) {
        if (addresses === null || addresses.includes(address)) covered.push([from, to])
      }
      passed = range.to
    }
    let until = start
    for (const [from, to] of covered.toSorted(([one], [other]) => Number(one - other))) {
      if (from <= until + 1n && to > until) until = to
    }
    assert.isTrue(passed - until < closedScanPeriod, "no checkpoint waits longer than an hour")
  })

  it("downloads everything where that takes fewer calls, and asks by address where the range is long", () => {
    const range = { from: 1n, to: 8n }
    assert.lengthOf(scansOf(accounts(300, 0).map(({ key }) => key), range), 30)
    assert.deepStrictEqual(scansOf(accounts(301, 0).map(({ key }) => key), range), [{ ...range, addresses: null }])
    assert.lengthOf(scansOf(accounts(301, 0).map(({ key }) => key), { from: 1n, to: 86_400n }), 31)
    assert.deepStrictEqual(planLook(accounts(0, 0), 5n, 9n), { range: { from: 6n, to: 9n }, scans: [] })
  })

  it("cuts an overlap at a node's oldest checkpoint, and nothing that is needed", () => {
    const range = { from: 100n, to: 120n }
    const overlapping = { from: 70n, to: 120n, addresses: ["a"] }
    assert.deepStrictEqual(withoutForgotten([overlapping], range, 90n), [{ ...overlapping, from: 90n }])
    assert.strictEqual(withoutForgotten([overlapping], range, 101n), 70n)
    assert.strictEqual(withoutForgotten([{ ...overlapping, from: 20n }], range, 90n), 20n)
    assert.deepStrictEqual(withoutForgotten([], range, 1_000n), [])
  })

  const range = { from: 10n, to: 20n }
  const page = (covered: bigint | null, more: Partial<ListedTransactions> = {}): ListedTransactions => ({
    transactions: [],
    covered,
    cursor: Uint8Array.of(Number(covered ?? 0n)),
    hasMore: true,
    ...more
  })
  const after = (...pages: ReadonlyArray<ListedTransactions>) =>
    pages.reduce<ReturnType<typeof stepScan>>(
      (state, each) => typeof state === "string" ? state : stepScan(state, each),
      startScan(range)
    )

  it("only the node's mark says how far a scan looked, and never further than was asked for", () => {
    assert.deepInclude(after(page(15n, { hasMore: false })), { scannedTo: 15n, isDone: true })
    assert.deepInclude(after(page(null, { hasMore: false })), { scannedTo: 9n, isDone: true })
    assert.deepInclude(after(page(99n)), { scannedTo: 20n, isDone: true })
    assert.deepInclude(after(page(12n), page(14n)), { scannedTo: 14n, isDone: false })
  })

  it("a mark that goes back, a cursor that stays, and pages that get nowhere are contradictions", () => {
    assert.include(after(page(14n), page(12n)), "went back")
    assert.include(after(page(12n), page(12n)), "do not go on")
    const endless = Array.from(
      { length: emptyPagesBetweenMarks + 2 },
      (_, place) => page(12n, { cursor: Uint8Array.of(1, place) })
    )
    assert.include(after(...endless), "get nowhere")
    const stranger = { checkpoint: 21n } as ListedTransactions["transactions"][number]
    assert.include(after(page(12n, { transactions: [stranger] })), "not asked for")
  })
})
