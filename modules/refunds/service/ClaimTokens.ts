/** The tokens of claim links: random, and kept as a hash only. */
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { newClaim } from "../machine.ts"

/** 256 bits, which nobody guesses. */
const tokenBytes = 32

export const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex")

/** A new token, and the link that it opens. */
export const mintClaim = Effect.sync(() => {
  const token = randomBytes(tokenBytes).toString("base64url")
  return { token, claim: newClaim(hashOf(token)) }
})
