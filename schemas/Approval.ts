/** What people sign when they approve that money goes out (modules/docs/reference/approvals.md). */
import { Schema } from "effect"
import { EpochSeconds } from "./Ids.ts"
import { Environment, Family } from "./Network.ts"
import { success } from "./Success.ts"

/** What is approved. */
export const ApprovedObject = Schema.Literals(["refund", "batch"])
export type ApprovedObject = typeof ApprovedObject.Type

/** Of a challenge, and of the approval that answers it. */
export const ApprovalId = Schema.String.check(Schema.isPattern(/^apr_[0-9a-f]{64}$/u)).annotate({
  description: "`apr_` and 64 hex digits"
})

export const isApprovalId = Schema.is(ApprovalId)

const exampleId = `apr_${"0190a5b27c41".repeat(5)}0190`

/** Characters of one text in an answer, at most; what authenticators and wallets make is shorter. */
const maximumText = 16_384

const Text = Schema.String.check(Schema.isMaxLength(maximumText))

/** That a person has approved, as the object that is approved keeps it. */
export const PersonApproval = Schema.Struct({
  /** Whoever it is: two credentials of one person are one. */
  person: Schema.String,
  /** The credential, as `Principal.credential` names it. */
  actor: Schema.String,
  at: Schema.Int,
  /** The id of what the person signed (modules/docs/reference/approvals.md); absent: nothing. */
  signed: Schema.optionalKey(Schema.String)
})
export type PersonApproval = typeof PersonApproval.Type

/** An approval as `approvals` of the object shows it: by which credential, and when. */
export const ApprovalSummary = Schema.Struct({ by: Schema.String, at: EpochSeconds })

/** What a person sends to approve: its own answer to a challenge. */
export const ApprovalAnswer = Schema.Struct({
  id: Schema.String.check(Schema.isMaxLength(128)).annotate({
    description: "Of the challenge that it answers",
    examples: [exampleId]
  }),
  passkey: Schema.optionalKey(Schema.NullOr(Schema.Json)).annotate({
    description: "`toJSON()` of what `navigator.credentials.get` gives for the challenge's `passkey`"
  }),
  wallet: Schema.optionalKey(Schema.NullOr(Schema.Struct({
    family: Family,
    address: Schema.String.check(Schema.isMaxLength(128)),
    signature: Text.annotate({ description: "Of `text`, in the form in which wallets of the family sign in" }),
    public_key: Schema.optionalKey(Schema.NullOr(Text)),
    proof: Schema.optionalKey(Schema.NullOr(Schema.Json))
  }))).annotate({ description: "What a wallet of yours makes of `text`, in place of `passkey`" })
})
export type ApprovalAnswer = typeof ApprovalAnswer.Type

/** The body of an approval; on devnet nobody need sign. */
export const ApprovalBody = Schema.Struct({
  proof: Schema.optionalKey(Schema.NullOr(ApprovalAnswer)).annotate({
    description: "Your signature of what you approve. With real money there is no approval without one"
  })
}).annotate({
  identifier: "Approve",
  examples: [{
    proof: {
      id: exampleId,
      wallet: {
        family: "evm",
        address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        signature: `0x${"ab".repeat(65)}`
      }
    }
  }]
})

const examplePasskey = {
  type: "passkey",
  credential_id: "c2VjcmV0",
  public_key: {
    kty: "EC",
    crv: "P-256",
    x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
  },
  rp_id: "pay.example.com",
  origin: "https://pay.example.com",
  authenticator_data: "SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ",
  client_data_json: "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0",
  signature: "MEUCIQ"
} as const

/** What an authenticator signed, with the key as it was then: a passkey that is removed later is still checked by it. */
export const PasskeySignature = Schema.Struct({
  type: Schema.tag("passkey"),
  credential_id: Schema.String.annotate({ description: "As the authenticator names it, base64url" }),
  public_key: Schema.Record(Schema.String, Schema.Json).annotate({ description: "A JSON Web Key" }),
  rp_id: Schema.String,
  origin: Schema.String,
  authenticator_data: Schema.String.annotate({ description: "base64url, as all bytes here" }),
  client_data_json: Schema.String.annotate({ description: "Its `challenge` is SHA-256 of `text`" }),
  signature: Schema.String
})
export type PasskeySignature = typeof PasskeySignature.Type

/** What a wallet signed: `text` itself, on TON its hash. */
export const WalletSignature = Schema.Struct({
  type: Schema.tag("wallet"),
  family: Family,
  address: Schema.String,
  chain_id: Schema.NullOr(Schema.String).annotate({
    description: "Of an account that is a contract (EIP-1271), which only its chain can be asked about; else null"
  }),
  signature: Schema.String,
  public_key: Schema.NullOr(Schema.String),
  proof: Schema.NullOr(Schema.Json)
})
export type WalletSignature = typeof WalletSignature.Type

export const ApprovalSignature = Schema.Union([PasskeySignature, WalletSignature])
export type ApprovalSignature = typeof ApprovalSignature.Type

const exampleText = "Approval that money goes out\n\nRefund: re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10\n"

const exampleChallenge = {
  id: exampleId,
  object: "approval_challenge",
  text: exampleText,
  expires_at: 1_766_320_796,
  passkey: null,
  wallets: [{ family: "evm", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", chain_id: null }]
} as const

export const ApprovalChallenge = Schema.Struct({
  id: ApprovalId,
  object: Schema.tag("approval_challenge"),
  text: Schema.String.annotate({ description: "What you approve, in words: read it. It is what is signed" }),
  expires_at: EpochSeconds,
  passkey: Schema.NullOr(Schema.Json).annotate({
    description: "`PublicKeyCredentialRequestOptionsJSON`; null: you have no passkey here"
  }),
  wallets: Schema.Array(
    Schema.Struct({ family: Family, address: Schema.String, chain_id: Schema.NullOr(Schema.String) })
  )
    .annotate({ description: "Wallets of yours that may sign `text` instead" })
}).annotate({
  identifier: "ApprovalChallenge",
  examples: [exampleChallenge as never]
})

export const exampleApproval = {
  id: exampleId,
  object: "approval",
  approves: { object: "refund", id: "re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10" },
  environment: "mainnet",
  person: "per_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  by: "mem_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  at: 1_766_320_500,
  counts: true,
  text: exampleText,
  signature: examplePasskey
} as const

export const Approval = Schema.Struct({
  id: ApprovalId,
  object: Schema.tag("approval"),
  approves: Schema.Struct({ object: ApprovedObject, id: Schema.String }),
  environment: Environment,
  person: Schema.String.annotate({ description: "As people are counted, and as the text names it" }),
  by: Schema.String.annotate({ description: "The credential of the call, as `approvals` of the object names it" }),
  at: EpochSeconds,
  counts: Schema.Boolean.annotate({ description: "False: the object was changed later, so this approves nothing now" }),
  text: Schema.NullOr(Schema.String).annotate({ description: "Null: erased with the data of the person who was paid" }),
  signature: Schema.NullOr(ApprovalSignature)
}).annotate({ identifier: "Approval", examples: [exampleApproval as never] })

export const OneApprovalChallenge = success(ApprovalChallenge).annotate({
  identifier: "OneApprovalChallenge",
  examples: [{ success: true, data: exampleChallenge as never }]
})

export const ApprovalList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(Approval), has_more: Schema.Boolean })
).annotate({
  identifier: "ApprovalList",
  examples: [{ success: true, data: { object: "list", data: [exampleApproval as never], has_more: false } }]
})

/** Why an answer to a challenge, or an approval without one, is refused. */
export const approvalErrors = [
  "APPROVAL_PROOF_REQUIRED",
  "NONCE_INVALID",
  "SIGNATURE_INVALID",
  "VALIDATION_ERROR",
  "NETWORK_DEGRADED",
  "SERVICE_UNAVAILABLE"
] as const
