/** Rules of webhook endpoints: who may make which, what they may listen to, how they are shown. Pure. */
import type { Principal } from "../../schemas/Auth.ts"
import { eventTypes } from "../../schemas/Event.ts"
import { type ErrorCode, publicError, type PublicError } from "../../schemas/Errors.ts"
import { Environment } from "../../schemas/Network.ts"
import { findVersion, versions } from "../../schemas/Version.ts"
import { filtersMatching, maximumEndpoints } from "../../schemas/Webhook.ts"

/** What a caller asks for, types checked and nothing else. */
export interface EndpointRequest {
  readonly url: string
  readonly enabledEvents: ReadonlyArray<string>
  /** Undefined: not sent. */
  readonly environment: string | null | undefined
  readonly description: string | null
  /** The version its deliveries are told in, for good. */
  readonly apiVersion: string
}

/** An endpoint as decided; the actor adds id, secret and time. */
export interface NewEndpoint {
  readonly url: string
  /** Null hears of both. */
  readonly environment: Environment | null
  readonly commerceOnly: boolean
  readonly filters: ReadonlyArray<string>
  readonly apiVersion: string
  readonly description: string | null
}

/** Every filter that selects at least one event type there is. */
const knownFilters: ReadonlySet<string> = new Set(eventTypes.flatMap(filtersMatching))

const refuse = (code: ErrorCode, param: string, message?: string): PublicError =>
  publicError(code, { param, ...(message === undefined ? {} : { message }) })

/**
 * The environment of a new endpoint. A key's is its own, also where null was sent; a wallet may name another one that is
 * `served`, or null for both.
 */
const environmentOf = (
  { environment: own, kind }: Principal,
  asked: string | null | undefined,
  served: ReadonlyArray<Environment>
): Environment | null | PublicError => {
  if (asked === undefined) return own
  if (asked === null) return kind === "wallet" ? null : own
  const named = Environment.literals.find((environment) => environment === asked)
  if (named === undefined) return refuse("INVALID_ENVIRONMENT", "environment")
  if (named === own) return own
  if (kind === "key") return refuse("ENVIRONMENT_FORBIDDEN", "environment")
  return served.includes(named) ? named : refuse(named === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED", "environment")
}

/**
 * What `principal` gets for `request`, or why not. An endpoint made by a key has the key's environment; one made by a
 * commerce key hears of commerce only (API reference, "Endpoint management"). Total.
 */
export const decideEndpoint = (
  principal: Principal,
  request: EndpointRequest,
  served: ReadonlyArray<Environment>
): NewEndpoint | PublicError => {
  const environment = environmentOf(principal, request.environment, served)
  if (typeof environment === "object" && environment !== null) return environment
  const unknown = request.enabledEvents.findIndex((filter) => !knownFilters.has(filter))
  if (unknown !== -1) {
    return refuse("VALIDATION_ERROR", `enabled_events.${unknown}`, "enabled_events: not an event type, a prefix.* of one, or *")
  }
  if (findVersion(request.apiVersion) === undefined) {
    const known = versions.map(({ version }) => version).join(", ")
    return refuse("VALIDATION_ERROR", "api_version", `api_version: the versions are ${known}`)
  }
  return {
    url: request.url,
    environment,
    commerceOnly: principal.scope === "commerce",
    filters: [...new Set(request.enabledEvents)],
    apiVersion: request.apiVersion,
    description: request.description
  }
}

/** Whether a merchant that has `endpoints` may have one more. */
export const mayAdd = (endpoints: number): boolean => endpoints < maximumEndpoints
