/** What a process uses, and what it stands on: measured when metrics are read, so that it costs nothing between. */
import { Clock, Effect, Metric, MutableRef } from "effect"
import { statfs } from "node:fs/promises"

const heap = Metric.gauge("process_heap_bytes", { description: "Memory of the process that JavaScript uses" })
const processor = Metric.counter("process_cpu_seconds_total", {
  description: "Processor time of the process, its threads included",
  incremental: true
})
const busy = Metric.gauge("process_event_loop_busy_ratio", {
  description: "Share of the time since the metrics were read before in which the event loop worked: near 1, calls wait"
})
const clockStep = Metric.gauge("clock_step_seconds", {
  description: "By how much the clock of the machine was set since the start, forward or (negative) back"
})
const free = Metric.gauge("data_directory_free_bytes", {
  description: "Space that is left for the service on the file system of its data directory"
})
const size = Metric.gauge("data_directory_size_bytes", {
  description: "Size of the file system of the data directory"
})

/** Readings of two clocks at once, in milliseconds. */
export interface ClockReading {
  readonly wallMillis: number
  readonly monotonicMillis: number
}

/** Seconds by which the wall clock moved more than the monotonic one. Pure. */
export const clockStepSeconds = (start: ClockReading, now: ClockReading): number =>
  Math.round(now.wallMillis - start.wallMillis - (now.monotonicMillis - start.monotonicMillis)) / 1_000

// The clocks of the machine itself: the service's own may be set apart on devnet.
const machineClock = Clock.Clock.defaultValue()
const readClocks = (): ClockReading => ({
  wallMillis: machineClock.currentTimeMillisUnsafe(),
  monotonicMillis: performance.now()
})

/** Makes what measures the process; `dataDirectory` may not exist. */
export const makeProcessMetrics = (dataDirectory: string): Effect.Effect<void> => {
  const start = readClocks()
  const processorSeconds = MutableRef.make(0)
  const utilization = MutableRef.make(performance.eventLoopUtilization())
  return Effect.gen(function*() {
    yield* Metric.update(heap, process.memoryUsage().heapUsed)
    const { system, user } = process.cpuUsage()
    const seconds = (system + user) / 1e6
    yield* Metric.update(processor, seconds - MutableRef.getAndSet(processorSeconds, seconds))
    const now = performance.eventLoopUtilization()
    yield* Metric.update(
      busy,
      performance.eventLoopUtilization(now, MutableRef.getAndSet(utilization, now)).utilization
    )
    yield* Metric.update(clockStep, clockStepSeconds(start, readClocks()))
    const space = yield* Effect.option(Effect.tryPromise(() => statfs(dataDirectory)))
    if (space._tag === "None") return
    const { bavail, blocks, bsize } = space.value
    yield* Metric.update(free, bavail * bsize)
    yield* Metric.update(size, blocks * bsize)
  })
}
