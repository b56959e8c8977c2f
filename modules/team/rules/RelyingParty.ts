/** For whom passkeys sign, and what they sign. Pure. */

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

/** Bytes of a challenge: random ones, the end of its time, and the hash that proves that it was made here. */
const randomBytes = 16
const endBytes = 6
const hashBytes = 16

/** A challenge as base64url. `hashOf` is a keyed hash, hex, of 16 bytes or more. */
export const formChallenge = (random: Uint8Array, expiresAt: number, hashOf: (text: string) => string): string => {
  const end = Buffer.alloc(endBytes)
  end.writeUIntBE(expiresAt, 0, endBytes)
  const head = Buffer.concat([random.subarray(0, randomBytes), end])
  return Buffer.concat([head, Buffer.from(hashOf(head.toString("hex")), "hex").subarray(0, hashBytes)])
    .toString("base64url")
}

/** When a challenge ends that was made here; undefined for every other text. */
export const readChallenge = (text: string, hashesOf: (text: string) => ReadonlyArray<string>): number | undefined => {
  const bytes = Buffer.from(text, "base64url")
  if (bytes.length !== randomBytes + endBytes + hashBytes || bytes.toString("base64url") !== text) return undefined
  const head = bytes.subarray(0, randomBytes + endBytes)
  const hash = bytes.subarray(randomBytes + endBytes).toString("hex")
  return hashesOf(head.toString("hex")).some((candidate) => candidate.slice(0, 2 * hashBytes) === hash)
    ? head.readUIntBE(randomBytes, endBytes)
    : undefined
}
