/** The people of merchants: members with roles, invitations, and how they sign in to the dashboard. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Revocations } from "../../runtime/Http.ts"
import { Members } from "../../runtime/Members.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { Restores } from "../../runtime/Restores.ts"
import { inBatches, runPeriodically } from "../../runtime/Retention.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { KeysByMaker, Merchants } from "../auth/plugin.ts"
import { PersonWallets } from "../identity/plugin.ts"
import { TeamApi } from "./api.ts"
import { accountHandlers, joinHandlers, rpcHandlers, teamHandlers, viewHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import { makeRepo, pruneBatch } from "./repo.ts"
import { TeamRpc } from "./rpc.ts"
import { layer, Team, TeamSessions } from "./service.ts"
import { registerPersonalRecords } from "./service/PersonalRecords.ts"

export {
  type AcceptedInvitation,
  type Acceptor,
  type Contact,
  type Membership,
  type OpenedSession,
  type SessionAt,
  TeamContacts,
  type TeamSession,
  TeamSessions,
  TeamSignIn
} from "./service.ts"

/** Links, answers, tries, codes and sessions that ended are kept for a day more. */
const keptSeconds = 86_400

const start = Layer.effectDiscard(Effect.gen(function*() {
  const { directory } = yield* Team
  const { active, endAll } = yield* TeamSessions
  yield* (yield* Members).register(directory)
  yield* (yield* Revocations).register("tms", active)
  yield* (yield* Restores).register(endAll)
  const { prune } = yield* makeRepo
  const batch = Effect.flatMap(nowSeconds, (now) => prune(now - keptSeconds))
  yield* runPeriodically("team-prune", "10 minutes", inBatches(batch, pruneBatch))
}))

export const plugin = Plugin.make({
  name: "team",
  slot: "modules",
  needs: { auth: [Merchants, KeysByMaker], identity: PersonWallets },
  http: TeamApi,
  rpc: TeamRpc,
  migrations,
  tables,
  layer: () =>
    Layer.mergeAll(
      start,
      Layer.effectDiscard(registerPersonalRecords),
      HttpApiBuilder.layer(TeamApi).pipe(Layer.provide([teamHandlers, joinHandlers, accountHandlers, viewHandlers])),
      Rpc.handlers(TeamRpc, rpcHandlers)
    ).pipe(Layer.provideMerge(layer))
})
