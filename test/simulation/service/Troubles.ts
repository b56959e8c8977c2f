/** What goes wrong around the instances, each by a number that a fault carries: at nodes, on the chain, at sources. */
import { type Draws, drawsOf } from "../Draws.ts"
import type { World } from "../World.ts"
import { type ModelTransaction, usdc } from "./Chain.ts"
import type { Surroundings } from "./Deployment.ts"
import type { ModelNode } from "./Node.ts"

/** Addresses that were given to payors so far. */
type Addresses = () => ReadonlyArray<string>

/** Milliseconds a trouble lasts: some end before anybody notices. */
const durations = [2_000, 8_000, 20_000, 60_000]

/** More often than deep ones: reorganisations of a block or two. */
const depths = [1, 1, 2, 3, 6, 11, 14]

/** Whether a node says what is not true, or shows a branch that was left: only one at a time does. */
const isUntrue = ({ trouble }: ModelNode, now: number): boolean =>
  trouble.liesUntil > now || trouble.otherBranchUntil > now

const untrueNode = ({ nodes }: Surroundings, draws: Draws, now: number): ModelNode =>
  nodes.find((node) => isUntrue(node, now)) ?? draws.oneOf(nodes)

/** A payment that no block has: a node shows it in one of its newest blocks. */
const inventedPayment = (surroundings: Surroundings, draws: Draws, to: string): ModelTransaction => ({
  hash: surroundings.chain.newHash(),
  transfers: [{ token: usdc, from: `0x${"66".repeat(20)}`, to, amount: BigInt(1 + draws.below(100)) * 1_000_000n }],
  isFailed: false
})

/** Lets the trouble of a number happen. */
export const trouble = (world: World, surroundings: Surroundings, addresses: Addresses, number: number): void => {
  const draws = drawsOf(number, "trouble")
  const { chain, nodes } = surroundings
  const until = world.now + draws.oneOf(durations)
  const node = draws.oneOf(nodes)
  const kind = draws.below(10)
  world.note(`trouble ${kind} at height ${chain.head.height}`)
  switch (kind) {
    case 0:
    case 1:
    case 9: {
      const before = [...chain.blocks]
      chain.reorganise(draws.oneOf(depths), draws)
      if (draws.happens(0.3)) {
        Object.assign(untrueNode(surroundings, draws, world.now).trouble, {
          otherBranch: before,
          otherBranchUntil: Math.min(until, world.now + 20_000)
        })
      }
      return
    }
    case 2:
      node.trouble.awayUntil = until
      return
    case 3:
      node.trouble.slowUntil = until
      return
    case 4:
      Object.assign(node.trouble, { stoppedUntil: until, stoppedAt: chain.head.height })
      return
    case 5:
      for (const each of nodes) each.trouble.awayUntil = world.now + draws.oneOf([1_000, 8_000, 30_000])
      return
    case 6: {
      const untrue = untrueNode(surroundings, draws, world.now)
      const newest = chain.blocks.slice(-12).flatMap(({ transactions }) => transactions.map(({ hash }) => hash))
      const ahead = chain.waitingHashes()
      Object.assign(untrue.trouble, {
        liesUntil: until,
        hidden: new Set([...untrue.trouble.hidden, ...newest, ...ahead])
      })
      return
    }
    case 7: {
      const known = addresses()
      if (known.length === 0) return
      const untrue = untrueNode(surroundings, draws, world.now)
      const invented = new Map(untrue.trouble.invented)
      const block = chain.blocks[chain.head.height - draws.below(6)]!
      invented.set(block.hash, inventedPayment(surroundings, draws, draws.oneOf(known)))
      Object.assign(untrue.trouble, { liesUntil: until, invented })
      return
    }
    case 8:
      surroundings.pricesAwayUntil = until
  }
}

/** Everything is well from now on. */
export const heal = (surroundings: Surroundings): void => {
  surroundings.isHealthy = true
  surroundings.pricesAwayUntil = 0
  for (const node of surroundings.nodes) node.heal()
}
