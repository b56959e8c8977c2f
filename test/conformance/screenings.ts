/**
 * What every driver of screening promises, whoever wrote it: a driver's test calls {@link screeningConformance}. The
 * kernel's port and the screening module are the real ones.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, type Scope } from "effect"
import type { FileSystem } from "effect"
import { Screenings } from "../../modules/screening/plugin.ts"
import { layer as port, Screening } from "../../runtime/Screening.ts"
import { descriptorOf, type Network, networks } from "../../schemas/Network.ts"
import { playMoneySender } from "../../schemas/PlayMoney.ts"

/** A plugin's layer as far as a driver of screening may need the runtime. */
export type ScreeningLayer = Layer.Layer<never, unknown, Screenings | FileSystem.FileSystem>

/** An address of a network, in each of the spellings that name it. */
export interface ListedAddress {
  readonly network: Network
  readonly spellings: ReadonlyArray<string>
}

/** A driver ready to be tried. None of its addresses is that of play money. */
export interface ScreeningSubject {
  readonly layer: ScreeningLayer
  readonly listed: ReadonlyArray<ListedAddress>
}

/** A driver in a deployment of its own; payments have not begun. */
export const screeningOf = (driver: ScreeningLayer): Effect.Effect<Screening["Service"], unknown, Scope.Scope> =>
  Effect.map(
    Layer.build(driver.pipe(
      Layer.provideMerge(Screenings.layer),
      Layer.provideMerge(port),
      Layer.provideMerge(NodeServices.layer)
    )),
    (services) => Context.get(services, Screening)
  )

/** Runs the suite. `start` makes the driver and whatever it reads. */
export const screeningConformance = (name: string, start: Effect.Effect<ScreeningSubject, never, Scope.Scope>) =>
  describe(`screening ${name}`, () => {
    it.effect("lets every address pass that is on no list, on every network", () =>
      Effect.gen(function*() {
        const { isListed } = yield* screeningOf((yield* start).layer)
        for (const network of networks) {
          const address = playMoneySender(network)
          if (address !== null) assert.isFalse(yield* isListed(network, "devnet", [address]), network)
          assert.isFalse(yield* isListed(network, "mainnet", ["no address", "💥"]), network)
        }
      }))

    it.effect("finds each listed address in every spelling, alone and among others, on each network of its family", () =>
      Effect.gen(function*() {
        const { layer, listed } = yield* start
        const { isListed } = yield* screeningOf(layer)
        for (const { network, spellings } of listed) {
          const { family } = descriptorOf(network)
          const related = networks.filter((other) => descriptorOf(other).family.name === family.name)
          for (const other of related) {
            for (const spelling of spellings) {
              assert.isTrue(yield* isListed(other, "mainnet", [spelling]), `${other} ${spelling}`)
              assert.isTrue(yield* isListed(other, "mainnet", [playMoneySender(other)!, spelling]), other)
            }
          }
        }
      }))

    it.effect("gives many callers at once the same answer", () =>
      Effect.gen(function*() {
        const { layer, listed } = yield* start
        const { isListed } = yield* screeningOf(layer)
        const [{ network, spellings: [address] } = { network: "base" as const, spellings: ["0x0"] }] = listed
        const answers = yield* Effect.forEach(
          Array.from({ length: 100 }),
          () => isListed(network, "mainnet", [address!]),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...new Set(answers)], [listed.length > 0])
      }))

    it.effect("ends the start where another driver is there, and says what to do", () =>
      Effect.gen(function*() {
        const { layer } = yield* start
        const reasonOf = <A, E>(exit: Exit.Exit<A, E>) => Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it started"
        const other = Layer.effectDiscard(
          Effect.flatMap(
            Screenings,
            ({ register }) => register({ name: "other", isListed: () => Effect.succeed(false) })
          )
        )
        const second = yield* Effect.exit(screeningOf(Layer.provideMerge(layer, other)))
        assert.include(reasonOf(second), "remove one of them from the config")
      }))
  })
