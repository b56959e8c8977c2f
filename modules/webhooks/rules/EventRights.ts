/** Whether a caller may have events sent to an endpoint. Pure. */
import { objectionToEvents } from "../../../schemas/Authorization.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { commonEventRight, rightsOfFilters } from "../../../schemas/EventRights.ts"
import type { Environment } from "../../../schemas/Network.ts"

/**
 * Why a caller may not have events of these types sent to an endpoint of an environment, null for both, if so: who may
 * not read what they tell of may not have it sent either (modules/docs/reference/events.md#who-may-read-which). A key
 * that may only write still makes endpoints for the events that everybody may read.
 */
export const objectionToSending = (
  principal: Principal,
  filters: ReadonlyArray<string>,
  environment: Environment | null
): PublicError | undefined =>
  objectionToEvents(
    principal,
    rightsOfFilters(filters).filter((right) => right !== commonEventRight),
    environment,
    "enabled_events"
  )

/** The same of a change: whoever changes what is sent, or where to, must be allowed to read all of it. */
export const objectionToRedirecting = (
  principal: Principal,
  change: { readonly url?: string; readonly enabledEvents?: ReadonlyArray<string>; readonly environment?: unknown },
  filters: ReadonlyArray<string>,
  environment: Environment | null
): PublicError | undefined =>
  change.url === undefined && change.enabledEvents === undefined && change.environment === undefined
    ? undefined
    : objectionToSending(principal, filters, environment)
