/**
 * What is checked of every call of the API as soon as its caller may make it, before an idempotency key is looked at:
 * the environment it acts in, and that it names nothing its route does not know.
 */
import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Principal } from "../../schemas/Auth.ts"
import { type ErrorCode, isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import {
  IdempotencyRequired,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  RequestInfo,
  UnknownParameters
} from "../Http.ts"
import { hasBody, jsonBody } from "./Body.ts"
import {
  leaf,
  type Shape,
  shapeOfSchemas,
  unknownFields,
  type UnknownName,
  unknownParameters,
  warningOf
} from "./KnownNames.ts"

/** What a call of an endpoint may name. */
interface Input {
  /** Pages and key sets take whatever their links carry. */
  readonly isOfApi: boolean
  /** It changes something: `environment` says where, and not what is looked at. */
  readonly isWrite: boolean
  readonly parameters: ReadonlySet<string>
  readonly body: Shape
  readonly unknownParameters: "refused" | "warned"
  readonly hasPayload: boolean
  readonly isIdempotent: boolean
  /** A read that shows a key the other environment too. */
  readonly readsElsewhere: boolean
  readonly environmentCode: ErrorCode
}

/** The part of a middleware's options that is needed here. */
export interface CalledEndpoint {
  readonly endpoint: HttpApiEndpoint.Top
  readonly group: HttpApiGroup.Top
}

const withEnvironment = (shape: Shape): Shape =>
  shape.fields.has("environment") ? shape : { ...shape, fields: new Map([...shape.fields, ["environment", leaf]]) }

const readInput = ({ endpoint, group }: CalledEndpoint): Input => {
  const query = endpoint.query === undefined ? leaf : shapeOfSchemas([endpoint.query])
  const body = shapeOfSchemas([...endpoint.payload.values()].flatMap(({ schemas }) => schemas))
  const middlewares = new Set([...endpoint.middlewares].map(({ key }) => key))
  const isMerchants = middlewares.has(MerchantAuth.key)
  const codes = {
    ...Context.get(group.annotations, ParameterCodes),
    ...Context.get(endpoint.annotations, ParameterCodes)
  }
  return {
    isOfApi: endpoint.path.startsWith("/api/"),
    isWrite: endpoint.method !== "GET",
    parameters: new Set([...query.fields.keys(), ...isMerchants ? ["environment"] : []]),
    body: isMerchants ? withEnvironment(body) : body,
    unknownParameters: Context.get(endpoint.annotations, UnknownParameters),
    hasPayload: endpoint.payload.size > 0,
    isIdempotent: middlewares.has(Idempotent.key) || middlewares.has(IdempotencyRequired.key),
    readsElsewhere: endpoint.method === "GET" && query.fields.has("environment"),
    environmentCode: codes["environment"] ?? listParameterCodes["environment"]!
  }
}

const inputs = new WeakMap<HttpApiEndpoint.Top, Input>()

/** Made at the first call of each endpoint. */
const inputOf = (called: CalledEndpoint): Input => {
  const before = inputs.get(called.endpoint)
  if (before !== undefined) return before
  const input = readInput(called)
  inputs.set(called.endpoint, input)
  return input
}

type Query = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

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

const unknownParameter = ({ name, nearest }: UnknownName, known: ReadonlySet<string>): PublicError =>
  publicError("VALIDATION_ERROR", {
    message: `${name}: No such query parameter${nearest === undefined ? "" : `: nearest is ${nearest}`}. `
      + `This route takes ${known.size === 0 ? "none" : [...known].join(", ")}`,
    param: name
  })

/** What is decided of a call before its handler runs. */
interface Decision {
  /** Where it acts, if it names it. */
  readonly environment: Environment | undefined
  /** For the header `X-Service-Warning`; undefined: nothing is unknown. */
  readonly warning: string | undefined
}

/**
 * A wallet acts where its call says. A key is bound to its environment: what it writes is there, and what it reads too
 * where the route does not take the other one; routes that only warn of what they do not know warn of that as well.
 */
const decide = (
  input: Input,
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
  const isIgnored = isElsewhere && !input.readsElsewhere
  if (isIgnored && (input.isWrite || input.unknownParameters === "refused")) {
    return publicError("ENVIRONMENT_FORBIDDEN", { param: "environment" })
  }
  const ignored = isIgnored ? [...parameters, { name: "environment", nearest: undefined, known: [] }] : parameters
  const fields = body === undefined ? none : unknownFields(body, input.body)
  return {
    environment,
    warning: ignored.length + fields.length === 0 ? undefined : warningOf(ignored, fields)
  }
}

const none: ReadonlyArray<UnknownName> = []

/**
 * Whether somebody refuses a body that cannot be read, after what is checked before it: an idempotency key, for one.
 */
const isReadLater = ({ hasPayload, isIdempotent }: Input, { headers }: HttpServerRequest.HttpServerRequest): boolean =>
  hasPayload || (isIdempotent && headers["idempotency-key"] !== undefined)

/**
 * Answers the environment that a call names, and tells of unknown names by the header `X-Service-Warning`. Fails with
 * `VALIDATION_ERROR` for an unknown query parameter where the route refuses them, `INVALID_ENVIRONMENT`,
 * `ENVIRONMENT_FORBIDDEN` for a key that names the other one, and for a body that cannot be read where the route
 * itself reads none. Without a `principal` nothing acts anywhere: `environment` is a name as any other.
 */
export const admit = (
  called: CalledEndpoint,
  principal?: Principal
): Effect.Effect<Environment | undefined, PublicError, HttpServerRequest.HttpServerRequest> =>
  Effect.withFiber((fiber) => {
    const input = inputOf(called)
    if (!input.isOfApi) return Effect.undefined
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const query = Context.getUnsafe(fiber.context as Context.Context<never>, HttpServerRequest.ParsedSearchParams)
    const conclude = (body: unknown): Effect.Effect<Environment | undefined, PublicError> => {
      const decision = decide(input, query, body, principal)
      if (isPublicError(decision)) return Effect.fail(decision)
      if (decision.warning !== undefined) {
        fiber.getRef(RequestInfo).answerHeaders["x-service-warning"] = decision.warning
      }
      return Effect.succeed(decision.environment)
    }
    if (!input.isWrite || !hasBody(request)) return conclude(undefined)
    return Effect.matchEffect(jsonBody(request), {
      onFailure: (error) => isReadLater(input, request) ? conclude(undefined) : Effect.fail(error),
      onSuccess: conclude
    })
  })

/**
 * `app` after {@link admit}, for middlewares that let in callers who are no merchants. A refusal leaves as a defect:
 * for a failure `HttpApi` would try the next security scheme, and count the caller again.
 */
export const afterAdmission = <A, E, R>(app: Effect.Effect<A, E, R>, called: CalledEndpoint) =>
  Effect.andThen(Effect.orDie(admit(called)), app)
