/** Instances of the service with people: real routes, real commit log and audit log, over a database of the test's own. */
import { type Context, Effect, Layer, type Scope } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import { createHash, randomBytes } from "node:crypto"
import { AuditApi } from "../../../modules/audit/api.ts"
import * as auditTables from "../../../modules/audit/migrations.ts"
import { plugin as audit } from "../../../modules/audit/plugin.ts"
import { Keys } from "../../../modules/auth/actor.ts"
import { AuthApi } from "../../../modules/auth/api.ts"
import * as authTables from "../../../modules/auth/migrations.ts"
import { handlers as keyHandlers } from "../../../modules/auth/handlers.ts"
import { KeysByMaker, Merchants } from "../../../modules/auth/plugin.ts"
import { IdentityApi } from "../../../modules/identity/api.ts"
import * as identityTables from "../../../modules/identity/migrations.ts"
import { plugin as identity } from "../../../modules/identity/plugin.ts"
import { TeamApi } from "../../../modules/team/api.ts"
import * as teamTables from "../../../modules/team/migrations.ts"
import {
  plugin as team,
  TeamContacts,
  type TeamSession,
  TeamSessions,
  TeamSignIn
} from "../../../modules/team/plugin.ts"
import { Team } from "../../../modules/team/service.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials, Revocations } from "../../../runtime/Http.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import { Members } from "../../../runtime/Members.ts"
import { Restores } from "../../../runtime/Restores.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { type SignInDriver, SignIns } from "../../../runtime/SignIns.ts"
import * as SignInRegistry from "../../../runtime/SignIns.ts"
import * as Timers from "../../../runtime/Timers.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { connect, migratedLayer, type TestDatabase } from "../../support/Database.ts"

export const publicUrl = "https://pay.example"

const hash = (text: string) => createHash("sha256").update(text).digest("hex")

export const newAddress = () => `0x${randomBytes(20).toString("hex")}`

/** What the wallet of `address` makes of a message. */
export const sign = (address: string, message: string) => hash(`${address}\n${message}`)

/** A family of wallets whose signature is a hash. */
const driver: SignInDriver = {
  name: "test-wallets",
  family: "evm",
  canonicalAddress: (text) => /^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : null,
  chainId: (network) => network === "base" ? "8453" : null,
  message: (challenge) => JSON.stringify(challenge),
  verify: ({ address }, { message, signature }) =>
    Effect.succeed(signature === sign(address, message) ? { family: "evm", address, chainId: null } : null)
}

const drivers = Layer.effectDiscard(Effect.flatMap(SignIns, ({ register }) => register(driver)))

/** The keys of merchants without the demo store, which writes files. */
const auth = Layer.mergeAll(
  Layer.effectDiscard(Effect.gen(function*() {
    const keys = yield* Keys
    yield* (yield* Credentials).register(keys.verify)
    yield* (yield* Revocations).register("key", keys.usable)
  })),
  HttpApiBuilder.layer(AuthApi).pipe(Layer.provide(keyHandlers))
).pipe(Layer.provideMerge(Layer.mergeAll(KeysByMaker.layer, Merchants.layer, Keys.layer)))

export type Services =
  | Api
  | Credentials
  | Keys
  | LocalCalls
  | Members
  | Merchants
  | Restores
  | Revocations
  | SqlClient.SqlClient
  | Team
  | TeamContacts
  | TeamSessions
  | TeamSignIn

type Masters = readonly [Buffer, ...ReadonlyArray<Buffer>]

/** Constants, because of random keys one in 256 pairs has one id for both, which is refused. */
const masters: Masters = [Buffer.alloc(32, 1)]

/** The master keys of an operator who has put a new one before that of the other instances. */
export const rotatedMasters: Masters = [Buffer.alloc(32, 2), ...masters]

/** One instance; several over one database share nothing else. `keys`: its master keys, the newest first. */
export const instance = (
  environments: readonly [Environment, ...Array<Environment>] = ["devnet"],
  database?: TestDatabase,
  keys = masters
): Layer.Layer<Services> => {
  const none = undefined as never
  const routes = Layer.mergeAll(team.layer(none), audit.layer(none)).pipe(
    Layer.provideMerge(identity.layer({})),
    Layer.provideMerge(auth),
    Layer.provideMerge(drivers),
    Layer.provideMerge(Layer.merge(Actors.layer, Timers.layer))
  )
  const below = Layer.provideMerge(
    SignInRegistry.layer,
    kernel(
      [
        { name: "auth", ...authTables },
        { name: "identity", ...identityTables },
        { name: "team", ...teamTables },
        { name: "audit", ...auditTables }
      ],
      settingsLayer({ environments, publicUrl }),
      (database === undefined ? migratedLayer : connect(database)) as never,
      Layer.effect(Secrets, Effect.orDie(fromMasters(keys)))
    )
  )
  return Layer.fresh(apiLayer([AuthApi, IdentityApi, TeamApi, AuditApi], routes as never, below)) as never
}

/** The services of a further instance, for as long as the test's scope lasts. */
export const start = (
  database: TestDatabase,
  environments?: readonly [Environment, ...Array<Environment>],
  keys?: Masters
): Effect.Effect<Context.Context<Services>, never, Scope.Scope> => Layer.build(instance(environments, database, keys))

/** A new merchant, of which nobody is a member. */
export const newMerchant = Effect.flatMap(
  Keys,
  (keys) => Effect.map(keys.createMerchant("Shop", "Owner@Shop.example"), ({ id }) => id)
)

const tokenOf = (url: string): string => new URL(url).hash.slice("#t=".length)

/** A session by a link on the operator's word. */
export const signInByLink = Effect.fnUntraced(function*(merchantId: number, member: string | null = null) {
  const { url } = yield* (yield* Team).loginLink(merchantId, member)
  return yield* (yield* TeamSignIn).byLink(tokenOf(url))
})

/** A call of a session's person for a merchant, as pages make it. */
export const callAs = Effect.fnUntraced(function*(
  session: TeamSession,
  merchantId: number,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: any
) {
  const grant = yield* (yield* TeamSessions).grantOf(session, merchantId)
  if (grant === null) return { status: 0, body: null as any }
  const answer = yield* (yield* LocalCalls).call(grant, {
    method,
    path: `/api/v1${path}`,
    ...(body === undefined ? {} : { body })
  })
  return { status: answer.status, body: answer.body as any }
})

/** The data of a call that must succeed. */
export const dataAs = (...call: Parameters<typeof callAs>) =>
  Effect.map(callAs(...call), ({ body, status }) => {
    if (status !== 200) throw new Error(`${call[2]} ${call[3]}: ${status} ${JSON.stringify(body)}`)
    return body.data
  })

/** `403 PERMISSION_DENIED`, or `200`. */
export const codeAs = (...call: Parameters<typeof callAs>) =>
  Effect.map(callAs(...call), ({ body, status }) => `${status} ${body?.error?.code ?? ""}`.trim())

/** Invites somebody and signs the new member in. */
export const newColleague = Effect.fnUntraced(function*(
  owner: TeamSession,
  merchantId: number,
  role: string,
  email: string | null = null
) {
  const { url } = yield* dataAs(owner, merchantId, "POST", "/team/invitations", { role, email })
  const { accept, byLink } = yield* TeamSignIn
  const { link, view } = yield* accept(tokenOf(url), { name: `A ${role}` })
  const opened = yield* byLink(link!.token)
  return { ...opened, member: view.member.id }
})

export const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(Api, (api) => api.call(path, { body, headers }))

/** Signs in by a wallet through the API: the JWT. */
export const walletToken = Effect.fnUntraced(function*(address: string) {
  const { message } = (yield* post("/api/v1/auth/nonce", { address, network: "base" })).json.data
  const answer = yield* post("/api/v1/auth/verify", { message, signature: sign(address, message) })
  return answer.json?.data?.access_token as string | undefined
})

/** Links a wallet to the person of a session. */
export const linkWallet = Effect.fnUntraced(function*(session: TeamSession, merchantId: number, address: string) {
  const { message } = yield* dataAs(session, merchantId, "POST", "/auth/wallets/nonce", { address, network: "base" })
  return yield* dataAs(session, merchantId, "POST", "/auth/wallets", { message, signature: sign(address, message) })
})

export const codeOf = ({ json, status }: Answer) => `${status} ${json?.error?.code ?? ""}`.trim()

export { tokenOf }
