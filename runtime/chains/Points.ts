/** Points of a chain. */

/** A point of a chain: a block, a slot or a checkpoint. */
export interface ChainPoint {
  readonly height: bigint
  readonly hash: string
}

/** A point of a chain, and when it was made. */
export interface BlockPoint extends ChainPoint {
  /** Epoch seconds. */
  readonly time: number
}

/** Points a cursor keeps: a reorg deeper than this needs an operator. Twice the deepest tried, 64. */
export const ringSize = 128
