/** Which right a call takes, as its definition says, and whether its caller has it. */
import { Context, Effect } from "effect"
import type { Principal } from "../schemas/Auth.ts"
import { objectionToRight } from "../schemas/Authorization.ts"
import { type PublicError, publicError } from "../schemas/Errors.ts"
import type { Environment } from "../schemas/Network.ts"
import { type Authority, freshProofSeconds, type Right, takesFreshProof, waitsForMoney } from "../schemas/Roles.ts"
import { nowSeconds } from "./Clock.ts"
import { CurrentPrincipal, type Grant } from "./Http.ts"

/**
 * The rights that calls of a group behind `MerchantAuth` need (schemas/Roles.ts): those by GET, and all others.
 * Every such group has them: `test/journeys/rights.long.test.ts`.
 */
export const RightsOf = Context.Reference<{ readonly read: Right; readonly write: Right } | null>(
  "tillwire/runtime/Rights/RightsOf",
  { defaultValue: () => null }
)

/** The right that calls of an endpoint need, where it is not that of its group. */
export const RightOf = Context.Reference<Right | null>("tillwire/runtime/Rights/RightOf", { defaultValue: () => null })

/**
 * Whether calls of an endpoint prove themselves who makes them: they need no fresh proof beside that. Approvals are
 * signed (modules/docs/reference/approvals.md).
 */
export const HasOwnProof = Context.Reference<boolean>("tillwire/runtime/Rights/HasOwnProof", {
  defaultValue: () => false
})

/**
 * Why a caller must wait with what takes `right`, if so: `PERMISSION_DENIED`. `moneyFrom`: from when on it may move
 * money on mainnet.
 */
const objectionToWait = (
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

/** Why a person must prove anew who it is, if so: `FRESH_PROOF_REQUIRED`. A key proves itself with each call. */
const objectionToProof = ({ freshUntil }: { readonly freshUntil?: number }, now: number): PublicError | undefined =>
  freshUntil === undefined || now < freshUntil
    ? undefined
    : publicError("FRESH_PROOF_REQUIRED", { details: { fresh_until: freshUntil, fresh_seconds: freshProofSeconds } })

/**
 * Why a caller may not do now what takes `right`, if so: it has not the right, must wait, or prove anew who it is.
 * `environment`: of what it reads or changes. `hasOwnProof`: the call proves that itself.
 */
export const objectionToAct = (
  caller: Principal & { readonly moneyFrom?: number; readonly freshUntil?: number },
  right: Right,
  environment: Environment,
  now: number,
  hasOwnProof = false
): PublicError | undefined =>
  objectionToRight(caller, right, environment)
    ?? objectionToWait(caller, right, environment, now)
    ?? (takesFreshProof(right, environment) && !hasOwnProof ? objectionToProof(caller, now) : undefined)

/**
 * Fails with `FRESH_PROOF_REQUIRED` where a person has not proved lately who it is, for acts that take it beside what
 * their route takes.
 */
export const requireFreshProof = Effect.gen(function*() {
  const objection = objectionToProof(yield* CurrentPrincipal, yield* nowSeconds)
  if (objection !== undefined) return yield* objection
})

/**
 * Fails with `PERMISSION_DENIED` unless the caller has a right, beside the one of its route. `environment`: of what it
 * changes, where that is not the one in which the call acts.
 */
export const requireRight = (right: Right, environment?: Environment) =>
  Effect.gen(function*() {
    const principal = yield* CurrentPrincipal
    const place = environment ?? principal.environment
    const objection = objectionToAct(principal, right, place, yield* nowSeconds)
    return objection === undefined ? principal : yield* objection
  })

/** What a caller may do, apart from who it is. */
export const authorityOf = ({ permissions, role, roleLimits = [] }: Grant): Authority => ({
  role,
  permissions,
  roleLimits
})

/** The id of a key with its rights, so that `Revocations` ends what was opened by it when its rights change. */
export const keyWithAuthority = (id: string, { permissions, role, roleLimits = [] }: Authority): string =>
  `${id} ${[role, ...roleLimits].join("+")}:${permissions.join("+")}`
