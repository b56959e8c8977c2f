/** Customers' personal data (modules/docs/reference/customers.md): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  authenticationErrors,
  errors,
  IdempotencyRequired,
  MerchantAuth,
  ParameterCodes,
  PersonalPath,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { success } from "../../schemas/Success.ts"

const exampleErasure = {
  object: "customer_erasure",
  customer: "anon_9f86d081884c7d659a2feaa0c55ad015",
  environment: "devnet",
  status: "pending",
  waiting_for: null,
  requested_at: 1_766_320_496,
  finished_at: null
} as const

export const CustomerErasure = Schema.Struct({
  object: Schema.tag("customer_erasure"),
  customer: Schema.String.annotate({
    description: "What stands in place of the customer's id from now on, in lists and in stored events"
  }),
  environment: Environment,
  status: Schema.Literals(["pending", "done"]).annotate({
    description: "`done`: no module that is loaded keeps anything of the customer"
  }),
  waiting_for: Schema.NullOr(Schema.String).annotate({
    description: "What came in between, and what to do about it; null: nothing. It is tried again each minute"
  }),
  requested_at: EpochSeconds,
  finished_at: Schema.NullOr(EpochSeconds)
}).annotate({
  identifier: "CustomerErasure",
  description: "The erasure of what is kept of a person.",
  examples: [exampleErasure]
})

const OneErasure = success(CustomerErasure).annotate({
  identifier: "OneCustomerErasure",
  examples: [{ success: true, data: exampleErasure }]
})

const CustomerExport = success(Schema.Struct({
  object: Schema.tag("customer_export"),
  customer_id: Schema.String,
  environment: Environment,
  created_at: EpochSeconds,
  records: Schema.Array(Schema.Struct({
    kind: Schema.String.annotate({ description: "`invoice`, `payor`, `event` and others. More may be added" }),
    data: Schema.Json
  }))
})).annotate({
  identifier: "CustomerExport",
  examples: [{
    success: true,
    data: {
      object: "customer_export",
      customer_id: "cust_123",
      environment: "devnet",
      created_at: 1_766_320_496,
      records: [{
        kind: "payor",
        data: {
          invoice_id: "550e8400-e29b-41d4-a716-446655440000",
          email: "payor@example.com",
          refund_destinations: []
        }
      }]
    }
  }]
})

const params = {
  id: Schema.String.check(Schema.isMaxLength(255)).annotate({
    description: "Your own `customer_id`, percent-encoded"
  })
}

const commonErrors = [...authenticationErrors, "VALIDATION_ERROR", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE"] as const

export class CustomersGroup extends HttpApiGroup.make("customers").add(
  HttpApiEndpoint.post("export", "/:id/export", {
    params,
    success: CustomerExport.pipe(HttpApiSchema.status(200)),
    error: errors("wrapped", ...commonErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Export what is kept of a customer",
    description:
      "All of it, of one environment, as one JSON document that is streamed. A customer nothing is kept of has no "
      + "records. The call is kept in the audit log."
  })),
  HttpApiEndpoint.post("erase", "/:id/erase", {
    params,
    success: OneErasure,
    error: errors("wrapped", ...commonErrors, "CREDENTIAL_NOT_ALLOWED", "NOT_FOUND", "INVALID_TRANSITION")
  }).middleware(IdempotencyRequired).annotateMerge(OpenApi.annotations({
    summary: "Erase what is kept of a customer",
    description: "Cannot be undone. Takes the token of an owner's wallet, no API key. Amounts and transactions stay. "
      + "`INVALID_TRANSITION` says what has to be done before. A customer that is being erased, or was, is answered as it "
      + "stands."
  })),
  HttpApiEndpoint.get("erasure", "/:id/erasure", {
    params,
    query: { environment: Schema.optionalKey(Environment) },
    success: OneErasure,
    error: errors("wrapped", ...commonErrors, "NOT_FOUND")
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve the erasure of a customer",
    description: "The last one that was asked for: whether it is done, or what it waits for."
  }))
)
  .prefix("/api/v1/customers")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "customers:write", write: "customers:write" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotate(PersonalPath, true)
  .annotateMerge(OpenApi.annotations({
    title: "Customers",
    description: "What is kept of a person: exported, and erased."
  }))
{}

export class CustomersApi extends HttpApi.make("customers").add(CustomersGroup) {}
