/** The menu: which page a role sees, and which pages there are. Pure. */
import type { Right } from "../../schemas/Roles.ts"

/** A place in the menu. `group` null: at the top. */
export interface Section {
  readonly name: SectionName
  readonly path: string
  readonly group: "money" | "developers" | "settings" | null
  readonly right: Right
  /** The route of the API that it stands on; without it there is no such page. */
  readonly route: `/api/${string}`
}

export type SectionName =
  | "overview"
  | "payments"
  | "todo"
  | "links"
  | "refunds"
  | "collect"
  | "batches"
  | "balances"
  | "periods"
  | "metrics"
  | "webhooks"
  | "events"
  | "keys"
  | "tokens"
  | "wallets"
  | "limits"
  | "branding"
  | "team"
  | "audit"
  | "networks"
  | "simulator"

const section = (
  name: SectionName,
  group: Section["group"],
  right: Right,
  route: Section["route"]
): Section => ({ name, path: name === "overview" ? "" : name, group, right, route })

/** In the order of the menu. */
export const sections: ReadonlyArray<Section> = [
  section("overview", null, "payments:read", "/api/v1/invoices"),
  section("payments", null, "payments:read", "/api/v1/invoices"),
  section("todo", null, "payments:read", "/api/v1/exceptions"),
  section("links", null, "payments:read", "/api/v1/payment-links"),
  section("refunds", "money", "payments:read", "/api/v1/refunds"),
  section("collect", "money", "batches:read", "/api/v1/collectable"),
  section("batches", "money", "batches:read", "/api/v1/batches"),
  section("balances", "money", "balances:read", "/api/v1/balance"),
  section("periods", "money", "balances:read", "/api/v1/reconciliation"),
  section("metrics", "money", "payments:read", "/api/v1/metrics"),
  section("webhooks", "developers", "webhooks:read", "/api/v1/webhooks"),
  section("events", "developers", "payments:read", "/api/v1/events"),
  section("keys", "developers", "keys:read", "/api/v1/api-keys"),
  section("simulator", "developers", "invoices:write", "/api/v1/devnet/clock/advance"),
  section("tokens", "settings", "payments:read", "/api/v1/merchant/tokens"),
  section("wallets", "settings", "payments:read", "/api/v1/merchant/wallets"),
  section("limits", "settings", "payments:read", "/api/v1/merchant/settings"),
  section("branding", "settings", "payments:read", "/api/v1/merchant/settings"),
  section("team", "settings", "team:read", "/api/v1/team/members"),
  section("audit", "settings", "account:write", "/api/v1/audit-log"),
  section("networks", "settings", "payments:read", "/api/v1/networks/status")
]

/** The sections that somebody sees: those that are built, served, and theirs to see. */
export const sectionsFor = (
  builtPaths: ReadonlySet<string>,
  may: (right: Right) => boolean,
  serves: (route: `/api/${string}`) => boolean
): ReadonlyArray<Section> =>
  sections.filter(({ path, right, route }) => builtPaths.has(path) && may(right) && serves(route))

/** The section that a page belongs to: `payments` for `payments/:id`. */
export const sectionOf = (page: string): string => page.split("/")[0] ?? ""
