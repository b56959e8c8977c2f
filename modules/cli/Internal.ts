/**
 * The running service's internal port, for what no merchant's key may do: merchants and their first keys. The token is
 * read as the service reads it, so this works where the service's config and data are.
 */
import { Effect, Predicate, Redacted, Result, Schema } from "effect"
import { resolveSettings } from "../../runtime/boot.ts"
import { printHost } from "../../runtime/boot/Listener.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { rpcPath } from "../../runtime/rpc/Server.ts"
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
    "Start it with this config file, as an account that may read its token: the setting rpc.token, or the file rpc.token "
      + "of the data directory."
  )
}

/** Runs `work` with the internal port of the service that the config describes. */
const atInternalPort = <A, E, R>(work: (address: InternalRpc.RpcAddress) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const { config } = yield* loadConfig
    const settings = yield* resolveSettings(config, "none")
    const url = `http://${printHost(settings.rpc.host)}:${settings.rpc.port}`
    return yield* Effect.provideService(rpcToken, Settings, settings).pipe(
      Effect.flatMap((token) => work({ url, token })),
      Effect.mapError((error) => failureOf(error, url))
    )
  })

/** Runs calls of the internal port against the service that the config describes. */
export const withInternalPort = <A, E, R>(calls: Effect.Effect<A, E, R>) =>
  atInternalPort((address) => Effect.provide(calls, InternalRpc.layer(address)))

/** Time that a call by its name may take. Calls that go on without an end, such as `events.stream`, end with it. */
const callTimeoutMillis = 60_000

/** What the service answers to a call, a line of JSON: modules/docs/reference/rpc.md#by-hand. */
const Answer = Schema.Struct({
  exit: Schema.Union([
    Schema.Struct({ _tag: Schema.Literal("Success"), value: Schema.optionalKey(Schema.Unknown) }),
    Schema.Struct({ _tag: Schema.Literal("Failure"), cause: Schema.Unknown })
  ])
})

const Refusal = Schema.NonEmptyArray(Schema.Struct({
  error: Schema.Struct({ code: Schema.String, message: Schema.String })
}))

const decodeAnswer = Schema.decodeUnknownResult(Schema.fromJsonString(Answer))
const decodeRefusal = Schema.decodeUnknownResult(Refusal)

/** The value of an answer to the call `name`, or why there is none. Pure. */
export const valueOf = (name: string, status: number, text: string): Result.Result<unknown, CommandFailed> => {
  if (status !== 200) {
    return Result.fail(commandFailed("failed", `the service answered ${status} to ${name}`, text.trim().slice(0, 300)))
  }
  const answer = decodeAnswer(text)
  if (answer._tag === "Failure") {
    return Result.fail(commandFailed("failed", `the answer to ${name} cannot be read`, "Is it a call with one answer?"))
  }
  const { exit } = answer.success
  if (exit._tag === "Success") return Result.succeed(exit.value)
  const refusal = decodeRefusal(exit.cause)
  if (refusal._tag === "Failure") {
    const isUnknown = JSON.stringify(exit.cause).includes("Unknown request tag")
    return Result.fail(
      isUnknown
        ? commandFailed(
          "notFound",
          `there is no call ${name}`,
          "All calls: guide rpc of the reference, /docs/reference/rpc"
        )
        : commandFailed("failed", `${name} failed`, "The log of the service has the cause.")
    )
  }
  const { code, message } = refusal.success[0].error
  return Result.fail(
    new CommandFailed({
      kind: code.endsWith("NOT_FOUND") ? "notFound" : "failed",
      reason: `${message} (${code})`,
      code
    })
  )
}

/** One call of the internal port by its name: for what has no command of its own. */
export const callByName = (name: string, payload: unknown) =>
  atInternalPort(({ token, url }) =>
    Effect.tryPromise((signal) =>
      fetch(new URL(rpcPath, url), {
        method: "POST",
        headers: { "authorization": `Bearer ${Redacted.value(token)}`, "content-type": "application/ndjson" },
        body: `${JSON.stringify({ _tag: "Request", id: "1", tag: name, payload, headers: [] })}\n`,
        signal: AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMillis)])
      }).then((response) => response.text().then((text) => ({ status: response.status, text })))
    ).pipe(Effect.flatMap(({ status, text }) => Effect.fromResult(valueOf(name, status, text))))
  )
