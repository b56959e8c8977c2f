/** Wallet sign-in (modules/docs/reference/authentication.md#signing-in-with-a-wallet): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  AddressLimitOf,
  Anonymous,
  authenticationErrors,
  errors,
  MerchantAuth,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds, MerchantId, PathId, SignInWalletId } from "../../schemas/Ids.ts"
import { Environment, Family, Network } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"

/** Characters of an address, at most: the longest family's have 108. */
const maximumAddress = 255

/** Characters of a message, a signature or a key, at most; what a wallet of any family makes is far shorter. */
const maximumProof = 16_384

/** Characters of a refresh token that are looked at; ours have 46. */
const maximumToken = 2_048

const ProofText = Schema.NonEmptyString.check(Schema.isMaxLength(maximumProof))

const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Which wallet is to sign. */
export const NonceRequest = Schema.Struct({
  address: Schema.NonEmptyString.check(Schema.isMaxLength(maximumAddress)).annotate({
    description: "The wallet's address, in any spelling of its network"
  }),
  network: Network
}).annotate({
  identifier: "NonceRequest",
  examples: [{ address: "0x52908400098527886E0F7030069857D2E4169EE7", network: "base" }]
})

/** A message to sign, good for one use. */
export const Nonce = success(Schema.Struct({
  nonce: Schema.String.annotate({ description: "32 hex digits; part of the message" }),
  message: Schema.String.annotate({ description: "The exact text the wallet signs (CAIP-122; EIP-4361 on EVM)" }),
  expires_at: EpochSeconds.annotate({ description: "5 minutes from now" })
})).annotate({
  identifier: "Nonce",
  examples: [{
    success: true,
    data: {
      nonce: "9f86d081884c7d659a2feaa0c55ad015",
      message: "pay.example wants you to sign in with your Ethereum account:\n0x5290…",
      expires_at: 1_766_320_796
    }
  }]
})

/** A message that was issued, and what the wallet made of it. */
export const SignInRequest = Schema.Struct({
  message: ProofText.annotate({ description: "The message as it was issued, byte for byte" }),
  signature: ProofText.annotate({
    description: "EVM: 0x hex, of a key or of a contract (EIP-1271). Solana: base58. Sui: the serialized signature. " +
      "Cardano: COSE_Sign1 hex. TON: the signature of the ton_proof"
  }),
  public_key: absent(ProofText).annotate({ description: "Cardano: COSE_Key hex" }),
  proof: absent(Schema.Json).annotate({ description: "TON: the ton_proof object with `state_init`" })
}).annotate({
  identifier: "SignInRequest",
  examples: [{
    message: "pay.example wants you to sign in with your Ethereum account:\n0x5290…",
    signature: "0x1b2c…1c"
  }]
})

const tokens = {
  access_token: Schema.String.annotate({ description: "A JWT for Authorization: Bearer" }),
  token_type: Schema.tag("Bearer"),
  expires_in: Schema.Int.annotate({ description: "Seconds the access token is good for" }),
  refresh_token: Schema.String.annotate({ description: "For one use: POST /api/v1/auth/refresh" }),
  refresh_expires_in: Schema.Int.annotate({ description: "Seconds the refresh token is good for" })
}

const exampleTokens = {
  access_token: "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJtZXJjaGFudDoxMjMifQ.c2ln",
  token_type: "Bearer",
  expires_in: 900,
  refresh_token: "rt_Zk3vQm1x8yB0c2J5dGVzLW9mLXJhbmRvbW5lc3MhISE",
  refresh_expires_in: 2_592_000
} as const

/** A session of the wallet's merchant. */
export const SignedInMerchant = success(Schema.Struct({
  ...tokens,
  merchant: Schema.Struct({
    id: MerchantId,
    name: Schema.String,
    environment: Environment.annotate({ description: "Where calls act that name no environment" }),
    created: Schema.Boolean.annotate({ description: "Whether this sign-in made the merchant" })
  })
})).annotate({
  identifier: "SignedInMerchant",
  examples: [{
    success: true,
    data: {
      ...exampleTokens,
      merchant: { id: MerchantId.make(123), name: "Demo", environment: "devnet", created: true }
    }
  }]
})

export const RefreshRequest = Schema.Struct({ refresh_token: Schema.String.check(Schema.isMaxLength(maximumToken)) })
  .annotate({ identifier: "RefreshRequest", examples: [{ refresh_token: exampleTokens.refresh_token }] })

export const RefreshedTokens = success(Schema.Struct(tokens)).annotate({
  identifier: "RefreshedTokens",
  examples: [{ success: true, data: exampleTokens }]
})

export const LogoutRequest = Schema.Struct({
  refresh_token: absent(Schema.String.check(Schema.isMaxLength(maximumToken)))
})
  .annotate({ identifier: "LogoutRequest", examples: [{ refresh_token: exampleTokens.refresh_token }] })

export const LoggedOut = success(Schema.Struct({ logged_out: Schema.tag(true) })).annotate({
  identifier: "LoggedOut",
  examples: [{ success: true, data: { logged_out: true } }]
})

export class SignInGroup extends HttpApiGroup.make("sign-in").add(
  HttpApiEndpoint.post("nonce", "/api/v1/auth/nonce", {
    payload: NonceRequest,
    success: Nonce,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "UNSUPPORTED_NETWORK",
      "WALLET_ADDRESS_INVALID",
      "RATE_LIMIT_EXCEEDED",
      "INTERNAL_ERROR",
      "SERVICE_UNAVAILABLE"
    )
  }).annotate(AddressLimitOf, "nonce").annotateMerge(OpenApi.annotations({
    summary: "Ask for a message to sign in with",
    description:
      "Answers the text that the wallet signs. It names this service, the wallet's address and a nonce, is " +
      "good for one use within 5 minutes, and opens a session by POST /api/v1/auth/verify."
  })),
  HttpApiEndpoint.post("verify", "/api/v1/auth/verify", {
    payload: SignInRequest,
    success: SignedInMerchant,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "UNSUPPORTED_NETWORK",
      "NONCE_INVALID",
      "SIGNATURE_INVALID",
      "SIGNUP_CLOSED",
      "RATE_LIMIT_EXCEEDED",
      "INTERNAL_ERROR",
      "NETWORK_DEGRADED",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Sign in with a wallet's signature",
    description:
      "Opens a session for the merchant the wallet belongs to. A wallet that belongs to none makes one where " +
      "sign-up is open. A wallet keeps at most 20 sessions; the oldest gives way."
  })),
  HttpApiEndpoint.post("refresh", "/api/v1/auth/refresh", {
    payload: RefreshRequest,
    success: RefreshedTokens,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "TOKEN_INVALID",
      "TOKEN_EXPIRED",
      "REFRESH_REUSED",
      "RATE_LIMIT_EXCEEDED",
      "INTERNAL_ERROR",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Exchange a refresh token for new tokens",
    description:
      "A refresh token is good for one use. Using it again ends the whole session, because then two hold it: " +
      "`REFRESH_REUSED`. Of two uses at the same moment one gets the tokens and the other `TOKEN_INVALID`."
  })),
  HttpApiEndpoint.post("logout", "/api/v1/auth/logout", {
    payload: LogoutRequest,
    success: LoggedOut,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "UNAUTHORIZED",
      "TOKEN_INVALID",
      "TOKEN_EXPIRED",
      "RATE_LIMIT_EXCEEDED",
      "INTERNAL_ERROR",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "End a session",
    description: "Ends the session of `refresh_token`, or of the access token in Authorization: Bearer where none is " +
      "sent. Its tokens are refused everywhere within 5 seconds. A refresh token that opens nothing is no error."
  }))
)
  .middleware(Anonymous)
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Wallet sign-in",
    description: "How the owner of a wallet gets the token that acts for a merchant. `Idempotency-Key` is ignored here."
  }))
{}

/** A wallet that signs in for the merchant. */
export const SignInWallet = Schema.Struct({
  id: SignInWalletId,
  object: Schema.tag("sign_in_wallet"),
  family: Family,
  address: Schema.String,
  chain_id: Schema.NullOr(Schema.String).annotate({
    description: "Null for an account held by a key; the chain of an account that is a contract"
  }),
  is_own: Schema.Boolean.annotate({ description: "Whether the caller signs in by it" }),
  linked_at: EpochSeconds,
  last_sign_in_at: Schema.NullOr(EpochSeconds),
  money_from: EpochSeconds.annotate({ description: "From when on money moves on mainnet by a sign-in with it" })
}).annotate({ identifier: "SignInWallet" })

const exampleWallet = {
  id: SignInWalletId.make("siw_6f9619ff-8b86-8011-b42d-00c04fc964ff"),
  object: "sign_in_wallet",
  family: "evm",
  address: "0x52908400098527886E0F7030069857D2E4169EE7",
  chain_id: null,
  is_own: true,
  linked_at: 1_766_320_496,
  last_sign_in_at: 1_766_320_496,
  money_from: 1_766_406_896
} as const

const LinkedWallet = success(SignInWallet).annotate({
  identifier: "LinkedSignInWallet",
  examples: [{ success: true, data: exampleWallet }]
})

const walletErrors = [
  ...authenticationErrors,
  "CREDENTIAL_NOT_ALLOWED",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
  "SERVICE_UNAVAILABLE"
] as const

export class SignInWalletsGroup extends HttpApiGroup.make("sign-in-wallets").add(
  HttpApiEndpoint.get("list", "/api/v1/auth/wallets", {
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(SignInWallet),
      has_more: Schema.tag(false)
    })).annotate({
      identifier: "SignInWalletList",
      examples: [{ success: true, data: { object: "list", data: [exampleWallet], has_more: false } }]
    }),
    error: errors("wrapped", ...walletErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List the wallets that sign in for the merchant",
    description: "All of them, oldest first: there are never more than 20."
  })),
  HttpApiEndpoint.post("nonce", "/api/v1/auth/wallets/nonce", {
    payload: NonceRequest,
    success: Nonce,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "UNSUPPORTED_NETWORK",
      "WALLET_ADDRESS_INVALID",
      ...walletErrors
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Ask for a message to link a further wallet with",
    description:
      "The text names the merchant, so that nobody signs it by mistake: it links the wallet that signs it and " +
      "opens no session."
  })),
  HttpApiEndpoint.post("link", "/api/v1/auth/wallets", {
    payload: SignInRequest,
    success: LinkedWallet,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "UNSUPPORTED_NETWORK",
      "NONCE_INVALID",
      "SIGNATURE_INVALID",
      "WALLET_LINKED_ELSEWHERE",
      "WALLET_LIMIT_REACHED",
      "NETWORK_DEGRADED",
      ...walletErrors
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Link a further wallet to the merchant",
    description:
      "Takes a message of POST /api/v1/auth/wallets/nonce and what the further wallet made of it. From then on " +
      "that wallet signs in for this merchant."
  })),
  HttpApiEndpoint.delete("unlink", "/api/v1/auth/wallets/:id", {
    params: { id: PathId },
    success: LinkedWallet,
    error: errors("wrapped", "NOT_FOUND", "INVALID_TRANSITION", ...walletErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Unlink a wallet",
    description:
      "Ends its sessions, and everywhere within 5 seconds their tokens. The last wallet stays: link another one first."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "account:write", write: "account:write" })
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Sign-in wallets",
    description: "The wallets that sign in for a merchant, managed by one of them: an API key is refused with " +
      "`CREDENTIAL_NOT_ALLOWED`."
  }))
{}

export class KeySetGroup extends HttpApiGroup.make("key-set").add(
  HttpApiEndpoint.get("get", "/.well-known/jwks.json", {
    success: Schema.Struct({
      keys: Schema.Array(Schema.Struct({
        kty: Schema.tag("OKP"),
        crv: Schema.tag("Ed25519"),
        x: Schema.String,
        kid: Schema.String,
        use: Schema.tag("sig"),
        alg: Schema.tag("EdDSA")
      }))
    }).annotate({
      identifier: "JsonWebKeySet",
      examples: [{
        keys: [{
          kty: "OKP",
          crv: "Ed25519",
          x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
          kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
          use: "sig",
          alg: "EdDSA"
        }]
      }]
    }),
    error: errors("wrapped", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE")
  }).annotateMerge(OpenApi.annotations({
    summary: "Get the keys that check access tokens",
    description:
      "A JSON Web Key Set (RFC 7517). May be kept for 5 minutes; look again when a token names a `kid` that is " +
      "not in it."
  }))
)
  .middleware(Anonymous)
  .middleware(WrappedErrors)
  .annotateMerge(
    OpenApi.annotations({ title: "Key set", description: "The public keys that access tokens are verified with." })
  )
{}

export class IdentityApi
  extends HttpApi.make("identity-api").add(SignInGroup).add(SignInWalletsGroup).add(KeySetGroup)
{}
