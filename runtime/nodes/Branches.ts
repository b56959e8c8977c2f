/**
 * Which branch is followed when an endpoint shows another than the one that was followed so far: it is asked of all of
 * them, and the branch that more have wins. Pure.
 */
import { absenceMillis } from "./EndpointPool.ts"

/**
 * What endpoints have at the first height at which the branches differ, the one that showed the other branch included.
 */
export interface BranchVotes {
  /** The block that was followed. */
  readonly followed: number
  /** The other branch's block. */
  readonly other: number
  /** A third block. */
  readonly third: number
  /** No answer, or no block at that height. */
  readonly missing: number
}

/** `follow` the other branch; `stay` on ours; `wait` for those that did not answer. */
export type BranchDecision = "follow" | "stay" | "wait"

/**
 * `undoneBlocks`: how many blocks the other branch undoes. `standardBlocks`: the depth at which payments are confirmed;
 * as deep as that, other endpoints have to speak, however long they are silent: a reorganisation of that depth is far
 * less likely than a wrong node. `waitedMillis`: since when nobody on the followed branch has answered; only after an
 * absence (`absenceMillis`) does a branch win whose opponents are silent.
 */
export const decideBranch = (
  votes: BranchVotes,
  undoneBlocks: number,
  standardBlocks: number,
  waitedMillis: number
): BranchDecision => {
  const against = Math.max(votes.followed, votes.third)
  if (votes.other <= against) return "stay"
  if (votes.other > against + votes.missing) return "follow"
  return undoneBlocks < standardBlocks && waitedMillis >= absenceMillis ? "follow" : "wait"
}

/**
 * Counts what the other endpoints have at a height, beside the one that showed the other branch: a hash, null for no
 * block, undefined for no answer. `theirs` is null where the other branch ends below that height.
 */
export const countVotes = (
  hashes: ReadonlyArray<string | null | undefined>,
  ours: string,
  theirs: string | null
): BranchVotes => {
  const count = (isOf: (hash: string | null | undefined) => boolean) => hashes.filter(isOf).length
  return {
    followed: count((hash) => hash === ours),
    other: 1 + count((hash) => hash === theirs),
    missing: count((hash) => hash === undefined || (hash === null && theirs !== null)),
    third: count((hash) => typeof hash === "string" && hash !== ours && hash !== theirs)
  }
}
