/**
 * Load as a process of its own, cheap enough not to be what is measured: prepared bytes over raw keep-alive sockets,
 * one request at a time on each. `rate` makes it an open loop: requests start by the clock and wait for a free socket.
 */
import { Effect } from "effect"
import { connect } from "node:net"
import { cpuMicros, runRole, say, specification } from "../support/Process.ts"

export interface LoadSpec {
  readonly port: number
  readonly callers: number
  readonly seconds: number
  readonly method: "GET" | "POST"
  /** One of them is taken at random for each request. */
  readonly paths: ReadonlyArray<string>
  /** Header lines of every request, each ended by CRLF. */
  readonly head?: string
  /** Those that go with the path in the same place. */
  readonly heads?: ReadonlyArray<string>
  /** API keys, one of them taken at random for each request; none: the requests carry none. */
  readonly keys: ReadonlyArray<string>
  /** The status of every answer; default 200. */
  readonly status?: number
  readonly body?: string
  /**
   * Numbers the requests from here on: `{n}` in the body is the number as 12 hex digits, and path and key are that many
   * places into `paths` and `keys`, so that each request can be about something of its own.
   */
  readonly first?: number
  /** Sends an `Idempotency-Key` of its own with each request. */
  readonly keyed?: boolean
  /** Asks again what was answered 503, a second later, as clients must; absent: such an answer ends the load. */
  readonly repeatsRefused?: boolean
  /** Ends earlier, when so many were answered. */
  readonly count?: number
  /** Requests a second; absent: as fast as they are answered. */
  readonly rate?: number
}

export interface LoadResult {
  readonly count: number
  readonly perSecond: number
  /** Milliseconds from when a request was due to its whole answer. */
  readonly p50: number
  readonly p99: number
  /** Microseconds of CPU that the load itself spent for each request. */
  readonly loadCpuEach: number
  /** Answers 503 that were asked for again; the wait of such a request is from its first try. */
  readonly refused: number
}

/** As the service says in `Retry-After`. */
const refusedMillis = 1_000

const anyOf = (values: ReadonlyArray<string>): string | undefined => values[Math.floor(Math.random() * values.length)]

const generate = (spec: LoadSpec) => {
  const { callers, rate, seconds } = spec
  const most = spec.count ?? Infinity
  const waits: Array<number> = []
  const end = performance.now() + seconds * 1_000
  const start = performance.now()
  const cpuBefore = process.cpuUsage()
  const { first, status = 200 } = spec
  const bodyOf = (number: number) => (spec.body ?? "").replace("{n}", number.toString(16).padStart(12, "0"))
  const bodyBytes = Buffer.byteLength(bodyOf(0))
  const bodyHead = bodyBytes === 0 ? "" : `content-type: application/json\r\ncontent-length: ${bodyBytes}\r\n`
  let sent = 0
  let open = callers
  let refused = 0
  const due: Array<number> = []
  const idle: Array<(at: number) => void> = []

  const bytes = () => {
    const number = (first ?? 0) + sent
    const at = (first === undefined ? Math.floor(Math.random() * spec.paths.length) : number) % spec.paths.length
    const path = spec.paths[at]!
    const apiKey = first === undefined ? anyOf(spec.keys) : spec.keys[number % spec.keys.length]
    const auth = (apiKey === undefined ? "" : `x-api-key: ${apiKey}\r\n`) + (spec.head ?? "") + (spec.heads?.[at] ?? "")
    const key = spec.keyed === true ? `idempotency-key: b-${process.pid}-${start}-${sent}\r\n` : ""
    sent++
    return `${spec.method} ${path} HTTP/1.1\r\nhost: till\r\n${auth}${key}${bodyHead}\r\n${bodyOf(number)}`
  }

  let finished = false
  const finish = () => {
    if (finished) return
    finished = true
    waits.sort((a, b) => a - b)
    const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0
    const elapsed = (performance.now() - start) / 1_000
    const { system, user } = process.cpuUsage(cpuBefore)
    const loadCpuEach = (system + user) / waits.length
    const [count, p50, p99] = [waits.length, at(0.5), at(0.99)]
    say({ count, perSecond: count / elapsed, p50, p99, loadCpuEach, refused } satisfies LoadResult)
    process.exitCode = 0
    process.disconnect()
  }

  for (let caller = 0; caller < callers; caller++) {
    const socket = connect(spec.port, "127.0.0.1").setNoDelay(true)
    let began = 0
    let left = -1
    let head = ""
    let asked = ""
    let isRefused = false
    const ask = (at: number) => {
      began = at
      asked = bytes()
      socket.write(asked)
    }
    const next = () => {
      if (performance.now() >= end || waits.length >= most) {
        socket.destroy()
        if (--open === 0) finish()
      } else if (rate === undefined) ask(performance.now())
      else if (due.length > 0) ask(due.shift()!)
      else idle.push(ask)
    }
    socket.on("data", (chunk) => {
      if (left < 0) {
        head += chunk.toString("latin1")
        const headEnd = head.indexOf("\r\n\r\n")
        if (headEnd < 0) return
        isRefused = spec.repeatsRefused === true && head.startsWith("HTTP/1.1 503")
        if (!isRefused && !head.startsWith(`HTTP/1.1 ${status}`)) throw new Error(head.slice(0, 800))
        const length = /content-length: (\d+)/i.exec(head)?.[1]
        // Without a length there is no body: its one chunk is the last.
        if (length === undefined && status !== 304 && !head.endsWith("0\r\n\r\n")) return
        left = length === undefined ? 0 : Number(length) - (head.length - headEnd - 4)
        head = ""
      } else left -= chunk.length
      if (left > 0) return
      left = -1
      if (isRefused) {
        refused++
        return void setTimeout(() => socket.write(asked), refusedMillis)
      }
      waits.push(performance.now() - began)
      next()
    })
    socket.once("connect", next)
  }

  if (rate !== undefined) {
    let scheduled = 0
    const clock = setInterval(() => {
      const now = performance.now()
      while (start + scheduled * 1_000 / rate <= now && now < end) {
        const at = start + scheduled++ * 1_000 / rate
        const free = idle.shift()
        if (free === undefined) due.push(at)
        else free(at)
      }
      if (now < end) return
      clearInterval(clock)
      // Sockets that wait for work have none left to wait for.
      open -= idle.length
      if (open <= 0) finish()
    }, 1)
  }
}

/** A load, and the microseconds of CPU that the process under it spent for each request. */
export type Driven = LoadResult & { readonly cpuEach: number }

/** Runs a load and says what it saw, beside the CPU that `pid` spent for each request. */
export const drive = (pid: number, spec: LoadSpec): Effect.Effect<Driven> =>
  Effect.suspend(() => {
    const before = cpuMicros(pid)
    return Effect.map(runRole<LoadResult>(new URL("load.ts", import.meta.url), spec), (result) => ({
      ...result,
      cpuEach: (cpuMicros(pid) - before) / result.count
    }))
  })

/** Two windows of a warm-up whose CPU differs by less than this share: the compiler has done its work. */
const steadyShare = 0.05

/** Windows of a warm-up, at most: where others use the machine, no two need be alike. */
const maximumWindows = 8

/** Repeats a load until the CPU for each request is steady; answers the windows. */
export const warmUp = (pid: number, window: LoadSpec): Effect.Effect<ReadonlyArray<Driven>> =>
  Effect.gen(function*() {
    const windows: Array<Driven> = []
    while (windows.length < maximumWindows) {
      const driven = yield* drive(pid, window)
      const previous = windows.at(-1)
      windows.push(driven)
      if (previous !== undefined && Math.abs(driven.cpuEach / previous.cpuEach - 1) < steadyShare) break
    }
    return windows
  })

if (import.meta.main) generate(specification<LoadSpec>())
