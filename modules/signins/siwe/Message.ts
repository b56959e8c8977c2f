/** The text of a sign-in (CAIP-122): EIP-4361 made it for Ethereum, and every family here says it the same way. */
import { DateTime } from "effect"
import type { Challenge } from "../../../runtime/SignIns.ts"

const isoTime = (seconds: number): string => DateTime.formatIso(DateTime.makeUnsafe(seconds * 1000))

/**
 * The message for an account of `chain`, as its wallets' users call it (`Ethereum`, `Solana`). Line feeds only, none at
 * the end. The caller vouches for the fields: a line feed in one would forge others.
 */
export const signInMessage = (chain: string, challenge: Challenge): string =>
  [
    `${challenge.domain} wants you to sign in with your ${chain} account:`,
    challenge.address,
    "",
    challenge.statement,
    "",
    `URI: ${challenge.uri}`,
    "Version: 1",
    `Chain ID: ${challenge.chainId}`,
    `Nonce: ${challenge.nonce}`,
    `Issued At: ${isoTime(challenge.issuedAt)}`,
    `Expiration Time: ${isoTime(challenge.expiresAt)}`
  ].join("\n")
