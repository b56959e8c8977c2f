/** Reads the decimals of tokens from their own contracts: a wrong list must not decide what a payment is worth. */
import { Effect, Schedule, type Scope, Semaphore } from "effect"
import type { ChainDriver, DriverError } from "../Chains.ts"
import type { TokenCatalog } from "../TokenCatalog.ts"

/** Contracts asked at once. */
const concurrency = 4

/** Milliseconds between two looks for tokens that were listed since; a new token is not offered before. */
const lookMillis = 10_000

/** Asks the contract of every token of the driver's network that was not asked yet. Fails when the chain does not answer. */
const attestNew = (driver: ChainDriver, catalog: TokenCatalog["Service"]): Effect.Effect<void, DriverError> =>
  Effect.suspend(() => {
    const { environment, network, tokenDecimals } = driver
    if (tokenDecimals === null) return Effect.void
    return Effect.forEach(
      catalog.unattested(network, environment),
      ({ address, id }) => Effect.flatMap(tokenDecimals(address!), (decimals) => catalog.attest(id, decimals)),
      { concurrency, discard: true }
    )
  })

/**
 * Guards the network's tokens for as long as the scope lives and asks again and again for new ones. Answers what has to
 * be done before a transfer is looked at: all tokens listed by then are asked.
 */
export const guard = (
  driver: ChainDriver,
  catalog: TokenCatalog["Service"]
): Effect.Effect<Effect.Effect<void, DriverError>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const oneLook = yield* Semaphore.make(1)
    const attested = oneLook.withPermits(1)(attestNew(driver, catalog))
    if (driver.tokenDecimals === null) return attested
    yield* catalog.guard(driver.network, driver.environment)
    const look = Effect.catch(attested, (error) => Effect.logWarning("token contracts could not be read", error))
    yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced(lookMillis)))
    return attested
  })
