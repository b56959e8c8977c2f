/** The merchant's whole job in a browser. Without it everything else works as it does: it does all it does by the API. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as Plugin from "../../runtime/Plugin.ts"
import { TeamSessions, TeamSignIn } from "../team/plugin.ts"
import { DashboardApi } from "./api.ts"
import { pageHandlers } from "./handlers.ts"
import { Frames } from "./handlers/Frames.ts"
import { signInHandlers } from "./handlers/SignIn.ts"

export const plugin = Plugin.make({
  name: "dashboard",
  slot: "modules",
  needs: { team: [TeamSessions, TeamSignIn] },
  http: DashboardApi,
  pages: (publicUrl) => ({ dashboard: `${publicUrl}/dashboard` }),
  layer: () =>
    HttpApiBuilder.layer(DashboardApi).pipe(Layer.provide([pageHandlers, signInHandlers]), Layer.provide(Frames.layer))
})
