/** One driver by itself: its plugin is found and started as a config's entry is, and nothing else of the service. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, MutableRef, Schema, type Scope } from "effect"
import { HttpClient } from "effect/http"
import { type ChainDriver, Chains } from "../../runtime/Chains.ts"
import { findPlugin } from "../../runtime/config/Plugins.ts"
import * as Client from "../../runtime/http/Client.ts"

/** What a person is told when the trial cannot go on. */
export class SmokeFailure extends Schema.TaggedError<SmokeFailure>()("SmokeFailure", {
  reason: Schema.String,
  advice: Schema.String
}) {
  override get message() {
    return `${this.reason}\n  What to do: ${this.advice}`
  }
}

/** Milliseconds that the calls to nodes took until their first byte, and how many got none. */
export interface CallTimes {
  readonly millis: Array<number>
  readonly failures: { count: number }
}

const timed = (times: CallTimes) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.transform((response) =>
        Effect.suspend(() => {
          const beganAt = performance.now()
          return response.pipe(
            Effect.tap(() => Effect.sync(() => times.millis.push(performance.now() - beganAt))),
            Effect.tapError(() => Effect.sync(() => times.failures.count += 1))
          )
        })
      )
    )
  ).pipe(Layer.provide(Client.layer))

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** Starts the driver `use` with these options: a name of a built-in one, a package, or the path of a file. */
export const soleDriver = (
  use: string,
  options: object
): Effect.Effect<{ readonly driver: ChainDriver; readonly times: CallTimes }, SmokeFailure, Scope.Scope> =>
  Effect.gen(function*() {
    const plugin = yield* Effect.mapError(
      Effect.provide(findPlugin("chains", use, process.cwd()), NodeServices.layer),
      (reason) => new SmokeFailure({ reason, advice: "check --use, or install the package it names" })
    )
    const decoded = yield* Schema.decodeUnknownEffect(plugin.options ?? Schema.Struct({}))(options, {
      onExcessProperty: "error",
      errors: "all"
    }).pipe(
      Effect.mapError((error) =>
        new SmokeFailure({
          reason: `the options of ${use} do not fit: ${error.message}`,
          advice: `compare --options with the driver's entry in config/schema.json`
        })
      )
    )
    const registered = MutableRef.make<ChainDriver | null>(null)
    const times: CallTimes = { millis: [], failures: { count: 0 } }
    const kernel = Layer.mergeAll(
      Layer.mock(Chains)({
        register: (driver) => Effect.sync(() => void MutableRef.set(registered, driver)),
        driver: () => undefined,
        status: () => [],
        markHandled: () => {
          throw new Error("there is no journal")
        },
        assignEntry: () => {
          throw new Error("there is no journal")
        }
      }),
      timed(times)
    )
    // A driver asks the kernel for nothing else: modules/README.md says what a driver may use.
    const started = plugin.layer(decoded) as Layer.Layer<never, unknown, Chains | HttpClient.HttpClient>
    yield* Effect.mapError(Layer.build(Layer.provide(started, kernel)), (error) =>
      new SmokeFailure({
        reason: messageOf(error),
        advice: "the options contradict themselves or a node is on another network: correct --url, --network, " +
          "--environment or --options"
      }))
    const driver = MutableRef.get(registered)
    return driver === null
      ? yield* new SmokeFailure({ reason: `${use} registered no network`, advice: "choose a driver of a network" })
      : { driver, times }
  })
