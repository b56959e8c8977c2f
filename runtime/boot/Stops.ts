/** What stops the service in order: signals, a closed terminal, an output that nobody reads any more. */
import { Option } from "effect"
import { readFileSync } from "node:fs"
import { basename } from "node:path"

/** What asked the service to stop. */
export type StopReason = "SIGINT" | "SIGTERM" | "SIGHUP" | "closed output"

/** What was asked of this process so far. */
export interface Stops {
  /** Calls `listener` once, when the first stop is asked for; at once if it was already. */
  readonly onFirst: (listener: (reason: StopReason) => void) => void
  /** Whether SIGHUP is ignored, because whoever started this process wanted it to outlive its terminal. */
  readonly isHangUpIgnored: boolean
}

/**
 * Errors of an output without a reader: a pipe whose other end is closed, a terminal that is gone. After any other
 * error, such as a full disk under a log file, the service goes on without those log lines.
 */
const brokenOutputCodes: ReadonlySet<string> = new Set(["EPIPE", "EIO"])

/** How many ancestors are looked at, at most: `nohup npm start` is two above. */
const maximumAncestors = 16

/**
 * What the Linux kernel says of a process; undefined where it says nothing.
 *
 * `ignoresHangUp`: SIGHUP is signal 1, the lowest bit of the mask `SigIgn` in proc(5).
 */
const processStatus = (pid: number) =>
  Option.getOrUndefined(
    Option.liftThrowable(() => {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
      // After the name, which may hold anything: state, parent, process group, session.
      const [, parent, , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number)
      const ignored = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "0"
      return { parent: parent!, session: session!, ignoresHangUp: (Number.parseInt(ignored, 16) & 1) === 1 }
    })()
  )

/**
 * Whether this process was started by `nohup`, or below a shell that ignores SIGHUP. A process inherits that SIGHUP is
 * ignored, but Node and npm set the signal back to its default when they start, so it cannot be seen in this process:
 * it is seen in `startedProgram`, the variable `_` in which shells leave the path of the program that they start, and
 * on Linux in the ancestors of the same session.
 */
const isStartedWithoutHangUp = (startedProgram: string | undefined): boolean => {
  if (basename(startedProgram ?? "") === "nohup") return true
  const own = processStatus(process.pid)
  let pid = own?.parent ?? 0
  for (let level = 0; level < maximumAncestors && pid > 0; level++) {
    const ancestor = processStatus(pid)
    if (ancestor === undefined || ancestor.session !== own!.session) return false
    if (ancestor.ignoresHangUp) return true
    pid = ancestor.parent
  }
  return false
}

/**
 * From now on SIGHUP and an output without a reader do what SIGTERM does. Without this Node ends at once and leaves the
 * embedded database server, another process, running. Under `nohup` a SIGHUP does nothing. Call it once in a process,
 * with the environment variable `_`.
 */
export const watchStops = (startedProgram: string | undefined): Stops => {
  const isHangUpIgnored = isStartedWithoutHangUp(startedProgram)
  const listeners: Array<(reason: StopReason) => void> = []
  let first: StopReason | undefined
  const record = (reason: StopReason) => {
    if (first !== undefined) return
    first = reason
    for (const listener of listeners) listener(reason)
  }
  const stop = (reason: StopReason) => {
    if (first !== undefined) return
    record(reason)
    process.emit("SIGTERM", "SIGTERM")
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => record(signal))
  process.on("SIGHUP", () => {
    if (!isHangUpIgnored) stop("SIGHUP")
  })
  for (const output of [process.stdout, process.stderr]) {
    // `on`, not `once`: every line written during the stop fails as well.
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (brokenOutputCodes.has(error.code ?? "")) stop("closed output")
    })
  }
  return {
    isHangUpIgnored,
    onFirst: (listener) => {
      if (first === undefined) listeners.push(listener)
      else listener(first)
    }
  }
}
