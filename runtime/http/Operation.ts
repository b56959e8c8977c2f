/** What the definition of an endpoint says of its calls, read once; and one call of it. */
import { Context } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import {
  ActsByOneCommit,
  type AddressLimit,
  AddressLimitOf,
  Anonymous,
  type ErrorForm,
  FlatErrors,
  IdempotencyRequired,
  Idempotent,
  MerchantAuth,
  ParameterCodes,
  PersonalPath,
  PrivateReplies,
  type RequestFacts,
  WrappedErrors
} from "../Http.ts"
import { OperatorAuth, operatorPrefix } from "../OperatorRoutes.ts"
import { HasOwnProof, RightOf, RightsOf } from "../Rights.ts"
import { type Act, type CalledEndpoint, jsonPayloadOf } from "./Act.ts"
import { familyOf } from "./ErrorResponses.ts"
import { type NamedInput, readInput } from "./NamedInput.ts"
import type { Right } from "../../schemas/Roles.ts"

/** A middleware of a plugin's own: `act`, or a refusal in its place. */
export type PluginCheck = (act: Act, called: CalledEndpoint) => Act

/** What the definition of an endpoint asks for. */
export interface Operation {
  readonly called: CalledEndpoint
  readonly errorForm: ErrorForm
  /**
   * Who may call: somebody of a merchant, an operator, or anybody within a limit for addresses; undefined: it is not
   * asked here.
   */
  readonly caller: "merchant" | "operator" | { readonly addressLimit: AddressLimit } | undefined
  /** What a caller of a merchant must have; null: nothing beside its credential. */
  readonly right: Right | null
  /** As `HasOwnProof` of runtime/Rights.ts. */
  readonly hasOwnProof: boolean
  readonly idempotency: "none" | "accepted" | "required"
  readonly actsByOneCommit: boolean
  /** Whether its path names a person. */
  readonly hasPersonalPath: boolean
  /** Whether a stored reply is for the credential alone that it was first given to. */
  readonly hasPrivateReplies: boolean
  /** Pages and key sets take whatever their links carry. */
  readonly isOfApi: boolean
  /** Whether `HttpApi` itself reads the body, by `request.text`: JSON is read here. */
  readonly readsRequestText: boolean
  /** Made at the first call: reading all schemas would delay the start. */
  readonly input: () => NamedInput
  /** Of plugins' own middlewares, the innermost first. */
  readonly checks: ReadonlyArray<PluginCheck>
}

export type Query = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** A call of an operation. */
export interface Call {
  readonly operation: Operation
  readonly request: HttpServerRequest.HttpServerRequest
  readonly query: Query
  readonly facts: RequestFacts
}

const ownMiddlewares: ReadonlySet<string> = new Set(
  [Anonymous, FlatErrors, IdempotencyRequired, Idempotent, MerchantAuth, OperatorAuth, WrappedErrors].map(({ key }) =>
    key
  )
)

/**
 * The limit that the endpoint names, else its group, else the default. `Context.getOption` would
 * answer the default of an endpoint that names none, and the group's limit would never apply.
 */
export const addressLimitOf = ({ endpoint, group }: CalledEndpoint): AddressLimit =>
  Context.getOrUndefined(endpoint.annotations, AddressLimitOf) ??
    Context.get(group.annotations, AddressLimitOf)

/** The right that the endpoint names, else its group. */
export const rightOf = ({ endpoint, group }: CalledEndpoint): Right | null => {
  const own = Context.get(endpoint.annotations, RightOf)
  const rights = Context.get(group.annotations, RightsOf)
  return own ?? (endpoint.method === "GET" ? rights?.read : rights?.write) ?? null
}

/**
 * The one function that implements a middleware. Throws where its security schemes have several: only one would be run.
 */
const checkOf = (key: Context.Key<unknown, unknown>, services: Context.Context<never>): PluginCheck => {
  const service = Context.getUnsafe(services, key as Context.Key<never, unknown>)
  if (!HttpApiMiddleware.isSecurity(key as never)) return service as PluginCheck
  const functions = new Set(Object.values(service as Readonly<Record<string, PluginCheck>>))
  const [check] = functions
  if (check === undefined || functions.size > 1) {
    throw new Error(`the security schemes of ${key.key} must have one function in common`)
  }
  return check
}

/**
 * Reads a definition. `services` hold the implementations of plugins' own middlewares. Throws for one that takes
 * idempotency keys and asks for no merchant: replies are stored for one.
 */
export const readOperation = (called: CalledEndpoint, services: Context.Context<never>): Operation => {
  const { endpoint, group } = called
  const middlewares = [...endpoint.middlewares] as unknown as ReadonlyArray<Context.Key<unknown, unknown>>
  const names = new Set(middlewares.map(({ key }) => key))
  const parameterCodes = {
    ...Context.get(group.annotations, ParameterCodes),
    ...Context.get(endpoint.annotations, ParameterCodes)
  }
  const idempotency = names.has(IdempotencyRequired.key)
    ? "required"
    : names.has(Idempotent.key)
    ? "accepted"
    : "none"
  if (idempotency !== "none" && !names.has(MerchantAuth.key)) {
    throw new Error(`${endpoint.method} ${endpoint.path} takes idempotency keys and needs MerchantAuth for them`)
  }
  let input: NamedInput | undefined
  return {
    called,
    errorForm: { family: familyOf(endpoint), parameterCodes },
    caller: names.has(MerchantAuth.key)
      ? "merchant"
      : names.has(OperatorAuth.key)
      ? "operator"
      : names.has(Anonymous.key)
      ? { addressLimit: addressLimitOf(called) }
      : undefined,
    right: rightOf(called),
    hasOwnProof: Context.get(endpoint.annotations, HasOwnProof),
    idempotency,
    actsByOneCommit: Context.get(endpoint.annotations, ActsByOneCommit),
    hasPersonalPath: Context.get(group.annotations, PersonalPath),
    hasPrivateReplies: Context.get(group.annotations, PrivateReplies),
    isOfApi: endpoint.path.startsWith("/api/") || endpoint.path.startsWith(operatorPrefix),
    readsRequestText: endpoint.payload.size > 0 && jsonPayloadOf(endpoint) === undefined,
    input: () => input ??= readInput(called, parameterCodes),
    checks: middlewares.filter(({ key }) => !ownMiddlewares.has(key)).map((key) => checkOf(key, services))
  }
}
