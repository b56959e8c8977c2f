/** Reads the command line and runs the command that it names. */
import { Cause, Console, Effect, Logger, Predicate } from "effect"
import { CliOutput, Command } from "effect/cli"
import { version } from "../../runtime/telemetry/Build.ts"
import { type CommandEntry, commandList } from "./CommandList.ts"
import { type RunnableCommand, wholeTree } from "./CommandTree.ts"
import { CommandFailed } from "./Failure.ts"
import { sharedFlags } from "./Flags.ts"
import { paintFor, say } from "./Output.ts"

/** A command that is not asked for: its name and description are all that the help and a wrong word need. */
const placeholder = ({ description, name }: CommandEntry): RunnableCommand =>
  Command.make(name, {}, () => Effect.void).pipe(Command.withDescription(description))

/** Flags for all commands that take a value. */
const flagsWithValue = /^(?:-c|--config|--log-level|--completions)$/

/** The first word that is neither a flag nor the value of one. Pure. */
export const commandNameIn = (words: ReadonlyArray<string>): string | undefined => {
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (flagsWithValue.test(word)) at++
    else if (!word.startsWith("-")) return word
  }
  return undefined
}

/** The command tree in which those that `isNeeded` says are whole. */
const treeWith = (isNeeded: (name: string) => boolean) =>
  Effect.gen(function*() {
    const commands = yield* Effect.forEach(commandList, (entry) =>
      isNeeded(entry.name)
        ? Effect.map(Effect.promise(entry.load), ({ command }) =>
          command.pipe(Command.withDescription(entry.description)))
        : Effect.succeed(placeholder(entry)))
    return Command.make("tillwire").pipe(
      Command.withDescription("A crypto payments service that you run yourself"),
      Command.withGlobalFlags(sharedFlags),
      Command.withSubcommands(commands)
    )
  })

/** On a wrong command line: what is wrong, and where help is. The library prints the whole help first. */
const presenter: CliOutput.Presenter = {
  present: (document) =>
    Effect.gen(function*() {
      if (document._tag !== "InvalidInvocation") return yield* CliOutput.defaultPresenter.present(document)
      const paint = yield* paintFor("stderr")
      for (const { message } of document.errors) yield* say(`${paint("bad", "error:")} ${message}`)
      yield* say(`Run ${document.commandPath.join(" ")} --help`)
    })
}

/** Log lines of parts of the service that a command runs are talk; `start` has the service's own log. */
const logs = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/** The one place where the failure of a command becomes words for a person. */
const report = (cause: Cause.Cause<unknown>) =>
  Effect.gen(function*() {
    if (Cause.hasInterruptsOnly(cause)) return
    const error = Cause.squash(cause)
    if (Predicate.isTagged(error, "ShowHelp")) return
    const paint = yield* paintFor("stderr")
    if (!(Predicate.hasProperty(error, "_tag") && error instanceof Error)) {
      return yield* Console.error(Cause.pretty(cause))
    }
    yield* say(`${paint("bad", "error:")} ${error.message}`)
    if (error instanceof CommandFailed && error.hint !== undefined) yield* say(error.hint)
  })

/** Runs the command that `words` name. */
export const run = (words: ReadonlyArray<string>): Effect.Effect<void, unknown, Command.Environment> => {
  const name = commandNameIn(words)
  const isWhole = name === undefined && words.some((word) => word.startsWith("--completions")) ||
    words.includes("--wizard")
  return Effect.gen(function*() {
    const tree = yield* treeWith((one) => isWhole || one === name)
    yield* Command.runWith(tree, { version: version() })(words)
  }).pipe(
    Effect.provideService(wholeTree, treeWith(() => true)),
    Effect.provide([CliOutput.layerPresenter(presenter), logs]),
    Effect.tapCause(report)
  )
}
