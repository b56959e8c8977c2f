/**
 * Goal: what following the chain remembers is a chain, whatever a server shows.
 * Method: random pages of blocks, some of them of another branch, out of order or with gaps; seeded.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  compareTop,
  initialState,
  linkBlocks,
  onForward,
  onRollback
} from "../../../../modules/chains/cardano/FollowState.ts"
import { ringSize } from "../../../../runtime/chains/Points.ts"

/** The same on every run. */
const makeRandom = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

const block = (height: number, branch = "a") => ({
  height: BigInt(height),
  hash: `${branch}${height}`,
  previous: `${branch}${height - 1}`,
  time: height * 20
})

describe("what following Cardano remembers", () => {
  it("is one chain without a gap, and the newest points of it, whatever pages come", () => {
    const random = makeRandom(3)
    let state = onForward(initialState([], 0), [block(0)])
    for (let round = 0; round < 5_000; round++) {
      const top = state.ring[0]!
      const height = Number(top.height)
      const page = Array.from(
        { length: random(6) },
        (_, place) => block(height + 1 + place + (random(20) === 0 ? 1 : 0), random(20) === 0 ? "b" : "a")
      )
      const linked = linkBlocks(top, page)
      assert.deepStrictEqual(linked, page.slice(0, linked.length))
      state = onForward(state, linked)
      if (random(4) === 0) {
        const to = state.ring[Math.min(random(4), state.ring.length - 1)]!
        const [next, events] = onRollback(state, to)
        assert.deepStrictEqual(events, [{ _tag: "Rollback", to }])
        state = next
        assert.strictEqual(state.ring[0], to)
      }
      assert.isAtMost(state.ring.length, ringSize)
      for (const [place, point] of state.ring.entries()) {
        assert.strictEqual(point.height, state.ring[0]!.height - BigInt(place))
        assert.strictEqual(point.hash, `a${point.height}`)
      }
    }
  })

  it("takes another block at the height of the newest for a fork, and none there for a server that is behind", () => {
    const top = { height: 7n, hash: "a7" }
    assert.deepStrictEqual([null, { hash: "a7" }, { hash: "b7" }].map((found) => compareTop(top, found)), [
      "behind",
      "behind",
      "forked"
    ])
  })
})
