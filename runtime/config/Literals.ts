/** Secrets written out in a config where a reference belongs. */
import type { SelectedPlugin } from "./Check.ts"
import { isRecord, redactedPaths } from "./Decode.ts"
import type { JsonValue, KeyPath } from "./Source.ts"

/** `scheme://user:password@…`: a URL that carries a password. */
const passwordInUrl = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]*:[^/@\s]+@/i

/** `scheme://user@…` too: some proxies take a token as the name. */
const credentialInUrl = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]+@/i

/** Names of headers that carry credentials; a tenant's name, for example, is none. */
const secretHeader = /auth|key|token|secret|cookie|password/i

/** Paths of secrets in `value` that do not come from a reference: tokens, masters, passwords, redacted options. */
export const literalSecrets = (
  value: JsonValue,
  plugins: ReadonlyArray<SelectedPlugin>,
  isReferenced: (path: KeyPath) => boolean
): ReadonlyArray<KeyPath> => {
  if (!isRecord(value)) return []
  const { admin, ops, rpc, secrets, store, telemetry, webhooks } = value
  const candidates: Array<readonly [KeyPath, JsonValue | undefined]> = [
    [["rpc", "token"], isRecord(rpc) ? rpc["token"] : undefined],
    [["ops", "token"], isRecord(ops) ? ops["token"] : undefined],
    [["admin", "token"], isRecord(admin) ? admin["token"] : undefined]
  ]
  const masters = isRecord(secrets) ? secrets["master"] : undefined
  if (Array.isArray(masters)) {
    candidates.push(
      ...masters.map((
        master: JsonValue,
        index
      ): readonly [KeyPath, JsonValue] => [["secrets", "master", index], master])
    )
  }
  const options = isRecord(store) ? store["options"] : undefined
  const replica = isRecord(options) ? options["replica"] : undefined
  for (const [place, server] of [[[], options], [["replica"], replica]] as const) {
    const url = isRecord(server) ? server["url"] : undefined
    if (typeof url === "string" && passwordInUrl.test(url)) {
      candidates.push([["store", "options", ...place, "url"], url])
    }
  }
  const proxy = isRecord(webhooks) ? webhooks["proxyUrl"] : undefined
  if (typeof proxy === "string" && credentialInUrl.test(proxy)) candidates.push([["webhooks", "proxyUrl"], proxy])
  const otlp = isRecord(telemetry) ? telemetry["otlp"] : undefined
  const headers = isRecord(otlp) ? otlp["headers"] : undefined
  for (const [name, header] of Object.entries(isRecord(headers) ? headers : {})) {
    if (secretHeader.test(name)) candidates.push([["telemetry", "otlp", "headers", name], header])
  }
  const redacted = plugins.flatMap((entry) => {
    const pluginOptions = optionsOf(value, entry)
    return entry.plugin.options === undefined || pluginOptions === undefined
      ? []
      : redactedPaths(entry.plugin.options.ast, pluginOptions, [...entry.path, "options"])
  })
  return [...candidates.flatMap(([path, secret]) => typeof secret === "string" ? [path] : []), ...redacted]
    .filter((path) => !isReferenced(path))
}

const optionsOf = (value: { readonly [key: string]: JsonValue }, entry: SelectedPlugin): JsonValue | undefined => {
  const list = value[entry.slot]
  const written: JsonValue | undefined = Array.isArray(list) ? list[Number(entry.path[1])] : undefined
  return isRecord(written) ? written["options"] : undefined
}
