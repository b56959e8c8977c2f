/**
 * The entry of the command `tillwire`. `bin.cjs` comes before it, which turns on the compile cache: the cache only
 * knows what is loaded after it.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { environment } from "./Environment.ts"
import { exitCodeOf } from "./Failure.ts"
import { run } from "./Program.ts"

const program = run(process.argv.slice(2)).pipe(
  Effect.provideService(environment, process.env),
  Effect.provide(NodeServices.layer)
)

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit, process.exitCode))
})
