/** The chains of this process: drivers register, are followed from then on, and answer how they are. */
import { Clock, Effect } from "effect"
import { publicError } from "../../schemas/Errors.ts"
import { type Family, familyOf, type Network } from "../../schemas/Network.ts"
import { type ChainDriver, type Chains, failingAttempts } from "../Chains.ts"
import { verifyTokenDecimals } from "./TokenDecimals.ts"
import { type Follower, start } from "./Followers.ts"
import { followersOf, type JournalContext, wakeHandler } from "./JournalContext.ts"
import { cursorId } from "./ChainsRepo.ts"
import type { ChainReadiness } from "./Targets.ts"

/** Milliseconds an allocation waits for the chains to be read up to their end after a start, and between two looks. */
const catchUpWaitMillis = 8_000
const catchUpLookMillis = 20

/** What the followers of a family know of its chains. */
export const chainsAhead = (followers: ReadonlyMap<string, Follower>): ChainReadiness => ({
  heads: (family) =>
    Object.fromEntries(
      followersOf(followers, family).flatMap(({ driver, newest }) => {
        const head = newest()
        if (head === null) return []
        return [[cursorId(driver.network, driver.environment), { height: head.height, time: head.time }]]
      })
    ),
  awaitCatchUp: Effect.fnUntraced(function*(family: Family) {
    for (let waited = 0; waited < catchUpWaitMillis; waited += catchUpLookMillis) {
      if (followersOf(followers, family).every(({ isCaughtUp }) => isCaughtUp())) return
      yield* Effect.sleep(catchUpLookMillis).pipe(Effect.provideService(Clock.Clock, Clock.Clock.defaultValue()))
    }
    return yield* publicError("NETWORK_DEGRADED", {
      message: "The chains are being read up to now after a start, addresses are given out after that: try again",
      retryAfterSeconds: 5
    })
  })
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

export const status =
  ({ followers, outages }: JournalContext): Chains["Service"]["status"] => (environment, merchantId) => {
    const found = [...followers.values()].filter(({ driver }) => driver.environment === environment)
      .map((each) => each.status())
    const isDown = outages.current()
    if (merchantId === undefined || isDown === undefined || environment !== "devnet") return found
    return found.map((each) =>
      isDown(merchantId, each.network) ? { ...each, healthy: false, condition: "silent" } : each
    )
  }

export const coverage = ({ followers, outages, repo }: JournalContext): Chains["Service"]["coverage"] =>
  Effect.fnUntraced(function*(environment, invoices) {
    // The networks first: what was read of them by now is in the journal that is asked next.
    const seen = [...followers.values()].filter(({ driver }) => driver.environment === environment)
      .map((each) => each.coverage())
    const isDown = (merchantId: number, network: Network) =>
      environment === "devnet" && outages.current()?.(merchantId, network) === true
    const owners = new Map(invoices.map(({ id, merchantId }) => [id, merchantId]))
    const found = invoices.length === 0
      ? []
      : yield* repo.coverageOfInvoices(invoices.map(({ id }) => id), failingAttempts)
    return new Map(found.map(({ families, handling, invoiceId }) => [invoiceId, {
      networks: seen.filter(({ network }) => families.includes(familyOf(network))).map((each) =>
        isDown(owners.get(invoiceId)!, each.network) ? { ...each, seenUntil: null, isAdvancing: false } : each
      ),
      handling
    }]))
  })
