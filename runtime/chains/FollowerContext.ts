/** What the parts of one follower share: its chain, its state, the queues between them, and the way to write. */
import { Clock, type Deferred, Effect, Metric, MutableRef, Queue, Ref, type Result } from "effect"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import { type Token, tokenAddress } from "../../schemas/Token.ts"
import type { BlockReading, ChainDriver, ChainEvent, DriverError, JournalEntry, WatchSet } from "../Chains.ts"
import { machineMillis } from "../Clock.ts"
import { type Commit, type Fence, noCause, systemMerchant, type Write } from "../Commit.ts"
import type { Leases } from "../Leases.ts"
import { initializeSeries } from "../Telemetry.ts"
import type { TokenCatalog } from "../TokenCatalog.ts"
import type * as Balances from "./Balances.ts"
import { type FollowerAction, type FollowerEvent, type FollowerState, initialState, step } from "./FollowerState.ts"
import { type Lookups, noLookups } from "./ReportLookups.ts"
import type { Repair } from "./Repairs.ts"
import { type ChainsRepo, transferWrite } from "./ChainsRepo.ts"
import type { make as makeTargets } from "./Targets.ts"
import type { VerificationResult } from "./VerificationContext.ts"
import type { WalletAddresses } from "./WalletAddresses.ts"

/** Rows of one commit, the cursor not counted: below the commit log's limit of 1,000. */
export const rowsPerCommit = 900

export interface FollowerServices {
  readonly catalog: TokenCatalog["Service"]
  readonly repo: ChainsRepo
  readonly commit: Commit["Service"]
  readonly leases: Leases["Service"]
  readonly targets: Effect.Success<ReturnType<typeof makeTargets>>
  readonly addresses: WalletAddresses
  /** Says that entries wait for the handler. */
  readonly wakeHandler: Effect.Effect<void>
}

/** The block of reported entries, or why no node gave it. */
export interface ReportedBlock {
  readonly _tag: "ReportedBlock"
  readonly generation: number
  readonly entries: ReadonlyArray<JournalEntry>
  readonly block: Result.Result<BlockReading, DriverError>
  /** Done once it was dealt with. */
  readonly done: Deferred.Deferred<void>
}

/** Blocks that a repair read, or entries it found orphaned: what changes, and the repair as it is after it. */
export interface RepairTurn {
  readonly _tag: "RepairTurn"
  readonly generation: number
  readonly blocks: ReadonlyArray<BlockReading>
  readonly orphanedEntries: ReadonlyArray<JournalEntry>
  readonly next: (credited: number) => Repair
  /** Done once it was dealt with. */
  readonly done: Deferred.Deferred<void>
}

/** What was read beside the follower, for it to deal with in its turn. */
export type FollowerReading = Balances.BalanceReading | ReportedBlock | RepairTurn

/** A look at the chain is over, and all that it found came before this. */
export interface LookEnd {
  readonly _tag: "LookEnd"
  readonly finalized: bigint | null
  /** Epoch milliseconds at which it began, or earlier; null: not known. */
  readonly sinceMillis: number | null
}

/** A look whether entries are deep enough is due. */
export interface Check {
  readonly _tag: "Check"
}

type Finality = Extract<ChainEvent, { readonly _tag: "Finality" }>

/** What one turn of a follower works on. */
export type FollowerItem = Exclude<ChainEvent, Finality> | LookEnd | Check | FollowerReading | VerificationResult

export interface FollowerContext extends FollowerServices {
  readonly driver: ChainDriver
  readonly network: Network
  readonly environment: Environment
  /** Of its metrics. */
  readonly attributes: { readonly network: Network; readonly environment: Environment }
  readonly watch: WatchSet
  readonly clock: Clock.Clock
  /** Of the machine's clock: how long ago the chain was read, whatever clock the service runs under. */
  readonly machineMillis: () => number
  /** Changed by {@link dispatch} only. */
  readonly state: MutableRef.MutableRef<FollowerState>
  /** Lookups of the blocks of reported transfers. */
  readonly lookups: Ref.Ref<Lookups>
  readonly checks: Queue.Queue<Check>
  readonly readings: Queue.Queue<FollowerReading>
  /** Has the blocks of reported transfers looked at. */
  readonly lookRequests: Queue.Queue<void>
  readonly verified: Queue.Queue<VerificationResult>
  /** Has what is deep enough verified. */
  readonly verifyRequests: Queue.Queue<void>
}

const reorgs = Metric.counter("reorgs_total", { incremental: true })
const alerts = Metric.counter("chain_alerts_total", { incremental: true })
const unrecorded = Metric.counter("unlisted_transfers_dropped_total", {
  description: "Transfers of tokens that are not in the catalogue, over the limits of what is recorded",
  incremental: true
})
const detectionLag = Metric.gauge("payment_detection_lag_seconds")
const health = Metric.gauge("network_health")

/** What the alerts are of. */
const alertKinds = [
  "reorg_below_final",
  "report_ended",
  "balance",
  "transfer_left_out",
  "endpoints_show_different_transfers",
  "block_not_searched"
] as const

/** Transfers a driver is told of at once. */
const transfersAtOnce = 1_000

/** The tokens of a network in the spelling of its drivers; the same array while the catalogue did not change. */
const tokensOf = (network: Network, environment: Environment, catalog: TokenCatalog["Service"]) => {
  const addressesOfLists = new WeakMap<ReadonlyArray<Token>, ReadonlyArray<string>>()
  return () => {
    const tokens = catalog.list(environment)
    const known = addressesOfLists.get(tokens)
    if (known !== undefined) return known
    const addresses = tokens.flatMap(({ address, network: each }) =>
      each === network && address !== null ? [tokenAddress(network, address) ?? address] : []
    )
    addressesOfLists.set(tokens, addresses)
    return addresses
  }
}

/** What a driver watches: keys of the whole family, accounts only where it asks the chain for them. */
const watchSetOf = Effect.fnUntraced(function*(
  { environment, history, network }: ChainDriver,
  { catalog, repo, targets }: Pick<FollowerServices, "catalog" | "repo" | "targets">,
  clock: Clock.Clock
) {
  const family = familyOf(network)
  const keys = targets.watch(family, environment)
  const accounts = history._tag === "AccountHistory" ? targets.watchAccounts(family, environment) : null
  if (accounts !== null) yield* keys.refresh
  const watch: WatchSet = {
    ...keys,
    accounts: () => accounts?.list(Math.floor(clock.currentTimeMillisUnsafe() / 1000)) ?? [],
    tokens: tokensOf(network, environment, catalog),
    transfersAbove: (height) => repo.entriesAbove(network, environment, height, transfersAtOnce)
  }
  return watch
})

export const makeContext = Effect.fnUntraced(function*(driver: ChainDriver, services: FollowerServices) {
  const { environment, network } = driver
  const attributes = { network, environment }
  const clock = yield* Clock.Clock
  const millis = yield* machineMillis
  const stored = yield* services.repo.cursor(network, environment)
  const context: FollowerContext = {
    ...services,
    driver,
    network,
    environment,
    attributes,
    watch: yield* watchSetOf(driver, services, clock),
    clock,
    machineMillis: millis,
    state: MutableRef.make(initialState({
      network,
      environment,
      cursor: stored,
      nowMillis: clock.currentTimeMillisUnsafe(),
      monotonicMillis: millis()
    })),
    lookups: yield* Ref.make(noLookups),
    checks: yield* Queue.sliding<Check>(1),
    readings: yield* Queue.bounded<FollowerReading>(1),
    lookRequests: yield* Queue.sliding<void>(1),
    verified: yield* Queue.bounded<VerificationResult>(1),
    verifyRequests: yield* Queue.sliding<void>(1)
  }
  yield* initializeSeries(reorgs, [attributes])
  yield* initializeSeries(unrecorded, [attributes])
  yield* initializeSeries(alerts, alertKinds.map((kind) => ({ ...attributes, kind })))
  yield* measureLag(context, 0)
  yield* measureHealth(context, true)
  return context
})

/** Epoch milliseconds and seconds, by the service's clock. */
export const nowMillis = ({ clock }: FollowerContext): number => clock.currentTimeMillisUnsafe()
export const nowSeconds = (follower: FollowerContext): number => Math.floor(nowMillis(follower) / 1000)

/** Milliseconds of a clock that nobody sets: for how long something has lasted. */
export const monotonicMillis = ({ clock }: FollowerContext): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

export const stateOf = ({ state }: FollowerContext): FollowerState => MutableRef.get(state)

/** Takes an event into the state, at once; answers what has to be done about it. */
export const dispatch = (follower: FollowerContext, event: FollowerEvent): ReadonlyArray<FollowerAction> => {
  const [next, actions] = step(stateOf(follower), event)
  MutableRef.set(follower.state, next)
  return actions
}

/** Counts something an operator should look at. */
export const raiseAlert = ({ attributes }: FollowerContext, kind: typeof alertKinds[number]) =>
  Metric.update(Metric.withAttributes(alerts, { ...attributes, kind }), 1)

export const countReorg = ({ attributes }: FollowerContext) =>
  Metric.update(Metric.withAttributes(reorgs, attributes), 1)

export const countUnrecorded = ({ attributes }: FollowerContext, transfers: number) =>
  Metric.update(Metric.withAttributes(unrecorded, attributes), transfers)

export const measureLag = ({ attributes }: FollowerContext, seconds: number) =>
  Metric.update(Metric.withAttributes(detectionLag, attributes), seconds)

export const measureHealth = ({ attributes }: FollowerContext, isHealthy: boolean) =>
  Metric.update(Metric.withAttributes(health, attributes), isHealthy ? 1 : 0)

/** Has a look whether entries are deep enough. */
export const requestCheck = ({ checks }: FollowerContext): Effect.Effect<void> =>
  Effect.asVoid(Queue.offer(checks, { _tag: "Check" }))

/** One commit under the follower's lease. */
export const write = ({ commit, environment }: FollowerContext, fence: Fence, writes: ReadonlyArray<Write>) =>
  commit.append({ merchantId: systemMerchant, environment, cause: noCause, writes, events: [], fence })

/** Entries, in as many commits as needed. */
export const writeEntries = Effect.fnUntraced(function*(
  follower: FollowerContext,
  fence: Fence,
  entries: ReadonlyArray<JournalEntry>
) {
  for (let from = 0; from < entries.length; from += rowsPerCommit) {
    yield* write(follower, fence, entries.slice(from, from + rowsPerCommit).map((entry) => transferWrite(entry)))
  }
})
