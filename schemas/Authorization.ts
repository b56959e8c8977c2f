/** Why a caller may not do something by its role and permissions (modules/docs/reference/roles.md). Pure. */
import type { Principal } from "./Auth.ts"
import { type PublicError, publicError } from "./Errors.ts"
import { rightsOfFilters } from "./EventRights.ts"
import type { Environment } from "./Network.ts"
import { type Authority, mayDo, permissionFor, type Right, rolesWith } from "./Roles.ts"

/**
 * Why a caller may not do what takes `right` in the environment of what it reads or changes, if so:
 * `PERMISSION_DENIED`.
 */
export const objectionToRight = (
  caller: Authority & Pick<Principal, "kind">,
  right: Right,
  environment: Environment
): PublicError | undefined =>
  mayDo(caller, right, environment) ? undefined : publicError("PERMISSION_DENIED", {
    message: caller.kind === "key"
      ? `This API key may not do this on ${environment}: it takes the permission ${permissionFor(right)}, and a maker `
        + `whose role has the right ${right} there`
      : `Your role, ${caller.role}, may not do this on ${environment}. Ask somebody who is `
        + rolesWith(right).join(" or "),
    details: { right, role: caller.role, roles: rolesWith(right) }
  })

/**
 * Where rights over an object are judged that is of both environments, as a webhook endpoint may be: by the roles that
 * have them where real money is.
 */
export const environmentOfBoth: Environment = "mainnet"

/**
 * Why a caller may not be told of events that require these rights, if so: `PERMISSION_DENIED`, on `param`.
 * `environment` null: those of both are asked for, which requires what it does where real money is.
 */
export const objectionToEvents = (
  caller: Authority & Pick<Principal, "kind">,
  eventRights: ReadonlyArray<Right>,
  environment: Environment | null,
  param: string
): PublicError | undefined => {
  for (const right of eventRights) {
    const objection = objectionToRight(caller, right, environment ?? environmentOfBoth)
    if (objection === undefined) continue
    const { details, message } = objection
    const isOfBoth = environment === null && mayDo(caller, right, "devnet")
    return publicError("PERMISSION_DENIED", {
      message: isOfBoth ? `${message}. Name the environment devnet for the events of devnet alone` : message,
      param,
      details
    })
  }
  return undefined
}

/** The same of the events that filters of types select. */
export const objectionToFilters = (
  caller: Authority & Pick<Principal, "kind">,
  filters: ReadonlyArray<string>,
  environment: Environment | null,
  param: string
): PublicError | undefined => objectionToEvents(caller, rightsOfFilters(filters), environment, param)
