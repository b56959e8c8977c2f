/** What the parts of the journal share: the drivers and followers of this process, and the way to write. */
import { type Cache, Effect, Queue, type Semaphore } from "effect"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { type Environment, type Family, familyOf, type Network } from "../../schemas/Network.ts"
import type { BackgroundWorkService } from "../BackgroundWork.ts"
import type { ChainDriver, ForwarderFacts, MerchantWallets, WalletOwner } from "../Chains.ts"
import { type Commit, noCause, retryConflicts, systemMerchant, type Write } from "../Commit.ts"
import type { Leases } from "../Leases.ts"
import type { Slot } from "../Registry.ts"
import type { SimulatedWallets } from "../SimulatedWallets.ts"
import type { TokenCatalog } from "../TokenCatalog.ts"
import type { Follower } from "./Followers.ts"
import { databaseMessage } from "../store/StoreError.ts"
import { type ChainsRepo, cursorId } from "./ChainsRepo.ts"
import type { make as makeTargets } from "./Targets.ts"
import type { WalletAddresses } from "./WalletAddresses.ts"

/** Conflicts in a row before a small write gives up. */
const conflictRetries = 10

/** Whether a devnet network is simulated to be down to a merchant. */
export type OutageCheck = (merchantId: number, network: Network) => boolean

export interface JournalContext {
  readonly commit: Commit["Service"]
  readonly leases: Leases["Service"]
  readonly catalog: TokenCatalog["Service"]
  readonly repo: ChainsRepo
  readonly addresses: WalletAddresses
  readonly targets: Effect.Success<ReturnType<typeof makeTargets>>
  /** By {@link cursorId}. */
  readonly drivers: Map<string, ChainDriver>
  readonly followers: Map<string, Follower>
  readonly forwarderFacts: Cache.Cache<string, ForwarderFacts | null>
  readonly outages: Slot<OutageCheck>
  readonly merchantWallets: Slot<MerchantWallets>
  readonly simulatedWallets: SimulatedWallets["Service"]
  /** Says that entries wait for the handler. */
  readonly wakes: Queue.Queue<void>
  /** One look at reported entries at a time. */
  readonly confirmLock: Semaphore.Semaphore
  /** Hands transfers over once all plugins have started. */
  readonly background: BackgroundWorkService
  /** Epoch seconds of this process's start. */
  readonly startedAt: number
}

export const driverOf = ({ drivers }: JournalContext, network: Network, environment: Environment) =>
  drivers.get(cursorId(network, environment))

export const followerOf = ({ followers }: JournalContext, network: Network, environment: Environment) =>
  followers.get(cursorId(network, environment))

export const followersOf = (followers: ReadonlyMap<string, Follower>, family: Family): ReadonlyArray<Follower> =>
  [...followers.values()].filter(({ driver }) => familyOf(driver.network) === family)

export const driversOf = (
  { drivers }: JournalContext,
  { environment, family }: Omit<WalletOwner, "merchantId">
): ReadonlyArray<ChainDriver> =>
  [...drivers.values()].filter((each) => each.environment === environment && familyOf(each.network) === family)

/** Has the handler look for entries. */
export const wakeHandler = ({ wakes }: Pick<JournalContext, "wakes">): Effect.Effect<void> =>
  Effect.asVoid(Queue.offer(wakes, undefined))

export const write = ({ commit }: JournalContext, environment: Environment, writes: ReadonlyArray<Write>) =>
  commit.append({ merchantId: systemMerchant, environment, cause: noCause, writes, events: [] })

/** A small write that lost a race is run again. */
export const retryWrite = retryConflicts(conflictRetries)

/** Lost races are run again; what the database cannot do now may be tried again. */
export const withPublicErrors = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E | PublicError>) =>
  retryWrite(effect).pipe(
    Effect.mapError((error) =>
      error instanceof PublicError
        ? error
        : publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, reason: databaseMessage(error) })
    )
  )

/** What is wrong with one argument of a call, for whoever made it. */
export interface ArgumentFault {
  readonly param: string
  readonly message: string
}

/** Fails with a fault; null: there is none. */
export const rejectFault = (fault: ArgumentFault | null): Effect.Effect<void, PublicError> =>
  fault === null ? Effect.void : Effect.fail(publicError("VALIDATION_ERROR", fault))
