/** Solana. An address of a wallet or a mint is 32 bytes in base58, which has one spelling and no checksum. */
import { base58 } from "@scure/base"
import { Result } from "effect"
import type { NetworkFamily } from "../NetworkFamily.ts"

/** Not the system program, whose bytes are all zero. */
const readSolanaAddress = (text: string): string | null => {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return null
  const bytes = Result.getOrUndefined(Result.try(() => base58.decode(text)))
  return bytes?.length !== 32 || bytes.every((byte) => byte === 0) ? null : text
}

export const solanaFamily: NetworkFamily<"solana", "spl"> = {
  name: "solana",
  // Solana Pay 1.1; the memo program (SPL).
  paymentUriScheme: "solana",
  hasMemo: true,
  tokenType: "spl",
  readAddress: readSolanaAddress,
  accountKey: (address) => address,
  tokenAddress: readSolanaAddress,
  tokenKey: (text) => text,
  isCaseSensitive: true,
  hashPrefix: ""
}
