/** What the audit log keeps of keys: no key, and no part of one. */
import type { AuditAct } from "../../../runtime/AuditLog.ts"
import type { KeyState } from "../rules.ts"

export type KeyAction = "key.create" | "key.update" | "key.rotate" | "key.revoke"

const visible = (key: KeyState | null) =>
  key === null ? {} : {
    name: key.name,
    scope: key.scope,
    ...(key.use === null ? {} : { use: key.use }),
    status: key.status,
    expires_at: key.expiresAt,
    ip_allowlist: [...key.ipAllowlist],
    api_version: key.apiVersion,
    replaced_by: key.replacedBy
  }

export const keyActOf = (
  action: KeyAction,
  before: KeyState | null,
  after: KeyState,
  actor: string,
  requestId: string | null
): AuditAct => ({
  merchantId: after.merchantId,
  environment: after.environment,
  actor,
  action,
  subject: { object: "api_key", id: after.id },
  before: visible(before),
  after: visible(after),
  requestId
})
