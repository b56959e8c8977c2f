/**
 * Goal: whatever nodes list, hide and drop, every payment that stays is told, one that leaves is taken back alone, and
 * following goes on from a point that loses nothing.
 * Method: random histories, seeded, against a model that knows what is on the chain.
 */
import { assert, describe, it } from "@effect/vitest"
import { makeAccountBook, overlapSlots, sweepSlots } from "../../../../modules/chains/solana/AccountBook.ts"
import {
  dueForFinality,
  type FollowState,
  initialState,
  nextBatch,
  onDropped,
  onFinalized,
  onListed,
  onLookEnd,
  onRead,
  onStatuses
} from "../../../../modules/chains/solana/FollowState.ts"
import { baseUnits } from "../../../../schemas/Money.ts"

/** Numbers from 0 to below 1, the same in every run (mulberry32). */
const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

const finalityDepth = 31n
const looks = 120

const pointOf = (height: bigint) => ({ height, hash: `${height}`, time: Number(height) })

const shownOf = (signature: string, slot: bigint) => ({
  at: pointOf(slot),
  transfers: [{
    txHash: signature,
    index: 0,
    kind: "direct" as const,
    matchKey: "wallet",
    tokenAddress: null,
    amount: baseUnits(1n),
    from: null,
    at: pointOf(slot)
  }]
})

/** One history: what the journal holds at its end, and what the chain does. */
const runHistory = (seed: number) => {
  const random = seeded(seed)
  const chain = new Map<string, bigint>()
  const journal = new Map<string, bigint>()
  let state: FollowState = initialState([])
  let head = 1_000n
  let told = 0n
  let mark = 0n
  for (let look = 0; look < looks; look++) {
    head += BigInt(1 + Math.floor(random() * 8))
    const finalized = head - finalityDepth
    const isQuiet = look > looks - 20
    if (!isQuiet && random() < 0.5) chain.set(`payment ${look}`, head - BigInt(Math.floor(random() * 40)))
    const unfinal = [...chain].filter(([, slot]) => slot > finalized)
    if (!isQuiet && unfinal.length > 0 && random() < 0.1) chain.delete(unfinal[0]![0])
    // Nodes show what they list a few looks later.
    const isShown = (signature: string) => isQuiet || (look + signature.length) % 3 > 0

    state = onFinalized(state, finalized)
    const due = dueForFinality(state, finalized)
    const statuses = new Map(due.map((signature) => {
      const slot = chain.get(signature)
      return [signature, slot === undefined ? null : { slot, hasFailed: false, isFinal: slot <= finalized }] as const
    }))
    const step = onStatuses(state, statuses, finalized)
    const [afterDrop, gone] = onDropped(step.state, step.absent)
    state = afterDrop
    for (const event of gone) {
      if (event._tag === "Gone") { for (const { txHash } of event.transfers) journal.delete(txHash) }
    }
    if (state.backlog.length === 0) {
      state = onListed(
        state,
        [...chain].filter(([, slot]) => slot >= head - overlapSlots)
          .map(([signature, slot]) => ({ signature, slot, hasFailed: false }))
      )
    }
    const batch = nextBatch(state).map((listed) => ({
      listed,
      shown: isShown(listed.signature) ? shownOf(listed.signature, listed.slot) : null
    }))
    state = onRead(state, batch)
    const [next, events] = onLookEnd(state, { head: pointOf(head), batch, safeHeight: head })
    state = next
    for (const event of events) {
      if (event._tag === "Forward") {
        assert.isAbove(Number(event.point.height), Number(told), "heights rise")
        told = event.point.height
        for (const { at, txHash } of event.transfers) journal.set(txHash, at!.height)
      }
      if (event._tag === "Finality") mark = event.finalized ?? mark
    }
    for (const [signature, slot] of journal) {
      if (!chain.has(signature)) assert.isBelow(Number(mark), Number(slot), "what has left is not marked final")
    }
  }
  return { chain, journal }
}

describe("solana's follower", () => {
  it("ends every one of 300 random histories with what is on the chain", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const { chain, journal } = runHistory(seed)
      assert.deepStrictEqual([...journal].sort(), [...chain].sort(), `history ${seed}`)
    }
  })

  it("tells a long backlog in whole slots, oldest first, and catches up with the head at last", () => {
    const listed = Array.from({ length: 250 }, (_, place) => ({
      signature: `payment ${place}`,
      slot: BigInt(1_000 + Math.floor(place / 7)),
      hasFailed: place % 50 === 0
    }))
    let state = onListed(initialState([{ height: 900n, hash: "900" }]), listed)
    const heights: Array<readonly [number, boolean]> = []
    while (state.backlog.length > 0) {
      const batch = nextBatch(state).map((each) => ({ listed: each, shown: shownOf(each.signature, each.slot) }))
      const [next, events] = onLookEnd(onRead(state, batch), { head: pointOf(5_000n), batch, safeHeight: 5_000n })
      state = next
      for (const event of events) {
        if (event._tag === "Forward") heights.push([Number(event.point.height), event.isCatchingUp])
      }
    }
    assert.lengthOf(heights, 3)
    assert.deepStrictEqual(heights.map(([, isCatchingUp]) => isCatchingUp), [true, true, false])
    assert.strictEqual(heights.at(-1)![0], 5_000)
  })

  it("goes on with no head that lies too far above what a node lists and does not show", () => {
    const state = onListed(initialState([{ height: 1_000n, hash: "1000" }]), [
      { signature: "hidden", slot: 1_010n, hasFailed: false }
    ])
    const batch = [{ listed: state.backlog[0]!, shown: null }]
    const end = (head: bigint) => onLookEnd(onRead(state, batch), { head: pointOf(head), batch, safeHeight: head })[1]
    assert.deepStrictEqual(end(1_020n).map(({ _tag }) => _tag), ["Forward", "Finality"])
    assert.deepStrictEqual(end(1_010n + overlapSlots).map(({ _tag }) => _tag), ["Finality"])
  })
})

describe("solana's account book", () => {
  it("asks a changed account until something new is listed, and once more when the index must show it", () => {
    const book = makeAccountBook()
    book.add(["a", "b"], 1_000n)
    const dueAt = (head: bigint) => book.due(["a", "b"], head).accounts.map(({ key }) => key)
    book.observe("a", "1", 1_000n)
    book.observe("b", null, 1_000n)
    assert.deepStrictEqual(dueAt(1_000n), ["a"], "an account that is none has nothing to list")
    book.onListed("a", 1_005n, true)
    assert.deepStrictEqual(dueAt(1_010n), [])
    assert.deepStrictEqual(dueAt(1_040n), ["a"])
    book.onListed("a", 1_040n, false)
    assert.deepStrictEqual(dueAt(1_041n), [])
    book.observe("a", "2", 1_050n)
    assert.deepStrictEqual(dueAt(1_050n), ["a"])
  })

  it("asks every account now and then, from where it was asked last", () => {
    const book = makeAccountBook()
    book.add(["a"], 1_000n)
    book.observe("a", null, 1_000n)
    assert.deepStrictEqual(book.due(["a"], 1_000n + sweepSlots).accounts, [{ key: "a", from: 1_000n - overlapSlots }])
    book.onListed("a", 1_100n, false)
    assert.deepStrictEqual(book.due(["a"], 1_101n).accounts, [])
    book.rewind(1_050n)
    assert.deepStrictEqual(book.due(["a"], 1_101n).accounts, [{ key: "a", from: 1_050n - overlapSlots }])
  })
})
