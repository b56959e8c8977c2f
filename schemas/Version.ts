/**
 * The versions of the API and what tells them apart (modules/docs/reference/versioning.md#one-shape-inside). Everything
 * is decided and stored in the newest shape; an older caller gets it downgraded, one version at a time.
 */
import type { WireObject } from "./WireObject.ts"

/** Turns one object of a version into the same object of the version before. Pure, total, and idempotent. */
export type Downgrade = (object: WireObject) => WireObject

/** When a version was announced to end, and when it does, in epoch seconds: at least 12 months later. */
export interface Deprecation {
  readonly announcedAt: number
  readonly sunsetAt: number
}

export interface ApiVersion {
  /** `YYYY-MM-DD`. */
  readonly version: string
  /** Null while no end is announced. */
  readonly deprecation: Deprecation | null
  /** By the object's name, what the version before did not know. An object not named here is the same in both. */
  readonly downgrades: Readonly<Record<string, Downgrade>>
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const withoutReason = (quote: unknown): unknown => {
  if (!isObject(quote)) return quote
  const { pricing_reason: _, ...older } = quote
  return older
}

/** Exceptions that refuse their payment. Only of these the first version told. */
const refusals: ReadonlySet<unknown> = new Set([
  "below_dust",
  "late_payment",
  "missing_memo",
  "screened",
  "wrong_network",
  "wrong_token"
])

/** Why a payment is refused, in place of the exception behind it. */
const refusalOf = (status: unknown, exception: unknown): unknown => {
  if (!isObject(exception)) return exception
  const isRefused = (status === "rejected" || status === "reverted") && refusals.has(exception["type"])
  return isRefused ? exception["type"] : null
}

/**
 * Payments that say which token paid, why the locked rate did not hold and which exception is behind them came with
 * 2026-11-01.
 */
const firstPayment: Downgrade = (payment) => {
  const { metadata, status } = payment
  if (!isObject(metadata) || !("token" in metadata)) return payment
  const { token: _, ...older } = metadata
  return {
    ...payment,
    metadata: {
      ...older,
      ...("quote" in older ? { quote: withoutReason(older["quote"]) } : {}),
      ...("exception" in older ? { exception: refusalOf(status, older["exception"]) } : {})
    }
  }
}

/** Newest first. A released version is never changed, only added to by a newer one. */
export const versions: readonly [ApiVersion, ...Array<ApiVersion>] = [
  { version: "2026-11-01", deprecation: null, downgrades: { invoice_payment: firstPayment } },
  { version: "2026-01-15", deprecation: null, downgrades: {} }
]

/** The version everything is stored in, and answered in where nothing older is asked for. */
export const newestVersion: string = versions[0].version

/** The facts of a version; undefined for what is none. */
export const findVersion = (version: string): ApiVersion | undefined =>
  versions.find((each) => each.version === version)

/** `version`, or the newest where it is none of ours: a newer release that ran on this database may have pinned it. */
export const knownVersion = (version: string): string => findVersion(version)?.version ?? newestVersion

const newerThan = (version: string): ReadonlyArray<ApiVersion> => {
  const index = versions.findIndex((each) => each.version === version)
  return versions.slice(0, Math.max(0, index))
}

/** What turns an object of the newest version down to `version`, step by step. */
const downgradesTo = (version: string, name: string): ReadonlyArray<Downgrade> =>
  newerThan(version).flatMap(({ downgrades }) => downgrades[name] ?? [])

/** Whether an object of this name looks different in `version` than in the newest one. */
export const differsIn = (version: string, name: string): boolean =>
  version !== newestVersion && downgradesTo(version, name).length > 0

/** An object of the newest version as `version` shows it; a version that is none of ours shows the newest. */
export const downgrade = (object: WireObject, version: string): WireObject =>
  version === newestVersion
    ? object
    : downgradesTo(version, object.object).reduce((current, step) => step(current), object)
