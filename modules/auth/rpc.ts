/** Merchants and keys for internal services: definitions only. A mainnet is set up through these. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { KeyScope, SoleUse } from "../../schemas/Auth.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds, KeyId, MerchantId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { KeyPermission } from "../../schemas/Roles.ts"
import { ChildKeys, maximumOverlapSeconds, maximumRanges } from "./rules.ts"

/** A name or an address of a merchant, or the name of a key: 1 to 255 characters. */
export const Name = Schema.NonEmptyString.check(Schema.isMaxLength(255))

const Ranges = Schema.Array(Schema.NonEmptyString.check(Schema.isMaxLength(64))).check(
  Schema.isMaxLength(maximumRanges)
)

export const Merchant = Schema.Struct({
  id: MerchantId,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  created_at: EpochSeconds
})
export type Merchant = typeof Merchant.Type

const keyFields = {
  id: KeyId,
  merchant_id: MerchantId,
  name: Schema.String,
  prefix: Schema.String,
  last4: Schema.String,
  scope: KeyScope,
  environment: Environment,
  status: Schema.Literals(["active", "rotating", "expired", "revoked"]),
  permissions: Schema.Array(KeyPermission),
  /** What alone it is for; absent: for all that its permissions allow. */
  use: Schema.optionalKey(SoleUse),
  expires_at: Schema.NullOr(EpochSeconds),
  ip_allowlist: Schema.Array(Schema.String),
  api_version: Schema.String,
  /** A minute or two late. */
  last_used_at: Schema.NullOr(EpochSeconds),
  replaced_by: Schema.NullOr(KeyId),
  /** The key whose caller created it; null: a wallet or this RPC did, or it is older than this field. */
  created_by: Schema.NullOr(KeyId),
  created_at: EpochSeconds
}

/** A key as it is shown ever after: never the key itself. */
export const ApiKey = Schema.Struct(keyFields)
export type ApiKey = typeof ApiKey.Type

/**
 * A revoked key, and the keys created with it, directly or indirectly, that were in use: newest first, after the call.
 */
export const RevokedApiKey = Schema.Struct({ ...keyFields, child_keys: Schema.Array(ApiKey) })
export type RevokedApiKey = typeof RevokedApiKey.Type

/** A key as it is shown once, when it is made. */
export const NewApiKey = Schema.Struct({ ...keyFields, key: Schema.String })
export type NewApiKey = typeof NewApiKey.Type

export class AuthRpc extends RpcGroup.make(
  Rpc.make("auth.merchants.create", {
    payload: { name: Name, email: Schema.optionalKey(Schema.NullOr(Name)) },
    success: Merchant,
    error: PublicError
  }),
  /** Oldest first, at most 1,000 beyond the merchant `after`. */
  Rpc.make("auth.merchants.list", {
    payload: { after: Schema.optionalKey(MerchantId) },
    success: Schema.Array(Merchant),
    error: PublicError
  }),
  /**
   * `key` is shown in this answer only. Errors: `NOT_FOUND` without such a merchant; `*_NOT_ENABLED`;
   * `VALIDATION_ERROR`; `API_KEY_LIMIT_REACHED`.
   */
  Rpc.make("auth.keys.create", {
    payload: {
      merchant_id: MerchantId,
      name: Name,
      scope: KeyScope,
      environment: Environment,
      expires_at: Schema.optionalKey(Schema.NullOr(EpochSeconds)),
      ip_allowlist: Schema.optionalKey(Ranges),
      use: Schema.optionalKey(Schema.NullOr(SoleUse))
    },
    success: NewApiKey,
    error: PublicError
  }),
  /** Newest first, at most 1,000. */
  Rpc.make("auth.keys.list", {
    payload: { merchant_id: MerchantId },
    success: Schema.Array(ApiKey),
    error: PublicError
  }),
  /** What is not sent stays. Errors: `NOT_FOUND`, `VALIDATION_ERROR`; `INVALID_TRANSITION` unless it is active. */
  Rpc.make("auth.keys.change", {
    payload: {
      merchant_id: MerchantId,
      key_id: KeyId,
      name: Schema.optionalKey(Name),
      expires_at: Schema.optionalKey(Schema.NullOr(EpochSeconds)),
      ip_allowlist: Schema.optionalKey(Ranges),
      api_version: Schema.optionalKey(Schema.String)
    },
    success: ApiKey,
    error: PublicError
  }),
  /**
   * A new key in place of an active one, which may be used for `overlap_seconds` more. `key` is shown in this answer
   * only. Errors: `NOT_FOUND`; `INVALID_TRANSITION` unless it is active, and while its predecessor is in use;
   * `API_KEY_LIMIT_REACHED`. With `overlap_seconds` 0 the last two cannot happen.
   */
  Rpc.make("auth.keys.rotate", {
    payload: {
      merchant_id: MerchantId,
      key_id: KeyId,
      overlap_seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumOverlapSeconds }))
    },
    success: NewApiKey,
    error: PublicError
  }),
  /**
   * The key is refused everywhere within 5 s. The answer's `child_keys` are the keys created with it that were in use;
   * with `child_keys: "revoke"` they are revoked too, even when the key itself was revoked before. Revoking twice is
   * the same as once. `NOT_FOUND` without such a key.
   */
  Rpc.make("auth.keys.revoke", {
    payload: { merchant_id: MerchantId, key_id: KeyId, child_keys: Schema.optionalKey(Schema.Literals(ChildKeys)) },
    success: RevokedApiKey,
    error: PublicError
  })
) {}
