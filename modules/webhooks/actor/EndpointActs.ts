/** What the audit log keeps of webhook endpoints: who is told of a merchant's money, and by which secret. Pure. */
import { hash } from "node:crypto"
import type { AuditAct } from "../../../runtime/AuditLog.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import type { ManagedEndpoint } from "../repo.ts"

export type EndpointVerb = "create" | "update" | "delete" | "rotate_secret"

/** Scheme, host and port of an endpoint's URL: its path and its query may hold a secret. */
export const originOf = (url: string): string => /^[^:]+:\/\/[^/?#]*/.exec(url)?.[0] ?? ""

/** Path and query of the address may hold a secret: of the whole of it there is the hash only. */
const visible = (endpoint: ManagedEndpoint): AuditAct["after"] => ({
  url_origin: originOf(endpoint.url),
  url_sha256: hash("sha256", endpoint.url),
  environment: endpoint.environment,
  enabled_events: [...endpoint.filters],
  status: endpoint.status,
  ordered: endpoint.ordered,
  api_version: endpoint.apiVersion,
  ...(endpoint.format === null ? {} : { format: endpoint.format })
})

const secretUntil = ({ previousSecretExpiresAt }: ManagedEndpoint): AuditAct["after"] => ({
  previous_secret_expires_at: previousSecretExpiresAt
})

/** `before` null: it was not there. */
export const endpointActOf = (
  verb: EndpointVerb,
  { credential, environment, merchantId }: Principal,
  before: ManagedEndpoint | null,
  after: ManagedEndpoint,
  requestId: string | null
): AuditAct => ({
  merchantId,
  environment,
  actor: credential,
  action: `webhook.${verb}`,
  subject: { object: "webhook_endpoint", id: after.id },
  before: before === null || verb === "rotate_secret" ? {} : visible(before),
  after: verb === "delete" ? {} : verb === "rotate_secret" ? secretUntil(after) : visible(after),
  requestId
})
