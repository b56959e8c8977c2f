/** Receiving wallets (modules/docs/reference/wallets.md#calls): definitions only. Flat family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, FlatErrors, Idempotent, listParameterCodes, MerchantAuth, ParameterCodes } from "../../runtime/Http.ts"
import { RightOf, RightsOf } from "../../runtime/Rights.ts"
import { PathId } from "../../schemas/Ids.ts"
import { Environment, Family } from "../../schemas/Network.ts"
import {
  ConfirmedForwarder,
  ForwarderProof,
  ForwarderRecovery,
  ReceivingWallet,
  WalletKind
} from "../../schemas/Wallet.ts"

/** Characters of a value, at most: a list of 5,000 addresses of 45 characters fits. */
const maximumValueLength = 230_000

/** The last index an address can have: BIP-32 ends there. */
const maximumStartIndex = 2_147_000_000

export const NewReceivingWallet = Schema.Struct({
  kind: WalletKind,
  value: Schema.NonEmptyString.check(Schema.isMaxLength(maximumValueLength)).annotate({
    description:
      "`xpub`: the account's extended public key. `pool`: addresses parted by white space or commas, at most " +
      "2,200 to 5,000 by family. `forwarder`: your own address. Never a private key or a recovery phrase"
  }),
  environment: Schema.optionalKey(Environment),
  start_index: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumStartIndex }))
      .annotate({
        description:
          "First index to give out where this deployment has never seen the wallet: one past the highest one " +
          "ever used. Mainnet needs it for an xpub; devnet starts at 0"
      })
  )
}).annotate({
  identifier: "NewReceivingWallet",
  examples: [{
    kind: "xpub",
    value:
      "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP"
  }]
})

const ConfirmedRecovery = Schema.Struct({
  checksum: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)).annotate({
    description:
      "SHA-256, hex, of `collector`, `payee` and `seed` as the document has them, each with a line feed behind it"
  }),
  environment: Schema.optionalKey(Environment)
}).annotate({
  identifier: "ConfirmedRecovery",
  examples: [{ checksum: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }]
})

const commonErrors = [
  "UNAUTHORIZED",
  "API_KEY_INVALID",
  "TOKEN_INVALID",
  "TOKEN_EXPIRED",
  "SCOPE_MISMATCH",
  "ENVIRONMENT_FORBIDDEN",
  "MAINNET_NOT_ENABLED",
  "DEVNET_NOT_ENABLED",
  "RATE_LIMIT_EXCEEDED",
  "SERVICE_UNAVAILABLE"
] as const

const writeErrors = [
  ...commonErrors,
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED"
] as const

export class WalletsGroup extends HttpApiGroup.make("wallets").add(
  HttpApiEndpoint.get("list", "/", {
    query: { environment: Schema.optionalKey(Environment) },
    success: Schema.Struct({
      wallets: Schema.Array(ReceivingWallet),
      pending_wallets: Schema.Array(ReceivingWallet).annotate({
        description: "Wallets that wait to take the place of one, each with its `pending_change`"
      })
    }),
    error: errors("flat", "INVALID_ENVIRONMENT", ...commonErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List receiving wallets",
    description:
      "Where your funds arrive, by network family, and what waits to take the place of that. A family that is not listed is paid into the deployment's " +
      "own wallet, or not offered where that has none."
  })),
  HttpApiEndpoint.put("put", "/:family", {
    params: { family: Family },
    payload: NewReceivingWallet,
    success: ReceivingWallet,
    error: errors(
      "flat",
      "VALIDATION_ERROR",
      "WALLET_INVALID",
      "UNSUPPORTED_NETWORK",
      "CREDENTIAL_NOT_ALLOWED",
      "NETWORK_DEGRADED",
      ...writeErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Set the receiving wallet of a family",
    description:
      "Invoices that get an address from now on are paid into this wallet; addresses given out before stay " +
      "watched. Compare `first_addresses` with what your own wallet shows before you take a payment. An address " +
      "that another wallet of this deployment has is refused: `WALLET_INVALID` names the entry. On mainnet, and for a " +
      "forwarder everywhere, only a person who signed in may (`CREDENTIAL_NOT_ALLOWED` for a key). Of a forwarder, read " +
      "`GET …/recovery` next, and keep what it answers. On mainnet a wallet that takes the place of another stands in " +
      "`pending_change` first: until another person approves it, where there is one who may, and then for 24 hours; the " +
      "other one receives until then."
  })),
  HttpApiEndpoint.post("approve", "/:family/changes/:id/approve", {
    params: { family: Family, id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: ReceivingWallet,
    error: errors(
      "flat",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "NOT_FOUND",
      "CREDENTIAL_NOT_ALLOWED",
      "APPROVER_MUST_DIFFER",
      "INVALID_TRANSITION",
      ...writeErrors
    )
  }).middleware(Idempotent).annotate(RightOf, "rules:approve").annotateMerge(OpenApi.annotations({
    summary: "Approve a wallet that is to take the place of another",
    description:
      "By a person other than the one who set it, an owner or an admin. `id` is that of its `pending_change`: compare " +
      "`first_addresses` first. It receives 24 hours later."
  })),
  HttpApiEndpoint.delete("cancel", "/:family/changes/:id", {
    params: { family: Family, id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: Schema.Struct({ success: Schema.tag(true) }),
    error: errors(
      "flat",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "NOT_FOUND",
      "CREDENTIAL_NOT_ALLOWED",
      ...writeErrors
    )
  }).middleware(Idempotent).annotate(RightOf, "rules:cancel").annotateMerge(OpenApi.annotations({
    summary: "Cancel a wallet that is to take the place of another",
    description:
      "By an owner or an admin, whoever set it, at any time before it receives; the other one goes on. It takes no wait " +
      "after a sign-in, so that who has just recovered can, too."
  })),
  HttpApiEndpoint.get("recovery", "/:family/recovery", {
    params: { family: Family },
    query: { environment: Schema.optionalKey(Environment) },
    success: Schema.Struct({ wallets: Schema.Array(ForwarderRecovery) }),
    error: errors("flat", "INVALID_ENVIRONMENT", "VALIDATION_ERROR", "CREDENTIAL_NOT_ALLOWED", ...commonErrors)
  }).annotate(RightOf, "wallets:write").annotateMerge(OpenApi.annotations({
    summary: "Read the recovery documents of your forwarders",
    description:
      "All that is needed to collect what lies on their addresses without this service, of the wallet that receives now " +
      "first, and of each that ever did. For a person who signed in."
  })),
  HttpApiEndpoint.get("proof", "/:family/proof", {
    params: { family: Family },
    query: {
      address: Schema.NonEmptyString.check(Schema.isMaxLength(128)).annotate({
        description: "An address that an invoice of yours was given"
      }),
      environment: Schema.optionalKey(Environment)
    },
    success: ForwarderProof,
    error: errors("flat", "INVALID_ENVIRONMENT", "VALIDATION_ERROR", "NOT_FOUND", ...commonErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Show that an address pays to your payee",
    description:
      "For your books, or for a payor who asks. It names your payee, so payors see it on the payment page only where " +
      "`branding.show_payee_proof` says so."
  })),
  HttpApiEndpoint.post("confirmRecovery", "/:family/recovery/confirm", {
    params: { family: Family },
    payload: ConfirmedRecovery,
    success: ConfirmedForwarder,
    error: errors("flat", "VALIDATION_ERROR", "CREDENTIAL_NOT_ALLOWED", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Show that you keep a recovery document",
    description:
      "Its checksum, which only who has the document can name. On mainnet a forwarder gives out no address before."
  })),
  HttpApiEndpoint.delete("remove", "/:family", {
    params: { family: Family },
    query: { environment: Schema.optionalKey(Environment) },
    success: Schema.Struct({ success: Schema.tag(true) }),
    error: errors(
      "flat",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "NOT_FOUND",
      "CREDENTIAL_NOT_ALLOWED",
      ...writeErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Remove the receiving wallet of a family",
    description:
      "Later invoices are paid into the deployment's own wallet, if it has one; addresses given out before " +
      "stay watched."
  }))
)
  .prefix("/api/v1/merchant/wallets")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "wallets:write" })
  .middleware(FlatErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Receiving wallets",
    description: "Funds go straight to wallets whose keys this service never holds."
  }))
{}

export class WalletsApi extends HttpApi.make("wallets").add(WalletsGroup) {}
