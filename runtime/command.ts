/**
 * `node runtime/main.ts [--config <file>]`: start the service and nothing else; `tillwire` has every other command.
 * Exit codes: 0 stopped by a signal, 2 the config or the command line cannot be used, 1 anything else.
 */
import { exitCodeOf, reportFailure, serve } from "./boot/ServiceProcess.ts"
// One by one: the package as a whole loads a Redis client, 650 files.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { ConfigInvalid } from "./Config.ts"

const defaultConfig = "config/devnet.jsonc"

const usage = `usage: node runtime/main.ts [--config <file>]

  Starts the service. The file is ${defaultConfig} if not said, the last one of several. For other commands see tillwire --help.`

/** The config file that the command line names, or what is wrong with it. */
const fileOf = (words: ReadonlyArray<string>): Effect.Effect<string, ConfigInvalid> => {
  let file = defaultConfig
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ""
    const given = word === "--config" ? words[++at] : /^--config=(.*)$/.exec(word)?.[1]
    if (given === undefined) {
      return Effect.fail(new ConfigInvalid({ report: `cannot read "${word}"\n\n${usage}`, count: 1 }))
    }
    file = given
  }
  return Effect.succeed(file)
}

const program = Effect.flatMap(fileOf(process.argv.slice(2)), serve)

NodeRuntime.runMain(Effect.provide(Effect.tapCause(program, reportFailure), NodeServices.layer), {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit))
})
