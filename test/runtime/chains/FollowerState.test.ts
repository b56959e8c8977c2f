/**
 * Goal: a follower forgets no block, writes nothing it read on a branch that was left, and says that it knows its chain
 * only when it does.
 * Method: the pure state alone, driven by events as the follower makes them; what it asks for is done at once, or lost.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ringSize } from "../../../runtime/chains/Points.ts"
import {
  allowsAddresses,
  catchUpLimitMillis,
  firstAnswerMillis,
  takeOverMillis
} from "../../../runtime/chains/CatchUp.ts"
import {
  coverageOf,
  cursorOf,
  type FollowerAction,
  type FollowerEvent,
  type FollowerState,
  headOf,
  idleCursorMillis,
  initialState,
  isPruned,
  positionOf,
  silenceMillis,
  statusOf,
  step
} from "../../../runtime/chains/FollowerState.ts"
import { pruningConfirmMillis } from "../../../runtime/chains/Repairs.ts"
import type { Cursor, RingPoint } from "../../../runtime/chains/ChainsRepo.ts"
import { searchLag } from "../../../runtime/chains/SearchSchedule.ts"

const nowMillis = 1_000_000_000
const fresh = initialState({
  network: "base",
  environment: "mainnet",
  cursor: null,
  nowMillis,
  monotonicMillis: 0
})

const point = (height: number, branch = 0): RingPoint => ({
  height: BigInt(height),
  hash: `${height}:${branch}`,
  time: 900_000 + height * 2
})

const cursor = (changes: Partial<Cursor> = {}): Cursor => ({
  recent: [point(10), point(9)],
  finalized: null,
  answeredAt: 999_000,
  condition: "ok",
  storedAt: 999_000,
  seenUntil: point(10).time - 1,
  caughtUpToken: null,
  searchedHeight: null,
  singleSourceFrom: null,
  version: 5,
  ...changes
})

/** The state after an event and after what it asks for was done; `done`: what that was. */
const after = (state: FollowerState, event: FollowerEvent, done: Array<FollowerAction> = []): FollowerState => {
  const [next, actions] = step(state, event)
  done.push(...actions)
  return actions.reduce((each, action) =>
    action._tag !== "StoreCursor" ? each : step(each, {
      _tag: "CursorStored",
      ring: action.ring,
      seenUntil: action.seenUntil,
      nowMillis
    })[0], next)
}

const afterAll = (state: FollowerState, ...events: ReadonlyArray<FollowerEvent>): FollowerState =>
  events.reduce((each, event) => after(each, event), state)

/** The same where no commit succeeds. */
const afterLost = (state: FollowerState, event: FollowerEvent): FollowerState => step(state, event)[0]

const actionsOf = (state: FollowerState, event: FollowerEvent) => step(state, event)[1].map(({ _tag }) => _tag)

const block = (height: number, changes = 0, branch = 0): FollowerEvent => ({
  _tag: "BlockRead",
  point: point(height, branch),
  isCatchingUp: false,
  seenUntil: null,
  changes,
  nowMillis
})

const started = (changes: Partial<Cursor> = {}): FollowerState =>
  after(fresh, { _tag: "FollowingStarted", cursor: cursor(changes), monotonicMillis: 0 })

const turnEnded = (turn: "block" | "last_block" | "rollback" | "look", token = 7n): FollowerEvent => ({
  _tag: "TurnEnded",
  turn,
  token
})

const rollback = (height: number): ReadonlyArray<FollowerEvent> => [
  { _tag: "RollbackStarted", height: BigInt(height), monotonicMillis: 0 },
  { _tag: "RollbackWritten", height: BigInt(height) }
]

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals(["block", "payment", "again", "rollback", "reanchor", "lost"]),
  back: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))
})).check(Schema.isMaxLength(400))

describe("the newest blocks of a follower", () => {
  it.prop("fall from the newest to the oldest without a block twice or left out, whatever is read again or lost", [
    Moves
  ], ([moves]) => {
    let state = after(started(), block(11))
    let branch = 0
    for (const { back, kind } of moves) {
      const head = Number(headOf(state) ?? 100n)
      if (kind === "block") state = after(state, block(head + 1, 0, branch))
      else if (kind === "payment") state = after(state, block(head + 1, 1, branch))
      else if (kind === "again" && state.ring.length > 0) {
        state = after(state, {
          _tag: "BlockRead",
          point: state.ring[0]!,
          isCatchingUp: true,
          seenUntil: null,
          changes: 0,
          nowMillis
        })
      } else if (kind === "rollback") {
        branch += 1
        state = afterAll(state, ...rollback(head - back))
      } else if (kind === "reanchor") {
        const anchor = point(Math.max(0, head - back), ++branch)
        state = after(state, { _tag: "Reanchored", anchor, finalized: null, monotonicMillis: 0 })
      } else if (kind === "lost") state = afterLost(state, block(head + 1, 1, branch))
      assert.isAtMost(state.ring.length, ringSize)
      for (const [place, { height }] of state.ring.entries()) {
        assert.strictEqual(height, state.ring[0]!.height - BigInt(place))
      }
    }
  })

  it("stay as they were where the commit with a block's payments fails, so that the block is read again", () => {
    const before = started()
    const [lost, actions] = step(before, block(11, 1))
    assert.deepStrictEqual(lost.ring, before.ring)
    assert.strictEqual(lost.seenUntil, before.seenUntil)
    assert.deepStrictEqual(actions[0], {
      _tag: "StoreCursor",
      ring: [point(11), ...before.ring],
      seenUntil: point(11).time - 1
    })
  })

  it("are stored with payments, at the first block, and every 5 s, and not with every empty block", () => {
    const stored = after(started(), block(11, 1))
    assert.notInclude(actionsOf(stored, block(12)), "StoreCursor")
    assert.include(actionsOf(stored, block(12, 1)), "StoreCursor")
    assert.include(actionsOf(fresh, block(1)), "StoreCursor")
    const late: FollowerEvent = { ...block(12), nowMillis: nowMillis + idleCursorMillis } as FollowerEvent
    assert.include(actionsOf(stored, late), "StoreCursor")
  })

  it("make a cursor one version higher than the one that was stored", () => {
    const state = started()
    assert.strictEqual(cursorOf(state, state, nowMillis).version, 6)
    assert.strictEqual(after(state, block(11, 1)).version, 6)
  })
})

describe("what was read beside a follower", () => {
  it("is of another generation after every rollback and every reanchor, so it is not written", () => {
    const state = started()
    const back = afterAll(state, ...rollback(9))
    const anchored = after(back, { _tag: "Reanchored", anchor: point(4), finalized: null, monotonicMillis: 0 })
    assert.strictEqual(new Set([state, back, anchored].map(({ generation }) => generation)).size, 3)
    assert.strictEqual(after(state, block(11, 1)).generation, state.generation)
  })

  it("a rollback is of another generation before its first entry is taken back", () => {
    const state = started()
    assert.notStrictEqual(afterLost(state, rollback(9)[0]!).generation, state.generation)
  })
})

describe("how far a follower has seen", () => {
  it("is the second before its newest block, also when blocks leave the chain", () => {
    const read = afterAll(started(), block(11), block(12))
    assert.strictEqual(read.seenUntil, point(12).time - 1)
    assert.strictEqual(afterAll(read, ...rollback(11)).seenUntil, point(11).time - 1)
    assert.strictEqual(afterAll(read, ...rollback(1)).seenUntil, null)
  })

  it("is nothing between a reanchor and the end of its repair, whatever is read meanwhile", () => {
    const anchored = afterAll(
      started(),
      { _tag: "Reanchored", anchor: point(4), finalized: null, monotonicMillis: 0 },
      { _tag: "RepairsRead", hasGap: true },
      block(5, 1),
      block(6),
      { _tag: "LookEnded", finalized: null, sinceMillis: nowMillis, nowMillis },
      ...rollback(5)
    )
    assert.strictEqual(anchored.seenUntil, null)
    const whole = afterAll(anchored, { _tag: "RepairsRead", hasGap: false }, block(6))
    assert.strictEqual(whole.seenUntil, point(6).time - 1)
  })

  it("is nothing while the endpoints are on different branches, and known again when they agree", () => {
    const at = { hasSearch: false, nowMillis, monotonicMillis: 0 }
    const apart = after(started({ answeredAt: nowMillis }), { _tag: "ConditionFound", condition: "disagreement" })
    assert.deepStrictEqual(coverageOf(apart, at), { network: "base", seenUntil: null, isAdvancing: false })
    const together = after(apart, { _tag: "ConditionFound", condition: "ok" })
    assert.deepStrictEqual(coverageOf(together, at), {
      network: "base",
      seenUntil: point(10).time - 1,
      isAdvancing: true
    })
  })
})

describe("the search for what an endpoint left out", () => {
  const searched = (height: number): FollowerEvent => ({
    _tag: "SearchMoved",
    searchedHeight: BigInt(height),
    monotonicMillis: 0
  })

  it("begins again below a rollback, and never above the blocks that are followed", () => {
    const state = afterAll(started(), block(11), block(12), searched(11), ...rollback(9))
    assert.strictEqual(state.searchedHeight, 9n)
    assert.isTrue(state.searchedHeight! <= headOf(state)!)
    assert.strictEqual(afterAll(state, ...rollback(9)).searchedHeight, 9n)
  })

  it("forgets which block was searched alone where that is searched anew", () => {
    const alone = after(started(), {
      _tag: "SearchMoved",
      searchedHeight: 10n,
      singleSourceFrom: 10n,
      monotonicMillis: 0
    })
    assert.strictEqual(alone.singleSourceFrom, 10n)
    assert.strictEqual(afterAll(alone, ...rollback(9)).singleSourceFrom, null)
  })

  it("counts as stuck only from when there was something to search", () => {
    const idle = afterAll(started({ searchedHeight: 10n - searchLag }), {
      _tag: "SearchComparedToHead",
      monotonicMillis: 50
    })
    assert.strictEqual(idle.searchMovedAtMillis, 50)
    const behind = afterAll(idle, block(11), block(12), { _tag: "SearchComparedToHead", monotonicMillis: 90 })
    assert.strictEqual(behind.searchMovedAtMillis, 50)
    const moved = after(behind, { _tag: "SearchMoved", searchedHeight: 11n, monotonicMillis: 95 })
    assert.strictEqual(moved.searchMovedAtMillis, 95)
  })
})

describe("a follower is at the end of its chain", () => {
  it("after a block with none behind it, or a look that brought none; not after one of many or a rollback", () => {
    const state = started()
    assert.isFalse(state.isAtEnd)
    assert.isFalse(after(state, turnEnded("block")).isAtEnd)
    assert.isFalse(after(state, turnEnded("rollback")).isAtEnd)
    assert.isFalse(afterAll(state, turnEnded("block"), turnEnded("look")).isAtEnd)
    assert.isTrue(afterAll(state, turnEnded("block"), turnEnded("look"), turnEnded("look")).isAtEnd)
    assert.isTrue(after(state, turnEnded("last_block")).isAtEnd)
  })

  it("and tells other instances once, by the token of its lease", () => {
    const done: Array<FollowerAction> = []
    const state = after(after(started(), turnEnded("last_block"), done), turnEnded("last_block"), done)
    assert.strictEqual(done.filter(({ _tag }) => _tag === "StoreCursor").length, 1)
    assert.strictEqual(cursorOf(state, state, nowMillis).caughtUpToken, 7n)
    const again = after(state, { _tag: "FollowingStarted", cursor: cursor({ version: 6 }), monotonicMillis: 0 })
    assert.include(actionsOf(again, turnEnded("last_block", 8n)), "StoreCursor")
  })
})

describe("addresses are given out", () => {
  const waiting = initialState({
    network: "base",
    environment: "mainnet",
    cursor: { caughtUpToken: 7n },
    nowMillis,
    monotonicMillis: 0
  })

  it("where the chain was read up to its end; a database that is older than before takes that back", () => {
    const state = after(waiting, { _tag: "FollowingStarted", cursor: cursor(), monotonicMillis: 0 })
    assert.isFalse(allowsAddresses(state, 0))
    const read = after(state, turnEnded("last_block"))
    assert.isTrue(allowsAddresses(read, 0))
    const restart = (version: number) =>
      after(read, { _tag: "FollowingStarted", cursor: cursor({ version }), monotonicMillis: 0 })
    assert.isTrue(allowsAddresses(restart(read.version), 0))
    assert.isFalse(allowsAddresses(restart(read.version - 1), 0))
    assert.isTrue(allowsAddresses(after(waiting, { _tag: "FollowingStarted", cursor: null, monotonicMillis: 0 }), 0))
  })

  it("where another instance follows only once its lease was seen to be renewed, as a restored backup's is not", () => {
    const peeked = (token: bigint | null) =>
      after(waiting, { _tag: "CursorPeeked", cursor: cursor({ caughtUpToken: token }), monotonicMillis: 0 })
    const lease = (leaseEnd: string | null): FollowerEvent => ({ _tag: "LeaseRead", leaseEnd })
    assert.isFalse(afterAll(peeked(7n), lease("12:00"), lease("12:00"), lease("12:00")).isCaughtUp)
    assert.isFalse(afterAll(peeked(7n), lease("12:00"), lease(null), lease("12:02")).isCaughtUp)
    assert.isTrue(afterAll(peeked(7n), lease("12:00"), lease("12:02")).isCaughtUp)
  })

  it("where another instance has begun to follow since the start and read the chain up to its end, at once", () => {
    const peeked = (from: FollowerState, caughtUpToken: bigint | null) =>
      after(from, { _tag: "CursorPeeked", cursor: cursor({ caughtUpToken }), monotonicMillis: 0 }).isCaughtUp
    assert.isTrue(peeked(waiting, 8n))
    assert.isFalse(peeked(waiting, null), "it is still reading")
    assert.isFalse(peeked(waiting, 6n), "an older backup was put in place meanwhile")
    const afterReading = initialState({
      network: "base",
      environment: "mainnet",
      cursor: { caughtUpToken: null },
      nowMillis,
      monotonicMillis: 0
    })
    assert.isTrue(peeked(afterReading, 7n), "it was reading at the start")
  })

  it("also where waiting is no help: no answer for 2 s, nobody follows for 10 s, still behind after an hour", () => {
    assert.isFalse(allowsAddresses(waiting, takeOverMillis - 1))
    assert.isTrue(allowsAddresses(waiting, takeOverMillis))
    const state = after(waiting, { _tag: "FollowingStarted", cursor: cursor(), monotonicMillis: 100 })
    assert.isFalse(allowsAddresses(state, 100 + firstAnswerMillis - 1))
    assert.isTrue(allowsAddresses(state, 100 + firstAnswerMillis))
    const answered = after(state, { _tag: "ChainAnswered", isLookEnd: false, nowMillis })
    assert.isFalse(allowsAddresses(answered, 100 + catchUpLimitMillis - 1))
    assert.isTrue(allowsAddresses(answered, 100 + catchUpLimitMillis))
  })
})

describe("a network's status", () => {
  it("is silent as soon as ever, and its cursor is stored as often, where the clock was set back an hour", () => {
    const hour = 3_600_000
    const before = after(started(), { _tag: "ChainAnswered", isLookEnd: true, nowMillis })
    const state = after(before, { _tag: "ClockRead", nowMillis: nowMillis - hour })
    assert.strictEqual(statusOf(state, nowMillis - hour + silenceMillis - 1).condition, "ok")
    assert.strictEqual(statusOf(state, nowMillis - hour + silenceMillis).condition, "silent")
    const [, actions] = step(state, {
      _tag: "LookEnded",
      finalized: null,
      sinceMillis: null,
      nowMillis: nowMillis - hour + idleCursorMillis
    })
    assert.deepStrictEqual(actions.map(({ _tag }) => _tag), ["StoreCursor"])
  })

  it("is silent after a minute without an answer, whatever it was, but for a chain that was lost", () => {
    const state = after(started(), { _tag: "ChainAnswered", isLookEnd: true, nowMillis })
    assert.strictEqual(statusOf(state, nowMillis + silenceMillis - 1).condition, "ok")
    assert.strictEqual(statusOf(state, nowMillis + silenceMillis).condition, "silent")
    const lost = after(state, { _tag: "ConditionFound", condition: "no_common_block" })
    assert.strictEqual(statusOf(lost, nowMillis + silenceMillis).condition, "no_common_block")
    assert.isFalse(statusOf(lost, nowMillis).healthy)
  })

  it("is stored and logged when it changes, and only then", () => {
    const state = started()
    const event: FollowerEvent = { _tag: "ConditionFound", condition: "frozen" }
    assert.deepStrictEqual(actionsOf(state, event), ["LogCondition", "StoreCursor"])
    assert.deepStrictEqual(actionsOf(after(state, event), event), [])
  })

  it("of a chain that was lost is mended by the first look that finds it again", () => {
    const lost = after(started(), { _tag: "ConditionFound", condition: "no_common_block" })
    const found = after(lost, { _tag: "LookEnded", finalized: 3n, sinceMillis: null, nowMillis })
    assert.strictEqual(found.condition, "ok")
    assert.strictEqual(found.finalized, 3n)
  })
})

describe("an instance that does not follow a chain", () => {
  const peek: FollowerEvent = {
    _tag: "CursorPeeked",
    cursor: cursor({ recent: [point(20)], version: 9 }),
    monotonicMillis: 0
  }

  it("knows of it what the one that follows has stored", () => {
    const state = after(fresh, peek)
    assert.strictEqual(headOf(state), 20n)
    assert.strictEqual(state.version, 9)
    assert.strictEqual(statusOf(state, nowMillis).cursorTime, 999_000)
  })

  it("believes its own blocks from the moment it follows, and the stored ones once it stops", () => {
    const state = started()
    assert.strictEqual(headOf(after(state, peek)), 10n)
    assert.isFalse(
      after({ ...state, isCaughtUp: false, leaseEnd: "12:00" }, {
        _tag: "LeaseRead",
        leaseEnd: "12:02"
      }).isCaughtUp
    )
    assert.strictEqual(headOf(afterAll(state, { _tag: "FollowingStopped" }, peek)), 20n)
  })
})

describe("depths are looked at", () => {
  it("after the last block, at every tick and after every change, but not between blocks that come at once", () => {
    const quiet = after(started(), { _tag: "UnconfirmedCounted", hasUnconfirmed: false })
    assert.isFalse(quiet.mayHaveUnconfirmed)
    assert.include(actionsOf(quiet, block(11)), "CheckDepths")
    assert.notInclude(actionsOf(quiet, { ...block(11), isCatchingUp: true } as FollowerEvent), "CheckDepths")
    for (const event of [block(11, 1), { _tag: "CheckRequested" }, { _tag: "EntriesChanged" }] as const) {
      assert.isTrue(after(quiet, event).mayHaveUnconfirmed)
    }
  })

  it("for nothing before the first block", () => {
    assert.strictEqual(positionOf(fresh), null)
  })
})

describe("a block that every endpoint says it does not have", () => {
  it("is believed to be prunedBlock after ten minutes without another word, counted for one block at a time", () => {
    const limit = pruningConfirmMillis.mainnet
    const told = (height: bigint, atMillis: number): FollowerEvent => ({
      _tag: "BlockPruned",
      height,
      monotonicMillis: atMillis
    })
    const state = afterAll(fresh, told(5n, 0), told(5n, limit))
    assert.isTrue(isPruned(state, limit))
    assert.isFalse(isPruned(afterAll(fresh, told(5n, 0), told(6n, limit)), limit))
    assert.isFalse(isPruned(afterAll(fresh, told(5n, 0), { _tag: "BlockFound" }, told(5n, limit)), limit))
  })
})
