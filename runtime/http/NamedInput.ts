/** The names that a call of an endpoint may have in its query and its body, read from the definition's schemas. */
import { Context } from "effect"
import type { ErrorCode } from "../../schemas/Errors.ts"
import { IdempotencyRequired, Idempotent, listParameterCodes, MerchantAuth, UnknownParameters } from "../Http.ts"
import type { CalledEndpoint } from "./Act.ts"
import { leaf, type Shape, shapeOfSchemas } from "./KnownNames.ts"

/** What a call of an endpoint may name. */
export interface NamedInput {
  /** It changes something: `environment` says where, and not what is looked at. */
  readonly isWrite: boolean
  readonly parameters: ReadonlySet<string>
  readonly body: Shape
  readonly unknownParameters: "refused" | "warned"
  readonly hasPayload: boolean
  readonly isIdempotent: boolean
  /** Whether a key may name the environment it is not bound to: in a read whose query has the field `environment`. */
  readonly acceptsOtherEnvironment: boolean
  readonly environmentCode: ErrorCode
}

const withEnvironment = (shape: Shape): Shape =>
  shape.fields.has("environment") ? shape : { ...shape, fields: new Map([...shape.fields, ["environment", leaf]]) }

/** Reads what a call of an endpoint may name from the schemas of its definition. */
export const readInput = (
  { endpoint }: CalledEndpoint,
  parameterCodes: Readonly<Record<string, ErrorCode>>
): NamedInput => {
  const query = endpoint.query === undefined ? leaf : shapeOfSchemas([endpoint.query])
  const body = shapeOfSchemas([...endpoint.payload.values()].flatMap(({ schemas }) => schemas))
  const middlewares = new Set([...endpoint.middlewares].map(({ key }) => key))
  const isMerchants = middlewares.has(MerchantAuth.key)
  return {
    isWrite: endpoint.method !== "GET",
    parameters: new Set([...query.fields.keys(), ...isMerchants ? ["environment"] : []]),
    body: isMerchants ? withEnvironment(body) : body,
    unknownParameters: Context.get(endpoint.annotations, UnknownParameters),
    hasPayload: endpoint.payload.size > 0,
    isIdempotent: middlewares.has(Idempotent.key) || middlewares.has(IdempotencyRequired.key),
    acceptsOtherEnvironment: endpoint.method === "GET" && query.fields.has("environment"),
    environmentCode: parameterCodes["environment"] ?? listParameterCodes["environment"]!
  }
}
