/** What the two passes of verification share: the driver, the journal, and the blocks that wait. */
import { Clock, type Deferred, Effect, Metric, Ref } from "effect"
import type { ChainDriver, ObservedTransfer, WatchSet } from "../Chains.ts"
import type { BlockDecision } from "./BlockDecision.ts"
import type { ChainsRepo, RingPoint } from "./ChainsRepo.ts"
import type { FollowerPosition, SearchFailure, SearchProgress } from "./SearchSchedule.ts"

/** What the follower writes, for as long as no rollback came since `generation`. */
export interface VerificationResult extends Omit<BlockDecision, "undecidedIds" | "isInconclusive">, SearchProgress {
  readonly _tag: "VerificationResult"
  readonly generation: number
  readonly point: RingPoint
  readonly done: Deferred.Deferred<void>
}

export interface VerificationServices {
  readonly driver: ChainDriver
  readonly repo: ChainsRepo
  readonly watch: WatchSet
  /** Whether a token is in the catalogue: others are not looked for again. */
  readonly isListed: (transfer: Pick<ObservedTransfer, "tokenAddress">) => boolean
  /** Where the follower stands now; null before its first block. */
  readonly position: () => FollowerPosition | null
  /** Hands a result to the follower and waits until it is written. */
  readonly apply: (result: Omit<VerificationResult, "_tag" | "done">) => Effect.Effect<void>
}

export interface VerificationContext extends VerificationServices {
  /** Blocks that wait, by hash, with the epoch milliseconds at which they are read again. */
  readonly waitUntilMillis: Ref.Ref<ReadonlyMap<string, number>>
  /** The search that failed last: of new blocks, and of those that are searched again. */
  readonly searchFailure: Ref.Ref<SearchFailure>
  readonly repeatSearchFailure: Ref.Ref<SearchFailure>
}

const alerts = Metric.counter("chain_alerts_total", { incremental: true })

/** Counts something that an operator has to look at. */
export const alert = ({ driver: { environment, network } }: VerificationContext, kind: string) =>
  Metric.update(Metric.withAttributes(alerts, { network, environment, kind }), 1)

/** A block is not read again for so long. */
export const waitFor = Effect.fnUntraced(function*(context: VerificationContext, hash: string, millis: number) {
  const until = (yield* Clock.currentTimeMillis) + millis
  yield* Ref.update(context.waitUntilMillis, (before) => new Map([...before, [hash, until]]))
})

export const isWaiting = Effect.fnUntraced(function*(context: VerificationContext, hash: string) {
  return ((yield* Ref.get(context.waitUntilMillis)).get(hash) ?? 0) > (yield* Clock.currentTimeMillis)
})

/** Forgets the blocks whose wait is over; answers those that still wait. */
export const waitingBlocks = Effect.fnUntraced(function*(context: VerificationContext) {
  const nowMillis = yield* Clock.currentTimeMillis
  const waiting = yield* Ref.updateAndGet(
    context.waitUntilMillis,
    (before) => new Map([...before].filter(([, until]) => until > nowMillis))
  )
  return [...waiting.keys()]
})
