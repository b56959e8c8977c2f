/** `tillwire migrate`: the tables brought to this build's version before a start does it, and what is still to run. */
import { Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { resolveSettings } from "../../../runtime/boot.ts"
import { migrationSets, stateOf, storeOf } from "../../../runtime/boot/Kernel.ts"
import { readMigrationState } from "../../../runtime/Migrate.ts"
import { answer, say, table } from "../Output.ts"
import { loadConfig } from "../ServiceConfig.ts"

const readStates = Effect.gen(function*() {
  const { config } = yield* loadConfig
  const { dataDirectory } = yield* resolveSettings(config, "none")
  return yield* Effect.provide(
    Effect.forEach(migrationSets(config), ({ migrations, name }) => readMigrationState(name, migrations)),
    storeOf(config, dataDirectory, "single")
  )
})

const showStates = Effect.gen(function*() {
  const states = yield* readStates
  yield* answer({ object: "list", data: states }, (paint) =>
    table(
      ["tables", "applied", "to run"],
      states.map(({ applied, name, pending }) => [name, applied.length, pending.join(" ") || "none"]),
      paint
    ))
})

const status = Command.make("status", {}, () => showStates).pipe(
  Command.withDescription("Show what the database holds and what is still to run; change nothing")
)

const up = Command.make("up", {
  dryRun: Flag.Boolean("dry-run").pipe(Flag.withDescription("Only show what would run"), Flag.withDefault(false))
}, ({ dryRun }) =>
  dryRun ? showStates : Effect.gen(function*() {
    const { config } = yield* loadConfig
    const settings = yield* resolveSettings(config, "migrate")
    yield* Effect.scoped(Layer.build(stateOf(config, settings, "single")))
    yield* say("the tables are at this version")
  })).pipe(Command.withDescription("Bring the tables to this version"))

export const command = Command.make("migrate").pipe(
  Command.withSubcommands([up, status]),
  Command.withExamples([
    { command: "tillwire migrate up --dry-run -c config/mainnet.jsonc", description: "Before an upgrade" }
  ])
)
