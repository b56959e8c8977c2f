/**
 * A world: what every fiber of every instance would do next, every call of the database and everything that waits for a
 * time, in one bag. At each step a seed takes one of them. Nothing else runs, so the same seed is the same run.
 *
 * Time only passes when the world says so. A killed instance is one of which nothing is taken any more.
 */
import { Cause, Clock, Context, Duration, Effect, type Exit, Logger, Random, References, Scheduler } from "effect"
import { createHash } from "node:crypto"
import { MachineClock, ProcessTimers } from "../../runtime/Clock.ts"
import { makeUuidSource, UuidSource } from "../../runtime/Uuid.ts"
import { drawsOf } from "./Draws.ts"
import { type Fault, nameOf } from "./Faults.ts"

/** How a run is done: everything that decides what happens in it. */
export interface Plan {
  readonly seed: number
  readonly faults: ReadonlyArray<Fault>
  /** From this step on what is oldest is taken, and no fiber is cut short: as little chance as there can be. */
  readonly orderlyFrom: number
}

/** Milliseconds since 1970 when a world begins. */
export const epochMillis = 1_700_000_000_000

/** Steps after which a run is given up: something goes round without end. */
const maximumSteps = 400_000

/** Milliseconds of the world after which a run is given up. */
const maximumMillis = 24 * 3_600_000

/** Operations of a fiber before another one may run, at most. */
const maximumOperations = 60

/** A timer that is this near may be due before what is ready has run: processors are slow at times. */
const hurryMillis = 100
const hurryProbability = 1 / 128

/** A UUID of version 4 made of a number of 0 to 1 drawn twice. */
const uuidFrom = (fraction: () => number): string => {
  const hex = (digits: number) => Math.floor(fraction() * 16 ** digits).toString(16).padStart(digits, "0")
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`
}

/** A process of the service, or the outside: those who use it. */
export interface Instance {
  readonly name: string
  /** Null: the outside, which is never killed, stalled or wrong about the time. */
  readonly place: number | null
  isAlive: boolean
  /** By the world's time: nothing of it runs before. */
  stalledUntil: number
  /** How far its time of day is off. */
  offsetMillis: number
  /** Clock, scheduler, random numbers: what its fibers run under. */
  readonly context: Context.Context<never>
  /** Told when it is killed. */
  readonly onEnd: Set<() => void>
}

interface Task {
  readonly owner: Instance
  readonly run: () => void
}

interface Timer extends Task {
  readonly at: number
}

/** Something asked of the database: done at once when it is taken, and answered by a task of its owner. */
export interface DatabaseCall {
  readonly owner: Instance
  /** Which connection it is on. */
  readonly session: object
  readonly readyAt: number
  readonly perform: () => Promise<void>
}

/** Nothing can happen any more although the run is not over, or it never ends. */
export class StandstillError extends Error {}

export class World {
  readonly plan: Plan
  now = 0
  steps = 0
  calls = 0
  /** How far the database's time of day is off. */
  databaseOffsetMillis = 0
  /** The connection of the transaction that is under way: a call of another one waits until it has ended. */
  transaction: object | null = null
  /** Faults that happened. */
  readonly struck: Array<Fault> = []
  /** What instances logged at level warning and above, with `SIMULATION_LOG=1` for each step too. */
  readonly log: Array<string> = []
  onKill: (place: number, absentMillis: number) => void = () => undefined
  onDisturbance: (number: number) => void = () => undefined
  readonly outside: Instance

  /** When the last delayed call is over. */
  private delayedUntil = 0
  private readonly schedule
  private readonly ready: Array<Task> = []
  private readonly timers: Array<Timer> = []
  private readonly pending: Array<DatabaseCall> = []
  private readonly instances: Array<Instance> = []
  private readonly trace = createHash("sha256")
  private operations = maximumOperations
  private readonly stepFaults: Array<Fault & { readonly atStep: number }>
  private readonly callFaults: Map<number, Fault>

  constructor(plan: Plan) {
    this.plan = plan
    this.schedule = drawsOf(plan.seed, "schedule")
    this.stepFaults = plan.faults.filter((fault) => "atStep" in fault).toSorted((a, b) => a.atStep - b.atStep)
    this.callFaults = new Map(plan.faults.flatMap((fault) => "atCall" in fault ? [[fault.atCall, fault]] : []))
    this.outside = this.instance("outside", null)
  }

  /** Adds to what two runs of a seed must agree on. */
  note(text: string): void {
    this.trace.update(`${text}\n`)
    if (process.env["SIMULATION_LOG"] === "1") console.log(`${this.steps} ${Math.round(this.now)} ${text}`)
  }

  hash(): string {
    return this.trace.copy().digest("hex").slice(0, 16)
  }

  /** An instance that runs from now on. */
  instance(name: string, place: number | null): Instance {
    const draws = drawsOf(this.plan.seed, `instance ${name}`)
    const dispatcher: Scheduler.SchedulerDispatcher = {
      scheduleTask: (run) => this.soon(instance, run),
      flush: () => undefined
    }
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      shouldYield: ({ currentOpCount }) => currentOpCount >= this.operations,
      makeDispatcher: () => dispatcher
    }
    const wallMillis = () => Math.floor(epochMillis + this.now + instance.offsetMillis)
    const nanos = (millis: number) => BigInt(Math.round(millis * 1_000)) * 1_000n
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: wallMillis,
      currentTimeMillis: Effect.sync(wallMillis),
      currentTimeNanosUnsafe: () => BigInt(wallMillis()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(wallMillis()) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => nanos(this.now),
      monotonicTimeNanos: Effect.sync(() => nanos(this.now)),
      sleep: (duration) => {
        const millis = Duration.toMillis(duration)
        if (!Number.isFinite(millis)) return Effect.never
        return millis <= 0
          ? Effect.yieldNow
          : Effect.callback<void>((resume) => {
            const cancel = this.after(instance, millis, () => resume(Effect.void))
            return Effect.sync(cancel)
          })
      }
    }
    const logger = Logger.make<unknown, void>(({ cause, logLevel, message }) => {
      const line = `${name} ${logLevel}: ${
        [message].flat().map((part) =>
          part instanceof Error
            ? part.message
            : JSON.stringify(part, (_, value) => typeof value === "bigint" ? String(value) : value)
        ).join(" ")
      }`
      this.log.push(cause.reasons.length === 0 ? line : `${line} ${Cause.pretty(cause).slice(0, 400)}`)
      this.note(line)
    })
    const instance: Instance = {
      name,
      place,
      isAlive: true,
      stalledUntil: 0,
      offsetMillis: 0,
      onEnd: new Set(),
      context: Context.empty().pipe(
        Context.add(Scheduler.Scheduler, scheduler),
        Context.add(Clock.Clock, clock),
        Context.add(MachineClock, clock),
        Context.add(ProcessTimers, {
          millis: () => this.now,
          after: (millis, run) => void this.after(instance, millis, run)
        }),
        Context.add(UuidSource, makeUuidSource(() => uuidFrom(draws.fraction))),
        Context.add(Random.Random, {
          nextIntUnsafe: () => draws.below(2 ** 31),
          nextDoubleUnsafe: draws.fraction
        }),
        Context.add(References.MinimumLogLevel, "Warn"),
        Context.add(Logger.CurrentLoggers, new Set([logger]))
      )
    }
    this.instances.push(instance)
    return instance
  }

  /** Puts something into the bag. */
  soon(owner: Instance, run: () => void): void {
    if (owner.isAlive) this.ready.push({ owner, run })
  }

  /** Puts something into the bag when so long has passed; what it answers takes it out again. */
  after(owner: Instance, millis: number, run: () => void): () => void {
    const timer: Timer = { owner, at: this.now + millis, run }
    if (owner.isAlive) this.timers.push(timer)
    return () => {
      const index = this.timers.indexOf(timer)
      if (index >= 0) this.timers.splice(index, 1)
    }
  }

  /** The fault that the next call of the database meets, if any. Counts calls. */
  nextCallFault(): Fault | undefined {
    const fault = this.callFaults.get(this.calls++)
    if (fault !== undefined) this.strike(fault)
    if (fault?._tag === "CallDelayed") this.delayedUntil = Math.max(this.delayedUntil, this.now + fault.millis)
    return fault
  }

  addCall(call: DatabaseCall): () => void {
    if (call.owner.isAlive) this.pending.push(call)
    return () => {
      const index = this.pending.indexOf(call)
      // What was sent may be executed although nobody waits for it any more.
      if (index >= 0 && this.schedule.happens(0.5)) this.pending.splice(index, 1)
    }
  }

  /** Runs an effect as a fiber of an instance, from a later step on. */
  fork<A, E>(
    owner: Instance,
    effect: Effect.Effect<A, E>,
    onExit: (exit: Exit.Exit<A, E>) => void = () => undefined
  ): void {
    this.soon(owner, () => void Effect.runForkWith(owner.context)(effect).addObserver(onExit))
  }

  /** Ends an instance: nothing of it happens after this, not even what ends a scope. */
  kill(instance: Instance): void {
    instance.isAlive = false
    for (const list of [this.ready, this.timers, this.pending]) {
      list.splice(0, list.length, ...list.filter(({ owner }) => owner !== instance) as Array<never>)
    }
    for (const told of instance.onEnd) told()
    instance.onEnd.clear()
    this.instances.splice(this.instances.indexOf(instance), 1)
  }

  atPlace(place: number): Instance | undefined {
    return this.instances.find((instance) => instance.place === place)
  }

  /** Nothing goes wrong from now on. What is paused or absent already comes back in its time. */
  endFaults(): void {
    this.stepFaults.length = 0
    this.callFaults.clear()
    this.note("no more faults")
  }

  /** Milliseconds until nothing is paused any more, and no call is under way that was delayed. */
  pausedMillis(): number {
    return Math.max(
      0,
      this.delayedUntil - this.now,
      ...this.instances.map(({ stalledUntil }) => stalledUntil - this.now)
    )
  }

  private strike(fault: Fault): void {
    this.struck.push(fault)
    this.note(nameOf(fault))
  }

  private strikeStep(fault: Fault): void {
    switch (fault._tag) {
      case "InstanceKilled": {
        const instance = this.atPlace(fault.place)
        if (instance === undefined) return
        this.strike(fault)
        this.kill(instance)
        return this.onKill(fault.place, fault.absentMillis)
      }
      case "InstanceStalled": {
        const instance = this.atPlace(fault.place)
        if (instance === undefined) return
        this.strike(fault)
        instance.stalledUntil = Math.max(instance.stalledUntil, this.now + fault.millis)
        return
      }
      case "ClockStepped": {
        const instance = fault.place === null ? undefined : this.atPlace(fault.place)
        if (fault.place !== null && instance === undefined) return
        this.strike(fault)
        if (instance === undefined) this.databaseOffsetMillis += fault.millis
        else instance.offsetMillis += fault.millis
        return
      }
      case "Disturbance":
        this.strike(fault)
        return this.onDisturbance(fault.number)
    }
  }

  private isFree({ owner }: Task | DatabaseCall): boolean {
    return owner.stalledUntil <= this.now
  }

  /** When a timer fires: the timers of an instance that is stalled wait until it runs again. */
  private dueAt({ at, owner }: Timer): number {
    return Math.max(at, owner.stalledUntil)
  }

  private nextTimer(): Timer | undefined {
    let least = Infinity
    let found: Array<Timer> = []
    for (const timer of this.timers) {
      const at = this.dueAt(timer)
      if (at < least) {
        least = at
        found = [timer]
      } else if (at === least) found.push(timer)
    }
    return this.isOrderly() ? found[0] : found.length === 0 ? undefined : this.schedule.oneOf(found)
  }

  private isOrderly(): boolean {
    return this.steps >= this.plan.orderlyFrom
  }

  private fire(timer: Timer): void {
    this.now = Math.max(this.now, this.dueAt(timer))
    this.timers.splice(this.timers.indexOf(timer), 1)
    this.note(`time ${Math.round(this.now * 1_000)} ${timer.owner.name}`)
    timer.run()
  }

  /** The next thing that happens; false when nothing can. */
  private async step(): Promise<boolean> {
    this.steps++
    while (this.stepFaults.length > 0 && this.stepFaults[0]!.atStep <= this.steps) {
      this.strikeStep(this.stepFaults.shift()!)
    }
    const isOrderly = this.isOrderly()
    this.operations = isOrderly ? Infinity : 1 + this.schedule.below(maximumOperations)
    const tasks = this.ready.filter((task) => this.isFree(task))
    const calls = this.pending.filter((call) =>
      this.isFree(call) && call.readyAt <= this.now && (this.transaction === null || this.transaction === call.session)
    )
    const choices = tasks.length + calls.length
    const timer = choices === 0 || !isOrderly && this.schedule.happens(hurryProbability) ? this.nextTimer() : undefined
    if (timer !== undefined && (choices === 0 || this.dueAt(timer) <= this.now + hurryMillis)) {
      this.fire(timer)
      return true
    }
    if (choices === 0) return this.wake()
    const choice = isOrderly ? 0 : this.schedule.below(choices)
    if (choice < tasks.length) {
      const task = tasks[choice]!
      this.ready.splice(this.ready.indexOf(task), 1)
      this.note(`task ${choice}/${choices} ${task.owner.name}`)
      task.run()
    } else {
      const call = calls[choice - tasks.length]!
      this.pending.splice(this.pending.indexOf(call), 1)
      await call.perform()
    }
    return true
  }

  /** Lets time pass until an instance that is stalled, or a call that is delayed, goes on. */
  private wake(): boolean {
    const times = [
      ...this.ready.map(({ owner }) => owner.stalledUntil),
      ...this.pending.map(({ owner, readyAt }) => Math.max(owner.stalledUntil, readyAt))
    ].filter((time) => time > this.now)
    if (times.length === 0) return false
    this.now = Math.min(...times)
    return true
  }

  /** Goes on until `isOver`. Promises that the service waits for are settled between two steps. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await settle()
      if (isOver()) return
      if (!await this.step()) throw new StandstillError("Nothing can happen any more, and the run is not over")
      if (this.steps > maximumSteps) throw new StandstillError(`The run is not over after ${maximumSteps} steps`)
      if (this.now > maximumMillis) {
        throw new StandstillError(`The run is not over after ${maximumMillis / 3_600_000} hours of its time`)
      }
    }
  }

  /** Runs `effect` outside of all instances and answers what it comes to. */
  async complete<A, E>(effect: Effect.Effect<A, E>): Promise<A> {
    let exit: Exit.Exit<A, E> | undefined
    this.fork(this.outside, effect, (found) => exit = found)
    await this.run(() => exit !== undefined)
    return Effect.runPromise(exit!)
  }
}

/** Lets everything run that promises and `setImmediate` have ready. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** What a caller learns of an instance that was killed while it worked for it. */
export class InstanceGone extends Error {}

/**
 * Runs an effect in an instance and brings its answer out, as a call over the network does: whoever called learns
 * nothing of an instance that was killed but that the connection is gone.
 */
export const inInstance = <A, E>(world: World, instance: Instance, effect: Effect.Effect<A, E>) =>
  Effect.callback<A, E | InstanceGone>((resume) => {
    const gone = () => world.soon(world.outside, () => resume(Effect.fail(new InstanceGone("The connection is gone"))))
    if (!instance.isAlive) return gone()
    instance.onEnd.add(gone)
    world.fork(instance, effect, (exit) => {
      if (!instance.onEnd.delete(gone)) return
      world.soon(world.outside, () => resume(exit))
    })
    return Effect.sync(() => void instance.onEnd.delete(gone))
  })
