/** What holds for a merchant: its own choices over the defaults. Pure. */
import { Equal, type Schema, Struct } from "effect"
import type { AuditAct } from "../../runtime/AuditLog.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { defaultAccent } from "../../schemas/Colour.ts"
import type {
  Branding,
  InvoiceSettings,
  MerchantSettings,
  MerchantSettingsChange,
  ShownMerchantSettings
} from "../../schemas/MerchantSettings.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  domainAfterRemoval,
  domainAfterRename,
  domainAfterSave,
  domainCheckObject,
  type DomainState
} from "./rules/Domains.ts"
import { type LimitsProposal, pendingSettings } from "./rules/MoneyRules.ts"

export * from "./rules/Domains.ts"
export * from "./rules/MoneyRules.ts"

/** Settings of a merchant that has not changed any (modules/docs/reference/settings.md#invoices). */
export const defaultSettings: InvoiceSettings = {
  payment_tolerance_bps: 0,
  payment_tolerance_amount: 10,
  overpay_tolerance_amount: 1_000,
  late_payment_policy: "spot_rate",
  late_window_seconds: 604_800,
  underpaid_grace_seconds: 86_400,
  partial_payment_policy: "lock_route",
  invoice_default_expires_in: 43_200_000,
  confirmation_policy: "standard",
  auto_approve_limit: 500_000,
  auto_approve_limit_day: 2_000_000,
  payout_limit_batch: null,
  payout_limit_day: null
}

/** What a merchant chooses of its page: whether its domain is verified is found out. */
type ChosenBranding = Omit<Branding, "domain_verified_at">

const defaultBranding: Omit<ChosenBranding, "name"> = {
  logo_uri: null,
  accent: defaultAccent,
  support_email: null,
  domain: null,
  frame_ancestors: [],
  default_locale: "en",
  allow_restart: false,
  show_payee_proof: false
}

/** What a merchant chose in one environment; what is absent follows the default. */
export type Choices = Partial<InvoiceSettings> & { readonly branding?: Partial<ChosenBranding> }

/** The choices of a merchant in an environment, as a row. `version` 0 stands for a row that does not exist yet. */
export interface ChoicesState {
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly choices: Choices
  /** Higher limits that wait; null: none do. */
  readonly proposal: LimitsProposal | null
  /** What is known of the domain that they name; null: they never named one. */
  readonly domain: DomainState | null
}

/** What holds for new invoices. */
export const invoiceSettingsOf = ({ branding: _branding, ...choices }: Choices): InvoiceSettings => ({
  ...defaultSettings,
  ...choices
})

/** What holds, with the merchant's name where the page has none of its own. */
export const settingsOf = (
  choices: Choices,
  merchant: { readonly name: string; readonly defaultEnvironment: Environment },
  domain: Pick<DomainState, "verifiedAt"> | null = null
): MerchantSettings => ({
  ...invoiceSettingsOf(choices),
  default_environment: merchant.defaultEnvironment,
  branding: {
    name: merchant.name,
    ...defaultBranding,
    ...choices.branding,
    domain_verified_at: domain?.verifiedAt ?? null
  }
})

type NullableFields<T> = { readonly [Name in keyof T]?: T[Name] | null }

/** Absent stays, null is forgotten, everything else is chosen. */
const merge = <T extends object>(current: Partial<T>, change: NullableFields<T>): Partial<T> =>
  Object.fromEntries(Object.entries({ ...current, ...change }).filter(([, value]) => value !== null)) as Partial<T>

/**
 * Whether a caller may change where the merchant's signed-in wallets act when they name no environment. A devnet key
 * may not: it is guarded less, and with it real sales could be turned into play money
 * (modules/docs/reference/settings.md#rules).
 */
export const canMoveDefault = ({ environment, kind }: Pick<Principal, "environment" | "kind">): boolean =>
  kind === "wallet" || environment === "mainnet"

/**
 * Whether a caller may change who has to approve that money goes out. With real money only a person may: a program
 * that could would approve for itself (modules/docs/reference/settings.md#rules).
 */
export const canMoveApprovals = ({ environment, kind }: Pick<Principal, "environment" | "kind">): boolean =>
  kind === "wallet" || environment === "devnet"

const approvalLimits = ["auto_approve_limit", "auto_approve_limit_day"] as const

/** The limit of what one person approves that a change names; null: none. */
export const approvalLimitIn = (change: MerchantSettingsChange): typeof approvalLimits[number] | null =>
  approvalLimits.find((name) => change[name] !== undefined) ?? null

const payoutLimits = ["payout_limit_batch", "payout_limit_day"] as const

/**
 * The limit of payouts that a caller may not change, among those that it sends; null: none. Only a person may, whose
 * money it is: whoever stole a key could else take the limit away before making a batch.
 */
export const forbiddenLimit = (
  { kind }: Pick<Principal, "kind">,
  change: MerchantSettingsChange
): typeof payoutLimits[number] | null =>
  kind === "wallet" ? null : payoutLimits.find((name) => change[name] !== undefined) ?? null

/**
 * The choices after a change. `default_environment` is not among them: it is the merchant's own.
 *
 * @example
 * changed({ payment_tolerance_bps: 50 }, { payment_tolerance_bps: null, late_window_seconds: 0 })
 * // => { late_window_seconds: 0 }
 */
export const applyChange = (
  { branding, ...choices }: Choices,
  change: MerchantSettingsChange
): Choices => {
  const brandingChoices = change.branding === null ? {} : merge<ChosenBranding>(branding ?? {}, change.branding ?? {})
  return {
    ...merge<InvoiceSettings>(choices, Struct.omit(change, ["branding", "default_environment"])),
    ...(Object.keys(brandingChoices).length === 0 ? {} : { branding: brandingChoices })
  }
}

/** The settings on the wire, with what waits and what is known of the domain. `payHost`: that of the payment page. */
export const settingsObject = (
  settings: MerchantSettings,
  { domain: state, merchantId, proposal }: Pick<ChoicesState, "domain" | "merchantId" | "proposal">,
  payHost: string
): ShownMerchantSettings => {
  const { domain } = settings.branding
  return {
    ...settings,
    pending_change: pendingSettings(proposal),
    domain_check: domain === null || state === null ? null : domainCheckObject({ domain, merchantId, payHost }, state)
  }
}

/** What is known of the domain after a change: of another one nothing, and one that was named again is checked again. */
export const domainAfterChange = (
  { choices: before, domain }: Pick<ChoicesState, "choices" | "domain">,
  after: Choices,
  change: MerchantSettingsChange,
  now: number
): DomainState | null => {
  const name = after.branding?.domain
  if (name == null) return domainAfterRemoval(domain)
  if (domain === null || name !== before.branding?.domain) return domainAfterRename(domain, now)
  return change.branding?.domain === name ? domainAfterSave(domain, now) : domain
}

/** Characters of a setting that the audit log keeps: all of every one but a logo. */
const maximumAudited = 2_000

/**
 * Every setting by its name; those of the page as `branding.<name>`, and of a logo its beginning. That a domain is
 * verified has an entry of its own.
 */
const auditedSettings = (
  { branding, ...settings }: MerchantSettings
): Readonly<Record<string, Schema.Json>> =>
  Object.fromEntries(
    [
      ...Object.entries(settings),
      ...Object.entries(Struct.omit(branding, ["domain_verified_at"])).map(([name, value]) =>
        [`branding.${name}`, value] as const
      )
    ].map(([name, value]) => [
      name,
      typeof value === "string" && value.length > maximumAudited
        ? `${value.slice(0, 40)}… (${value.length} characters)`
        : value
    ])
  )

/** The settings that a change moved, as they were and as they are; null: it moved none. */
export const settingsActOf = (
  { environment, merchantId }: Pick<ChoicesState, "merchantId" | "environment">,
  before: MerchantSettings,
  after: MerchantSettings,
  actor: string,
  requestId: string | null
): AuditAct | null => {
  const previous = auditedSettings(before)
  const next = auditedSettings(after)
  const changed = Object.keys(next).filter((name) => !Equal.equals(previous[name], next[name]))
  return changed.length === 0 ? null : {
    merchantId,
    environment,
    actor,
    action: "settings.update",
    subject: { object: "merchant_settings", id: String(merchantId) },
    before: Object.fromEntries(changed.map((name) => [name, previous[name] ?? null])),
    after: Object.fromEntries(changed.map((name) => [name, next[name] ?? null])),
    requestId
  }
}
