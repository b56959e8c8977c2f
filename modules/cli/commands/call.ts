/** `tillwire call`: one call of the internal port by its name, for what has no command of its own. */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { wrongUse } from "../Failure.ts"
import { callByName } from "../Internal.ts"
import { answer } from "../Output.ts"

const parse = (text: string) =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => wrongUse("the payload is no JSON", `Write it in single quotes: '{"environment": "mainnet"}'`)
  })

export const command = Command.make("call", {
  name: Argument.String("name").pipe(Argument.withDescription("The call, as exceptions.list")),
  payload: Argument.String("payload").pipe(
    Argument.withDescription(`Its payload as JSON, {} if not said: '{"environment": "mainnet"}'`),
    Argument.optional
  )
}, ({ name, payload }) =>
  Effect.gen(function*() {
    const value = yield* callByName(name, yield* parse(Option.getOrElse(payload, () => "{}")))
    yield* answer(value ?? null, () => JSON.stringify(value ?? null, null, 2))
  })).pipe(Command.withDescription("Make one call of the internal port and print its answer"))
