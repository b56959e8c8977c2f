/** Who is calling: credentials as they look, and what they entitle to. */
import { Schema } from "effect"
import { MerchantId } from "./Ids.ts"
import { Environment } from "./Network.ts"
import { KeyPermission, Role } from "./Roles.ts"

/**
 * `merchant` keys see the whole account; `commerce` keys only commerce records of their environment
 * (modules/docs/reference/authentication.md#scopes).
 */
export const KeyScope = Schema.Literals(["merchant", "commerce"])
export type KeyScope = typeof KeyScope.Type

/** How a caller proved who it is: an API key, bound to one environment, or the token a wallet signed in for. */
export const CredentialKind = Schema.Literals(["key", "wallet"])
export type CredentialKind = typeof CredentialKind.Type

/** The merchant on whose behalf a request is made, and through which credential. */
export const Principal = Schema.Struct({
  merchantId: MerchantId,
  /** Where its writes go and, where nothing else is said, its reads: a key's own; the one a wallet's call names. */
  environment: Environment,
  /** A wallet has merchant scope. */
  scope: KeyScope,
  kind: CredentialKind,
  /** What limits count and a revocation ends: `key_<uuid>`, or one wallet of one merchant. */
  credential: Schema.String,
  /** The version of the API it is answered in where the request names none: a key's pinned one. */
  apiVersion: Schema.String,
  /** A person's own; of a key, its maker's, which it never exceeds. */
  role: Role,
  /** Of a key; a person has all. */
  permissions: Schema.Array(KeyPermission),
  /** Of a key that other people made or rotated: their roles, which it never exceeds either. Absent: none. */
  roleLimits: Schema.optionalKey(Schema.Array(Role)),
  /** Who it counts as where people are counted: the person, or the maker of a key; null: made by nobody in particular. */
  person: Schema.NullOr(Schema.String)
})
export type Principal = typeof Principal.Type

/** `mk_live_` / `mk_dev_` merchant, `ck_live_` / `ck_dev_` commerce, 32 base62 characters, 6 of CRC32. */
export const apiKeyPattern = /^(mk|ck)_(live|dev)_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/

/**
 * What alone a key is for: `btcpay`, the calls of a shop that was built for BTCPay Server. It is refused everywhere
 * else (modules/docs/reference/api-keys.md#keys-for-one-use).
 */
export const SoleUse = Schema.Literals(["btcpay"])
export type SoleUse = typeof SoleUse.Type

/**
 * The Store ID of a shop, which its keys and webhooks name (modules/docs/reference/btcpay.md#keys-and-stores). Plugins
 * cut it out of a permission at the colon, so it has none.
 */
export const storeIdOf = (merchantId: number, environment: Environment): string => `${merchantId}-${environment}`

/** First part of a key: tells its scope and environment, and lets secret scanners find it. */
export const apiKeyPrefix = (scope: KeyScope, environment: Environment): string =>
  `${scope === "merchant" ? "mk" : "ck"}_${environment === "mainnet" ? "live" : "dev"}_`

/** The service or the person behind a call of the internal port, in a word: it is kept as `service:<name>`. */
export const ActorName = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9._-]{0,63}$/u))
