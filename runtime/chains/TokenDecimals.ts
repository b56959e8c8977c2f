/** Reads the decimals of tokens from their own contracts: a wrong list must not decide what a payment is worth. */
import { Clock, Effect, Schedule, type Scope } from "effect"
import type { ChainDriver } from "../Chains.ts"
import type { TokenCatalog } from "../TokenCatalog.ts"

/** Contracts asked at once. */
const concurrency = 4

/** Milliseconds between two looks for tokens that were not asked yet; a new token is not offered before. */
const pollMillis = 10_000

/** Milliseconds before an address without a contract is asked again: a node that has just begun to sync has none. */
const absentMillis = 600_000

/**
 * Guards the network's tokens for as long as the scope lives, and asks again and again for those that were not asked
 * yet. A look ends with the first contract that cannot be read, for then the node may be gone; the next one asks that
 * contract last, so that it keeps only its own token waiting.
 */
export const verifyTokenDecimals = (
  driver: ChainDriver,
  catalog: TokenCatalog["Service"]
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { environment, network, tokenDecimals } = driver
    if (tokenDecimals === null) return
    yield* catalog.requireVerifiedDecimals(network, environment)
    /** The number of each unread contract's last failure, counted over all contracts. */
    const lastFailure = new Map<number, number>()
    let failures = 0
    /** Epoch milliseconds at which there was no contract. */
    const absentAt = new Map<number, number>()
    const verifyPending = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const tokens = catalog.unverifiedTokens(network, environment)
        .filter(({ id }) => now - (absentAt.get(id) ?? -Infinity) >= absentMillis)
        .toSorted((a, b) => (lastFailure.get(a.id) ?? 0) - (lastFailure.get(b.id) ?? 0))
      return Effect.forEach(tokens, ({ address, id }) =>
        tokenDecimals(address!).pipe(
          Effect.tapError(() => Effect.sync(() => void lastFailure.set(id, ++failures))),
          Effect.tap((decimals) => Effect.sync(() => decimals === null ? absentAt.set(id, now) : undefined)),
          Effect.flatMap((decimals) => catalog.recordDecimals(id, decimals))
        ), { concurrency, discard: true })
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("a token's contract could not be read", cause)))
    yield* Effect.forkScoped(Effect.repeat(verifyPending, Schedule.spaced(pollMillis)))
  })
