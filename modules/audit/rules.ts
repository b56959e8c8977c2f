/** Entries of the audit log: their form on the wire, and what of it is hashed. Pure. */
import type { Schema } from "effect"

export interface AuditEntry {
  readonly id: string
  readonly merchantId: number
  readonly environment: "devnet" | "mainnet"
  readonly actor: string
  readonly action: string
  readonly subject: { readonly object: string; readonly id: string }
  readonly before: Schema.Json
  readonly after: Schema.Json
  readonly requestId: string | null
  /** Epoch seconds of the service's clock, also where a merchant's devnet time runs ahead. */
  readonly createdAt: number
}

/** Where an entry stands in its merchant's chain. */
export interface ChainLink {
  readonly place: number
  readonly previousHash: string
  readonly hash: string
}

/** What is hashed of an entry: all that the API shows but the hash itself. */
export const hashedFields = (entry: AuditEntry, place: number | null, previousHash: string | null) => ({
  id: entry.id,
  object: "audit_entry" as const,
  environment: entry.environment,
  actor: entry.actor,
  action: entry.action,
  subject: entry.subject,
  before: entry.before,
  after: entry.after,
  request_id: entry.requestId,
  created_at: entry.createdAt,
  place,
  previous_hash: previousHash
})

/** The entry on the wire. Place and hashes are null until it is chained. */
export const auditEntryObject = (entry: AuditEntry, link: ChainLink | null) => ({
  ...hashedFields(entry, link?.place ?? null, link?.previousHash ?? null),
  hash: link?.hash ?? null
})
