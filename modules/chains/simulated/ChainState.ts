/** One simulated chain as a value: its blocks, and what each act makes of them. Pure. */
import type { BlockPoint, ChainPoint, ObservedTransfer, TransferIdentity } from "../../../runtime/Chains.ts"

/** Blocks kept to roll back to, and to be read again. */
export const historySize = 256

export interface SimulatedBlock extends BlockPoint {
  readonly transfers: ReadonlyArray<ObservedTransfer>
}

export interface ChainState {
  /** The oldest first; none until a follower has said where the chain goes on. */
  readonly blocks: ReadonlyArray<SimulatedBlock>
  /** Every transfer that ever left the chain alone, in that order. */
  readonly lostTransfers: ReadonlyArray<TransferIdentity>
  /** Blocks that were ever made: no two have one name. */
  readonly madeCount: number
  /** What blocks that are no longer kept moved: see {@link balanceKey}. */
  readonly forgotten: ReadonlyMap<string, bigint>
}

export const emptyChain: ChainState = { blocks: [], lostTransfers: [], madeCount: 0, forgotten: new Map() }

/** Names what came to a match key, or left an address, of a token. */
const balanceKey = (way: "in" | "out", account: string, tokenAddress: string | null): string =>
  `${way} ${tokenAddress ?? "coin"} ${account}`

/** What transfers moved, added to `sums`. */
const addTransfers = (
  sums: ReadonlyMap<string, bigint>,
  blocks: ReadonlyArray<SimulatedBlock>
): ReadonlyMap<string, bigint> => {
  const next = new Map(sums)
  const add = (key: string, amount: bigint) => next.set(key, (next.get(key) ?? 0n) + amount)
  for (const { amount, from, matchKey, tokenAddress } of blocks.flatMap(({ transfers }) => transfers)) {
    add(balanceKey("in", matchKey, tokenAddress), amount)
    if (from !== null) add(balanceKey("out", from, tokenAddress), amount)
  }
  return next
}

/** What came to an address whose match key is `matchKey` less what left it, up to a height. */
export const balanceOf = (
  { blocks, forgotten }: ChainState,
  { address, matchKey }: { readonly address: string; readonly matchKey: string },
  tokenAddress: string | null,
  height: bigint
): bigint => {
  const [into, out] = [balanceKey("in", matchKey, tokenAddress), balanceKey("out", address, tokenAddress)]
  const moved = blocks.filter((block) => block.height <= height).flatMap(({ transfers }) => transfers)
    .filter((each) => each.tokenAddress === tokenAddress)
    .reduce(
      (sum, each) => sum + (each.matchKey === matchKey ? each.amount : 0n) - (each.from === address ? each.amount : 0n),
      0n
    )
  return (forgotten.get(into) ?? 0n) - (forgotten.get(out) ?? 0n) + moved
}

/** How a chain counts and names its blocks. */
export interface ChainRules {
  /** Height of the block after the one at `height`: above it. */
  readonly nextHeight: (height: bigint) => bigint
  readonly blockHash: (count: number) => string
}

/** What can happen to a chain. */
export type ChainAct =
  /** A follower begins, whose newest point is `stored`: a chain without blocks goes on above it. */
  | { readonly _tag: "Adopt"; readonly stored: ChainPoint | null }
  /** A block is made of each of these lists. */
  | { readonly _tag: "Mine"; readonly blocks: ReadonlyArray<ReadonlyArray<ObservedTransfer>> }
  /**
   * The newest `depth` blocks are replaced by as many others: transactions named in `drop` vanish, the rest is mined
   * again, `shift` blocks later than before.
   */
  | {
    readonly _tag: "Reorganise"
    readonly depth: number
    readonly drop: ReadonlyArray<string> | "all"
    readonly shift: number
  }
  /** These transactions leave the chain, and their blocks stay. */
  | { readonly _tag: "Drop"; readonly txHashes: ReadonlyArray<string> }

export const topOf = ({ blocks }: ChainState): SimulatedBlock | undefined => blocks.at(-1)

const withBlock = (
  { blockHash, nextHeight }: ChainRules,
  state: ChainState,
  transfers: ReadonlyArray<ObservedTransfer>,
  now: number
): ChainState => {
  const height = nextHeight(topOf(state)?.height ?? BigInt(now))
  const madeCount = state.madeCount + 1
  const block = { height, hash: blockHash(madeCount), time: now, transfers }
  const blocks = [...state.blocks, block]
  const outdated = blocks.slice(0, -historySize).filter((each) => each.transfers.length > 0)
  return {
    ...state,
    blocks: blocks.slice(-historySize),
    madeCount,
    forgotten: outdated.length === 0 ? state.forgotten : addTransfers(state.forgotten, outdated)
  }
}

const withBlocks = (
  rules: ChainRules,
  state: ChainState,
  blocks: ReadonlyArray<ReadonlyArray<ObservedTransfer>>,
  now: number
): ChainState => blocks.reduce((each, transfers) => withBlock(rules, each, transfers, now), state)

const adopt = (rules: ChainRules, state: ChainState, stored: ChainPoint | null, now: number): ChainState => {
  if (state.blocks.length > 0) return state
  const madeCount = state.madeCount + 1
  const height = stored === null ? BigInt(now) : rules.nextHeight(stored.height)
  return { ...state, blocks: [{ height, hash: rules.blockHash(madeCount), time: now, transfers: [] }], madeCount }
}

const reorganise = (
  rules: ChainRules,
  state: ChainState,
  { depth, drop, shift }: Extract<ChainAct, { readonly _tag: "Reorganise" }>,
  now: number
): ChainState => {
  const undone = state.blocks.slice(-depth)
  const kept = { ...state, blocks: state.blocks.slice(0, -depth) }
  const again = undone.map(({ transfers }) =>
    drop === "all" ? [] : transfers.filter(({ txHash }) => !drop.includes(txHash))
  )
  return withBlocks(rules, kept, [...Array.from({ length: shift }, () => []), ...again], now)
}

const dropTransactions = (state: ChainState, txHashes: ReadonlyArray<string>): ChainState => {
  const isLost = ({ txHash }: ObservedTransfer): boolean => txHashes.includes(txHash)
  return {
    ...state,
    blocks: state.blocks.map((block) =>
      block.transfers.some(isLost)
        ? { ...block, transfers: block.transfers.filter((each) => !isLost(each)) }
        : block
    ),
    lostTransfers: [...state.lostTransfers, ...state.blocks.flatMap(({ transfers }) => transfers.filter(isLost))]
  }
}

/** The chain after an act at `now`, epoch seconds. Total. */
export const step = (rules: ChainRules, state: ChainState, act: ChainAct, now: number): ChainState => {
  switch (act._tag) {
    case "Adopt":
      return adopt(rules, state, act.stored, now)
    case "Mine":
      return withBlocks(rules, state, act.blocks, now)
    case "Reorganise":
      return reorganise(rules, state, act, now)
    case "Drop":
      return dropTransactions(state, act.txHashes)
  }
}

/** Whether a point is on the chain. What is older than its blocks is the follower's history, and taken as right. */
export const isOnChain = ({ blocks }: ChainState, point: ChainPoint): boolean =>
  blocks.length === 0 || point.height < blocks[0]!.height || blocks.some(({ hash }) => hash === point.hash)
