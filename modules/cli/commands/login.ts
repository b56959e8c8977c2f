/** `tillwire login`: a link that signs somebody in to the dashboard, once within 10 minutes. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { makeLink } from "../../../runtime/boot/ServiceProcess.ts"
import { answer } from "../Output.ts"
import { loadConfig, merchantFlag } from "../ServiceConfig.ts"

export const command = Command.make("login", {
  merchant: merchantFlag,
  member: Flag.String("member").pipe(
    Flag.withDescription("A member's id or e-mail address, else the merchant's first owner"),
    Flag.optional
  )
}, ({ member, merchant }) =>
  Effect.gen(function*() {
    const { config } = yield* loadConfig
    const url = yield* makeLink(config, { merchantId: merchant, member: Option.getOrUndefined(member) })
    yield* answer({ url }, () => url)
  })).pipe(Command.withExamples([
    { command: "tillwire login --member ada@shop.example", description: "For one member of the team" }
  ]))
