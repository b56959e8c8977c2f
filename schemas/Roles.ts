/** Who of a merchant may do what: roles of people, permissions of API keys, and the rights of both. Pure. */
import { Schema } from "effect"
import type { Environment } from "./Network.ts"

/** What somebody is at a merchant (modules/docs/reference/roles.md). */
export const Role = Schema.Literals(["owner", "admin", "developer", "support", "accountant", "viewer"])
export type Role = typeof Role.Type

/**
 * What the first owner of a merchant is called wherever people are counted, and is for good: what was made and approved
 * before anybody knew the people of merchants is that owner's.
 */
export const firstOwnerPerson = "owner"

/** What an API key may be used for (modules/docs/reference/roles.md#api-keys). */
export const KeyPermission = Schema.Literals(["read", "write", "refund"])
export type KeyPermission = typeof KeyPermission.Type

/** What a key may do that was made before there were permissions, or whose maker names none. */
export const allPermissions: ReadonlyArray<KeyPermission> = KeyPermission.literals

const everybody: ReadonlyArray<Role> = Role.literals

/** The rights that roles have. A route names the one that its calls need. */
const rolesByRight = {
  /** Invoices, payments, customers, events, exceptions, refunds, metrics, and what is accepted and where it goes. */
  "payments:read": everybody,
  "invoices:write": ["owner", "admin", "developer", "support"],
  "exceptions:resolve": ["owner", "admin", "support"],
  "refunds:create": ["owner", "admin", "support"],
  "refunds:approve": ["owner", "admin"],
  "batches:read": ["owner", "admin", "accountant"],
  "batches:create": ["owner", "admin", "accountant"],
  "batches:approve": ["owner", "admin"],
  "balances:read": ["owner", "admin", "accountant", "viewer"],
  "exports:read": ["owner", "admin", "accountant"],
  /** Adjustments, and closing a period. */
  "books:write": ["owner", "accountant"],
  "webhooks:read": ["owner", "admin", "developer"],
  "webhooks:write": ["owner", "admin", "developer"],
  "keys:read": ["owner", "admin", "developer"],
  "keys:write": ["owner", "admin", "developer"],
  /** Accepted tokens, and how the payment page looks. */
  "settings:write": ["owner", "admin", "developer"],
  /** What of a person is kept: export and erasure. */
  "customers:write": ["owner", "admin"],
  /** Where money is received. */
  "wallets:write": ["owner"],
  /** Limits and approvals of money that goes out. */
  "rules:write": ["owner"],
  /** The approval of a second person for a change of limits, or of where money is received. */
  "rules:approve": ["owner", "admin"],
  /** Ending such a change while it waits: what holds stays, so it is for who has just recovered, too. */
  "rules:cancel": ["owner", "admin"],
  "team:read": ["owner", "admin"],
  "team:write": ["owner"],
  /** The whole audit log; everybody else reads what they did. */
  "audit:read": ["owner", "admin", "accountant"],
  /** One's own sessions, passkeys, wallets, language and time zone. */
  "account:write": everybody
} as const satisfies Readonly<Record<string, ReadonlyArray<Role>>>

/** A right that a role may have. */
export type Right = keyof typeof rolesByRight
export const rights = Object.keys(rolesByRight) as ReadonlyArray<Right>

/** Rights that are not of one environment: play money frees nobody of them. */
const merchantWide: ReadonlySet<Right> = new Set<Right>([
  "account:write",
  "audit:read",
  "rules:approve",
  "rules:cancel",
  "rules:write",
  "team:read",
  "team:write"
])

const isAboutKeys = (right: Right): boolean => right === "keys:read" || right === "keys:write"

/**
 * Whether a role has a right. With play money everybody may try everything but what a merchant has only once; keys are
 * for those who may hold them, and a viewer only looks.
 */
export const roleHas = (role: Role, right: Right, environment: Environment): boolean => {
  const roles: ReadonlyArray<Role> = rolesByRight[right]
  if (roles.includes(role)) return true
  if (environment !== "devnet" || merchantWide.has(right)) return false
  if (role === "viewer") return false
  return role === "developer" || !isAboutKeys(right)
}

/** The roles that have a right where real money is. */
export const rolesWith = (right: Right): ReadonlyArray<Role> => rolesByRight[right]

/**
 * Seconds for which a sign-in by a link or a recovery code, and a new passkey or wallet, moves no money on mainnet
 * (modules/docs/reference/team.md#waits).
 */
export const moneyWaitSeconds = 86_400

/** Rights by which money goes out, or by which somebody decides where it goes and who may say so. */
const moneyRights: ReadonlySet<Right> = new Set<Right>([
  "batches:approve",
  "batches:create",
  "exceptions:resolve",
  "keys:write",
  "refunds:approve",
  "refunds:create",
  "rules:approve",
  "rules:write",
  "team:write",
  "wallets:write"
])

/**
 * Whether a right waits after a sign-in that others may have made: it moves real money, or decides about it, as what a
 * merchant has once for both environments does.
 */
export const waitsForMoney = (right: Right, environment: Environment): boolean =>
  moneyRights.has(right) && (environment === "mainnet" || merchantWide.has(right))

/** Rights that take a key's permission `refund`: money that goes out. */
const refundRights: ReadonlySet<Right> = new Set<Right>(["batches:create", "refunds:create"])

/**
 * Seconds after a sign-in, or a fresh answer of a passkey, for which a person need not prove anew who it is
 * (modules/docs/reference/team.md#a-fresh-proof).
 */
export const freshProofSeconds = 300

/** Rights by which a stolen session would do harm that stays: money is let go, or somebody gets a way to it. */
const freshRights: ReadonlySet<Right> = new Set<Right>([
  "batches:approve",
  "books:write",
  "keys:write",
  "refunds:approve",
  "rules:approve",
  "rules:write",
  "team:write",
  "wallets:write"
])

/** Whether a right takes a fresh proof of who its person is: with real money, as {@link waitsForMoney}. */
export const takesFreshProof = (right: Right, environment: Environment): boolean =>
  freshRights.has(right) && (environment === "mainnet" || merchantWide.has(right))

/** The permission of a key that a right takes. */
export const permissionFor = (right: Right): KeyPermission =>
  refundRights.has(right) ? "refund" : right.endsWith(":read") ? "read" : "write"

/** What somebody may do: a person by the role alone; a key by its permissions, and never more than its maker's role. */
export interface Authority {
  readonly role: Role
  readonly permissions: ReadonlyArray<KeyPermission>
  /**
   * Roles of people who made or rotated a key before its maker now, each of which must have a right too
   * (modules/docs/reference/roles.md#api-keys). Absent: none.
   */
  readonly roleLimits?: ReadonlyArray<Role>
}

/** Whether a caller may do what takes a right. */
export const mayDo = (
  { permissions, role, roleLimits = [] }: Authority,
  right: Right,
  environment: Environment
): boolean =>
  permissions.includes(permissionFor(right)) && [role, ...roleLimits].every((one) => roleHas(one, right, environment))

/** What of another authority a caller lacks in an environment: rights, and permissions whatever they are good for now. */
export const missingAuthority = (
  caller: Authority,
  other: Authority,
  environment: Environment
): { readonly permissions: ReadonlyArray<KeyPermission>; readonly rights: ReadonlyArray<Right> } => ({
  permissions: other.permissions.filter((permission) => !caller.permissions.includes(permission)),
  rights: rights.filter((right) => mayDo(other, right, environment) && !mayDo(caller, right, environment))
})

/** Limits with one role more, as where another person takes over a key. An owner's role limits nothing. */
export const withRoleLimit = (roleLimits: ReadonlyArray<Role>, role: Role): ReadonlyArray<Role> =>
  role === "owner" || roleLimits.includes(role) ? roleLimits : [...roleLimits, role]
