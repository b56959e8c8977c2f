/** What can be collected (modules/docs/reference/batches.md#collecting): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { environmentErrors, errors, MerchantAuth, WrappedErrors } from "../../../runtime/Http.ts"
import { RightsOf } from "../../../runtime/Rights.ts"
import { TokenId } from "../../../schemas/Ids.ts"
import { WireAmount } from "../../../schemas/Invoice.ts"
import { UsdDecimal } from "../../../schemas/Money.ts"
import { Environment, Network } from "../../../schemas/Network.ts"

const TokenAmount = Schema.String.annotate({ description: "Whole tokens, as a decimal number" })

const Amount = {
  amount: Schema.NullOr(WireAmount).annotate({
    description: "usd_millis at the current price; null: the token has no price"
  }),
  amount_decimal: Schema.NullOr(UsdDecimal)
}

export const CollectableAddress = Schema.Struct({
  address: Schema.String,
  index: Schema.Int.annotate({ description: "Which address of its wallet it is" }),
  token_amount: TokenAmount,
  ...Amount,
  payee: Schema.NullOr(Schema.String).annotate({
    description:
      "The address that a forwarder pays to; null: it is no forwarder, and the owner of its keys moves the money"
  }),
  salt: Schema.NullOr(Schema.String).annotate({
    description: "With payee, what the contract Collector computes the address from; null: it is no forwarder"
  })
})

export const CollectableToken = Schema.Struct({
  network: Network,
  token_id: Schema.Int,
  symbol: Schema.String,
  token_amount: TokenAmount,
  ...Amount,
  amount_unit: Schema.Literal("usd_millis"),
  currency: Schema.Literal("usd"),
  addresses: Schema.Int.annotate({ description: "Number of addresses that hold it" }),
  method: Schema.Literals(["collector", "owner"]).annotate({
    description: "`collector`: one signature of anybody's wallet moves 200 addresses to their payee; `owner`: "
      + "whoever has the keys moves each"
  }),
  estimated_gas: Schema.NullOr(Schema.String).annotate({
    description: "Units of gas to collect all of it; null: the network's nodes cannot say"
  }),
  sources: Schema.optionalKey(Schema.Array(CollectableAddress)).annotate({ description: "With `expand=addresses`" })
})

export const CollectableList = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({
    object: Schema.tag("list"),
    data: Schema.Array(CollectableToken),
    has_more: Schema.Boolean.annotate({
      description: "More than 1,000 addresses and tokens match, and only the newest are in the answer"
    })
  })
}).annotate({
  identifier: "CollectableList",
  examples: [{
    success: true,
    data: {
      object: "list",
      data: [{
        network: "base",
        token_id: TokenId.make(5),
        symbol: "USDC",
        token_amount: "210.000000",
        amount: 210_000,
        amount_decimal: "210.000",
        amount_unit: "usd_millis",
        currency: "usd",
        addresses: 42,
        method: "collector",
        estimated_gas: "2310000"
      }],
      has_more: false
    }
  }]
})

export class CollectableGroup extends HttpApiGroup.make("collectable").add(
  HttpApiEndpoint.get("list", "/", {
    query: {
      environment: Schema.optionalKey(Environment),
      network: Schema.optionalKey(Network).annotate({ description: "Only this network" }),
      token_id: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_147_483_647 }))).annotate(
        {
          description: "Only this token"
        }
      ),
      min_value: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))).annotate(
        {
          description:
            "Smallest balance of an address, in dollars; default: three times what collecting it costs, and at least 1 dollar"
        }
      ),
      expand: Schema.optionalKey(Schema.Literal("addresses")).annotate({
        description: "`addresses`: with each of them"
      }),
      format: Schema.optionalKey(Schema.Literals(["csv", "json"])).annotate({
        description: "`json` (default), or `csv`: a row for each address and token"
      })
    },
    success: [CollectableList, Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))],
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "VALIDATION_ERROR",
      "TOKEN_NOT_FOUND",
      "NETWORK_DEGRADED",
      ...environmentErrors
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List what can be collected",
    description:
      "Balances on addresses of your wallets whose invoices take no more payments, by network and token, at each "
      + "network's newest final block."
  }))
)
  .prefix("/api/v1/collectable")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "batches:read", write: "batches:read" })
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Collectable",
    description: "Balances on addresses that invoices were paid to."
  }))
{}
