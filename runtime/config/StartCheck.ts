/**
 * What a start would refuse beyond the config's own check, found without a start: settings that only work together, and
 * what each plugin says of its options.
 */
import { Effect, FileSystem, Option } from "effect"
import { getNodeValue } from "jsonc-parser"
import type { ConfigSource, LoadedConfig } from "../Config.ts"
import { load } from "../Config.ts"
import { NodeProof } from "../nodes/Endpoints.ts"
import { parseMaster } from "../Secrets.ts"
import { examineReplica } from "../store/Replica.ts"
import type { StoreError } from "../store/StoreError.ts"
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

/** The report of problems that were found after the file had been read, each where the file has its cause. */
export const reportOf = Effect.fnUntraced(
  function*(file: string, { plugins }: LoadedConfig, problems: ReadonlyArray<Problem>) {
    const fs = yield* FileSystem.FileSystem
    const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "{}")
    const { source } = parseSource(file, text)
    const value: JsonValue = source.root === undefined ? {} : getNodeValue(source.root)
    const secrets = literalSecrets(value, plugins, () => false).map((path) => spanOf(source, path))
    return configInvalid(source, problems, secrets)
  }
)

/** A failure of the store that one option is the cause of, as a problem of the config; null: it has no such cause. */
export const storeProblem = ({ message, option }: StoreError): Problem | null =>
  option === undefined ? null : { path: ["store", "options", ...option], message }

/** What a replica is refused for; with `--connect` also that it cannot be reached, which no start refuses. */
const replicaProblems = ({ store }: LoadedConfig) =>
  Effect.gen(function*() {
    if (store.use !== "postgres" || store.options.replica === undefined) return []
    if ((yield* NodeProof) !== "required") return []
    const found = yield* Effect.flip(examineReplica(store.options, store.options.replica)).pipe(
      Effect.orElseSucceed(() => null)
    )
    if (found === null) return []
    return [storeProblem(found) ?? { path: ["store", "options", "url"], message: found.message }]
  })

/** Loads a config and fails with the report of everything that a start would refuse. */
export const loadAndCheck = Effect.fnUntraced(function*(from: ConfigSource) {
  const config = yield* load(from)
  const problems = [
    ...settingProblems(config),
    ...(yield* pluginProblems(config)),
    ...(yield* replicaProblems(config))
  ]
  return problems.length === 0 ? config : yield* yield* reportOf(from.file, config, problems)
})
