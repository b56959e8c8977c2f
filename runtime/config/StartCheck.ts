/**
 * What a start would refuse beyond the config's own check, found without a start: settings that only work together, and
 * what each plugin says of its options.
 */
import { Effect, FileSystem, Option } from "effect"
import { getNodeValue } from "jsonc-parser"
import type { ConfigSource, LoadedConfig } from "../Config.ts"
import { load } from "../Config.ts"
import { parseMaster } from "../Secrets.ts"
import { literalSecrets } from "./Literals.ts"
import { configInvalid, type Problem } from "./Problem.ts"
import { type JsonValue, parseSource, spanOf } from "./Source.ts"

/** Settings that contradict what the deployment is for. Pure. */
export const settingProblems = ({ plugins, settings }: LoadedConfig): ReadonlyArray<Problem> => {
  const isMainnet = settings.environments.includes("mainnet")
  const problems: Array<Problem> = []
  const add = (path: Problem["path"], message: string) => problems.push({ path, message })
  if (isMainnet && settings.secrets === undefined) {
    add(
      ["secrets"],
      "mainnet needs a master key: \"secrets\": { \"master\": [\"${file:/path}\"] } (openssl rand -hex 32)"
    )
  }
  settings.secrets?.master.forEach((text, index) => {
    if (Option.isNone(parseMaster(text))) {
      add(["secrets", "master", index], "not 32 bytes in hex or base64: openssl rand -hex 32")
    }
  })
  if (isMainnet && settings.rpc.token === undefined) {
    add(["rpc", "token"], "mainnet needs a token of the internal port: \"${file:/path}\" (openssl rand -hex 32)")
  }
  const { publicUrl } = settings.http
  if (publicUrl !== undefined && !URL.canParse(publicUrl)) {
    add(["http", "publicUrl"], "not a URL: write it as https://pay.example")
  } else if (isMainnet && publicUrl?.startsWith("https://") !== true) {
    add(
      ["http", "publicUrl"],
      "mainnet needs an https URL, by which payors reach the payment page: https://pay.example"
    )
  }
  const sources = plugins.filter(({ slot }) => slot === "prices").length
  const quorum = settings.pricing.quorum ?? (isMainnet ? 2 : 1)
  if (sources < quorum) {
    add(
      settings.pricing.quorum === undefined ? ["prices"] : ["pricing", "quorum"],
      `${quorum} price sources must agree and ${sources} are listed, so no price would ever be used: `
        + "add sources, or lower \"pricing\": { \"quorum\" }"
    )
  }
  return problems
}

/** What the plugins refuse of their options, all of them. */
const pluginProblems = ({ plugins }: LoadedConfig) =>
  Effect.map(
    Effect.forEach(plugins, ({ options, path, plugin, use }) =>
      plugin.check === undefined ? Effect.succeed([]) : Effect.match(Effect.scoped(plugin.check(options)), {
        onSuccess: (): ReadonlyArray<Problem> => [],
        onFailure: (
          error
        ): ReadonlyArray<Problem> => [{ path: [...path, "options"], message: `"${use}": ${error.message}` }]
      }), { concurrency: 8 }),
    (problems) =>
      problems.flat()
  )

/** Loads a config and fails with the report of everything that a start would refuse. */
export const loadAndCheck = Effect.fnUntraced(function*(from: ConfigSource) {
  const config = yield* load(from)
  const problems = [...settingProblems(config), ...(yield* pluginProblems(config))]
  if (problems.length === 0) return config
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(fs.readFileString(from.file), () => "{}")
  const { source } = parseSource(from.file, text)
  const value: JsonValue = source.root === undefined ? {} : getNodeValue(source.root)
  const secrets = literalSecrets(value, config.plugins, () => false).map((path) => spanOf(source, path))
  return yield* configInvalid(source, problems, secrets)
})
