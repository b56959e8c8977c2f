/** What a merchant decides about its later invoices and its payment page. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { Merchants } from "../auth/plugin.ts"
import { MerchantSettings } from "./actor.ts"
import { SettingsApi } from "./api.ts"
import { handlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"

export { MerchantSettings } from "./actor.ts"

export const plugin = Plugin.make({
  name: "settings",
  slot: "modules",
  needs: { auth: Merchants },
  http: SettingsApi,
  migrations,
  tables,
  layer: () =>
    HttpApiBuilder.layer(SettingsApi).pipe(Layer.provide(handlers), Layer.provideMerge(MerchantSettings.layer))
})
