/**
 * Goal: whatever nodes list, hide and drop, every payment that stays is emitted, one that leaves is taken back alone,
 * and following goes on from a point that loses nothing.
 * Method: random histories, seeded, against a model that knows what is on the chain.
 */
import { assert, describe, it } from "@effect/vitest"
import { makeAccountBook, overlapSlots, unchangedSlots } from "../../../../modules/chains/solana/AccountBook.ts"
import {
  dueForFinality,
  type FollowState,
  givenUpLimit,
  initialState,
  longestWaitSlots,
  nextBatch,
  onDropped,
  onFinalized,
  onListed,
  onLookEnd,
  onRead,
  onStatuses,
  roundsAfterGivingUp,
  roundSlots,
  waitingLimit
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

const readingOf = (signature: string, slot: bigint) => ({
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
  let emittedHeight = 0n
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
    state = onDropped(step.state, step.absent)
    if (state.backlog.length === 0) {
      state = onListed(
        state,
        [...chain].filter(([, slot]) => slot >= head - overlapSlots)
          .map(([signature, slot]) => ({ signature, slot, hasFailed: false }))
      )
    }
    const batch = nextBatch(state, head).map((listed) => ({
      listed,
      reading: isShown(listed.signature) && chain.has(listed.signature)
        ? readingOf(listed.signature, listed.slot)
        : null,
      isConclusive: true
    }))
    const [afterRead] = onRead(state, batch, head)
    state = afterRead
    const [next, events] = onLookEnd(state, { head: pointOf(head), batch, safeHeight: head })
    state = next
    for (const event of events) {
      if (event._tag === "Gone") { for (const { txHash } of event.transfers) journal.delete(txHash) }
      if (event._tag === "Forward") {
        assert.isAbove(Number(event.point.height), Number(emittedHeight), "heights rise")
        emittedHeight = event.point.height
        for (const { at, txHash } of event.transfers) journal.set(txHash, at!.height)
      }
      if (event._tag === "Finality" && event.finalized !== null) {
        assert.isAtLeast(Number(event.finalized), Number(mark), "what is final stays final")
        mark = event.finalized
      }
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

  it("emits a long backlog in whole slots, oldest first, and catches up with the head at last", () => {
    const listed = Array.from({ length: 250 }, (_, place) => ({
      signature: `payment ${place}`,
      slot: BigInt(1_000 + Math.floor(place / 7)),
      hasFailed: place % 50 === 0
    }))
    let state = onListed(initialState([{ height: 900n, hash: "900" }]), listed)
    const heights: Array<readonly [number, boolean]> = []
    while (state.backlog.length > 0) {
      const batch = nextBatch(state, 5_000n).map((each) => ({
        listed: each,
        reading: readingOf(each.signature, each.slot),
        isConclusive: true
      }))
      const [afterRead] = onRead(state, batch, 5_000n)
      const [next, events] = onLookEnd(afterRead, { head: pointOf(5_000n), batch, safeHeight: 5_000n })
      state = next
      for (const event of events) {
        if (event._tag === "Forward") heights.push([Number(event.point.height), event.isCatchingUp])
      }
    }
    assert.lengthOf(heights, 3)
    assert.deepStrictEqual(heights.map(([, isCatchingUp]) => isCatchingUp), [true, true, false])
    assert.strictEqual(heights.at(-1)![0], 5_000)
  })

  const hiddenAt = (slot: bigint) => ({ signature: "hidden", slot, hasFailed: false })

  /** Looks at heads at which no endpoint shows the hidden transaction; what each emits, and who is given up. */
  const lookInVain = (heads: ReadonlyArray<bigint>, isConclusive = true) => {
    let state = onListed(initialState([{ height: 1_000n, hash: "1000" }]), [hiddenAt(1_010n)])
    return heads.map((head) => {
      const batch = nextBatch(state, head).map((listed) => ({ listed, reading: null, isConclusive }))
      const [afterRead, givenUp] = onRead(state, batch, head)
      const [next, events] = onLookEnd(afterRead, { head: pointOf(head), batch, safeHeight: head })
      state = next
      return { asked: batch.length, tags: events.map(({ _tag }) => _tag), givenUp: givenUp.length, state, events }
    })
  }

  it("waits for a transaction that no endpoint shows with no head that a restart could not go on from", () => {
    const [soon, last, late] = lookInVain([1_020n, 1_009n + overlapSlots, 1_010n + overlapSlots], false)
    assert.deepStrictEqual(soon!.tags, ["Forward", "Finality"])
    assert.deepStrictEqual(last!.tags, ["Forward", "Finality"])
    assert.deepStrictEqual(late!.tags, ["Finality"], "not every endpoint has answered")
    assert.strictEqual(late!.givenUp, 0)
  })

  it("gives one up at last where an endpoint does not answer for it, in a look that reads another", () => {
    const first = 1_020n
    let state = onListed(initialState([{ height: 1_000n, hash: "1000" }]), [hiddenAt(1_010n)])
    const look = (head: bigint, payment: string | null) => {
      if (payment !== null) state = onListed(state, [{ signature: payment, slot: head - 5n, hasFailed: false }])
      const batch = nextBatch(state, head).map((listed) => ({
        listed,
        reading: listed.signature === "hidden" ? null : readingOf(listed.signature, listed.slot),
        isConclusive: false
      }))
      const [afterRead, givenUp] = onRead(state, batch, head)
      const [next, events] = onLookEnd(afterRead, { head: pointOf(head), batch, safeHeight: head })
      state = next
      return {
        givenUp: givenUp.length,
        emitted: events.flatMap((event) => event._tag === "Forward" ? event.transfers.map(({ txHash }) => txHash) : [])
      }
    }
    assert.deepStrictEqual(look(first, "one"), { givenUp: 0, emitted: ["one"] })
    const late = first + longestWaitSlots
    assert.deepStrictEqual(look(late - 1n, "two"), { givenUp: 0, emitted: [] }, "a restart must find the hidden one")
    assert.deepStrictEqual(look(late, null), { givenUp: 0, emitted: [] }, "perhaps nothing can be read now")
    assert.deepStrictEqual(look(late + 5n, "three"), { givenUp: 1, emitted: ["two", "three"] })
  })

  it("gives one up after three rounds over all endpoints, and stops no head for it", () => {
    const heads = [1_020n, 1_021n, 1_022n, 1_030n, 1_040n, 1_100n, 1_010n + overlapSlots, 2_000n]
    const looks = lookInVain(heads)
    assert.deepStrictEqual(looks.map(({ givenUp }) => givenUp), [0, 0, 0, 0, 0, 0, 1, 0])
    for (const { tags } of looks) assert.deepStrictEqual(tags, ["Forward", "Finality"])
    const few = lookInVain([1_020n, 1_021n, 1_010n + overlapSlots, 1_011n + overlapSlots, 1_020n + overlapSlots])
    assert.deepStrictEqual(few.map(({ givenUp }) => givenUp), [0, 0, 0, 0, 1], "looks side by side are one round")
  })

  it("asks for one that was given up after longer and longer pauses, and then no more", () => {
    const heads = Array.from({ length: 30_000 }, (_, place) => 1_020n + BigInt(place) * 50n)
    const looks = lookInVain(heads)
    const end = looks.findIndex(({ givenUp }) => givenUp === 1)
    const later = looks.slice(end + 1).flatMap(({ asked }, place) => asked > 0 ? [heads[end + 1 + place]!] : [])
    assert.lengthOf(later, roundsAfterGivingUp)
    const pauses = later.map((head, place) => Number(head - (later[place - 1] ?? heads[end]!)))
    for (const [place, pause] of pauses.entries()) {
      assert.isAtLeast(pause, Number(overlapSlots) * 2 ** place)
      assert.isBelow(pause, Number(overlapSlots) * 2 ** place + 50)
    }
    assert.strictEqual(looks.at(-1)!.state.unread.size, 0)
  })

  it("emits one that was given up once it is shown, and calls nothing less final for it", () => {
    const { state } = lookInVain([1_020n, 1_100n, 1_200n, 1_210n]).at(-1)!
    const marked = onLookEnd(onFinalized(state, 1_170n), { head: pointOf(1_215n), batch: [], safeHeight: 1_215n })[0]
    const batch = nextBatch(marked, 1_400n).map((listed) => ({
      listed,
      reading: readingOf(listed.signature, listed.slot),
      isConclusive: true
    }))
    const [afterRead] = onRead(marked, batch, 1_400n)
    const [next, events] = onLookEnd(afterRead, { head: pointOf(1_400n), batch, safeHeight: 1_400n })
    assert.deepStrictEqual(
      events.map((event) => event._tag === "Forward" ? event.transfers.map(({ txHash }) => txHash) : event),
      [["hidden"], { _tag: "Finality", finalized: 1_170n }]
    )
    assert.strictEqual(next.unread.size, 0)
  })

  it("reads one that moved to another slot as if it had not been listed before", () => {
    const { state } = lookInVain([1_020n, 1_100n, 1_200n, 1_210n]).at(-1)!
    assert.lengthOf(onListed(state, [hiddenAt(1_010n)]).backlog, 0)
    const moved = onListed(state, [hiddenAt(1_205n)])
    assert.lengthOf(moved.backlog, 1)
    assert.strictEqual(moved.unread.size, 0)
  })

  it("waits for so many at most, and remembers so many of those given up", () => {
    const listed = Array.from({ length: 3_000 }, (_, place) => ({
      signature: `hidden ${place}`,
      slot: BigInt(1_000 + place),
      hasFailed: false
    }))
    let state = onListed(initialState([{ height: 900n, hash: "900" }]), listed)
    let all = 0
    for (let head = 10_000n; state.backlog.length > 0 || [...state.unread.values()].some((each) => !each.isGivenUp);) {
      const batch = nextBatch(state, head).map((each) => ({ listed: each, reading: null, isConclusive: true }))
      const [next, givenUp] = onRead(state, batch, head)
      state = next
      all += givenUp.length
      assert.isBelow([...state.unread.values()].filter(({ isGivenUp }) => !isGivenUp).length, 2 * waitingLimit)
      assert.isAtMost(state.unread.size, givenUpLimit + 2 * waitingLimit)
      head += roundSlots
    }
    assert.strictEqual(all, 3_000)
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
    assert.deepStrictEqual(book.due(["a"], 1_000n + unchangedSlots).accounts, [{
      key: "a",
      from: 1_000n - overlapSlots
    }])
    book.onListed("a", 1_100n, false)
    assert.deepStrictEqual(book.due(["a"], 1_101n).accounts, [])
    book.rewind(1_050n)
    assert.deepStrictEqual(book.due(["a"], 1_101n).accounts, [{ key: "a", from: 1_050n - overlapSlots }])
  })
})
