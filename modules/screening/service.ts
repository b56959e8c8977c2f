/** Screening: the port of those who know which addresses are listed (`modules/screening/drivers/`). */
import { Cause, Context, Effect, Layer, Metric, Schema, type Scope } from "effect"
import { type ScreenAddresses, Screening } from "../../runtime/Screening.ts"
import { initializeSeries } from "../../runtime/Telemetry.ts"
import { publicError } from "../../schemas/Errors.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { addressKey } from "./rules.ts"

/** A driver that takes longer has failed: an answer must come within the 30 s that a transfer's handling has. */
const timeoutMillis = 5_000

/** What a driver is asked. */
export interface ScreeningRequest {
  readonly network: Network
  readonly environment: Environment
  /** As the network shows them, at least one. */
  readonly addresses: ReadonlyArray<string>
  /** The same in the form of {@link addressKey}, for those who compare; what is no address stays as it is. */
  readonly keys: ReadonlyArray<string>
}

/** The driver has no answer now: the same question may be answered later. */
export class ScreeningUnavailable extends Schema.TaggedError<ScreeningUnavailable>()("ScreeningUnavailable", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

export interface ScreeningDriver {
  /** Its config entry. */
  readonly name: string
  /**
   * Whether one of the addresses is listed. Asked again for the same transfer after a crash or a lost race, so it
   * changes nothing. An error, a defect and silence for 5 s all mean that the transfer is not credited now: it is
   * handled again after a pause, as after every other failure.
   */
  readonly isListed: (request: ScreeningRequest) => Effect.Effect<boolean, ScreeningUnavailable>
}

const hits = Metric.counter("screening_hits_total", {
  description: "Answers of screening that an address is listed: of transfers and of refund addresses",
  incremental: true
})

const failures = Metric.counter("screening_failures_total", {
  description: "Questions that screening had no answer to, so that a transfer or a refund address waits",
  incremental: true
})

/** What the kernel asks, answered by the driver within the time. */
const screenBy = ({ isListed, name }: ScreeningDriver): ScreenAddresses => (network, environment, addresses) =>
  Effect.suspend(() =>
    isListed({
      network,
      environment,
      addresses,
      keys: addresses.map((address) => addressKey(network, address) ?? address)
    })
  ).pipe(
    Effect.timeout(timeoutMillis),
    Effect.tap((isHit) => isHit ? Metric.update(hits, 1) : Effect.void),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.gen(function*() {
          yield* Metric.update(failures, 1)
          yield* Effect.logError("screening did not answer: nothing is credited until it does", cause).pipe(
            Effect.annotateLogs({ driver: name, network })
          )
          return yield* publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 5 })
        })
    )
  )

export class Screenings extends Context.Service<Screenings, {
  /** Adds the driver for as long as the scope lives. One per deployment. */
  readonly register: (driver: ScreeningDriver) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/modules/screening/Screenings") {
  static readonly layer = Layer.effect(
    Screenings,
    Effect.gen(function*() {
      yield* initializeSeries(hits)
      yield* initializeSeries(failures)
      const { register } = yield* Screening
      return Screenings.of({ register: (driver) => register(screenBy(driver)) })
    })
  )
}
