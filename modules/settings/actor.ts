/** A merchant's settings as others read them, and their changes one at a time. */
import { Cache, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { keepSuccess } from "../../runtime/Cache.ts"
import { Commit, decideAnew, type IdempotentReplay } from "../../runtime/Commit.ts"
import { Members } from "../../runtime/Members.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Timers } from "../../runtime/Timers.ts"
import { registerDueProposals } from "../../runtime/timers/DueProposals.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type {
  InvoiceSettings,
  MerchantSettings as MerchantSettingsObject,
  MerchantSettingsChange,
  ShownMerchantSettings
} from "../../schemas/MerchantSettings.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Merchants, type MerchantState } from "../auth/plugin.ts"
import {
  applyDueOnce,
  approveOnce,
  cancelOnce,
  changeOnce,
  loadSettings,
  recordDomainOnce,
  type SettingsCall,
  type SettingsContext,
  settingsWith,
  timerName
} from "./actor/Changes.ts"
import { registerDomainChecks } from "./actor/Domains.ts"
import { makeRepo } from "./repo.ts"
import { type ChoicesState, invoiceSettingsOf, settingsObject } from "./rules.ts"

/** Milliseconds for which a merchant's choices are not read again. */
const cacheMillis = 2_000

/** Merchants' choices remembered at once of an environment, 16 KiB each with a logo; the least asked for go first. */
const cacheCapacity = 1_000

/** A word on limits that wait, by the id of the change. */
export type AnswerToLimits = (
  merchantId: number,
  environment: Environment,
  changeId: string,
  call: SettingsCall
) => Effect.Effect<ShownMerchantSettings, PublicError | IdempotentReplay>

export class MerchantSettings extends Context.Service<MerchantSettings, {
  /**
   * What holds for a merchant in an environment, the defaults where it chose nothing: never fails. At most 2 s old, so
   * an invoice that is created within 2 s of a change may still follow the settings before it.
   */
  readonly get: (merchantId: number, environment: Environment) => Effect.Effect<MerchantSettingsObject>
  /** The part of it that new invoices follow: as old, and half the look-ups. */
  readonly forInvoices: (merchantId: number, environment: Environment) => Effect.Effect<InvoiceSettings>
  /** The same, read now, with the change that waits. */
  readonly read: (merchantId: number, environment: Environment) => Effect.Effect<ShownMerchantSettings>
  /**
   * Commits a change and answers what holds then; `reply` is made of it and is stored in the same commit. Higher limits
   * of real money wait (modules/docs/reference/settings.md#limits-of-real-money), all else holds. A lost race
   * is decided anew, 3 times, then `SERVICE_UNAVAILABLE`: of two changes at once, neither undoes the other. Errors:
   * `MAINNET_NOT_ENABLED` or `DEVNET_NOT_ENABLED` for a default environment that is not served, `ENVIRONMENT_FORBIDDEN`
   * for another one than it is unless `movesDefault`, `CREDENTIAL_NOT_ALLOWED` for higher limits by no person.
   */
  readonly change: (
    merchantId: number,
    environment: Environment,
    movesDefault: boolean,
    change: MerchantSettingsChange,
    call: SettingsCall
  ) => Effect.Effect<ShownMerchantSettings, PublicError | IdempotentReplay>
  /** The approval of another person for limits that wait. Errors: `NOT_FOUND`, `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION`. */
  readonly approve: AnswerToLimits
  /** Ends limits that wait. Errors: `NOT_FOUND`. */
  readonly cancel: AnswerToLimits
}>()("tillwire/modules/settings/MerchantSettings") {
  static readonly layer = Layer.effect(
    MerchantSettings,
    Effect.gen(function*() {
      const actors = yield* Actors
      const merchants = yield* Merchants
      const { environments, publicUrl } = yield* Settings
      const payHost = new URL(publicUrl).host
      const repo = yield* makeRepo

      const cacheOf = (environment: Environment) =>
        Cache.makeWith(
          (merchantId: number) =>
            Effect.map(repo.choices(merchantId, environment), ({ choices, domain }) => ({ choices, domain })),
          { capacity: cacheCapacity, timeToLive: keepSuccess(cacheMillis) }
        )
      const caches = { devnet: yield* cacheOf("devnet"), mainnet: yield* cacheOf("mainnet") }

      const context: SettingsContext = {
        auditLog: yield* AuditLog,
        commit: yield* Commit,
        environments,
        members: yield* Members,
        merchants,
        payHost,
        repo,
        timers: yield* Timers,
        evict: (environment, merchantId) => Cache.invalidate(caches[environment], merchantId)
      }

      const withMerchant = (state: Pick<ChoicesState, "choices" | "domain">, merchant: MerchantState | undefined) =>
        settingsWith(environments, state, merchant)

      const choicesOf = (merchantId: number, environment: Environment) => Cache.get(caches[environment], merchantId)

      const read = (merchantId: number, environment: Environment) =>
        Effect.map(
          loadSettings(context, merchantId, environment),
          ({ settings, state }) => settingsObject(settings, state, payHost)
        )

      // Two memories side by side, each of 2 s: one within the other would make it 4.
      const get = (merchantId: number, environment: Environment) =>
        Effect.zipWith(choicesOf(merchantId, environment), merchants.get(merchantId), withMerchant, {
          concurrent: true
        })

      const forInvoices = (merchantId: number, environment: Environment) =>
        Effect.map(choicesOf(merchantId, environment), ({ choices }) => invoiceSettingsOf(choices))

      // One mailbox a merchant: its default environment is one row for all its environments.
      const inTurn = <A, E extends { readonly _tag: string }, R>(merchantId: number, once: Effect.Effect<A, E, R>) =>
        decideAnew()(actors.send("settings", String(merchantId), once))

      yield* registerDueProposals({
        name: timerName,
        due: repo.due,
        nextDue: repo.nextDue,
        applyDueChange: (owner) => inTurn(owner.merchantId, applyDueOnce(context, owner))
      })

      yield* registerDomainChecks({
        payHost,
        due: repo.dueDomains,
        nextDue: repo.nextDomainDue,
        record: (owner, findings) => inTurn(owner.merchantId, recordDomainOnce(context, owner, findings))
      })

      return MerchantSettings.of({
        get,
        forInvoices,
        read,
        change: (merchantId, ...rest) => inTurn(merchantId, changeOnce(context, merchantId, ...rest)),
        approve: (merchantId, ...rest) => inTurn(merchantId, approveOnce(context, merchantId, ...rest)),
        cancel: (merchantId, ...rest) => inTurn(merchantId, cancelOnce(context, merchantId, ...rest))
      })
    })
  )
}
