/** When a merchant's domain is verified, and when it is looked at again. Pure. */
import { Option, Schema } from "effect"
import type { AuditAct } from "../../../runtime/AuditLog.ts"
import type { PublishedPage } from "../../../runtime/PublicWeb.ts"
import type { DnsFinding, DomainCheck, FileFinding } from "../../../schemas/MerchantSettings.ts"
import type { Environment } from "../../../schemas/Network.ts"

/** What has to be published, and by whom. */
export interface DomainClaim {
  readonly domain: string
  readonly merchantId: number
  /** Host of the payment page, with its port where it has one. */
  readonly payHost: string
}

/** What is known of the domain that a merchant names, or named. */
export interface DomainState {
  /** Of the last check that proved it, while it is verified: epoch seconds. */
  readonly verifiedAt: number | null
  /** Which way proved it then. */
  readonly provedBy: "file" | "dns" | null
  readonly checkedAt: number | null
  /** Checks in a row that proved nothing. */
  readonly failures: number
  readonly file: FileFinding | null
  readonly dns: DnsFinding | null
  /** When a domain of this merchant was last asked, whatever its name: epoch seconds. */
  readonly askedAt: number | null
  /** When it is checked next, epoch seconds; null: the merchant names none. */
  readonly dueAt: number | null
}

/** What one check has found. */
export interface DomainFindings {
  readonly file: FileFinding
  readonly dns: DnsFinding
}

/** Seconds between the checks of a domain that is verified: a day. */
const verifiedCheckSeconds = 86_400

/**
 * Seconds until the next check after one, two … that proved nothing: soon at first, for whoever is putting the file in
 * place now; then once a day.
 */
const retrySeconds = [60, 600, 3_600, 21_600] as const

/** Seconds for which a domain that cannot be proved any more stays verified: a weekend of a broken web server. */
export const graceSeconds = 259_200

/** Seconds between two checks, however often a merchant saves the name or another one. */
const minimumCheckSeconds = 60

export const fileUrlOf = (domain: string): string => `https://${domain}/.well-known/tillwire.json`
export const recordNameOf = (domain: string): string => `_tillwire.${domain}`
export const recordOf = ({ merchantId, payHost }: DomainClaim): string =>
  `merchant_id=${merchantId} pay_host=${payHost}`

const ProofFile = Schema.fromJsonString(
  Schema.Struct({ merchant_id: Schema.Union([Schema.Int, Schema.String]), pay_host: Schema.String })
)

const readFile = Schema.decodeUnknownOption(ProofFile)

type Verdict = "proved" | "other_merchant" | "other_host"

const compare = (claim: DomainClaim, merchantId: string | undefined, payHost: string | undefined): Verdict =>
  payHost?.toLowerCase() !== claim.payHost.toLowerCase()
    ? "other_host"
    : merchantId === String(claim.merchantId)
    ? "proved"
    : "other_merchant"

/** Statuses of a web server that fails, and of one that answers nobody for now: they say nothing of the file. */
const leastServerError = 500
const tooManyRequests = 429

/** What a page says at {@link fileUrlOf}. */
export const findingOfPage = (claim: DomainClaim, { status, text }: PublishedPage): FileFinding => {
  if (status >= leastServerError || status === tooManyRequests) return "unreachable"
  if (status !== 200) return "absent"
  const file = readFile(text.replace(/^\uFEFF/, ""))
  return Option.isNone(file) ? "unreadable" : compare(claim, String(file.value.merchant_id), file.value.pay_host)
}

const valueIn = (record: string, name: string): string | undefined =>
  record.split(/[\s;,]+/).find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1)

/** What the TXT records at {@link recordNameOf} say. One is enough: merchants of one domain have one each. */
export const findingOfRecords = (claim: DomainClaim, records: ReadonlyArray<string>): DnsFinding => {
  const found = records
    .filter((record) => valueIn(record, "merchant_id") !== undefined)
    .map((record) => compare(claim, valueIn(record, "merchant_id"), valueIn(record, "pay_host")))
  return (["proved", "other_merchant", "other_host"] as const).find((verdict) => found.includes(verdict)) ?? "absent"
}

/** A domain of which nothing is known. */
const unknownDomain = {
  verifiedAt: null,
  provedBy: null,
  checkedAt: null,
  failures: 0,
  file: null,
  dns: null
} as const

/** A name that is saved is checked at once, but not less than {@link minimumCheckSeconds} after the last check. */
const dueAfterSave = (before: DomainState | null, now: number): number =>
  Math.max(now, (before?.askedAt ?? -Infinity) + minimumCheckSeconds)

/** What is known of the domain when the merchant saves its name again. */
export const domainAfterSave = (before: DomainState, now: number): DomainState => ({
  ...before,
  failures: 0,
  dueAt: dueAfterSave(before, now)
})

/** What is known of the domain when the merchant names another one than before, or the first one. */
export const domainAfterRename = (before: DomainState | null, now: number): DomainState => ({
  ...unknownDomain,
  askedAt: before?.askedAt ?? null,
  dueAt: dueAfterSave(before, now)
})

/** What stays when the merchant names no domain any more: when the last one was asked, which holds for the next name. */
export const domainAfterRemoval = (before: DomainState | null): DomainState | null =>
  before === null ? null : { ...unknownDomain, askedAt: before.askedAt, dueAt: null }

/**
 * Whether the domain itself says that it is somebody else's. Merchants of one domain may prove it each in their way:
 * while the way that proved it does not answer, the other denies nothing.
 */
const isDenied = ({ provedBy }: DomainState, findings: DomainFindings): boolean =>
  (provedBy === null || findings[provedBy] !== "unreachable")
  && [findings.file, findings.dns].some((finding) => finding === "other_merchant" || finding === "other_host")

/**
 * The state after a check. A domain that names somebody else is unverified at once. One that says nothing keeps
 * what it had for {@link graceSeconds}: web servers and name servers fail for a while.
 */
export const domainAfter = (before: DomainState, findings: DomainFindings, now: number): DomainState => {
  const checked = { ...before, ...findings, checkedAt: now, askedAt: now }
  if (findings.file === "proved" || findings.dns === "proved") {
    const provedBy = findings.file === "proved" ? "file" : "dns"
    return { ...checked, verifiedAt: now, provedBy, failures: 0, dueAt: now + verifiedCheckSeconds }
  }
  const endsAt = before.verifiedAt === null || isDenied(before, findings) ? now : before.verifiedAt + graceSeconds
  const next = now + (retrySeconds[before.failures] ?? verifiedCheckSeconds)
  return {
    ...checked,
    verifiedAt: endsAt > now ? before.verifiedAt : null,
    failures: before.failures + 1,
    dueAt: endsAt > now ? Math.min(next, endsAt) : next
  }
}

/** The check on the wire; null: no domain is checked. */
export const domainCheckObject = (
  claim: DomainClaim,
  { checkedAt, dns, dueAt, file }: DomainState
): DomainCheck | null =>
  dueAt === null ? null : {
    file_url: fileUrlOf(claim.domain),
    file: { merchant_id: claim.merchantId, pay_host: claim.payHost },
    dns_name: recordNameOf(claim.domain),
    dns_value: recordOf(claim),
    checked_at: checkedAt,
    next_check_at: dueAt,
    file_result: file,
    dns_result: dns
  }

/** What the log keeps of a check: that the domain is verified, or is so no longer; null: neither. */
export const domainActOf = (
  { environment, merchantId }: { readonly merchantId: number; readonly environment: Environment },
  domain: string,
  before: DomainState,
  after: DomainState,
  actor: string
): AuditAct | null => {
  if ((before.verifiedAt === null) === (after.verifiedAt === null)) return null
  const fields = ({ dns, file, verifiedAt }: DomainState) => ({ domain, domain_verified_at: verifiedAt, file, dns })
  return {
    merchantId,
    environment,
    actor,
    action: after.verifiedAt === null ? "settings.unverify_domain" : "settings.verify_domain",
    subject: { object: "merchant_settings", id: String(merchantId) },
    before: fields(before),
    after: fields(after),
    requestId: null
  }
}
