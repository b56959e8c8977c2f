/**
 * What is checked of every call of the API as soon as its caller may make it, before an idempotency key is looked at:
 * the environment it acts in, and that it names nothing its route does not know.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Principal } from "../../schemas/Auth.ts"
import { type ErrorCode, isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import { hasBody, jsonBody } from "./Body.ts"
import { unknownFields, type UnknownName, unknownParameters, warningOf } from "./KnownNames.ts"
import type { NamedInput } from "./NamedInput.ts"
import type { Call, Query } from "./Operation.ts"

const environments: ReadonlyArray<unknown> = Environment.literals

const isEnvironment = (value: unknown): value is Environment => environments.includes(value)

const badEnvironment = (code: ErrorCode, message: string): PublicError =>
  publicError(code, { message, param: "environment" })

/** The environment that a query or a body names, if it names one. */
const readName = (value: unknown, code: ErrorCode): Environment | PublicError | undefined =>
  value === undefined || value === null || isEnvironment(value)
    ? value ?? undefined
    : badEnvironment(code, "environment must be one of devnet and mainnet, sent once")

const fieldOf = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null && Object.hasOwn(body, name)
    ? (body as Record<string, unknown>)[name]
    : undefined

/** The environment that a call names, by its query or by the body of a write. */
const namedEnvironment = (code: ErrorCode, query: Query, body: unknown): Environment | PublicError | undefined => {
  const inQuery = readName(query["environment"], code)
  if (isPublicError(inQuery) || body === undefined) return inQuery
  const inBody = readName(fieldOf(body, "environment"), code)
  if (isPublicError(inBody) || inQuery === undefined) return inBody
  return inBody === undefined || inBody === inQuery
    ? inQuery
    : badEnvironment(code, `environment must be one: the query names ${inQuery} and the body ${inBody}`)
}

const unknownParameter = ({ name, nearest }: UnknownName, parameters: ReadonlySet<string>): PublicError =>
  publicError("VALIDATION_ERROR", {
    message: `${name}: No such query parameter${nearest === undefined ? "" : `: nearest is ${nearest}`}. `
      + `This route takes ${parameters.size === 0 ? "none" : [...parameters].join(", ")}`,
    param: name
  })

/** What is decided of a call before its handler runs. */
interface Decision {
  /** Where it reads or acts, if it names it. */
  readonly environment: Environment | undefined
  /** For the header `X-Service-Warning`; undefined: nothing is unknown. */
  readonly warning: string | undefined
}

/**
 * A wallet acts where its call says. A key is bound to its environment: what it writes is there, and what it reads too
 * where the route does not take the other one; routes that only warn of what they do not know warn of that as well.
 */
const decide = (
  input: NamedInput,
  query: Query,
  body: unknown,
  principal: Principal | undefined
): Decision | PublicError => {
  const parameters = unknownParameters(query, input.parameters)
  if (parameters.length > 0 && input.unknownParameters === "refused") {
    return unknownParameter(parameters[0]!, input.parameters)
  }
  const environment = principal === undefined ? undefined : namedEnvironment(input.environmentCode, query, body)
  if (isPublicError(environment)) return environment
  const isElsewhere = environment !== undefined && principal?.kind === "key" && environment !== principal.environment
  const isIgnored = isElsewhere && !input.acceptsOtherEnvironment
  if (isIgnored && (input.isWrite || input.unknownParameters === "refused")) {
    return publicError("ENVIRONMENT_FORBIDDEN", { param: "environment" })
  }
  const ignored = isIgnored ? [...parameters, { name: "environment", nearest: undefined, known: [] }] : parameters
  const fields = body === undefined ? none : unknownFields(body, input.body)
  return {
    environment: isIgnored ? undefined : environment,
    warning: ignored.length + fields.length === 0 ? undefined : warningOf(ignored, fields)
  }
}

const none: ReadonlyArray<UnknownName> = []

/**
 * Whether somebody refuses a body that cannot be read, after what is checked before it: an idempotency key, for one.
 */
const isReadLater = (
  { hasPayload, isIdempotent }: NamedInput,
  { headers }: HttpServerRequest.HttpServerRequest
): boolean => hasPayload || (isIdempotent && headers["idempotency-key"] !== undefined)

/**
 * Answers the environment that a call names and reads or acts in, and tells of unknown names by the header
 * `X-Service-Warning`. Fails with
 * `VALIDATION_ERROR` for an unknown query parameter where the route refuses them, `INVALID_ENVIRONMENT`,
 * `ENVIRONMENT_FORBIDDEN` for a key that names the other one, and for a body that cannot be read where the route
 * itself reads none. Without a `principal` nothing acts anywhere: `environment` is a name as any other.
 */
export const admit = (
  { facts, operation, query, request }: Call,
  principal?: Principal
): Effect.Effect<Environment | undefined, PublicError> => {
  if (!operation.isOfApi) return Effect.undefined
  const input = operation.input()
  const conclude = (body: unknown): Effect.Effect<Environment | undefined, PublicError> => {
    const decision = decide(input, query, body, principal)
    if (isPublicError(decision)) return Effect.fail(decision)
    if (decision.warning !== undefined) facts.answerHeaders["x-service-warning"] = decision.warning
    return Effect.succeed(decision.environment)
  }
  if (!input.isWrite || !hasBody(request)) return conclude(undefined)
  return Effect.matchEffect(jsonBody(request), {
    onFailure: (error) => isReadLater(input, request) ? conclude(undefined) : Effect.fail(error),
    onSuccess: conclude
  })
}
