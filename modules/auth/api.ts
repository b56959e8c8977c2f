/** API keys (modules/docs/reference/api-keys.md#managing-keys): definitions only. */
import { Schema, SchemaGetter } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Idempotent, MerchantAuth, PrivateReplies, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { KeyScope, SoleUse } from "../../schemas/Auth.ts"
import { EpochSeconds, KeyId, PathId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { KeyPermission } from "../../schemas/Roles.ts"
import { success } from "../../schemas/Success.ts"
import { readTime } from "../../schemas/Time.ts"
import { ChildKeys, maximumOverlapSeconds, maximumRanges } from "./rules.ts"

/** Characters of a name, at most, and of an address range. */
const maximumName = 255
const maximumRange = 64

/** Seconds for which a rotated key may be used where the call does not say. */
const defaultOverlapSeconds = 86_400

/** Keys on a page (modules/docs/reference/pagination.md#lists). */
const pageLimits = { minimum: 1, maximum: 100 }

const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Name = Schema.NonEmptyString.check(Schema.isMaxLength(maximumName)).annotate({
  description: "What its owner tells it from others by"
})

const AllowedAddresses = Schema.Array(Schema.NonEmptyString.check(Schema.isMaxLength(maximumRange)))
  .check(Schema.isMaxLength(maximumRanges))
  .annotate({
    description: "IPv4 and IPv6 addresses and CIDR ranges it may be used from; empty: any",
    examples: [["203.0.113.0/24", "2001:db8::1"]]
  })

/** What a key may be used for. */
const Permissions = Schema.Array(KeyPermission).check(Schema.isMinLength(1), Schema.isMaxLength(3)).annotate({
  description: "`read`: all reads. `write`: all changes but those that send money. `refund`: refunds and batches"
})

const Use = SoleUse.annotate({
  description: "`btcpay`: it is for a shop built for BTCPay Server alone, and refused by every other route"
})

/** A moment in a body: epoch seconds, or ISO 8601 with a zone. */
const Moment = Schema.Union([
  EpochSeconds,
  Schema.String.annotate({ examples: ["2027-12-31T23:59:59Z"] })
    .check(Schema.makeFilter((text) => readTime(text) !== undefined, { expected: "an ISO 8601 time with a zone" }))
]).pipe(Schema.decodeTo(EpochSeconds, {
  decode: SchemaGetter.transform((moment) => typeof moment === "number" ? moment : Math.floor(readTime(moment)!)),
  encode: SchemaGetter.transform((seconds) => seconds)
}))

/** A new key. */
export const NewApiKey = Schema.Struct({
  name: Name,
  scope: KeyScope.annotate({ description: "`merchant`: the whole account. `commerce`: commerce records only" }),
  environment: absent(Environment).annotate({ description: "Absent: the caller's own" }),
  permissions: absent(Permissions).annotate({ description: "Absent: all that its maker has" }),
  use: absent(Use),
  expires_at: absent(Moment).annotate({
    description: "When it ends by itself: epoch seconds, or ISO 8601 with a zone; absent or null: never"
  }),
  ip_allowlist: absent(AllowedAddresses)
}).annotate({
  identifier: "NewApiKey",
  examples: [{ name: "Checkout server", scope: "merchant", environment: "devnet", ip_allowlist: ["203.0.113.0/24"] }]
})

/** What may be changed of a key; a field that is not sent stays. */
export const ApiKeyChange = Schema.Struct({
  name: Schema.optionalKey(Name),
  expires_at: absent(Moment).annotate({
    description: "When it ends by itself: epoch seconds, or ISO 8601 with a zone; null: never"
  }),
  ip_allowlist: Schema.optionalKey(AllowedAddresses),
  api_version: Schema.optionalKey(Schema.String).annotate({
    description: "The version its calls are answered in where they name none"
  })
}).annotate({ identifier: "ApiKeyChange", examples: [{ name: "Checkout server 2", ip_allowlist: [] }] })

export const ApiKeyRotation = Schema.Struct({
  overlap_seconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumOverlapSeconds }))
  ).annotate({ description: `How long the old key may still be used; default ${defaultOverlapSeconds}` })
}).annotate({ identifier: "ApiKeyRotation", examples: [{ overlap_seconds: defaultOverlapSeconds }] })

export { defaultOverlapSeconds }

/** What a revocation does with other keys. Without a body they are kept. */
export const ApiKeyRevocation = Schema.Struct({
  child_keys: Schema.optionalKey(Schema.Literals(ChildKeys)).annotate({
    description: "`revoke`: the keys created with it, directly or indirectly, are revoked too. Default `keep`"
  })
}).annotate({ identifier: "ApiKeyRevocation", examples: [{ child_keys: "revoke" }] })

const id = { id: KeyId, object: Schema.tag("api_key") }

const secret = { key: Schema.String.annotate({ description: "The key itself, shown this once" }) }

const keyFields = {
  name: Schema.String,
  prefix: Schema.String.annotate({ description: "Its first 12 characters" }),
  last4: Schema.String,
  scope: KeyScope,
  environment: Environment,
  status: Schema.Literals(["active", "rotating", "expired", "revoked"]).annotate({
    description: "`rotating`: it was replaced and may be used until `expires_at`"
  }),
  permissions: Schema.Array(KeyPermission).annotate({ description: "What it may be used for" }),
  use: Schema.optionalKey(Use),
  expires_at: Schema.NullOr(EpochSeconds),
  ip_allowlist: Schema.Array(Schema.String),
  api_version: Schema.String,
  last_used_at: Schema.NullOr(EpochSeconds).annotate({ description: "Told a minute or two late" }),
  replaced_by: Schema.NullOr(KeyId).annotate({ description: "The key that a rotation made in its place" }),
  created_by: Schema.NullOr(KeyId).annotate({
    description:
      "The key it was created with, as a new key or by a rotation. Null: a wallet or the operator created it, or it "
      + "is older than this field"
  }),
  created_at: EpochSeconds
}

/** A key as it is shown ever after: never the key itself. */
export const ApiKey = Schema.Struct({ ...id, ...keyFields }).annotate({ identifier: "ApiKey" })

const exampleKey = {
  id: KeyId.make("key_7d4f2a10-6c3b-4e9d-8f51-2b0c9e7a6d34"),
  object: "api_key",
  name: "Checkout server",
  prefix: "mk_dev_8Hq2m",
  last4: "x7Qp",
  scope: "merchant",
  environment: "devnet",
  status: "active",
  permissions: ["read", "write", "refund"],
  expires_at: null,
  ip_allowlist: ["203.0.113.0/24"],
  api_version: "2026-01-15",
  last_used_at: 1_766_320_496,
  replaced_by: null,
  created_by: null,
  created_at: 1_766_320_496
} as const

const exampleSecret = { key: "mk_dev_8Hq2mZk3vQm1x8yB0c2J5dGVzLW9mLX1aB3x7Qp" }

const OneApiKey = success(ApiKey).annotate({ identifier: "OneApiKey", examples: [{ success: true, data: exampleKey }] })

/** A revoked key, and the keys created with it. */
const RevokedApiKey = success(Schema.Struct({
  ...id,
  ...keyFields,
  child_keys: Schema.Array(ApiKey).annotate({
    description:
      "The keys created with it, directly or indirectly, that were in use, newest first, as they are after the "
      + "call. After a leak, check each of them"
  })
})).annotate({
  identifier: "RevokedApiKey",
  examples: [{
    success: true,
    data: {
      ...exampleKey,
      status: "revoked",
      child_keys: [{
        ...exampleKey,
        id: KeyId.make("key_5c1e9a42-0f6d-4b7a-9c38-1d2e3f4a5b6c"),
        created_by: exampleKey.id
      }]
    }
  }]
})

/** A key as it is shown once, when it is made. */
const CreatedApiKey = success(Schema.Struct({ ...id, ...secret, ...keyFields })).annotate({
  identifier: "CreatedApiKey",
  examples: [{ success: true, data: { ...exampleKey, ...exampleSecret } }]
})

const RotatedApiKey = success(Schema.Struct({
  ...id,
  ...secret,
  ...keyFields,
  previous_key_id: KeyId,
  previous_key_expires_at: EpochSeconds
})).annotate({
  identifier: "RotatedApiKey",
  examples: [{
    success: true,
    data: {
      ...exampleKey,
      ...exampleSecret,
      previous_key_id: KeyId.make("key_2b0c9e7a-6c3b-4e9d-8f51-7d4f2a106d34"),
      previous_key_expires_at: 1_766_406_896
    }
  }]
})

export class ApiKeysGroup extends HttpApiGroup.make("api-keys").add(
  HttpApiEndpoint.post("create", "/", {
    payload: NewApiKey,
    success: CreatedApiKey,
    error: errors("wrapped", "VALIDATION_ERROR", "ENVIRONMENT_FORBIDDEN", "API_KEY_LIMIT_REACHED")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Make an API key",
    description:
      "`key` is shown this once; only a hash of it is kept. A key makes keys of its own environment, a wallet of " +
      "either. The new key is pinned to the newest version of the API. At most 100 keys may be in use, including " +
      "rotated ones until they end."
  })),
  HttpApiEndpoint.get("list", "/", {
    query: {
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String),
      ending_before: Schema.optionalKey(Schema.String),
      environment: Schema.optionalKey(Environment)
    },
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(ApiKey),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "ApiKeyList",
      examples: [{ success: true, data: { object: "list", data: [exampleKey], has_more: false } }]
    }),
    error: errors("wrapped", "INVALID_LIMIT", "INVALID_CURSOR", "INVALID_ENVIRONMENT", "ENVIRONMENT_FORBIDDEN")
  }).annotateMerge(OpenApi.annotations({
    summary: "List API keys, newest first",
    description: "Keys of the caller's environment, revoked and expired ones included."
  })),
  HttpApiEndpoint.patch("change", "/:id", {
    params: { id: PathId },
    payload: ApiKeyChange,
    success: OneApiKey,
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND", "INVALID_TRANSITION")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Change an API key",
    description:
      "Only an `active` key can be changed. In force everywhere within 5 seconds. Its end and its addresses are changed only "
      + "by a caller who may do all that the key may."
  })),
  HttpApiEndpoint.delete("revoke", "/:id", {
    params: { id: PathId },
    payload: [ApiKeyRevocation, Schema.Void],
    success: RevokedApiKey,
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Revoke an API key",
    description:
      "It is refused everywhere within 5 seconds, for good. Other keys may have been created with it: `child_keys` "
      + "lists those in use, and `{\"child_keys\": \"revoke\"}` revokes them in the same step, even when the key itself was "
      + "revoked before. Revoking twice is the same as once."
  })),
  HttpApiEndpoint.post("rotate", "/:id/rotate", {
    params: { id: PathId },
    payload: ApiKeyRotation,
    success: RotatedApiKey,
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND", "INVALID_TRANSITION", "API_KEY_LIMIT_REACHED")
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Rotate an API key",
    description:
      "Makes a key of the same name, scope, version, end and addresses, to be used at once. The old one may be " +
      "used until the overlap ends, cannot be rotated again, and counts among the 100 keys in use until then. Until then " +
      "the new one can be rotated only with `overlap_seconds` 0. `key` is shown this once. A caller rotates only a key " +
      "that may do no more than the caller."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "keys:read", write: "keys:write" })
  .annotate(PrivateReplies, true)
  .middleware(WrappedErrors)
  .prefix("/api/v1/api-keys")
  .annotateMerge(OpenApi.annotations({
    title: "API keys",
    description:
      "What a merchant's servers call with. Managed by a wallet, or by a merchant-scope key for its own environment."
  }))
{}

export class AuthApi extends HttpApi.make("auth-api").add(ApiKeysGroup) {}
