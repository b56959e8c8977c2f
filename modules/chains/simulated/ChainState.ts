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
}

export const emptyChain: ChainState = { blocks: [], lostTransfers: [], madeCount: 0 }

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
  return { ...state, blocks: [...state.blocks, block].slice(-historySize), madeCount }
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
