/**
 * Goal: what is followed is always one chain, hash-linked, whatever blocks come, go or are missing.
 * Method: any history of a chain that grows and is reorganised, over the real rules, without a node.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { countVotes } from "../../../../runtime/nodes/Branches.ts"
import {
  firstMissing,
  type FollowState,
  initialState,
  linkBlocks,
  maximumTornPolls,
  onForward,
  onHead,
  onLinkedBlocks,
  onRollback,
  shrinkPolls
} from "../../../../modules/chains/evm/FollowState.ts"
import type { ChainPoint } from "../../../../runtime/Chains.ts"
import { ringSize } from "../../../../runtime/chains/Points.ts"
import { eventsOfLook, onCondition, onLookEnd } from "../../../../runtime/nodes/LookState.ts"

interface Block extends ChainPoint {
  readonly parentHash: string
}

/** Blocks above `base` on a branch of its own: their hashes name the branch. */
const grown = (base: ReadonlyArray<Block>, count: number, branch: number): ReadonlyArray<Block> =>
  Array.from({ length: count }).reduce<ReadonlyArray<Block>>((chain) => {
    const height = BigInt(chain.length)
    return [...chain, { height, hash: `${height}/${branch}`, parentHash: chain.at(-1)?.hash ?? "none" }]
  }, base)

const chain = grown([], 10, 0)
const ringOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<ChainPoint> => blocks.toReversed()
const started = (blocks: ReadonlyArray<Block>, environment: "devnet" | "mainnet" = "mainnet") =>
  initialState(environment, ringOf(blocks), 0)

/** One look at a chain: reads up to its head, or rolls back to the newest common point. */
const look = (state: FollowState, blocks: ReadonlyArray<Block>, batch: number): FollowState => {
  const head = blocks.at(-1)!
  const [next, decision] = onHead(state, head, false)
  const rolledBack = () => {
    const common = next.ring.find(({ hash, height }) => blocks[Number(height)]?.hash === hash)
    return common === undefined ? initialState("mainnet", [], 0) : onRollback(next, common)[0]
  }
  if (decision === "compare") return rolledBack()
  if (decision !== "read") return next
  const from = Number(firstMissing(next, head))
  const linked = linkBlocks(next, blocks.slice(from, from + batch))
  return linked.isForked ? rolledBack() : onForward(onLinkedBlocks(next, linked.chain.length)[0], linked.chain)
}

describe("what is followed", () => {
  const Histories = Schema.Array(Schema.Struct({
    keep: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })),
    grow: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })),
    looks: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
    batch: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 }))
  })).check(Schema.isMaxLength(30))

  it.prop("is hash-linked through any reorganisations, and the chain's own end after enough looks", [Histories], (
    [history]
  ) => {
    let current = chain
    let state = started([])
    const isLinked = () =>
      state.ring.every((point, index) => {
        const below = state.ring[index + 1]
        return below === undefined || point.height === below.height + 1n
      })
    for (const [branch, { batch, grow, keep, looks }] of history.entries()) {
      current = grown(current.slice(0, Math.max(1, current.length - keep)), grow, branch + 1)
      for (let each = 0; each < looks; each++) {
        state = look(state, current, batch)
        assert.isTrue(isLinked())
        assert.isAtMost(state.ring.length, ringSize)
      }
    }
    // A longer chain is followed to its end; a node that is only behind changes nothing on mainnet.
    current = grown(current, 100, history.length + 1)
    for (let each = 0; each < 400; each++) state = look(state, current, 8)
    assert.deepStrictEqual(state.ring[0], current.at(-1))
    for (const point of state.ring) assert.strictEqual(current[Number(point.height)]!.hash, point.hash)
  })

  it("does not shrink where a node is only behind, until it is so for three looks on devnet", () => {
    const behind = chain[7]!
    for (const environment of ["devnet", "mainnet"] as const) {
      let state = started(chain, environment)
      for (let each = 1; each < shrinkPolls[environment]; each++) {
        const [next, decision] = onHead(state, behind, false)
        assert.strictEqual(decision, "unchanged")
        state = next
      }
      assert.strictEqual(onHead(state, behind, false)[1], "compare")
      // A look at our own tip in between begins the count anew.
      const [again] = onHead(state, chain[9]!, false)
      assert.strictEqual(onHead(again, behind, false)[1], "unchanged")
    }
  })

  it("compares at once with a block of another branch, and not with a head below everything, if there are others", () => {
    const state = started(chain.slice(5))
    assert.strictEqual(onHead(state, { height: 8n, hash: "other" }, true)[1], "compare")
    assert.deepStrictEqual(onHead(state, { height: 4n, hash: "4/0" }, true), [state, "below"])
    assert.strictEqual(onHead(state, { height: 4n, hash: "4/0" }, false)[1], "compare")
  })

  it("takes blocks only up to the first that is not whole or does not continue the one before", () => {
    const state = started(chain.slice(0, 5))
    const [five, six, seven] = [chain[5]!, chain[6]!, chain[7]!]
    assert.deepStrictEqual(linkBlocks(state, [five, null, seven]), { chain: [five], isForked: false })
    assert.deepStrictEqual(linkBlocks(state, [five, seven]), { chain: [five], isForked: false })
    assert.deepStrictEqual(linkBlocks(state, [six]), { chain: [], isForked: true })
    assert.deepStrictEqual(linkBlocks(state, [null]), { chain: [], isForked: false })
    assert.deepStrictEqual(linkBlocks(started([]), [six, seven]), { chain: [six, seven], isForked: false })
  })

  it("gives an endpoint up that has no whole next block too often in a row", () => {
    let state = started(chain)
    for (let each = 0; each < maximumTornPolls; each++) {
      const [next, isGivenUp] = onLinkedBlocks(state, 0)
      assert.isFalse(isGivenUp)
      state = next
    }
    assert.isTrue(onLinkedBlocks(state, 0)[1])
    assert.isFalse(onLinkedBlocks(onLinkedBlocks(state, 1)[0], 0)[1])
  })
})

describe("what a look tells", () => {
  const forward = (isCatchingUp: boolean) =>
    ({ _tag: "Forward", point: chain[0]!, time: 0, transfers: [], isCatchingUp }) as const

  it("is the condition alone where no endpoint is on the followed branch", () => {
    const [state] = onCondition(onLookEnd(started(chain), [], null, 5), "disagreement")
    assert.deepStrictEqual(eventsOfLook(state, [], [], null), [{ _tag: "Condition", condition: "disagreement" }])
    assert.strictEqual(state.followedAtMillis, 0)
  })

  it("ends with the finality mark, and holds a condition only where it changed", () => {
    const state = onLookEnd(started(chain), [forward(false)], 1, 5)
    const [changed, first] = onCondition(state, "ok")
    assert.deepStrictEqual(eventsOfLook(changed, [forward(false)], first, null).map(({ _tag }) => _tag), [
      "Forward",
      "Condition",
      "Finality"
    ])
    assert.deepStrictEqual(onCondition(changed, "ok"), [changed, []])
    assert.strictEqual(state.followedAtMillis, 5)
  })

  it("is waited for only after the end of the chain", () => {
    const isIdle = (...events: Parameters<typeof onLookEnd>[1]) => onLookEnd(started(chain), events, 0, 5).isIdle
    assert.isTrue(isIdle())
    assert.isTrue(isIdle(forward(false)))
    assert.isFalse(isIdle(forward(true)))
    assert.isFalse(isIdle({ _tag: "Rollback", to: chain[0]! }))
  })
})

describe("votes between two branches", () => {
  it("count a block that is missing against nobody, unless the other branch ends below it", () => {
    const hashes = ["ours", "theirs", "third", null, undefined]
    assert.deepStrictEqual(countVotes(hashes, "ours", "theirs"), { followed: 1, other: 2, missing: 2, third: 1 })
    assert.deepStrictEqual(countVotes(hashes, "ours", null), { followed: 1, other: 2, missing: 1, third: 2 })
  })
})
