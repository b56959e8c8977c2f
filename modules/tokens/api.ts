/**
 * Which tokens a merchant's payors may pay in (modules/docs/reference/tokens.md#the-list). Flat
 * family.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  AddressLimitOf,
  Anonymous,
  errors,
  FlatErrors,
  Idempotent,
  MerchantAuth,
  ParameterCodes,
  UnknownParameters,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { TokenId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { AcceptancePolicy, FoundToken, TokenRecord, TokenType } from "../../schemas/Token.ts"

/** Tokens on one page of the search (modules/docs/reference/tokens.md#the-search). */
export const searchLimits = { minimum: 1, maximum: 200, byDefault: 50 } as const

/** Characters of a search text, at most: as long as the longest address there is, a Sui coin type. */
export const maximumSearchText = 256

/** Tokens one call blocks or releases, at most: about as many as a catalogue has. */
export const maximumBulk = 1_000

const { maximum, minimum } = searchLimits

const Limit = Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Offset = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Flag = Schema.Literals(["true", "false"])

const exampleRecord = {
  id: TokenId.make(123),
  token_symbol: "USDC",
  token_name: "USD Coin",
  network: "base",
  network_environment: "devnet",
  is_blocked: false,
  price: { usd: 1, last_updated_at: 1_766_320_496, provider_type: "median" }
} as const

export const TokenList = Schema.Struct({
  acceptance_policy: AcceptancePolicy,
  environment: Environment,
  tokens: Schema.Array(TokenRecord)
}).annotate({ identifier: "SupportedTokenList" })
export type TokenList = typeof TokenList.Type

export const TokenSearchPage = Schema.Struct({
  acceptance_policy: AcceptancePolicy,
  environment: Environment,
  total: Schema.Int.annotate({ description: "Tokens that fit all filters" }),
  limit: Schema.Int,
  offset: Schema.Int,
  tokens: Schema.Array(FoundToken)
}).annotate({
  identifier: "TokenSearchPage",
  examples: [{
    acceptance_policy: "accept_all",
    environment: "devnet",
    total: 1,
    limit: 50,
    offset: 0,
    tokens: [{
      ...exampleRecord,
      price: { ...exampleRecord.price, last_updated_at: exampleRecord.price.last_updated_at as never },
      token_address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      token_decimals: 6,
      token_type: "erc20",
      requires_memo: false,
      photo_uri: "/assets/tokens/usdc.svg",
      supports_stable_settlement: true,
      is_active: true,
      is_monitored: true
    }]
  }]
})
export type TokenSearchPage = typeof TokenSearchPage.Type

export const TokenPolicy = Schema.Struct({
  acceptance_policy: AcceptancePolicy,
  environment: Environment,
  blocked_token_ids: Schema.Array(TokenId).annotate({
    description: "Kept under every policy, heeded under `selective`; ascending"
  })
}).annotate({
  identifier: "TokenPolicy",
  examples: [{ acceptance_policy: "selective", environment: "devnet", blocked_token_ids: [TokenId.make(123)] }]
})

export const NewTokenPolicy = Schema.Struct({
  acceptance_policy: AcceptancePolicy,
  environment: Schema.optionalKey(Environment).annotate({
    description: "The credential's own; a wallet may name either"
  })
}).annotate({ identifier: "NewTokenPolicy", examples: [{ acceptance_policy: "selective" }] })

const TokenIdText = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

export const TokenBlock = Schema.Struct({ blocked: Schema.Boolean }).annotate({
  identifier: "TokenBlock",
  examples: [{ blocked: true }]
})

export const TokenBlockBulk = Schema.Struct({
  token_ids: Schema.Array(Schema.Int).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maximumBulk)
  ),
  blocked: Schema.Boolean
}).annotate({ identifier: "TokenBlockBulk", examples: [{ token_ids: [123, 124], blocked: true }] })

const readErrors = [
  "VALIDATION_ERROR",
  "AMBIGUOUS_CREDENTIALS",
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
  ...readErrors,
  "INVALID_JSON",
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED"
] as const

/** In this family a wrong environment is one wrong value among others. */
const parameterCodes = { environment: "VALIDATION_ERROR" } as const

export class TokensGroup extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: { environment: Schema.optionalKey(Environment) },
      success: TokenList,
      error: errors("flat", ...readErrors)
    }).annotate(ParameterCodes, parameterCodes).annotate(UnknownParameters, "warned").annotateMerge(
      OpenApi.annotations({
        summary: "List supported tokens",
        description:
          "Every active token of an environment, the credential's own unless `environment` names the other " +
          "one. Sorted by network, symbol, id. Under `selective` blocked tokens are left out; under `accept_none` every " +
          "token is shown as blocked. `price` is the last known one and null when there never was one."
      })
    ),
    HttpApiEndpoint.get("search", "/search", {
      query: {
        environment: Schema.optionalKey(Environment),
        limit: Schema.optionalKey(Limit),
        offset: Schema.optionalKey(Offset),
        search: Schema.optionalKey(
          Schema.String.check(Schema.isMaxLength(maximumSearchText)).annotate({
            description: "Literal characters in symbol, name or address, in either case"
          })
        ),
        network: Schema.optionalKey(Network),
        token_type: Schema.optionalKey(TokenType),
        is_active: Schema.optionalKey(Flag),
        supports_stable_settlement: Schema.optionalKey(Flag),
        blocked: Schema.optionalKey(Flag)
      },
      success: TokenSearchPage,
      error: errors("flat", "INVALID_LIMIT", "INVALID_OFFSET", ...readErrors)
    }).annotate(ParameterCodes, parameterCodes).annotate(UnknownParameters, "warned").annotateMerge(
      OpenApi.annotations({
        summary: "Search supported tokens",
        description:
          "Tokens of an environment, inactive ones included, sorted by network, symbol, id. `total` counts " +
          "after all filters. `blocked` filters under `selective`; under `accept_all` `true` finds nothing, under " +
          "`accept_none` `false` finds nothing."
      })
    ),
    HttpApiEndpoint.get("policy", "/policy", {
      query: { environment: Schema.optionalKey(Environment) },
      success: TokenPolicy,
      error: errors("flat", ...readErrors)
    }).annotate(ParameterCodes, parameterCodes).annotateMerge(OpenApi.annotations({
      summary: "Retrieve the acceptance policy",
      description: "What the merchant accepts in an environment: `accept_all` until it says otherwise."
    })),
    HttpApiEndpoint.put("choosePolicy", "/policy", {
      payload: NewTokenPolicy,
      success: TokenPolicy,
      error: errors("flat", ...writeErrors)
    }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
      summary: "Choose the acceptance policy",
      description: "Affects addresses allocated from now on: what an address was shown for stays payable there. The " +
        "blocked list is kept whatever the policy is."
    })),
    HttpApiEndpoint.post("block", "/:tokenId/block", {
      params: { tokenId: TokenIdText },
      payload: TokenBlock,
      success: Schema.Struct({ success: Schema.tag(true), blocked: Schema.Boolean }).annotate({
        identifier: "TokenBlocked",
        examples: [{ success: true, blocked: true }]
      }),
      error: errors("flat", "TOKEN_NOT_FOUND", ...writeErrors)
    }).middleware(Idempotent).annotate(ParameterCodes, { tokenId: "TOKEN_NOT_FOUND" }).annotateMerge(
      OpenApi.annotations({
        summary: "Block or release a token",
        description:
          "Puts a token of the caller's environment on the blocked list, or takes it off. The list is kept " +
          "under every policy and heeded under `selective`."
      })
    ),
    HttpApiEndpoint.post("blockBulk", "/block-bulk", {
      payload: TokenBlockBulk,
      success: Schema.Struct({
        success: Schema.tag(true),
        updated: Schema.Int.annotate({ description: "Tokens that were not on that side of the list before" })
      }).annotate({ identifier: "TokensBlocked", examples: [{ success: true, updated: 2 }] }),
      error: errors("flat", "TOKEN_NOT_FOUND", ...writeErrors)
    }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
      summary: "Block or release many tokens",
      description: `Up to ${maximumBulk} tokens of the caller's environment in one step: all of them or, when one is ` +
        "unknown, none."
    }))
  )
  .prefix("/api/v1/merchant/tokens")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "settings:write" })
  .middleware(FlatErrors)
  .annotateMerge(
    OpenApi.annotations({ title: "Supported tokens", description: "Which tokens your customers may pay in." })
  )
{}

/** Pictures, not calls: for any page that shows tokens, without a credential. They are not in the OpenAPI document. */
export class TokenBadgesGroup extends HttpApiGroup.make("tokenBadges").add(
  HttpApiEndpoint.get("badge", "/assets/tokens/:name", {
    params: { name: Schema.String },
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "image/svg+xml" })),
    error: errors("wrapped", "NOT_FOUND")
  })
)
  .middleware(Anonymous)
  .middleware(WrappedErrors)
  .annotate(AddressLimitOf, "badge")
  .annotate(OpenApi.Exclude, true)
{}

/** The calls, as clients know them. */
export const TokensApi = HttpApi.make("tokens-api").add(TokensGroup)

/** What the module serves: the calls, and the badges that pages show. */
export const ServedTokensApi = TokensApi.add(TokenBadgesGroup)
