/** Limits of money that goes out: a lower one holds at once, a higher one of real money waits. Pure. */
import { Equal } from "effect"
import type { AuditAct } from "../../../runtime/AuditLog.ts"
import {
  allowedFrom,
  newProposal,
  pendingChangeObject,
  type Proposal,
  type Proposer,
  reviewProposal
} from "../../../schemas/Proposals.ts"
import type { Member } from "../../../runtime/Members.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import {
  type MerchantSettings,
  type MerchantSettingsChange,
  type MoneyRule,
  moneyRules,
  type MoneyRulesChange,
  type ShownMerchantSettings
} from "../../../schemas/MerchantSettings.ts"
import type { Environment } from "../../../schemas/Network.ts"

export type LimitsProposal = Proposal<MoneyRulesChange>

/** The settings of a change that say who may let money go out, and how much: they take the right `rules:write`. */
export const moneyRulesIn = (change: MerchantSettingsChange): ReadonlyArray<MoneyRule> =>
  moneyRules.filter((name) => change[name] !== undefined)

type Limits = Pick<MerchantSettings, MoneyRule>

/** Null is no limit. */
const isHigher = (before: number | null, after: number | null): boolean =>
  before !== null && (after === null || after > before)

/** The limits that are higher in `after`. */
export const higherLimits = (before: Limits, after: Limits): MoneyRulesChange =>
  Object.fromEntries(
    moneyRules.filter((name) => isHigher(before[name], after[name])).map((name) => [name, after[name]])
  )

const without = (change: MoneyRulesChange, names: ReadonlyArray<MoneyRule>): MoneyRulesChange =>
  Object.fromEntries(Object.entries(change).filter(([name]) => !names.includes(name as MoneyRule)))

const isEmpty = (change: MoneyRulesChange): boolean => Object.keys(change).length === 0

/** What a call asks of the limits: those that it names, and which of them are higher than what holds. */
export interface RequestedLimits {
  readonly named: ReadonlyArray<MoneyRule>
  readonly higher: MoneyRulesChange
}

/**
 * What waits after a call. A limit that the call names is as the call says: one that is not higher holds, and no other
 * value of it waits any more. Whatever is added or changed waits anew, and nobody has approved it yet; the same change
 * sent again does not.
 */
export const proposalAfter = (
  before: LimitsProposal | null,
  { higher, named }: RequestedLimits,
  by: Proposer,
  members: ReadonlyArray<Member>,
  id: string,
  now: number
): LimitsProposal | null | PublicError => {
  if (named.length === 0) return before
  const kept = without(before?.change ?? {}, named)
  const change: MoneyRulesChange = { ...kept, ...higher }
  if (isEmpty(change)) return null
  if (before !== null && (isEmpty(higher) || Equal.equals(change, before.change))) return { ...before, change }
  return newProposal(id, change, by, members, now)
}

/** The proposal under the current members; null: it ends. */
export const reviewLimits = (proposal: LimitsProposal | null, members: ReadonlyArray<Member>): LimitsProposal | null =>
  proposal === null ? null : reviewProposal(proposal, members, "rules:write")

export const dueAt = (proposal: LimitsProposal | null): number | null =>
  proposal === null ? null : allowedFrom(proposal)

/** The change that waits, on the wire; null: none does. */
export const pendingSettings = (proposal: LimitsProposal | null): ShownMerchantSettings["pending_change"] =>
  proposal === null ? null : { ...pendingChangeObject(proposal), settings: proposal.change }

/** What the log keeps of a proposal that begins, changes or ends; null: it is what it was. */
export const proposalActOf = (
  { environment, merchantId }: { readonly merchantId: number; readonly environment: Environment },
  before: LimitsProposal | null,
  after: LimitsProposal | null,
  actor: string,
  requestId: string | null
): AuditAct | null => {
  if (Equal.equals(before, after)) return null
  const fields = (proposal: LimitsProposal | null) =>
    proposal === null ? {} : { id: proposal.id, ...proposal.change, approved_by: proposal.approver }
  const verb = after === null
    ? "cancel"
    : after.id !== before?.id
    ? "propose"
    : after.approver !== null && after.approver !== before.approver
    ? "approve"
    : "change"
  return {
    merchantId,
    environment,
    actor,
    action: `settings.${verb}_limits`,
    subject: { object: "merchant_settings", id: String(merchantId) },
    before: fields(before),
    after: fields(after),
    requestId
  }
}
