/** The names of challenges: each proves by itself what it was made for, so that nothing is kept until it is answered. */

import type { ApprovedContent } from "./ApprovalText.ts"

/** What a challenge is for: what one person approves, as it was then. */
export interface ChallengeUse extends ApprovedContent {
  readonly person: string
}

/** Bytes of a challenge: the end of its time, which also orders them, random ones, and the hash that proves it. */
const endBytes = 6
const randomBytes = 12
const hashBytes = 14

const prefix = "apr_"

const pattern = /^apr_[0-9a-f]{64}$/u

/** What is hashed; `head` is hex. */
const boundTo = ({ environment, id, lines, merchantId, object, person }: ChallengeUse, head: string): string =>
  JSON.stringify([object, id, merchantId, environment, lines, person, head])

/** A challenge. `hashOf` is a keyed hash, hex, of 14 bytes or more. */
export const formChallenge = (
  random: Uint8Array,
  expiresAt: number,
  use: ChallengeUse,
  hashOf: (text: string) => string
): string => {
  const end = Buffer.alloc(endBytes)
  end.writeUIntBE(expiresAt, 0, endBytes)
  const head = Buffer.concat([end, random.subarray(0, randomBytes)]).toString("hex")
  return `${prefix}${head}${hashOf(boundTo(use, head)).slice(0, 2 * hashBytes)}`
}

/** When a challenge ends that was made for this use; undefined for every other text. */
export const readChallenge = (
  text: string,
  use: ChallengeUse,
  hashesOf: (text: string) => ReadonlyArray<string>
): number | undefined => {
  if (!pattern.test(text)) return undefined
  const head = text.slice(prefix.length, prefix.length + 2 * (endBytes + randomBytes))
  const hash = text.slice(prefix.length + head.length)
  return hashesOf(boundTo(use, head)).some((candidate) => candidate.slice(0, 2 * hashBytes) === hash)
    ? Number.parseInt(head.slice(0, 2 * endBytes), 16)
    : undefined
}
