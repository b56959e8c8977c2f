/** `tillwire completions`: the script by which a shell completes commands and flags. */
import { Console, Effect } from "effect"
import { Argument, Command, Completions } from "effect/cli"
import { wholeTree } from "../CommandTree.ts"

const shells = ["bash", "zsh", "fish", "powershell"] as const

export const command = Command.make("completions", {
  shell: Argument.Literals("shell", shells).pipe(Argument.withDescription("Which shell it is for"))
}, ({ shell }) =>
  Effect.gen(function*() {
    const tree = yield* yield* wholeTree
    yield* Console.log(Completions.generate("tillwire", shell, Completions.fromCommand(tree)))
  })).pipe(Command.withExamples([
    {
      command: "tillwire completions bash > ~/.local/share/bash-completion/completions/tillwire",
      description: "For bash"
    }
  ]))
