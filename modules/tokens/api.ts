/** Which tokens a merchant's payors may pay in (contract §4.3). Flat family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, Flat, MerchantAuth, ParameterCodes } from "../../runtime/Http.ts"
import { Environment } from "../../schemas/Network.ts"
import { AcceptancePolicy, TokenRecord } from "../../schemas/Token.ts"

export const TokenList = Schema.Struct({
  acceptance_policy: AcceptancePolicy,
  environment: Environment,
  tokens: Schema.Array(TokenRecord)
}).annotate({ identifier: "SupportedTokenList" })
export type TokenList = typeof TokenList.Type

export class TokensGroup extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: { environment: Schema.optionalKey(Environment) },
      success: TokenList,
      error: errors(
        "flat",
        "VALIDATION_ERROR",
        "AMBIGUOUS_CREDENTIALS",
        "UNAUTHORIZED",
        "API_KEY_INVALID",
        "SCOPE_MISMATCH",
        "RATE_LIMIT_EXCEEDED"
      )
    }).annotate(ParameterCodes, { environment: "VALIDATION_ERROR" }).annotateMerge(OpenApi.annotations({
      title: "List supported tokens",
      description: "Every active token of an environment, the key's own unless `environment` names the other one. " +
        "Sorted by network, symbol, id. `price` is the last known one and null when there never was one."
    }))
  )
  .prefix("/api/v1/merchant/tokens")
  .middleware(MerchantAuth)
  .middleware(Flat)
  .annotateMerge(OpenApi.annotations({ title: "Supported tokens" }))
{}

export const TokensApi = HttpApi.make("tokens-api").add(TokensGroup)
