/** Which right a call takes, as its definition says, and whether its caller has it. */
import { Context, Effect } from "effect"
import type { Principal } from "../schemas/Auth.ts"
import { type PublicError, publicError } from "../schemas/Errors.ts"
import type { Environment } from "../schemas/Network.ts"
import { mayDo, permissionFor, type Right, rolesWith, waitsForMoney } from "../schemas/Roles.ts"
import { nowSeconds } from "./Clock.ts"
import { CurrentPrincipal } from "./Http.ts"

/**
 * The rights that calls of a group behind `MerchantAuth` need (schemas/Roles.ts): those by GET, and all others.
 * Every such group has them: `test/journeys/rights.test.ts`.
 */
export const RightsOf = Context.Reference<{ readonly read: Right; readonly write: Right } | null>(
  "tillwire/runtime/Rights/RightsOf",
  { defaultValue: () => null }
)

/** The right that calls of an endpoint need, where it is not that of its group. */
export const RightOf = Context.Reference<Right | null>("tillwire/runtime/Rights/RightOf", { defaultValue: () => null })

/**
 * Why a caller may not do what takes `right` in the environment of what it reads or changes, if so:
 * `PERMISSION_DENIED`.
 */
export const objectionToRight = (
  caller: Principal,
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
 * Why a caller must wait with what takes `right`, if so: `PERMISSION_DENIED`. `moneyFrom`: from when on it may move
 * money on mainnet.
 */
export const objectionToWait = (
  caller: Principal & { readonly moneyFrom?: number },
  right: Right,
  environment: Environment,
  now: number
): PublicError | undefined => {
  const { moneyFrom = 0 } = caller
  return now >= moneyFrom || !waitsForMoney(right, environment)
    ? undefined
    : publicError("PERMISSION_DENIED", {
      message: "You signed in by a link, a recovery code or a new credential: for a day it moves no money on mainnet. "
        + "Wait until details.allowed_from, or sign in as before",
      details: { right, allowed_from: moneyFrom }
    })
}

/**
 * Fails with `PERMISSION_DENIED` unless the caller has a right, beside the one of its route. `environment`: of what it
 * changes, where that is not the one in which the call acts.
 */
export const requireRight = (right: Right, environment?: Environment) =>
  Effect.gen(function*() {
    const principal = yield* CurrentPrincipal
    const place = environment ?? principal.environment
    const objection = objectionToRight(principal, right, place)
      ?? objectionToWait(principal, right, place, yield* nowSeconds)
    return objection === undefined ? principal : yield* objection
  })
