/**
 * Instances of the settings with people and the audit log, over one database. Who is a member of a merchant is what the
 * test says, and the token of somebody is `<person>.<role>.<merchant>`.
 */
import { Effect, Layer, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { AuditApi } from "../../../modules/audit/api.ts"
import * as auditTables from "../../../modules/audit/migrations.ts"
import { plugin as audit } from "../../../modules/audit/plugin.ts"
import { Keys } from "../../../modules/auth/actor.ts"
import { Merchants } from "../../../modules/auth/service.ts"
import * as authTables from "../../../modules/auth/migrations.ts"
import { SettingsApi } from "../../../modules/settings/api.ts"
import * as settingsTables from "../../../modules/settings/migrations.ts"
import { MerchantSettings, plugin } from "../../../modules/settings/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials, type Grant } from "../../../runtime/Http.ts"
import { type Member, Members } from "../../../runtime/Members.ts"
import type { PublicWeb } from "../../../runtime/PublicWeb.ts"
import type { Timers } from "../../../runtime/Timers.ts"
import { allPermissions, type Role } from "../../../schemas/Roles.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { connect, type TestDatabase } from "../../support/Database.ts"

export type LimitsServices = Api | Keys | MerchantSettings | PublicWeb | SqlClient.SqlClient | Timers

/** Members by merchant, the same for all instances of a test. */
export type Team = Map<number, ReadonlyArray<Member>>

const grantOf = (token: string): Grant => {
  const [person, role, merchant, moneyFrom] = token.split(".")
  return {
    merchantId: Number(merchant),
    environment: "mainnet",
    scope: "merchant",
    kind: "wallet",
    credential: `wallet:${person}`,
    apiVersion: newestVersion,
    permissions: allPermissions,
    person: person!,
    role: role as Role,
    ...(moneyFrom === undefined ? {} : { moneyFrom: Number(moneyFrom) })
  } as Grant
}

/** An instance, for as long as its scope lives. */
export const limitsInstance = (database: TestDatabase, team: Team) => {
  const routes = Layer.mergeAll(
    plugin.layer(undefined as never),
    audit.layer(undefined as never),
    Layer.effectDiscard(Effect.gen(function*() {
      const { register, registerBearer } = yield* Credentials
      yield* register((yield* Keys).verify)
      yield* registerBearer((token) => Effect.succeed(grantOf(token)))
      const membersOf = (merchant: number) => Effect.sync(() => team.get(merchant) ?? [])
      yield* (yield* Members).register({
        find: (merchant, person) =>
          Effect.map(
            membersOf(merchant),
            (members) => Option.getOrNull(Option.fromUndefinedOr(members.find((one) => one.person === person)))
          ),
        list: membersOf,
        actorsOf: () => Effect.succeed([])
      })
    }))
  )
  const below = Layer.mergeAll(Keys.layer, Merchants.layer).pipe(
    Layer.provideMerge(Actors.layer),
    Layer.provideMerge(kernel(
      [
        { name: "auth", ...authTables },
        { name: "settings", ...settingsTables },
        { name: "audit", ...auditTables }
      ],
      settingsLayer({ environments: ["devnet", "mainnet"] }),
      connect(database) as never
    ))
  )
  return Layer.build(
    Layer.fresh(apiLayer([SettingsApi, AuditApi], routes as never, below)) as unknown as Layer.Layer<LimitsServices>
  )
}
