/** The instances of a world: each is started at its place, and again some time after it was killed. */
import { Context, Effect, type Exit, Layer, Scope } from "effect"
import { inInstance, type Instance, InstanceGone, type World } from "./World.ts"

export interface Running<A> {
  readonly instance: Instance
  readonly services: Context.Context<A>
  readonly scope: Scope.Closeable
}

/** Milliseconds a start that failed waits before the next one, as a supervisor does. */
const restartMillis = 1_000

export class Cluster<A> {
  private readonly world: World
  private readonly makeLayer: (instance: Instance) => Layer.Layer<A, unknown>
  private readonly running: Array<Running<A> | undefined>
  private starts = 0
  isEnding = false
  /** Called in the instance's own name when it has started. */
  onStart: (running: Running<A>) => void = () => undefined

  constructor(world: World, size: number, makeLayer: (instance: Instance) => Layer.Layer<A, unknown>) {
    this.world = world
    this.makeLayer = makeLayer
    this.running = Array.from({ length: size }, () => undefined)
    world.onKill = (place, absentMillis) => {
      this.running[place] = undefined
      world.after(world.outside, absentMillis, () => this.start(place))
    }
    for (let place = 0; place < size; place++) this.start(place)
  }

  private start(place: number): void {
    if (this.isEnding) return
    const { world } = this
    const instance = world.instance(`${"ABC"[place]}${++this.starts}`, place)
    const scope = Scope.makeUnsafe()
    const build = Layer.buildWithMemoMap(this.makeLayer(instance), Layer.makeMemoMapUnsafe(), scope)
    world.fork(instance, build, (exit: Exit.Exit<Context.Context<A>, unknown>) => {
      if (exit._tag === "Success") {
        const running = { instance, services: exit.value, scope }
        this.running[place] = running
        this.onStart(running)
      } else {
        world.note(`${instance.name} did not start: ${String(exit.cause)}`)
        world.kill(instance)
        world.after(world.outside, restartMillis, () => this.start(place))
      }
    })
  }

  /** Those that have started and were not killed. */
  instances(): ReadonlyArray<Running<A>> {
    return this.running.filter((each) => each !== undefined)
  }

  /** Calls what is at a place; nothing answers while nothing runs there. */
  call<B, E>(place: number, effect: Effect.Effect<B, E, A>): Effect.Effect<B, E | InstanceGone> {
    return Effect.suspend(() => {
      const running = this.running[place % this.running.length]
      return running === undefined
        ? Effect.andThen(Effect.sleep(50), Effect.fail(new InstanceGone("Nothing answers")))
        : inInstance(this.world, running.instance, Effect.provideContext(effect, running.services))
    })
  }

  /** All places have an instance that runs. */
  isComplete(): boolean {
    return this.instances().length === this.running.length
  }

  /** Waits until nothing is absent or paused, after which nothing goes wrong any more. */
  recover: Effect.Effect<void> = Effect.suspend(() => {
    this.world.endFaults()
    const wait: Effect.Effect<void> = Effect.suspend(() =>
      this.isComplete() && this.world.pausedMillis() === 0
        ? Effect.void
        : Effect.andThen(Effect.sleep(1_000), wait)
    )
    return wait
  })

  /** Stops all of them in good order. */
  stop: Effect.Effect<void> = Effect.suspend(() => {
    this.isEnding = true
    return Effect.forEach(
      this.instances(),
      ({ instance, scope }) => Effect.ignore(inInstance(this.world, instance, Scope.close(scope, exitVoid))),
      { concurrency: "unbounded", discard: true }
    )
  })
}

const exitVoid: Exit.Exit<void> = Effect.runSyncExit(Effect.void)
