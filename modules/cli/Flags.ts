/** Flags that every command takes, wherever they stand on the line. */
import { Effect, FileSystem, Option } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { environment } from "./Environment.ts"

/** The config of `npm start`. */
const defaultConfig = "config/devnet.jsonc"

/** `--json`: documents instead of text for people. */
export const JsonFlag = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withDescription("Print JSON: one document, or one a line where a command goes on"),
    Flag.withDefault(false)
  )
})

/** `-c`, `--config`: the config file of the service. */
export const ConfigFlag = GlobalFlag.Setting("config")({
  flag: Flag.String("config").pipe(
    Flag.withAlias("c"),
    Flag.withMetavar("file"),
    Flag.withDescription(
      "The service's config file, else TILLWIRE_CONFIG, else config/devnet.jsonc, here or of the package"
    ),
    Flag.optional
  )
})

export const sharedFlags = [JsonFlag, ConfigFlag] as const

/** The config of a devnet that comes with the service: beside the sources of a checkout, and in the folder of a bundle. */
const ownConfig = decodeURIComponent(new URL("../../config/devnet.jsonc", import.meta.url).pathname)

/**
 * The config file in force: the flag's, the variable's, `config/devnet.jsonc` of this directory, or where there is none
 * the one that comes with the service.
 */
export const configFile = Effect.gen(function*() {
  const named = Option.getOrUndefined(yield* ConfigFlag) ?? (yield* environment)["TILLWIRE_CONFIG"]
  if (named !== undefined) return named
  const fs = yield* FileSystem.FileSystem
  return (yield* Effect.orElseSucceed(fs.exists(defaultConfig), () => false)) ? defaultConfig : ownConfig
})
