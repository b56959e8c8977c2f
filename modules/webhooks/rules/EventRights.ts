/** Whether a caller may have events sent somewhere. Pure. */
import type { Principal } from "../../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { commonEventRight, rightsOfFilters } from "../../../schemas/EventRights.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { mayDo, rolesWith } from "../../../schemas/Roles.ts"

/**
 * Why a caller may not have events of these types sent to an endpoint of an environment, null for both, if so: who may
 * not read what they tell of may not have it sent either (modules/docs/reference/events.md#who-may-read-which).
 */
export const objectionToEvents = (
  principal: Principal,
  filters: ReadonlyArray<string>,
  environment: Environment | null
): PublicError | undefined => {
  const where = environment ?? "mainnet"
  const missing = rightsOfFilters(filters).find((right) =>
    right !== commonEventRight && !mayDo(principal, right, where)
  )
  return missing === undefined ? undefined : publicError("PERMISSION_DENIED", {
    param: "enabled_events",
    message: `enabled_events: of these events some take the right ${missing} on ${where}, which you have not. Leave `
      + `them out, or ask somebody who is ${rolesWith(missing).join(" or ")}`,
    details: { right: missing, role: principal.role, roles: rolesWith(missing) }
  })
}

/** The same of a change: whoever changes what is sent, or where to, must be allowed to read all of it. */
export const objectionToOtherEvents = (
  principal: Principal,
  change: { readonly url?: string; readonly enabledEvents?: ReadonlyArray<string>; readonly environment?: unknown },
  filters: ReadonlyArray<string>,
  environment: Environment | null
): PublicError | undefined =>
  change.url === undefined && change.enabledEvents === undefined && change.environment === undefined
    ? undefined
    : objectionToEvents(principal, filters, environment)
