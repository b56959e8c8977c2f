/** Flags that every command takes, wherever they stand on the line. */
import { Option } from "effect"
import { Flag, GlobalFlag } from "effect/cli"

/** The config of `npm start`. */
export const defaultConfig = "config/devnet.jsonc"

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
    Flag.withDescription("The service's config file, else TILLWIRE_CONFIG, else config/devnet.jsonc"),
    Flag.optional
  )
})

export const sharedFlags = [JsonFlag, ConfigFlag] as const

/** The config file in force. */
export const configFileOf = (
  flag: Option.Option<string>,
  variables: Readonly<Record<string, string | undefined>>
): string => Option.getOrElse(flag, () => variables["TILLWIRE_CONFIG"] ?? defaultConfig)
