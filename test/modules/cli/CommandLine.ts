/** The command `tillwire` in a process of its own, as people and scripts run it. */
import { Deferred, Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { commandLine, compileCache } from "../../support/Service.ts"

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningCommand {
  readonly child: ChildProcess
  readonly output: () => { readonly stdout: string; readonly stderr: string }
  readonly ended: Effect.Effect<Ended>
}

/** Starts `tillwire` with `words`; it is killed when the scope closes. `directory`: where it runs, else this one. Nothing of this process's environment is in it. */
export const startCommand = (
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  directory?: string
): Effect.Effect<RunningCommand, never, Scope.Scope> =>
  Effect.gen(function*() {
    const end = yield* Deferred.make<Ended>()
    let stdout = ""
    let stderr = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [commandLine(), ...words], {
          stdio: ["ignore", "pipe", "pipe"],
          cwd: directory,
          env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: compileCache, ...environment }
        })
      ),
      (running) => Effect.sync(() => void running.kill("SIGKILL"))
    )
    child.stdout.on("data", (chunk) => stdout += String(chunk))
    child.stderr.on("data", (chunk) => stderr += String(chunk))
    child.once("close", (code) => Deferred.doneUnsafe(end, Effect.succeed({ code, stdout, stderr })))
    return { child, output: () => ({ stdout, stderr }), ended: Deferred.await(end) }
  })

/** Runs `tillwire` to its end. */
export const runCommand = (
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  directory?: string
) => Effect.scoped(Effect.flatMap(startCommand(words, environment, directory), ({ ended }) => ended))
