/** `tillwire start`: the service itself, until a signal stops it. */
import { exitCodeOf, serve } from "../../../runtime/boot/ServiceProcess.ts"
import { Effect, Exit } from "effect"
import { Command } from "effect/cli"
import { configFile } from "../Flags.ts"

export const command = Command.make("start", {}, () =>
  Effect.gen(function*() {
    const file = yield* configFile
    // A service that a signal stopped in order ends with 0, where every other command that is interrupted says 130.
    return yield* Effect.onExit(serve(file), (exit) =>
      Effect.sync(() => {
        if (!Exit.isSuccess(exit)) process.exitCode = exitCodeOf(exit)
      }))
  })).pipe(Command.withExamples([
    { command: "tillwire start", description: "Play money, with everything built in" },
    { command: "tillwire start -c config/mainnet.jsonc", description: "A deployment of your own" }
  ]))
