/**
 * The running service's internal port, for what no merchant's key may do: merchants and their first keys. The token is
 * read as the service reads it, so this works where the service's config and data are.
 */
import { Effect, Predicate } from "effect"
import type { RpcClient } from "effect/rpc"
import { resolveSettings } from "../../runtime/boot.ts"
import { printHost } from "../../runtime/boot/Listener.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { rpcToken } from "../../runtime/rpc/Credential.ts"
import { Settings } from "../../runtime/Settings.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { CommandFailed, commandFailed } from "./Failure.ts"
import { loadConfig } from "./ServiceConfig.ts"

const failureOf = (error: unknown, url: string): CommandFailed => {
  if (error instanceof CommandFailed) return error
  if (error instanceof PublicError) {
    return new CommandFailed({
      kind: error.code === "NOT_FOUND" ? "notFound" : "failed",
      reason: `${error.message} (${error.code})`,
      code: error.code
    })
  }
  return commandFailed(
    "failed",
    `the service does not answer at ${url}${Predicate.isTagged(error, "SecretsError") ? `: ${String(error)}` : ""}`,
    "Start it with this config file. Its token is rpc.token, or rpc.token in the data directory."
  )
}

/** Runs calls of the internal port against the service that the config describes. */
export const withInternalPort = <A, E, R>(calls: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const { config } = yield* loadConfig
    const settings = yield* resolveSettings(config, "none")
    const url = `http://${printHost(settings.rpc.host)}:${settings.rpc.port}`
    return yield* Effect.gen(function*() {
      const token = yield* Effect.provideService(rpcToken, Settings, settings)
      return yield* Effect.provide(calls, InternalRpc.layer({ url, token }))
    }).pipe(Effect.mapError((error) => failureOf(error, url)))
  })

export type InternalProtocol = RpcClient.Protocol
