/** The config of the service, for commands that work on its own machine. */
import { Effect, Schema } from "effect"
import { Flag } from "effect/cli"
import { load } from "../../runtime/Config.ts"
import { environment } from "./Environment.ts"
import { configFile } from "./Flags.ts"

/** The whole config, with the plugins that it names, and the name of its file. */
export const loadConfig = Effect.gen(function*() {
  const variables = yield* environment
  const file = yield* configFile
  return { file, config: yield* load({ file, environment: variables }) }
})

const MerchantNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 999_999_999 }, {
  message: "Expected a merchant's number"
}))

/** `--merchant`: whose keys or sign-in it is. */
export const merchantFlag = Flag.Int("merchant").pipe(
  Flag.withSchema(MerchantNumber),
  Flag.withDescription("The merchant's number"),
  Flag.withDefault(1)
)
