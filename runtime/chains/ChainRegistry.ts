/** The chains of this process: a driver registers, is followed from then on, and has a status and a coverage. */
import { Clock, Effect } from "effect"
import { publicError } from "../../schemas/Errors.ts"
import { type Environment, type Family, familyOf } from "../../schemas/Network.ts"
import { type ChainDriver, type Chains, failingAttempts } from "../Chains.ts"
import { MachineClock, machineMillis } from "../Clock.ts"
import { verifyTokenDecimals } from "./TokenDecimals.ts"
import { type Follower, start } from "./Followers.ts"
import { followersOf, type JournalContext, type OutageCheck, wakeHandler } from "./JournalContext.ts"
import { cursorId } from "./ChainsRepo.ts"
import type { ChainReadiness } from "./Targets.ts"

/**
 * Milliseconds a caller waits for the chains to be read up to their end after a start, and between two looks. An
 * instance that was killed keeps its lease for 6 s; a request may take 9 s, the allocation included.
 */
const catchUpWaitMillis = 7_000
const catchUpLookMillis = 50

export const makeReadiness = (followers: ReadonlyMap<string, Follower>): Effect.Effect<ChainReadiness> =>
  Effect.gen(function*() {
    const monotonicMillis = yield* machineMillis
    const pause = Effect.provideService(Effect.sleep(catchUpLookMillis), Clock.Clock, yield* MachineClock)
    const isAwaited = ({ allowsAddresses }: Follower) => !allowsAddresses()
    return {
      heads: (family) =>
        Object.fromEntries(
          followersOf(followers, family).flatMap(({ driver, newest }) => {
            const head = newest()
            if (head === null) return []
            return [[cursorId(driver.network, driver.environment), { height: head.height, time: head.time }]]
          })
        ),
      awaitCatchUp: Effect.fnUntraced(function*(family: Family) {
        const endMillis = monotonicMillis() + catchUpWaitMillis
        while (followersOf(followers, family).some(isAwaited)) {
          if (monotonicMillis() < endMillis) {
            yield* pause
            continue
          }
          const networks = followersOf(followers, family).filter(isAwaited).map(({ driver }) => driver.network)
          return yield* publicError("NETWORK_DEGRADED", {
            message: "The chains are being read up to now after a start, addresses are given out after that: try again",
            retryAfterSeconds: 5,
            reason: `not read up to their end within ${catchUpWaitMillis} ms: ${networks.join(", ")}`
          })
        }
      })
    }
  })

export const register = (journal: JournalContext): Chains["Service"]["register"] =>
  Effect.fnUntraced(function*(added: ChainDriver) {
    const { addresses, catalog, commit, drivers, followers, leases, repo, targets } = journal
    const id = cursorId(added.network, added.environment)
    if (drivers.has(id)) {
      const { environment, network } = added
      return yield* Effect.die(
        new Error(
          `two entries of "chains" follow ${network} on ${environment}: remove one, or name the networks of "simulated" without it`
        )
      )
    }
    drivers.set(id, added)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        drivers.delete(id)
        followers.delete(id)
      })
    )
    yield* verifyTokenDecimals(added, catalog)
    // Before the first block is read: it may hold a payment to an address that a restored backup does not remember.
    if (added.wallet !== null) yield* addresses.watchNow(added.wallet, familyOf(added.network))
    const services = { addresses, catalog, commit, leases, repo, targets, wakeHandler: wakeHandler(journal) }
    followers.set(id, yield* start(added, services))
  })

/** Whether a network is down to a merchant by simulation, which is on devnet only. */
const simulatedOutages =
  ({ outages }: JournalContext, environment: Environment): OutageCheck => (merchantId, network) =>
    environment === "devnet" && outages.current()?.(merchantId, network) === true

const followersIn = ({ followers }: JournalContext, environment: Environment): ReadonlyArray<Follower> =>
  [...followers.values()].filter(({ driver }) => driver.environment === environment)

export const status = (journal: JournalContext): Chains["Service"]["status"] => (environment, merchantId) => {
  const found = followersIn(journal, environment).map((each) => each.status())
  if (merchantId === undefined) return found
  const isDown = simulatedOutages(journal, environment)
  return found.map((each) => isDown(merchantId, each.network) ? { ...each, healthy: false, condition: "silent" } : each)
}

export const coverage = (journal: JournalContext): Chains["Service"]["coverage"] =>
  Effect.fnUntraced(function*(environment, invoices) {
    // The networks are read before the journal, because the journal then has all that was read of them.
    const seen = followersIn(journal, environment).map((each) => each.coverage())
    const isDown = simulatedOutages(journal, environment)
    const owners = new Map(invoices.map(({ id, merchantId }) => [id, merchantId]))
    const found = invoices.length === 0
      ? []
      : yield* journal.repo.coverageOfInvoices(invoices.map(({ id }) => id), failingAttempts)
    return new Map(found.map(({ families, handling, invoiceId }) => [invoiceId, {
      networks: seen.filter(({ network }) => families.includes(familyOf(network))).map((each) =>
        isDown(owners.get(invoiceId)!, each.network) ? { ...each, seenUntil: null, isAdvancing: false } : each
      ),
      handling
    }]))
  })
