/** Changes of a merchant's settings: what holds at once, what waits, and what becomes of it. Load, decide, commit. */
import { Effect, Struct } from "effect"
import { type AuditAct, type AuditLog } from "../../../runtime/AuditLog.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import {
  type Commit,
  type CommitCause,
  type IdempotentCall,
  noCause,
  type ReplyWrite,
  type Write
} from "../../../runtime/Commit.ts"
import type { Members } from "../../../runtime/Members.ts"
import type { Timers } from "../../../runtime/Timers.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import type {
  MerchantSettings as MerchantSettingsObject,
  MerchantSettingsChange,
  ShownMerchantSettings
} from "../../../schemas/MerchantSettings.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { approveProposal, type Proposer, requireProposal } from "../../../schemas/Proposals.ts"
import type { Merchants, MerchantState } from "../../auth/plugin.ts"
import { choicesWrite, type makeRepo, type SettingsOwner } from "../repo.ts"
import {
  applyChange,
  type ChoicesState,
  domainActOf,
  domainAfter,
  domainAfterChange,
  type DomainFindings,
  dueAt,
  higherLimits,
  type LimitsProposal,
  moneyRulesIn,
  proposalActOf,
  proposalAfter,
  reviewLimits,
  settingsActOf,
  settingsObject,
  settingsOf
} from "../rules.ts"

/** The timer that brings limits into force. */
export const timerName = "settings"

/** The timer that checks domains. */
export const domainTimerName = "settings-domains"

/** Who brings limits into force that have waited, and says what a domain's check found. */
const timerActor = "service:settings"

/** A call that changes settings, and who made it. */
export interface SettingsCall extends IdempotentCall<ShownMerchantSettings> {
  readonly by: Proposer
}

export interface SettingsContext {
  readonly auditLog: AuditLog["Service"]
  readonly commit: Commit["Service"]
  readonly environments: readonly [Environment, ...ReadonlyArray<Environment>]
  readonly members: Members["Service"]
  readonly merchants: Merchants["Service"]
  /** Host of the payment page. */
  readonly payHost: string
  readonly repo: Effect.Success<typeof makeRepo>
  readonly timers: Timers["Service"]
  /** Has a merchant's choices read anew. */
  readonly evict: (environment: Environment, merchantId: number) => Effect.Effect<void>
}

export const settingsWith = (
  environments: SettingsContext["environments"],
  { choices, domain }: Pick<ChoicesState, "choices" | "domain">,
  merchant: MerchantState | undefined
) => settingsOf(choices, merchant ?? { name: "", defaultEnvironment: environments[0] }, domain)

/** A merchant's settings as they are stored, with the change that waits under the current members. */
export const loadSettings = Effect.fnUntraced(function*(
  { environments, members: memberDirectory, merchants, repo }: SettingsContext,
  merchantId: number,
  environment: Environment
) {
  const [stored, merchant] = yield* Effect.all(
    [repo.choices(merchantId, environment), merchants.read(merchantId)],
    {
      concurrency: 2
    }
  )
  const members = stored.proposal === null ? [] : yield* memberDirectory.list(merchantId)
  const state = { ...stored, proposal: reviewLimits(stored.proposal, members) }
  return { stored, state, found: merchant, settings: settingsWith(environments, state, merchant) }
})

/** Commits a change of a row, with its entries in the audit log. */
const append = Effect.fnUntraced(function*(
  { auditLog, commit, evict, timers }: SettingsContext,
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
  yield* evict(environment, merchantId)
  yield* timers.wake(timerName)
  if (next.domain?.dueAt !== stored.domain?.dueAt) yield* timers.wake(domainTimerName)
})

/** The limits that a call raises, which wait where money is real; on devnet all holds at once. */
const proposalOf = Effect.fnUntraced(function*(
  { members }: SettingsContext,
  { environment, merchantId, proposal }: ChoicesState,
  before: MerchantSettingsObject,
  requested: MerchantSettingsObject,
  change: MerchantSettingsChange,
  by: Proposer
) {
  const named = environment === "mainnet" ? moneyRulesIn(change) : []
  const higher = named.length === 0 ? {} : higherLimits(before, requested)
  const after = proposalAfter(
    proposal,
    { named, higher },
    by,
    yield* members.list(merchantId),
    `chg_${yield* uuidV7}`,
    yield* nowSeconds
  )
  return isPublicError(after) ? yield* after : { higher, proposal: after }
})

/** `MerchantSettings.change`, once. */
export const changeOnce = Effect.fnUntraced(function*(
  context: SettingsContext,
  merchantId: number,
  environment: Environment,
  movesDefault: boolean,
  changes: MerchantSettingsChange,
  { by, cause, reply }: SettingsCall
) {
  const { environments, merchants } = context
  const { found: merchant, settings: before, state, stored } = yield* loadSettings(context, merchantId, environment)
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
  const requested = settingsWith(
    environments,
    { ...state, choices: applyChange(state.choices, changes) },
    merchant
  )
  const { higher, proposal } = yield* proposalOf(context, state, before, requested, changes, by)
  const choices = applyChange(state.choices, Struct.omit(changes, Struct.keys(higher)))
  const domain = domainAfterChange(state, choices, changes, yield* nowSeconds)
  const settings = settingsOf(choices, { ...merchant, defaultEnvironment }, domain)
  const next = { ...state, choices, proposal, domain }
  const shown = settingsObject(settings, next, context.payHost)
  yield* append(context, stored, next, cause, {
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

/** A decision on limits that wait: the approval of another person, or the end of them. */
const decideOnce = (
  decide: (proposal: LimitsProposal, by: Proposer, now: number) => LimitsProposal | null | PublicError
) =>
  Effect.fnUntraced(function*(
    context: SettingsContext,
    merchantId: number,
    environment: Environment,
    changeId: string,
    { by, cause, reply }: SettingsCall
  ) {
    const { settings, state, stored } = yield* loadSettings(context, merchantId, environment)
    const waiting = requireProposal(state.proposal, changeId)
    if (isPublicError(waiting)) return yield* waiting
    const proposal = decide(waiting, by, yield* nowSeconds)
    if (isPublicError(proposal)) return yield* proposal
    const next = { ...state, proposal }
    const shown = settingsObject(settings, next, context.payHost)
    yield* append(context, stored, next, cause, {
      acts: [proposalActOf(state, stored.proposal, proposal, by.credential, cause.requestId)],
      reply: reply(shown)
    })
    return shown
  })

/** `MerchantSettings.approve` and `cancel`, once. */
export const approveOnce = decideOnce(approveProposal)
export const cancelOnce = decideOnce(() => null)

/** Brings limits into force that have waited, or ends them where the current members do not allow them. */
export const applyDueOnce = Effect.fnUntraced(function*(
  context: SettingsContext,
  { environment, merchantId }: SettingsOwner
) {
  const { found: merchant, settings: before, state, stored } = yield* loadSettings(context, merchantId, environment)
  const due = dueAt(state.proposal)
  const isInForce = due !== null && (yield* nowSeconds) >= due
  const choices = isInForce ? applyChange(state.choices, state.proposal?.change ?? {}) : state.choices
  const proposal = isInForce ? null : state.proposal
  if (!isInForce && proposal === stored.proposal) return
  yield* append(context, stored, { ...state, choices, proposal }, noCause, {
    acts: isInForce
      ? [
        settingsActOf(
          state,
          before,
          settingsWith(context.environments, { ...state, choices }, merchant),
          timerActor,
          null
        )
      ]
      : [proposalActOf(state, stored.proposal, proposal, timerActor, null)]
  })
})

/** Keeps what a check found of a domain, unless the merchant names another by now, or the check is done already. */
export const recordDomainOnce = Effect.fnUntraced(function*(
  context: SettingsContext,
  { domain, environment, merchantId }: SettingsOwner & { readonly domain: string },
  findings: DomainFindings
) {
  const { state, stored } = yield* loadSettings(context, merchantId, environment)
  const now = yield* nowSeconds
  if (state.domain?.dueAt == null || state.choices.branding?.domain !== domain || now < state.domain.dueAt) return
  const after = domainAfter(state.domain, findings, now)
  yield* append(context, stored, { ...stored, domain: after }, noCause, {
    acts: [domainActOf(stored, domain, state.domain, after, timerActor)]
  })
})
