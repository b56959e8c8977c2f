/** `tillwire verify`: why the signature of a delivery is refused, by the code that merchants verify with. */
import { Effect, FileSystem, Option, Schema, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { verify } from "../../clients/webhooks.ts"
import { environment } from "../Environment.ts"
import { commandFailed, wrongUse } from "../Failure.ts"
import { answer } from "../Output.ts"

/** `Name: value` as curl and logs write it. Pure. */
export const headerOf = (text: string): readonly [name: string, value: string] | undefined => {
  const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(text) ?? []
  return name === undefined || value === undefined ? undefined : [name.toLowerCase(), value]
}

const readBody = Effect.fnUntraced(function*(file: string) {
  if (file === "-") {
    const stdio = yield* Stdio.Stdio
    const chunks = yield* Effect.mapError(Stream.runCollect(stdio.stdin), () => wrongUse("stdin cannot be read"))
    return new Uint8Array(Buffer.concat([...chunks]))
  }
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.mapError(fs.readFile(file), () => wrongUse(`the body cannot be read: ${file}`))
})

export const command = Command.make("verify", {
  body: Flag.String("body").pipe(
    Flag.withDescription("The file with the raw body, byte by byte as it came; - for stdin"),
    Flag.withDefault("-")
  ),
  header: Flag.String("header").pipe(
    Flag.withAlias("H"),
    Flag.withDescription("A header of the delivery, \"Name: value\"; once for each"),
    Flag.atLeast(1)
  ),
  tolerance: Flag.Int("tolerance").pipe(
    Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_153_600_000 }))),
    Flag.withDescription("Seconds that the two clocks may differ by; 300 if not said"),
    Flag.optional
  )
}, ({ body, header, tolerance }) =>
  Effect.gen(function*() {
    const secret = (yield* environment)["TILLWIRE_WEBHOOK_SECRET"]
    if (secret === undefined) {
      return yield* wrongUse("there is no secret", "Set TILLWIRE_WEBHOOK_SECRET: whsec_…, of the endpoint")
    }
    const headers = header.map(headerOf)
    const unread = header[headers.indexOf(undefined)]
    if (unread !== undefined) return yield* wrongUse(`--header takes "Name: value", not ${JSON.stringify(unread)}`)
    const bytes = yield* readBody(body)
    const result = yield* Effect.tryPromise({
      try: () =>
        verify(
          bytes,
          Object.fromEntries(headers.filter((one) => one !== undefined)),
          secret.split(","),
          Option.isSome(tolerance) ? { toleranceSeconds: tolerance.value } : {}
        ),
      catch: () => commandFailed("failed", "the signature is right, and the body is no JSON")
    })
    if (!result.ok) {
      yield* answer({ ok: false, reason: result.reason, message: result.message }, () => result.reason)
      return yield* commandFailed(
        "failed",
        result.message,
        `Reason: ${result.reason}. See /docs/webhooks of the service`
      )
    }
    yield* answer(
      { ok: true, event_id: result.event.id, type: result.event.type },
      (paint) => `${paint("good", "genuine")}  ${result.event.type}  ${result.event.id}`
    )
  })).pipe(Command.withExamples([
    {
      command:
        "tillwire verify --body body.json -H 'webhook-id: …' -H 'webhook-timestamp: …' -H 'webhook-signature: …'",
      description: "The secret is in TILLWIRE_WEBHOOK_SECRET"
    }
  ]))
