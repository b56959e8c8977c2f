/**
 * Two passes beside a follower, so that a slow node holds up no block: payments that are deep enough are verified at
 * another endpoint, and every block is searched once more. What comes of it is written by the follower.
 */
import { Effect, Ref } from "effect"
import { initializeWaitingGauge, verify } from "./BlockVerifier.ts"
import { noFailure } from "./SearchSchedule.ts"
import { searchAgain, searchNew } from "./TransferSearch.ts"
import type { VerificationContext, VerificationServices } from "./VerificationContext.ts"

/** One pass over what is deep enough, and one over what was not searched yet. */
export const makeVerification = Effect.fnUntraced(function*(services: VerificationServices) {
  const context: VerificationContext = {
    ...services,
    waitUntilMillis: yield* Ref.make<ReadonlyMap<string, number>>(new Map()),
    searchFailure: yield* Ref.make(noFailure),
    repeatSearchFailure: yield* Ref.make(noFailure)
  }
  yield* initializeWaitingGauge(context)
  return { verify: verify(context), search: Effect.andThen(searchNew(context), searchAgain(context)) }
})
