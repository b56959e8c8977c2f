/** `tillwire secrets`: which master keys are needed, and everything sealed anew under the newest one. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { resolveSettings } from "../../../runtime/boot.ts"
import { type RotationCall, rotationCommand } from "../../../runtime/secrets/RotationCommand.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { wrongUse } from "../Failure.ts"
import { answer } from "../Output.ts"
import { loadConfig } from "../ServiceConfig.ts"

const run = Effect.fnUntraced(function*(call: RotationCall) {
  const { config } = yield* loadConfig
  const settings = yield* resolveSettings(config, "none")
  const text = yield* Effect.provideService(rotationCommand(call), Settings, settings)
  yield* answer({ object: "master_keys", lines: text.split("\n") }, () => text)
})

const status = Command.make("status", {}, () => run({ action: "status" })).pipe(
  Command.withDescription("Print which master keys are needed, and how many values are sealed under older ones")
)

const rotate = Command.make("rotate", {
  finish: Flag.Boolean("finish").pipe(
    Flag.withDescription("Then retire the older keys, so that they can be removed from secrets.master"),
    Flag.withDefault(false)
  ),
  isCompromised: Flag.Boolean("compromised").pipe(
    Flag.withDescription(
      "With --finish: others know an older key, so refuse sessions and receipt links that it signed"
    ),
    Flag.withDefault(false)
  )
}, ({ finish, isCompromised }) =>
  Effect.gen(function*() {
    if (isCompromised && !finish) {
      return yield* wrongUse(
        "--compromised is for --finish",
        "Write both, or leave --compromised out: only --finish retires a key."
      )
    }
    return yield* run({ action: "rotate", finish, isCompromised })
  })).pipe(
    Command.withDescription("Seal everything anew under the first key of secrets.master")
  )

export const command = Command.make("secrets").pipe(
  Command.withSubcommands([status, rotate]),
  Command.withExamples([
    {
      command: "tillwire secrets rotate --finish -c config/mainnet.jsonc",
      description: "After a new key was put first"
    }
  ])
)
