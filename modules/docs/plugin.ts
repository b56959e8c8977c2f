/**
 * The interactive reference, the rules, the guides and the error catalogue at `/docs`. Without it the API is the same
 * and `/openapi.json` stays.
 */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { DocsApi } from "./api.ts"
import { handlers } from "./handlers.ts"

export const plugin = Plugin.make({
  name: "docs",
  slot: "modules",
  http: DocsApi,
  pages: (publicUrl) => ({ docs: `${publicUrl}/docs` }),
  layer: () => HttpApiBuilder.layer(DocsApi).pipe(Layer.provide(handlers))
})
