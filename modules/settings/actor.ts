/** Load, decide, commit: how a merchant's settings change, and how others read them. */
import { Cache, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { keepSuccess } from "../../runtime/Cache.ts"
import { Commit, decideAnew, type IdempotentCall, type IdempotentReplay } from "../../runtime/Commit.ts"
import { Settings } from "../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type {
  InvoiceSettings,
  MerchantSettings as MerchantSettingsObject,
  MerchantSettingsChange
} from "../../schemas/MerchantSettings.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Merchants, type MerchantState } from "../auth/plugin.ts"
import { applyChange, type Choices, invoiceSettingsOf, settingsActOf, settingsOf } from "./rules.ts"
import { choicesWrite, makeRepo } from "./repo.ts"

/** Milliseconds for which a merchant's choices are not read again. */
const cacheMillis = 2_000

/** Merchants' choices remembered at once of an environment, 16 KiB each with a logo; the least asked for go first. */
const cacheCapacity = 1_000

/** A call that changes settings, and who made it. */
export interface SettingsCall extends IdempotentCall<MerchantSettingsObject> {
  readonly actor: string
}

export class MerchantSettings extends Context.Service<MerchantSettings, {
  /**
   * What holds for a merchant in an environment, the defaults where it chose nothing: never fails. At most 2 s old, so
   * an invoice that is created within 2 s of a change may still follow the settings before it.
   */
  readonly get: (merchantId: number, environment: Environment) => Effect.Effect<MerchantSettingsObject>
  /** The part of it that new invoices follow: as old, and half the look-ups. */
  readonly forInvoices: (merchantId: number, environment: Environment) => Effect.Effect<InvoiceSettings>
  /** The same, read now. */
  readonly read: (merchantId: number, environment: Environment) => Effect.Effect<MerchantSettingsObject>
  /**
   * Commits a change and answers what holds then; `reply` is made of it and is stored in the same commit. A lost race
   * is decided anew, 3 times, then `SERVICE_UNAVAILABLE`: of two changes at once, neither undoes the other. Errors:
   * `MAINNET_NOT_ENABLED` or `DEVNET_NOT_ENABLED` for a default environment that is not served, `ENVIRONMENT_FORBIDDEN`
   * for another one than it is unless `movesDefault`.
   */
  readonly change: (
    merchantId: number,
    environment: Environment,
    movesDefault: boolean,
    change: MerchantSettingsChange,
    call: SettingsCall
  ) => Effect.Effect<MerchantSettingsObject, PublicError | IdempotentReplay>
}>()("tillwire/modules/settings/MerchantSettings") {
  static readonly layer = Layer.effect(
    MerchantSettings,
    Effect.gen(function*() {
      const actors = yield* Actors
      const auditLog = yield* AuditLog
      const commit = yield* Commit
      const merchants = yield* Merchants
      const { environments } = yield* Settings
      const repo = yield* makeRepo

      const settingsWith = (choices: Choices, merchant: MerchantState | undefined) =>
        settingsOf(choices, merchant ?? { name: "", defaultEnvironment: environments[0] })

      const load = Effect.fnUntraced(function*(merchantId: number, environment: Environment) {
        const [state, merchant] = yield* Effect.all(
          [repo.choices(merchantId, environment), merchants.read(merchantId)],
          {
            concurrency: 2
          }
        )
        return { state, found: merchant, settings: settingsWith(state.choices, merchant) }
      })

      const cacheOf = (environment: Environment) =>
        Cache.makeWith(
          (merchantId: number) => Effect.map(repo.choices(merchantId, environment), ({ choices }) => choices),
          { capacity: cacheCapacity, timeToLive: keepSuccess(cacheMillis) }
        )
      const caches = { devnet: yield* cacheOf("devnet"), mainnet: yield* cacheOf("mainnet") }

      const choicesOf = (merchantId: number, environment: Environment) => Cache.get(caches[environment], merchantId)

      const read = (merchantId: number, environment: Environment) =>
        Effect.map(load(merchantId, environment), ({ settings }) => settings)

      // Two memories side by side, each of 2 s: one within the other would make it 4.
      const get = (merchantId: number, environment: Environment) =>
        Effect.zipWith(choicesOf(merchantId, environment), merchants.get(merchantId), settingsWith, {
          concurrent: true
        })

      const forInvoices = (merchantId: number, environment: Environment) =>
        Effect.map(choicesOf(merchantId, environment), invoiceSettingsOf)

      const changeOnce = Effect.fnUntraced(function*(
        merchantId: number,
        environment: Environment,
        movesDefault: boolean,
        changes: MerchantSettingsChange,
        { actor, cause, reply }: SettingsCall
      ) {
        const { found: merchant, settings: before, state } = yield* load(merchantId, environment)
        if (merchant === undefined) return yield* publicError("NOT_FOUND", { message: "No such merchant" })
        const requestedDefault = changes.default_environment === null ? environments[0] : changes.default_environment
        const defaultEnvironment = requestedDefault ?? merchant.defaultEnvironment
        if (!environments.includes(defaultEnvironment)) {
          return yield* publicError(defaultEnvironment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED", {
            param: "default_environment"
          })
        }
        if (defaultEnvironment !== merchant.defaultEnvironment && !movesDefault) {
          return yield* publicError("ENVIRONMENT_FORBIDDEN", {
            message: "default_environment: sign in with a wallet, or use a mainnet key, to change it",
            param: "default_environment"
          })
        }
        const choices = applyChange(state.choices, changes)
        const settings = settingsOf(choices, { ...merchant, defaultEnvironment })
        const replyWrite = reply(settings)
        const act = settingsActOf({ merchantId, environment }, before, settings, actor, cause.requestId)
        yield* commit.append({
          merchantId,
          environment,
          cause,
          writes: [
            choicesWrite({ ...state, version: state.version + 1, choices }),
            ...(defaultEnvironment === merchant.defaultEnvironment
              ? []
              : [merchants.defaultEnvironmentWrite(merchant, defaultEnvironment)]),
            ...(act === null ? [] : yield* auditLog.writesOf(act))
          ],
          events: [],
          reply: replyWrite
        })
        yield* Cache.invalidate(caches[environment], merchantId)
        return settings
      })

      // One mailbox a merchant: its default environment is one row for all its environments.
      const change: MerchantSettings["Service"]["change"] = (merchantId, ...rest) =>
        actors.send("settings", String(merchantId), changeOnce(merchantId, ...rest)).pipe(
          decideAnew()
        )

      return MerchantSettings.of({ get, forInvoices, read, change })
    })
  )
}
