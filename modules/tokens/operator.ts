/** Tokens for operators (modules/docs/reference/operator-api.md#tokens): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AvailabilityReason } from "../../runtime/Availability.ts"
import { listParameterCodes, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { OperatorAuth, operatorErrors } from "../../runtime/OperatorRoutes.ts"
import { EpochSeconds, TokenId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { pageLimits } from "../../schemas/Page.ts"
import { success } from "../../schemas/Success.ts"

const example = {
  object: "token",
  token_id: TokenId.make(7),
  network: "base",
  environment: "devnet",
  symbol: "USDC",
  address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  is_active: true,
  is_enabled: false,
  disabled_reason: "its issuer has frozen transfers",
  availability_changed_at: 1_766_320_496 as never
} as const

export const OperatorToken = Schema.Struct({
  object: Schema.tag("token"),
  token_id: TokenId,
  network: Network,
  environment: Environment,
  symbol: Schema.String,
  address: Schema.NullOr(Schema.String).annotate({ description: "Null for the network's own coin" }),
  is_active: Schema.Boolean.annotate({ description: "As the lists of tokens say" }),
  is_enabled: Schema.Boolean.annotate({ description: "False: an operator has disabled it for new payments" }),
  disabled_reason: Schema.NullOr(Schema.String),
  availability_changed_at: Schema.NullOr(EpochSeconds).annotate({ description: "Null: it was never disabled" })
}).annotate({ identifier: "OperatorToken", examples: [example] })

const OneToken = success(OperatorToken).annotate({
  identifier: "OneOperatorToken",
  examples: [{ success: true, data: example }]
})

/** A number in a path. */
const TokenNumber = Schema.String.check(
  Schema.isPattern(/^[0-9]{1,15}$/u, { message: "write the number of a token, e.g. 123" })
).pipe(Schema.decodeTo(Schema.NumberFromString), Schema.decodeTo(TokenId))

export class OperatorTokensGroup extends HttpApiGroup.make("operatorTokens").add(
  HttpApiEndpoint.get("list", "/admin/v1/tokens", {
    query: {
      environment: Schema.optionalKey(Environment),
      network: Schema.optionalKey(Network),
      is_enabled: Schema.optionalKey(Schema.Literals(["true", "false"])),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String)
    },
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(OperatorToken),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "OperatorTokens",
      examples: [{ success: true, data: { object: "list", data: [example], has_more: false } }]
    }),
    error: operatorErrors(
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      "INVALID_ENVIRONMENT",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List tokens with their availability",
    description:
      "By their ids. `is_enabled=false` selects those that an operator has disabled. A cursor is a token's id."
  })),
  HttpApiEndpoint.post("disable", "/admin/v1/tokens/:token_id/disable", {
    params: { token_id: TokenNumber },
    payload: Schema.Struct({ reason: AvailabilityReason }).annotate({
      identifier: "TokenDisabling",
      examples: [{ reason: "its issuer has frozen transfers" }]
    }),
    success: OneToken,
    error: operatorErrors("TOKEN_NOT_FOUND")
  }).annotateMerge(OpenApi.annotations({
    summary: "Disable a token for new payments",
    description:
      "From now on no quote is given for it, on any instance within two seconds and after a restart too. Payments to "
      + "addresses that were given out are followed and credited. Doing it twice is the same as once."
  })),
  HttpApiEndpoint.post("enable", "/admin/v1/tokens/:token_id/enable", {
    params: { token_id: TokenNumber },
    success: OneToken,
    error: operatorErrors("TOKEN_NOT_FOUND")
  }).annotateMerge(OpenApi.annotations({
    summary: "Enable a token for new payments",
    description: "Takes back that it was disabled."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { ...listParameterCodes, token_id: "TOKEN_NOT_FOUND" })
  .annotateMerge(OpenApi.annotations({
    title: "Operator: tokens",
    description: "Which tokens new payments may use."
  }))
{}

export class OperatorTokensApi extends HttpApi.make("operatorTokens").add(OperatorTokensGroup) {}
