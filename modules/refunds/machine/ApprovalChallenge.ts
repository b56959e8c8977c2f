/** The names of challenges to approve: each is of one person and of what is approved, as it was then. */

import { formChallenge as formBytes, readChallenge as readBytes } from "../../../schemas/Challenge.ts"
import type { ApprovedContent } from "./ApprovalText.ts"

/** What a challenge is for: what one person approves, as it was then. */
export interface ChallengeUse extends ApprovedContent {
  readonly person: string
}

const prefix = "apr_"

const pattern = /^apr_[0-9a-f]{64}$/u

/** What is hashed; `head` is hex. */
const boundTo = ({ environment, id, lines, merchantId, object, person }: ChallengeUse, head: string): string =>
  JSON.stringify([object, id, merchantId, environment, lines, person, head])

/** A challenge. `hashOf` is a keyed hash, hex. */
export const formChallenge = (
  random: Uint8Array,
  expiresAt: number,
  use: ChallengeUse,
  hashOf: (text: string) => string
): string => `${prefix}${formBytes(random, expiresAt, (head) => hashOf(boundTo(use, head))).toString("hex")}`

/** When a challenge ends that was made for this use; undefined for every other text. */
export const readChallenge = (
  text: string,
  use: ChallengeUse,
  hashesOf: (text: string) => ReadonlyArray<string>
): number | undefined =>
  pattern.test(text)
    ? readBytes(Buffer.from(text.slice(prefix.length), "hex"), (head) => hashesOf(boundTo(use, head)))
    : undefined
