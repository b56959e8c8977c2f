/** Contestants as processes of their own, and what the operating system says they spent. */
import { Effect, type Scope } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { readFileSync } from "node:fs"

/** Ticks of /proc/<pid>/stat in a second: fixed by the Linux ABI. */
const ticksPerSecond = 100

/** Microseconds of CPU, user and system, that a process has used. */
export const cpuMicros = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  // Fields 14 and 15 of proc(5), counted from the state, which is field 3.
  return (Number(fields[11]) + Number(fields[12])) * (1_000_000 / ticksPerSecond)
}

/** Megabytes (10^6 bytes) of a process that are in memory. */
export const residentMegabytes = (pid: number): number => {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]
  return Number(kilobytes) * 1024 / 1e6
}

/** A role of this folder as a child: `file` is run with `spec` as its one argument, as JSON. */
const started = (file: URL, spec: object): ChildProcess =>
  fork(file.pathname, [JSON.stringify(spec)], { stdio: ["ignore", "inherit", "inherit", "ipc"] })

/** What a child says before it ends by itself. */
export const runRole = <A>(file: URL, spec: object): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    const child = started(file, spec)
    child.once("message", (said) => resume(Effect.succeed(said as A)))
    child.once("exit", (code) => resume(Effect.die(new Error(`${file.pathname} ended with ${code} and said nothing`))))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** A child that serves until the scope closes; answers its process id and the first thing it says. */
export const serveRole = <A>(
  file: URL,
  spec: object
): Effect.Effect<{ readonly pid: number; readonly said: A }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly child: ChildProcess; readonly said: A }>((resume) => {
      const child = started(file, spec)
      child.once("message", (said) => resume(Effect.succeed({ child, said: said as A })))
      child.once("exit", (code) => resume(Effect.die(new Error(`${file.pathname} ended with ${code}`))))
    }),
    ({ child }) =>
      Effect.promise(async () => {
        if (child.exitCode !== null) return
        const gone = new Promise((resolve) => child.once("exit", resolve))
        child.kill("SIGKILL")
        await gone
      })
  ).pipe(Effect.map(({ child, said }) => ({ pid: child.pid!, said })))

/** The specification a role was started with. */
export const specification = <A>(): A => JSON.parse(process.argv[2] ?? "{}") as A

/** Answers whoever started this role. */
export const say = (said: object): void => void process.send!(said)
