/** For whom passkeys sign, and what they sign. Pure. */

import { formChallenge as formBytes, readChallenge as readBytes } from "../../../schemas/Challenge.ts"
import { pageUrlOf } from "../../../schemas/Web.ts"

/** The service as browsers and authenticators know it. */
export interface RelyingParty {
  /** The host that passkeys are bound to. */
  readonly id: string
  /** The origin of the pages that may ask for them. */
  readonly origin: string
}

/** The relying party of a public address. */
export const relyingPartyOf = (publicUrl: string): RelyingParty => {
  const { hostname, origin } = new URL(pageUrlOf(publicUrl))
  return { id: hostname, origin }
}

/** Seconds for which a challenge may be answered. */
export const challengeSeconds = 300

/** What a passkey is asked for; an answer for one is none for another. */
export type ChallengePurpose = "sign-in" | "register" | "refresh"

/** A challenge as base64url. `hashOf` is a keyed hash, hex. */
export const formChallenge = (random: Uint8Array, expiresAt: number, hashOf: (head: string) => string): string =>
  formBytes(random, expiresAt, hashOf).toString("base64url")

/** When a challenge ends that was made here; undefined for every other text. */
export const readChallenge = (text: string, hashesOf: (head: string) => ReadonlyArray<string>): number | undefined => {
  const bytes = Buffer.from(text, "base64url")
  return bytes.toString("base64url") === text ? readBytes(bytes, hashesOf) : undefined
}
