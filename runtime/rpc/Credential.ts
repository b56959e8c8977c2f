/** The bearer credential of the internal port, and how bearer credentials are compared. */
import { Effect, type FileSystem, Path, Redacted } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { ensureSecretFile, SecretsError } from "../Secrets.ts"
import { Settings } from "../Settings.ts"

/** Name of the devnet credential file in the data directory. */
export const rpcTokenFile = "rpc.token"

/** 256 random bits: nothing a guess reaches. */
const tokenBytes = 32

/** `rpc.token` of the settings; without mainnet the one in the data directory, made if absent. */
export const rpcToken: Effect.Effect<
  Redacted.Redacted,
  SecretsError,
  Settings | FileSystem.FileSystem | Path.Path
> = Effect.gen(function*() {
  const settings = yield* Settings
  if (settings.rpc.token !== undefined) return Redacted.make(settings.rpc.token)
  if (settings.environments.includes("mainnet")) {
    return yield* new SecretsError({
      reason: "mainnet needs rpc.token: set it to \"${file:/path}\" or \"${env:NAME}\" (openssl rand -hex 32)"
    })
  }
  const path = yield* Path.Path
  const file = path.join(settings.dataDirectory, rpcTokenFile)
  return Redacted.make(yield* ensureSecretFile(file, () => randomBytes(tokenBytes).toString("hex")))
})

const digest = (text: string) => createHash("sha256").update(text).digest()

/**
 * Whether an `Authorization` header carries `token`. Digests are compared, in constant time, so that neither the length
 * nor a common beginning shows.
 */
export const bearerMatches = (header: string | undefined, token: Redacted.Redacted): boolean => {
  const given = /^Bearer +(\S+)$/i.exec(header ?? "")?.[1]
  return given !== undefined && timingSafeEqual(digest(given), digest(Redacted.value(token)))
}
