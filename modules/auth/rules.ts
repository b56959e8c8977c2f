/** What API keys look like, and what a key row says about a key now. Pure: randomness and time come from outside. */
import { apiKeyPattern, apiKeyPrefix, type KeyScope, type SoleUse } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  allPermissions,
  type Authority,
  type KeyPermission,
  missingAuthority,
  type Role,
  withRoleLimit
} from "../../schemas/Roles.ts"
import { isoTime } from "../../schemas/Time.ts"
import { findVersion, versions } from "../../schemas/Version.ts"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Random characters of a key: 190 bits (modules/docs/reference/api-keys.md#form). */
const randomLength = 32

/** Characters of the checksum: 62^6 exceeds 2^32. */
const checksumLength = 6

/** The reversed polynomial of CRC-32 (ISO 3309). */
const polynomial = 0xedb88320

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1
  return value
})

/** CRC-32 of ASCII text. */
export const crc32 = (text: string): number => {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index++) {
    crc = (crc >>> 8) ^ crcTable[(crc ^ text.charCodeAt(index)) & 0xff]!
  }
  return (crc ^ 0xffffffff) >>> 0
}

const checksum = (text: string): string => {
  let rest = crc32(text)
  let digits = ""
  for (let index = 0; index < checksumLength; index++) {
    digits = base62[rest % 62]! + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/**
 * The characters that random bytes spell, at most 32; bytes of 248 and more are passed over, so that every character is
 * equally likely. 64 bytes fall short of 32 characters once in 10^44 tries.
 */
export const randomCharacters = (bytes: Uint8Array): string =>
  [...bytes].filter((byte) => byte < 248).slice(0, randomLength).map((byte) => base62[byte % 62]).join("")

/** The key with these 32 random characters: prefix, characters, checksum of both. */
export const formKey = (scope: KeyScope, environment: Environment, random: string): string => {
  const body = `${apiKeyPrefix(scope, environment)}${random}`
  return `${body}${checksum(body)}`
}

/** Characters of the random part that are a tag over everything before them; the rest has 142 bits. */
export const tagLength = 8

/**
 * A key that proves by itself that it was made here: the last {@link tagLength} of its 32 random characters are a tag
 * of all before them. `tagOf` is a keyed hash, of 32 bytes or more.
 */
export const formTaggedKey = (
  scope: KeyScope,
  environment: Environment,
  random: string,
  tagOf: (text: string) => Uint8Array
): string => {
  const randomPart = random.slice(0, randomLength - tagLength)
  return formKey(scope, environment, randomPart + tagIn(tagOf(`${apiKeyPrefix(scope, environment)}${randomPart}`)))
}

const tagIn = (hash: Uint8Array): string => randomCharacters(hash).slice(0, tagLength)

/**
 * Whether a well-formed key has the tag that {@link formTaggedKey} gives; keys made before there were tags have none.
 */
export const hasTag = (key: string, tagOf: (text: string) => Uint8Array): boolean => {
  const end = key.length - checksumLength - tagLength
  return isWellFormedKey(key) && tagIn(tagOf(key.slice(0, end))) === key.slice(end, -checksumLength)
}

/** Whether a text can be one of our keys: its form and its checksum. A mistyped key is refused without a look-up. */
export const isWellFormedKey = (text: string): boolean =>
  apiKeyPattern.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

export interface KeyState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly scope: KeyScope
  readonly name: string
  /** Start and end of the key, by which its owner tells it from others. */
  readonly prefix: string
  readonly last4: string
  /** HMAC-SHA256, hex, under the pepper. */
  readonly hash: string
  readonly status: "active" | "revoked"
  /** Epoch seconds; null: never. */
  readonly expiresAt: number | null
  /** Addresses and CIDR ranges it may be used from; none: any. */
  readonly ipAllowlist: ReadonlyArray<string>
  readonly apiVersion: string
  /** The key that a rotation made in its place. */
  readonly replacedBy: string | null
  /**
   * The key whose caller created it, as a new key or by a rotation; null: a wallet or the operator did, or it is older
   * than this field.
   */
  readonly creatorKey: string | null
  /** The person whose acts its acts are; null: nobody in particular, as of a key that the operator made. */
  readonly makerPerson: string | null
  readonly permissions: ReadonlyArray<KeyPermission>
  /** What alone it is for; null: for all that its permissions allow. */
  readonly use: SoleUse | null
  /** Roles that other people had when they made or rotated it: it has no right that one of them lacks. */
  readonly roleLimits: ReadonlyArray<Role>
  /** Epoch seconds, a minute or two late; kept beside the key's row, which its use never changes. */
  readonly lastUsedAt: number | null
  readonly createdAt: number
  readonly version: number
}

/** What a new key is for. */
export interface KeyRequest {
  readonly merchantId: number
  readonly name: string
  readonly scope: KeyScope
  readonly environment: Environment
  readonly expiresAt: number | null
  /** Absent: none, so it may be used from anywhere. */
  readonly ipAllowlist?: ReadonlyArray<string>
  /** The key whose caller creates it; absent or null: a wallet or the operator does. */
  readonly creatorKey?: string | null
  /** The person who makes it; absent or null: nobody in particular. */
  readonly makerPerson?: string | null
  /** Absent: all. */
  readonly permissions?: ReadonlyArray<KeyPermission>
  /** What alone it is for; absent or null: for all that its permissions allow. */
  readonly use?: SoleUse | null
  /** Absent: none. */
  readonly roleLimits?: ReadonlyArray<Role>
}

/** What is drawn and computed for a new key before there is a row of it. */
export interface KeyIdentity {
  readonly id: string
  /** The key itself, which is kept nowhere. */
  readonly key: string
  readonly hash: string
}

/** A key as it begins. */
export const newKey = (
  request: KeyRequest,
  { hash, id, key }: KeyIdentity,
  apiVersion: string,
  createdAt: number
): KeyState => ({
  ...request,
  id,
  prefix: key.slice(0, 12),
  last4: key.slice(-4),
  hash,
  status: "active",
  ipAllowlist: request.ipAllowlist ?? [],
  apiVersion,
  replacedBy: null,
  creatorKey: request.creatorKey ?? null,
  makerPerson: request.makerPerson ?? null,
  permissions: request.permissions ?? allPermissions,
  use: request.use ?? null,
  roleLimits: request.roleLimits ?? [],
  lastUsedAt: null,
  createdAt,
  version: 1
})

/** Whether a key opens anything at `nowSeconds`. */
export const isUsable = ({ status, expiresAt }: KeyState, nowSeconds: number): boolean =>
  status === "active" && (expiresAt === null || nowSeconds < expiresAt)

/**
 * Keys a merchant may have in use, including rotated ones until they end. Enough for several keys for every service of
 * a large shop in both environments.
 */
export const maximumKeys = 100

/** Merchants that one call of the internal port lists. */
export const maximumMerchantsListed = 1_000

/** Addresses and ranges of one key, at most: each call is compared with all of them. */
export const maximumRanges = 50

/**
 * Seconds for which a rotated key may stay in use beside the new one (modules/docs/reference/api-keys.md#rotation), as
 * for webhook secrets.
 */
export const maximumOverlapSeconds = 604_800

/** How a key is shown: `rotating` is one that was replaced and may be used until its end. */
export type KeyStatus = "active" | "rotating" | "expired" | "revoked"

export const statusAt = (key: KeyState, nowSeconds: number): KeyStatus => {
  if (key.status === "revoked") return "revoked"
  if (!isUsable(key, nowSeconds)) return "expired"
  return key.replacedBy === null ? "active" : "rotating"
}

/** What may be changed of a key; absent: as it is. */
export interface KeyChange {
  readonly name?: string
  readonly expiresAt?: number | null
  readonly ipAllowlist?: ReadonlyArray<string>
  readonly apiVersion?: string
}

/** Whether a change is about who may use the key and for how long. */
export const concernsAccess = ({ expiresAt, ipAllowlist }: KeyChange): boolean =>
  expiresAt !== undefined || ipAllowlist !== undefined

/** Why a key cannot be made or changed so, if so. */
export const objectionToChange = (change: KeyChange, nowSeconds: number): PublicError | undefined => {
  if (typeof change.expiresAt === "number" && change.expiresAt <= nowSeconds) {
    return invalidParameter("expires_at", "a time to come: epoch seconds, or ISO 8601 with a zone")
  }
  if (change.apiVersion !== undefined && findVersion(change.apiVersion) === undefined) {
    const known = versions.map(({ version }) => version).join(", ")
    return publicError("INVALID_VERSION", { param: "api_version", message: `api_version: The versions are ${known}` })
  }
  return undefined
}

const notInUse = (status: KeyStatus): PublicError =>
  publicError("INVALID_TRANSITION", {
    message: `This key is ${status}: only an active one can be changed or rotated`,
    details: { status }
  })

/** The key with a change. Only an active one changes: what was replaced, revoked or has expired stays as it ended. */
export const changeKey = (key: KeyState, change: KeyChange, nowSeconds: number): KeyState | PublicError => {
  const status = statusAt(key, nowSeconds)
  if (status !== "active") return notInUse(status)
  return objectionToChange(change, nowSeconds) ?? { ...key, ...change, version: key.version + 1 }
}

/** What a rotation asks for, and what it depends on beside the key itself. */
export interface Rotation {
  readonly replacedBy: string
  /** 0: the key ends at once. */
  readonly overlapSeconds: number
  /** The key that this one replaced, while it is still in use. */
  readonly predecessor: KeyState | undefined
  /** Keys of the merchant in use, this one among them. */
  readonly keysInUse: number
}

const predecessorInUse = ({ expiresAt, id }: KeyState): PublicError =>
  publicError("INVALID_TRANSITION", {
    message:
      `${id}, which this key replaced, is in use until ${isoTime(expiresAt!)}: revoke it first, wait until then, or `
      + "rotate with overlap_seconds 0, which ends this key at once",
    details: { status: "active", previous_key_id: id, previous_key_expires_at: expiresAt }
  })

/**
 * The key that `replacedBy` replaces: it ends after the overlap, or at its own end if that is earlier. A rotation
 * leaves at most one predecessor in use and never shortens an overlap that an earlier rotation promised. A leaked key
 * can always be replaced, because an overlap of 0 leaves no predecessor. Errors: `INVALID_TRANSITION`;
 * `API_KEY_LIMIT_REACHED`.
 */
export const rotateKey = (key: KeyState, rotation: Rotation, nowSeconds: number): KeyState | PublicError => {
  const { keysInUse, overlapSeconds, predecessor, replacedBy } = rotation
  const status = statusAt(key, nowSeconds)
  if (status !== "active") return notInUse(status)
  if (overlapSeconds > 0 && predecessor !== undefined) return predecessorInUse(predecessor)
  if (overlapSeconds > 0 && keysInUse >= maximumKeys) {
    return publicError("API_KEY_LIMIT_REACHED", {
      message:
        `A merchant may have ${maximumKeys} keys in use, and the old key counts until its overlap ends: revoke a key `
        + "first, or rotate with overlap_seconds 0"
    })
  }
  const expiresAt = Math.min(key.expiresAt ?? Infinity, nowSeconds + overlapSeconds)
  return { ...key, replacedBy, expiresAt, version: key.version + 1 }
}

/** A person or a key that changes keys, by what it may do itself. */
export interface KeyManager extends Authority {
  readonly person: string | null
}

/**
 * Why a caller may not have the text of a key, or loosen what it is bound to, if so: `PERMISSION_DENIED` where the key
 * may do more than the caller. `makerRole`: of the key's maker now; null: it is no member any more.
 */
export const objectionToManager = (
  manager: KeyManager,
  key: Pick<KeyState, "environment" | "permissions" | "roleLimits">,
  makerRole: Role | null
): PublicError | undefined => {
  // A maker who is gone may come back in any role.
  const missing = missingAuthority(manager, { ...key, role: makerRole ?? "owner" }, key.environment)
  if (missing.permissions.length === 0 && missing.rights.length === 0) return undefined
  const names = [...missing.permissions.map((permission) => `the permission ${permission}`), ...missing.rights]
  return publicError("PERMISSION_DENIED", {
    message: `This key may do more than you may: ${names.join(", ")}. Ask somebody who may do all that it does, or `
      + "revoke it and make another key",
    details: { ...missing, role: manager.role }
  })
}

/**
 * The limits of the key that a caller makes in another's place. The caller's role is one of them where the key stays a
 * colleague's: a colleague who is given another role must not give the caller more with it.
 */
const successorLimits = ({ makerPerson, roleLimits }: KeyState, manager: KeyManager | null): ReadonlyArray<Role> => {
  if (manager === null) return roleLimits
  const own = manager.person === makerPerson ? [] : [manager.role]
  return [...manager.roleLimits ?? [], ...own].reduce(withRoleLimit, roleLimits)
}

/**
 * The key that takes the place of another: what may be done with it, from where and until when stays. `manager`: who
 * rotates; null: the operator does.
 */
export const successorRequest = (
  key: KeyState,
  creatorKey: string | null,
  manager: KeyManager | null
): KeyRequest => ({
  name: key.name,
  environment: key.environment,
  expiresAt: key.expiresAt,
  ipAllowlist: key.ipAllowlist,
  merchantId: key.merchantId,
  scope: key.scope,
  permissions: key.permissions,
  use: key.use,
  makerPerson: key.makerPerson,
  roleLimits: successorLimits(key, manager),
  creatorKey
})

/** The key, revoked for good; one that is revoked already is unchanged. */
export const revoke = (key: KeyState): KeyState =>
  key.status === "revoked" ? key : { ...key, status: "revoked", version: key.version + 1 }

/** What a revocation does with the keys that were created with the key, directly or indirectly. */
export const ChildKeys = ["keep", "revoke"] as const
export type ChildKeys = typeof ChildKeys[number]

/**
 * A revoked key, and the keys created with it, directly or indirectly, that were in use: newest first, after the call.
 */
export interface RevokedKey {
  readonly state: KeyState
  readonly children: ReadonlyArray<KeyState>
}

/** What a revocation leaves. */
export const revokeWithChildren = (
  key: KeyState,
  children: ReadonlyArray<KeyState>,
  childKeys: ChildKeys
): RevokedKey => ({
  state: revoke(key),
  children: childKeys === "revoke" ? children.map(revoke) : children
})

/** Those of `after` whose version is not the one they had `before`. */
export const changedKeys = (
  before: ReadonlyArray<KeyState>,
  after: ReadonlyArray<KeyState>
): ReadonlyArray<KeyState> => {
  const versions = new Map(before.map(({ id, version }) => [id, version]))
  return after.filter(({ id, version }) => versions.get(id) !== version)
}

/** A tenant. */
export interface MerchantState {
  readonly id: number
  readonly name: string
  readonly email: string | null
  /** Where calls of its wallets act that name no environment. */
  readonly defaultEnvironment: Environment
  readonly createdAt: number
  readonly version: number
}

/** A merchant as it begins. */
export const newMerchant = (
  id: number,
  name: string,
  email: string | null,
  defaultEnvironment: Environment,
  createdAt: number
): MerchantState => ({ id, name, email, defaultEnvironment, createdAt, version: 1 })
