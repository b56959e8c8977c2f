/** All commands as one tree, for a command that has to know the others. */
import { Context, Effect } from "effect"
import { Command } from "effect/cli"

/** A command with the ones below it, ready to run. */
export type RunnableCommand = Command.Command<any, any, any, any, any>

/** Every command with all of its flags; `Program.ts` provides it. */
export const wholeTree = Context.Reference<Effect.Effect<RunnableCommand>>("tillwire/cli/wholeTree", {
  defaultValue: () => Effect.succeed(Command.make("tillwire"))
})
