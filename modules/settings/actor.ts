/** Load, decide, commit: how a merchant's settings change, and how others read them. */
import { Cache, Context, Effect, Layer, Struct } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { type AuditAct, AuditLog } from "../../runtime/AuditLog.ts"
import { keepSuccess } from "../../runtime/Cache.ts"
import {
  Commit,
  type CommitCause,
  decideAnew,
  type IdempotentCall,
  type IdempotentReplay,
  noCause,
  type ReplyWrite,
  type Write
} from "../../runtime/Commit.ts"
import { Members } from "../../runtime/Members.ts"
import { approveProposal, type Proposer, requireProposal } from "../../schemas/Proposals.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import type {
  InvoiceSettings,
  MerchantSettings as MerchantSettingsObject,
  MerchantSettingsChange,
  ShownMerchantSettings
} from "../../schemas/MerchantSettings.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Merchants, type MerchantState } from "../auth/plugin.ts"
import {
  applyChange,
  type Choices,
  type ChoicesState,
  dueAt,
  higherLimits,
  invoiceSettingsOf,
  type LimitsProposal,
  moneyRulesIn,
  proposalActOf,
  proposalAfter,
  reviewLimits,
  settingsActOf,
  settingsObject,
  settingsOf
} from "./rules.ts"
import { choicesWrite, makeRepo, type SettingsOwner } from "./repo.ts"

/** Milliseconds for which a merchant's choices are not read again. */
const cacheMillis = 2_000

/** Merchants' choices remembered at once of an environment, 16 KiB each with a logo; the least asked for go first. */
const cacheCapacity = 1_000

/** Rows of limits that come into force in one run of the timer. */
const dueBatch = 100

/** Who brings limits into force that have waited. */
const timerActor = "service:settings"

/** A call that changes settings, and who made it. */
export interface SettingsCall extends IdempotentCall<ShownMerchantSettings> {
  readonly by: Proposer
}

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
  /** Another person's word for limits that wait. Errors: `NOT_FOUND`, `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION`. */
  readonly approve: AnswerToLimits
  /** Ends limits that wait. Errors: `NOT_FOUND`. */
  readonly cancel: AnswerToLimits
}>()("tillwire/modules/settings/MerchantSettings") {
  static readonly layer = Layer.effect(
    MerchantSettings,
    Effect.gen(function*() {
      const actors = yield* Actors
      const auditLog = yield* AuditLog
      const commit = yield* Commit
      const merchants = yield* Merchants
      const memberDirectory = yield* Members
      const { environments } = yield* Settings
      const timers = yield* Timers
      const repo = yield* makeRepo

      const settingsWith = (choices: Choices, merchant: MerchantState | undefined) =>
        settingsOf(choices, merchant ?? { name: "", defaultEnvironment: environments[0] })

      const load = Effect.fnUntraced(function*(merchantId: number, environment: Environment) {
        const [stored, merchant] = yield* Effect.all(
          [repo.choices(merchantId, environment), merchants.read(merchantId)],
          {
            concurrency: 2
          }
        )
        const members = stored.proposal === null ? [] : yield* memberDirectory.list(merchantId)
        const state = { ...stored, proposal: reviewLimits(stored.proposal, members) }
        return { stored, state, found: merchant, settings: settingsWith(state.choices, merchant) }
      })

      const cacheOf = (environment: Environment) =>
        Cache.makeWith(
          (merchantId: number) => Effect.map(repo.choices(merchantId, environment), ({ choices }) => choices),
          { capacity: cacheCapacity, timeToLive: keepSuccess(cacheMillis) }
        )
      const caches = { devnet: yield* cacheOf("devnet"), mainnet: yield* cacheOf("mainnet") }

      const choicesOf = (merchantId: number, environment: Environment) => Cache.get(caches[environment], merchantId)

      const read = (merchantId: number, environment: Environment) =>
        Effect.map(load(merchantId, environment), ({ settings, state }) => settingsObject(settings, state.proposal))

      // Two memories side by side, each of 2 s: one within the other would make it 4.
      const get = (merchantId: number, environment: Environment) =>
        Effect.zipWith(choicesOf(merchantId, environment), merchants.get(merchantId), settingsWith, {
          concurrent: true
        })

      const forInvoices = (merchantId: number, environment: Environment) =>
        Effect.map(choicesOf(merchantId, environment), invoiceSettingsOf)

      /** Commits a change of a row, with its entries in the audit log. */
      const append = Effect.fnUntraced(function*(
        stored: ChoicesState,
        next: ChoicesState,
        cause: CommitCause,
        { acts, reply, writes = [] }: {
          readonly acts: ReadonlyArray<AuditAct | null>
          readonly writes?: ReadonlyArray<Write>
          readonly reply?: ReplyWrite | undefined
        }
      ) {
        const { environment, merchantId, version } = stored
        const entries = yield* Effect.forEach(acts, (act) => act === null ? Effect.succeed([]) : auditLog.writesOf(act))
        yield* commit.append({
          merchantId,
          environment,
          cause,
          writes: [choicesWrite({ ...next, version: version + 1 }), ...writes, ...entries.flat()],
          events: [],
          reply
        })
        yield* Cache.invalidate(caches[environment], merchantId)
        yield* timers.wake("settings")
      })

      /** The limits that a call raises, which wait where money is real; on devnet all holds at once. */
      const proposalOf = Effect.fnUntraced(function*(
        { environment, merchantId, proposal }: ChoicesState,
        before: MerchantSettingsObject,
        wanted: MerchantSettingsObject,
        change: MerchantSettingsChange,
        by: Proposer
      ) {
        const named = environment === "mainnet" ? moneyRulesIn(change) : []
        const higher = named.length === 0 ? {} : higherLimits(before, wanted)
        const after = proposalAfter(
          proposal,
          { named, higher },
          by,
          yield* memberDirectory.list(merchantId),
          `chg_${yield* uuidV7}`,
          yield* nowSeconds
        )
        return isPublicError(after) ? yield* after : { higher, proposal: after }
      })

      const changeOnce = Effect.fnUntraced(function*(
        merchantId: number,
        environment: Environment,
        movesDefault: boolean,
        changes: MerchantSettingsChange,
        { by, cause, reply }: SettingsCall
      ) {
        const { found: merchant, settings: before, state, stored } = yield* load(merchantId, environment)
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
        const wanted = settingsWith(applyChange(state.choices, changes), merchant)
        const { higher, proposal } = yield* proposalOf(state, before, wanted, changes, by)
        const choices = applyChange(state.choices, Struct.omit(changes, Struct.keys(higher)))
        const settings = settingsOf(choices, { ...merchant, defaultEnvironment })
        const shown = settingsObject(settings, proposal)
        const next = { ...state, choices, proposal }
        yield* append(stored, next, cause, {
          acts: [
            settingsActOf({ merchantId, environment }, before, settings, by.credential, cause.requestId),
            proposalActOf(state, stored.proposal, proposal, by.credential, cause.requestId)
          ],
          writes: defaultEnvironment === merchant.defaultEnvironment
            ? []
            : [merchants.defaultEnvironmentWrite(merchant, defaultEnvironment)],
          reply: reply(shown)
        })
        return shown
      })

      /** A word on limits that wait: another person's, or that they are to end. */
      const answerOnce = (
        decide: (proposal: LimitsProposal, by: Proposer, now: number) => LimitsProposal | null | PublicError
      ) =>
        Effect.fnUntraced(function*(
          merchantId: number,
          environment: Environment,
          changeId: string,
          { by, cause, reply }: SettingsCall
        ) {
          const { settings, state, stored } = yield* load(merchantId, environment)
          const waiting = requireProposal(state.proposal, changeId)
          if (isPublicError(waiting)) return yield* waiting
          const proposal = decide(waiting, by, yield* nowSeconds)
          if (isPublicError(proposal)) return yield* proposal
          const shown = settingsObject(settings, proposal)
          yield* append(stored, { ...state, proposal }, cause, {
            acts: [proposalActOf(state, stored.proposal, proposal, by.credential, cause.requestId)],
            reply: reply(shown)
          })
          return shown
        })

      /** Brings limits into force that have waited, or ends them where the members of now did not agree. */
      const settleOnce = Effect.fnUntraced(function*({ environment, merchantId }: SettingsOwner) {
        const { found: merchant, settings: before, state, stored } = yield* load(merchantId, environment)
        const due = dueAt(state.proposal)
        const isInForce = due !== null && (yield* nowSeconds) >= due
        const choices = isInForce ? applyChange(state.choices, state.proposal?.change ?? {}) : state.choices
        const proposal = isInForce ? null : state.proposal
        if (!isInForce && proposal === stored.proposal) return
        yield* append(stored, { ...state, choices, proposal }, noCause, {
          acts: isInForce
            ? [settingsActOf(state, before, settingsWith(choices, merchant), timerActor, null)]
            : [proposalActOf(state, stored.proposal, proposal, timerActor, null)]
        })
      })

      // One mailbox a merchant: its default environment is one row for all its environments.
      const inTurn = <A, E extends { readonly _tag: string }, R>(merchantId: number, once: Effect.Effect<A, E, R>) =>
        decideAnew()(actors.send("settings", String(merchantId), once))

      const change: MerchantSettings["Service"]["change"] = (merchantId, ...rest) =>
        inTurn(merchantId, changeOnce(merchantId, ...rest))

      const approveOnce = answerOnce(approveProposal)
      const cancelOnce = answerOnce(() => null)

      yield* timers.register({
        name: "settings",
        batchSize: dueBatch,
        run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
          const due = yield* repo.due(Math.floor(nowMillis / 1000), limit)
          const settled = yield* Effect.forEach(due, (owner) =>
            inTurn(owner.merchantId, settleOnce(owner)).pipe(
              Effect.as(1),
              Effect.catch((error) =>
                Effect.as(
                  Effect.logWarning("higher limits are not in force yet; they are tried again", {
                    merchant: owner.merchantId,
                    error
                  }),
                  0
                )
              )
            ))
          return settled.reduce((sum, each) => sum + each, 0)
        }),
        nextDueMillis: Effect.map(repo.nextDue, (seconds) => seconds === null ? null : seconds * 1000)
      })

      return MerchantSettings.of({
        get,
        forInvoices,
        read,
        change,
        approve: (merchantId, ...rest) => inTurn(merchantId, approveOnce(merchantId, ...rest)),
        cancel: (merchantId, ...rest) => inTurn(merchantId, cancelOnce(merchantId, ...rest))
      })
    })
  )
}
