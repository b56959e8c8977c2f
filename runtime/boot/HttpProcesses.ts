/**
 * The processes that serve the public port, as the first process sees them. Each opens the port itself (SO_REUSEPORT),
 * and the system deals out the connections. `node:cluster` would deal them out in the first process, more evenly, but
 * a connection that it hands to a process just as that is killed is never answered and never closed (tried); here the
 * system closes it, and the client asks again.
 */
import { Deferred, Effect, Schema, Scope } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { monotonicMillis } from "../Clock.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"
import { type Answers, makeProcessLink, type Peer, type ProcessLink, type Question } from "./ProcessLink.ts"
import { afterEnd, type QuickEnds } from "./ProcessRole.ts"

/** An HTTP process ended before it served for the first time. */
export class HttpProcessFailed extends Schema.TaggedError<HttpProcessFailed>()("HttpProcessFailed", {
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

/** The variable that tells a process which of the HTTP processes it is, 1 and up. */
export const processNumberVariable = "TILLWIRE_HTTP_PROCESS"

/** Milliseconds after which a process that does not stop is killed: the service has 10 s. */
const stopTimeoutMillis = 9_500

interface End {
  readonly code: number | null
  readonly signal: string | null
}

export interface HttpProcesses {
  /** The answers of those that answered, with the number of each. */
  readonly ask: (question: Question) => Effect.Effect<ReadonlyArray<readonly [processNumber: number, answer: unknown]>>
}

/** What health reports of HTTP processes that do not serve. Pure. */
export const processFindings = (serving: number, count: number): ReadonlyArray<Finding> =>
  serving === count ? [] : [{
    effect: serving === 0 ? "unavailable" : "degraded",
    message: `${count - serving} of ${count} HTTP processes do not serve and are being started again: look in the log `
      + "for why they ended."
  }]

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

const awaitEnd = (child: ChildProcess): Effect.Effect<End> =>
  Effect.callback<End>((resume) => {
    const onExit = (code: number | null, signal: string | null) => resume(Effect.succeed({ code, signal }))
    if (hasEnded(child)) onExit(child.exitCode, child.signalCode)
    else child.once("exit", onExit)
    return Effect.sync(() => void child.off("exit", onExit))
  })

/** Asks it to stop in order, and waits until it did. */
const stop = (child: ChildProcess): Effect.Effect<unknown> =>
  Effect.suspend(() => {
    const ended = awaitEnd(child)
    child.kill("SIGTERM")
    return Effect.timeoutOrElse(ended, {
      duration: stopTimeoutMillis,
      orElse: () => Effect.andThen(Effect.sync(() => child.kill("SIGKILL")), ended)
    })
  })

/**
 * Starts `count` processes of the same command with `environment`, waits until each serves, and keeps them running
 * until the scope closes: then all stop in order. `answers` is what they may ask this process.
 */
export const startHttpProcesses = Effect.fnUntraced(function*(
  count: number,
  environment: Readonly<Record<string, string>>,
  answers: Answers
): Effect.fn.Return<HttpProcesses, HttpProcessFailed, Scope.Scope | Health> {
  const links = new Map<number, ProcessLink>()
  const [, program = "", ...commandArguments] = process.argv

  /** One process from its start to its end. */
  const runOnce = (processNumber: number, onServing: Effect.Effect<unknown>) =>
    Effect.scoped(Effect.gen(function*() {
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          fork(program, commandArguments, {
            env: { ...process.env, ...environment, [processNumberVariable]: String(processNumber) }
          })
        ),
        (each) => hasEnded(each) ? Effect.void : stop(each)
      )
      const link = yield* makeProcessLink(child as Peer, answers)
      yield* Effect.forkScoped(Effect.andThen(
        link.awaitServing,
        Effect.andThen(Effect.sync(() => links.set(processNumber, link)), onServing)
      ))
      yield* Effect.addFinalizer(() => Effect.sync(() => void links.delete(processNumber)))
      return yield* awaitEnd(child)
    }))

  /**
   * Starts a process again whenever it ends. `failStart` answers whether it ended before it first served: then the
   * service does not start, and nothing is started again.
   */
  const keepRunning = (
    processNumber: number,
    onServing: Effect.Effect<unknown>,
    failStart: (end: End) => Effect.Effect<boolean>
  ) =>
    Effect.gen(function*() {
      let quickEnds: QuickEnds = 0
      while (true) {
        const startedAtMillis = yield* monotonicMillis
        const end = yield* runOnce(processNumber, onServing)
        if (yield* failStart(end)) return
        const next = afterEnd(quickEnds, (yield* monotonicMillis) - startedAtMillis)
        quickEnds = next.quickEnds
        yield* Effect.logError("an HTTP process ended and will be started again", {
          http_process: processNumber,
          ...end,
          delay_ms: next.delayMillis
        })
        yield* Effect.sleep(next.delayMillis)
      }
    })

  // One after the other, each would have the whole time of a stop for itself.
  const stops = yield* Scope.fork(yield* Effect.scope, "parallel")
  const processNumbers = Array.from({ length: count }, (_, index) => index + 1)
  yield* Effect.forEach(processNumbers, (processNumber) =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void, HttpProcessFailed>()
      const failStart = ({ code, signal }: End) =>
        Deferred.fail(
          started,
          new HttpProcessFailed({
            reason: `HTTP process ${processNumber} ended (${
              signal ?? `exit code ${code}`
            }) before it served: see its message above`
          })
        )
      yield* Effect.forkIn(keepRunning(processNumber, Deferred.succeed(started, undefined), failStart), stops)
      yield* Deferred.await(started)
    }), { concurrency: "unbounded", discard: true })

  yield* (yield* Health).register({
    name: "accepting",
    run: Effect.sync(() => processFindings(links.size, count))
  })

  return {
    ask: (question) =>
      Effect.map(
        Effect.forEach([...links], ([processNumber, link]) =>
          Effect.map(link.ask(question), (answer) =>
            answer._tag === "None" ? [] : [[processNumber, answer.value] as const]), { concurrency: "unbounded" }),
        (all) =>
          all.flat().toSorted(([a], [b]) =>
            a - b
          )
      )
  }
})
