/** Instances and their work, for operators (modules/docs/reference/operator-api.md#instances): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { success } from "../../schemas/Success.ts"
import { WrappedErrors } from "../Http.ts"
import { OperatorAuth, operatorErrors } from "../OperatorRoutes.ts"

const example = {
  object: "instance",
  id: "0f6a1c1e-6c2b-4b0e-9a53-0f1b1c3b2a10",
  answers_here: true,
  leases: [{ name: "chain:base:devnet", seconds_left: 5, seconds_since_progress: 1 }]
} as const

export const Instance = Schema.Struct({
  object: Schema.tag("instance"),
  id: Schema.String,
  answers_here: Schema.Boolean.annotate({ description: "It is the one that answers this call" }),
  leases: Schema.Array(Schema.Struct({
    name: Schema.String.annotate({ description: "The work that no other instance does meanwhile" }),
    seconds_left: Schema.Int.annotate({ description: "Until another one takes over, unless it is renewed" }),
    seconds_since_progress: Schema.NullOr(Schema.Int).annotate({
      description: "Since the work was last known to make progress; null: not yet"
    })
  }))
}).annotate({ identifier: "Instance", examples: [example] })

export class OperatorInstancesGroup extends HttpApiGroup.make("operatorInstances").add(
  HttpApiEndpoint.get("list", "/admin/v1/instances", {
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(Instance),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "Instances",
      examples: [{ success: true, data: { object: "list", data: [example], has_more: false } }]
    }),
    error: operatorErrors()
  }).annotateMerge(OpenApi.annotations({
    summary: "List the instances with the work that each one holds",
    description:
      "By the leases that are in force now, at most 1,000. An instance that holds none is not in the list. `has_more` is "
      + "always false."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Operator: instances",
    description: "Which instance does which work."
  }))
{}

export class OperatorInstancesApi extends HttpApi.make("operatorInstances").add(OperatorInstancesGroup) {}
