/** `tillwire openapi`: the document of the API, for generators of clients. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { resolveSettings } from "../../../runtime/boot.ts"
import { apisOf, distinctPlugins } from "../../../runtime/boot/Kernel.ts"
import { documentOf, publicScope, textOf } from "../../../runtime/openapi/Document.ts"
import { loadConfig } from "../ServiceConfig.ts"

export const command = Command.make("openapi", {}, () =>
  Effect.gen(function*() {
    const { config } = yield* loadConfig
    const { publicUrl } = yield* resolveSettings(config, "none")
    yield* Console.log(textOf(documentOf(apisOf(distinctPlugins(config.plugins)), publicScope(publicUrl))))
  })).pipe(Command.withExamples([
    { command: "tillwire openapi > openapi.json", description: "Keep the document in a file" }
  ]))
