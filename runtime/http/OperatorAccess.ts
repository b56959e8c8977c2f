/** Who may call the operator API: the holder of `admin.token`. */
import { Effect, Option, Redacted } from "effect"
import { createHash } from "node:crypto"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { RateLimiter } from "../Http.ts"
import { CurrentOperator } from "../OperatorRoutes.ts"
import { bearerMatches } from "../rpc/Credential.ts"
import { Settings } from "../Settings.ts"
import { admit } from "./Admission.ts"
import type { Call } from "./Operation.ts"

/** The header by which a call names who acts: the credential is one, and may be several people's. */
export const operatorHeader = "x-operator"

const operatorName = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/u

/** Hex digits of a credential's SHA-256 that the audit log shows: they tell two credentials apart, and reveal none. */
const fingerprintLength = 12

/** The name by which the audit log knows the holder of a credential. */
export const operatorActor = (token: Redacted.Redacted, name: string | undefined): string => {
  const fingerprint = createHash("sha256").update(Redacted.value(token)).digest("hex").slice(0, fingerprintLength)
  return name === undefined ? `operator:${fingerprint}` : `operator:${fingerprint}:${name}`
}

const refused = publicError("UNAUTHORIZED", {
  message: "Send the operator's credential: Authorization: Bearer <admin.token>"
})

const badName = publicError("VALIDATION_ERROR", {
  message: "X-Operator takes 1 to 64 characters: letters, digits and . _ @ -, the first a letter or a digit",
  param: "X-Operator"
})

/** Lets an operator's call in: the credential, then who acts, then what the call names. */
export type LetOperatorIn = (call: Call) => Effect.Effect<CurrentOperator["Service"], PublicError>

/** Implements `OperatorAuth`. A wrong credential counts for the caller's address: 429 beyond `anonymousPerMinute`. */
export const makeLetOperatorIn: Effect.Effect<LetOperatorIn, never, RateLimiter | Settings> = Effect.gen(function*() {
  const rateLimiter = yield* RateLimiter
  const { admin } = yield* Settings
  const token = Option.map(Option.fromUndefinedOr(admin?.token), (text) => Redacted.make(text))
  return (call) => {
    const { headers } = call.request
    if (Option.isNone(token) || !bearerMatches(headers["authorization"], token.value)) {
      call.facts.answerHeaders["www-authenticate"] = "Bearer realm=\"tillwire-admin\""
      return rateLimiter.refuse(call.request, refused)
    }
    const name = headers[operatorHeader]
    if (name !== undefined && !operatorName.test(name)) return Effect.fail(badName)
    return Effect.as(admit(call), { actor: operatorActor(token.value, name) })
  }
})
