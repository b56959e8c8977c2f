/** `tillwire keys`: API keys of a merchant, over the internal port of the service. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { RpcClient } from "effect/rpc"
import { KeyId, MerchantId } from "../../../schemas/Ids.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { AuthRpc, Name } from "../../auth/rpc.ts"
import { withInternalPort } from "../Internal.ts"
import { answer, facts, say, table } from "../Output.ts"
import { loadConfig, merchantFlag } from "../ServiceConfig.ts"
import { timeText } from "../TimeText.ts"

/** The environment of a key where none is named: play money where there is any. Pure. */
export const defaultEnvironment = (served: ReadonlyArray<Environment>): Environment =>
  served.includes("devnet") ? "devnet" : "mainnet"

const create = Command.make("create", {
  merchant: merchantFlag,
  name: Flag.String("name").pipe(Flag.withSchema(Name), Flag.withDescription("What its owner tells it from others by")),
  scope: Flag.Literals("scope", ["merchant", "commerce"]).pipe(
    Flag.withDescription("The whole account, or commerce records only"),
    Flag.withDefault("merchant" as const)
  ),
  environment: Flag.Literals("environment", ["devnet", "mainnet"]).pipe(
    Flag.withDescription("Play money or real money; the one that the deployment serves, devnet where it serves both"),
    Flag.optional
  ),
  ip: Flag.String("ip").pipe(
    Flag.withDescription("An address or range it may be used from; once for each, any if not said"),
    Flag.atLeast(0)
  )
}, ({ environment, ip, merchant, name, scope }) =>
  Effect.gen(function*() {
    const served = (yield* loadConfig).config.settings.environments
    const chosen = Option.getOrElse(environment, () => defaultEnvironment(served))
    const key = yield* withInternalPort(Effect.scoped(Effect.gen(function*() {
      const client = yield* RpcClient.make(AuthRpc)
      return yield* client["auth.keys.create"]({
        merchant_id: MerchantId.make(merchant),
        name,
        scope,
        environment: chosen,
        ip_allowlist: ip
      })
    })))
    yield* answer(key, () => key.key)
    yield* say(`${key.id} of merchant ${merchant}, ${chosen}. The key is shown this once.`)
  })).pipe(Command.withDescription("Make a key; it is shown this once"))

const list = Command.make("list", { merchant: merchantFlag }, ({ merchant }) =>
  Effect.gen(function*() {
    const keys = yield* withInternalPort(Effect.scoped(Effect.gen(function*() {
      const client = yield* RpcClient.make(AuthRpc)
      return yield* client["auth.keys.list"]({ merchant_id: MerchantId.make(merchant) })
    })))
    yield* answer({ object: "list", data: keys, has_more: false }, (paint) =>
      keys.length === 0 ? "none" : table(
        ["id", "status", "scope", "environment", "key", "last used", "name"],
        keys.map((key) => [
          key.id,
          key.status,
          key.scope,
          key.environment,
          `${key.prefix}…${key.last4}`,
          timeText(key.last_used_at),
          key.name
        ]),
        paint
      ))
  })).pipe(Command.withDescription("List keys, newest first; never the keys themselves"))

const keyArgument = Argument.String("key").pipe(
  Argument.withSchema(KeyId),
  Argument.withDescription("Id of the key, key_…")
)

const revoke = Command.make("revoke", {
  key: keyArgument,
  merchant: merchantFlag,
  childKeys: Flag.Boolean("child-keys").pipe(
    Flag.withDescription("Revoke the keys that were made with it as well"),
    Flag.withDefault(false)
  )
}, ({ childKeys, key, merchant }) =>
  Effect.gen(function*() {
    const revoked = yield* withInternalPort(Effect.scoped(Effect.gen(function*() {
      const client = yield* RpcClient.make(AuthRpc)
      return yield* client["auth.keys.revoke"]({
        merchant_id: MerchantId.make(merchant),
        key_id: key,
        ...(childKeys ? { child_keys: "revoke" as const } : {})
      })
    })))
    yield* answer(revoked, (paint) =>
      facts([["key", revoked.id], ["status", revoked.status], [
        "made with it",
        revoked.child_keys.map(({ id, status }) => `${id} ${status}`).join(", ")
      ]], paint))
  })).pipe(Command.withDescription("Refuse a key everywhere within 5 seconds, for good"))

const roll = Command.make("roll", {
  key: keyArgument,
  merchant: merchantFlag,
  overlap: Flag.Int("overlap").pipe(
    Flag.withDescription("Seconds for which the old key may still be used"),
    Flag.withDefault(86_400)
  )
}, ({ key, merchant, overlap }) =>
  Effect.gen(function*() {
    const rolled = yield* withInternalPort(Effect.scoped(Effect.gen(function*() {
      const client = yield* RpcClient.make(AuthRpc)
      return yield* client["auth.keys.rotate"]({
        merchant_id: MerchantId.make(merchant),
        key_id: key,
        overlap_seconds: overlap
      })
    })))
    yield* answer(rolled, () => rolled.key)
    yield* say(`${rolled.id} takes the place of ${key}, which ends in ${overlap} s. The key is shown this once.`)
  })).pipe(Command.withDescription("Make a new key in place of one"))

export const command = Command.make("keys").pipe(Command.withSubcommands([create, list, roll, revoke]))
