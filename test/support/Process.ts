/** Roles of a test or a measurement as processes of their own, and what the operating system says they spent. */
import { Effect, type Scope } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"

/** Ticks of /proc/<pid>/stat in a second: fixed by the Linux ABI. */
const ticksPerSecond = 100

/** The fields of a `stat` file (proc(5)) from the third on, which is the state: the second may hold spaces. */
const statFields = (path: string): ReadonlyArray<string> => {
  const stat = readFileSync(path, "latin1")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
}

/** Microseconds of CPU, user and system, that a process has used. */
export const cpuMicros = (pid: number): number => {
  const fields = statFields(`/proc/${pid}/stat`)
  // Fields 14 and 15 of proc(5), counted from the state, which is field 3.
  return (Number(fields[11]) + Number(fields[12])) * (1_000_000 / ticksPerSecond)
}

/** Megabytes (10^6 bytes) of a process that are in memory. */
export const residentMegabytes = (pid: number): number => {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]
  return Number(kilobytes) * 1024 / 1e6
}

/** Whether a process is there and is no zombie. */
export const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"))
  } catch {
    return false
  }
}

/** Whether no thread of a process runs: each is stopped or a zombie, or the process has ended. */
const isStopped = (pid: number): boolean => {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      ["T", "Z", "X"].includes(statFields(`/proc/${pid}/task/${thread}/stat`)[0]!)
    )
  } catch {
    // A thread or the process ended meanwhile.
    return !isAlive(pid)
  }
}

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

/** Stops a process until it is resumed. Waited for, because its threads go on for a while after the signal. */
export const stopProcess = (pid: number): Effect.Effect<void> =>
  Effect.promise(async () => {
    signal(pid, "SIGSTOP")
    while (!isStopped(pid)) await setTimeout(1)
  })

/** Lets a stopped process go on. */
export const resumeProcess = (pid: number): Effect.Effect<void> => Effect.sync(() => signal(pid, "SIGCONT"))

/** `file` as a child, run with `spec` as its one argument, as JSON, and with no flags but `flags`. */
const started = (file: URL, spec: object, flags: ReadonlyArray<string> = []): ChildProcess =>
  fork(file.pathname, [JSON.stringify(spec)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: [...flags],
    serialization: "advanced"
  })

/** Starts a child, and resumes with its first message. The child must end by itself. */
export const runRole = <A>(file: URL, spec: object): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    const child = started(file, spec)
    child.once("message", (said) => resume(Effect.succeed(said as A)))
    child.once("exit", (code) => resume(Effect.die(new Error(`${file.pathname} ended with ${code} and said nothing`))))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** A child that serves until its scope closes. */
export interface Role<A> {
  readonly pid: number
  /** The first thing it said. */
  readonly said: A
  /** Asks it something; it answers by {@link answerQuestions}. */
  readonly ask: <B>(question: object) => Effect.Effect<B>
}

/** Starts a child that serves until the scope closes. */
export const serveRole = <A>(
  file: URL,
  spec: object,
  flags?: ReadonlyArray<string>
): Effect.Effect<Role<A>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly child: ChildProcess; readonly said: A }>((resume) => {
      const child = started(file, spec, flags)
      child.once("message", (said) => resume(Effect.succeed({ child, said: said as A })))
      child.once("exit", (code) => resume(Effect.die(new Error(`${file.pathname} ended with ${code}`))))
    }),
    ({ child }) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = new Promise((resolve) => child.once("exit", resolve))
        child.kill("SIGKILL")
        await gone
      })
  ).pipe(Effect.map(({ child, said }) => {
    const waiting = new Map<number, (answer: Effect.Effect<any>) => void>()
    let lastQuestionId = 0
    child.on("message", ({ answer, questionId }: { readonly questionId: number; readonly answer: unknown }) => {
      waiting.get(questionId)?.(Effect.succeed(answer))
      waiting.delete(questionId)
    })
    child.once("exit", (code) => {
      for (const resume of waiting.values()) resume(Effect.die(new Error(`${file.pathname} ended with ${code}`)))
    })
    const ask = <B>(question: object) =>
      Effect.callback<B>((resume) => {
        const questionId = ++lastQuestionId
        waiting.set(questionId, resume)
        child.send({ questionId, question })
      })
    return { pid: child.pid!, said, ask }
  }))

/** The specification a role was started with. */
export const specification = <A>(): A => JSON.parse(process.argv[2] ?? "{}") as A

/** Answers whoever started this role. */
export const say = (said: object): void => void process.send!(said)

/** Answers each question of whoever started this role, in its own time. */
export const answerQuestions = <A>(answer: (question: A) => object | Promise<object>): void =>
  void process.on(
    "message",
    async ({ question, questionId }: { readonly questionId: number; readonly question: A }) =>
      say({ questionId, answer: await answer(question) })
  )
