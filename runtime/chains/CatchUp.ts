/**
 * When a chain allows addresses to be given out after a start: a block that was not read yet may hold a payment to an
 * address that a restored backup does not remember. Pure.
 *
 * A start is that of this process, and again the moment from which it follows a chain that has not answered until then.
 */
import type { FollowerState } from "./FollowerState.ts"

/** A chain that gave no answer for 2 s after a start holds up no address: nobody can say what is on it. */
export const firstAnswerMillis = 2_000

/**
 * A chain that this instance does not follow, and that showed no answer through another one for 10 s after a start,
 * holds up no address: by then the lease of an instance that was killed has ended.
 */
export const takeOverMillis = 10_000

/**
 * A chain that is still behind 1 h after a start holds up no address: in that time a day of the fastest network is
 * read.
 */
export const catchUpLimitMillis = 3_600_000

/** Whether addresses may be given out: the chain was read up to its end, or waiting longer would help nobody. */
export const allowsAddresses = (state: FollowerState, monotonicMillis: number): boolean => {
  const limitMillis = state.hasAnswered ? catchUpLimitMillis : state.isFollowing ? firstAnswerMillis : takeOverMillis
  return state.isCaughtUp || monotonicMillis - state.startedAtMillis >= limitMillis
}
