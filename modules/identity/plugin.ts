/** Wallets that sign in: sessions for merchants' people, and the keys that check their tokens. */
import { Effect, Layer, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Credentials, Revocations } from "../../runtime/Http.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { Restores } from "../../runtime/Restores.ts"
import { inBatches, runPeriodically } from "../../runtime/Retention.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Settings } from "../../runtime/Settings.ts"
import { publicError } from "../../schemas/Errors.ts"
import { Network } from "../../schemas/Network.ts"
import { Merchants } from "../auth/plugin.ts"
import { PersonWallets, registerLinkedWallets, registerTextWallets, Sessions, Wallets } from "./actor.ts"
import { IdentityApi } from "./api.ts"
import { keySetHandlers, rpcHandlers, signInHandlers, walletHandlers } from "./handlers.ts"
import { migrations, tables } from "./migrations.ts"
import * as Repo from "./repo.ts"
import { IdentityRpc } from "./rpc.ts"

export { PersonWallets } from "./actor.ts"
export type { IssuedChallenge } from "./actor/Challenges.ts"

const Options = Schema.Struct({
  /** Whether a wallet of no merchant signs up as a new one. Default: open, but closed where mainnet is served. */
  signup: Schema.optionalKey(Schema.Literals(["open", "closed"])),
  /** Wallets linked at every start: by address, or (`contract`) as a contract on that network. */
  wallets: Schema.optionalKey(Schema.Array(Schema.Struct({
    merchant: Schema.Int.check(Schema.isGreaterThan(0)),
    network: Network,
    address: Schema.NonEmptyString,
    contract: Schema.optionalKey(Schema.Boolean)
  })))
})

/** Messages, tokens and sessions that ended are kept for a day more, so that whoever comes late is told why. */
const keptSeconds = 86_400

const start = ({ wallets = [] }: typeof Options.Type) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const { linkNamed } = yield* Wallets
    yield* Effect.forEach(wallets, ({ address, contract = false, merchant, network }) =>
      Effect.mapError(
        linkNamed({ merchantId: merchant, network, address, isContract: contract }),
        ({ code, message }) =>
          publicError(code, { message: `options.wallets: ${address} of merchant ${merchant}: ${message}` })
      ), { discard: true })
    const sessions = yield* Sessions
    yield* (yield* Credentials).registerBearer(sessions.verify)
    yield* (yield* Revocations).register("ses", sessions.active)
    yield* (yield* Restores).register(sessions.endAll)
    yield* registerLinkedWallets
    yield* registerTextWallets
    const { prune } = yield* Repo.make
    const batch = Effect.flatMap(nowSeconds, (now) => prune(now - keptSeconds))
    yield* runPeriodically("identity-prune", "10 minutes", inBatches(batch, Repo.pruneBatch))
  }))

const services = ({ signup }: typeof Options.Type) =>
  Layer.unwrap(
    Effect.map(Settings, ({ environments }) =>
      Layer.merge(Wallets.layer, Sessions.layer(signup ?? (environments.includes("mainnet") ? "closed" : "open"))))
  )

export const plugin = Plugin.make({
  name: "identity",
  slot: "modules",
  needs: { auth: Merchants },
  options: Options,
  http: IdentityApi,
  rpc: IdentityRpc,
  migrations,
  tables,
  layer: (options) =>
    Layer.mergeAll(
      start(options),
      HttpApiBuilder.layer(IdentityApi).pipe(Layer.provide([signInHandlers, walletHandlers, keySetHandlers])),
      Rpc.handlers(IdentityRpc, rpcHandlers)
    ).pipe(Layer.provide(services(options)), Layer.merge(PersonWallets.layer))
})
