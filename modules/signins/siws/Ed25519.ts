/** Ed25519 as strictly as it can be judged: one message, one key, one signature. */
import { ed25519 } from "@noble/curves/ed25519.js"
import { Result } from "effect"

export const signatureBytes = 64
export const publicKeyBytes = 32

/**
 * Whether `signature` is `publicKey`'s over `message`. By RFC 8032 with canonical encodings; a key of small order,
 * which nobody holds and whose signature fits many messages, never signs. Anything of another length is false.
 */
export const isSignedBy = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean =>
  publicKey.length === publicKeyBytes && signature.length === signatureBytes &&
  Result.getOrElse(Result.try(() => ed25519.verify(signature, message, publicKey, { zip215: false })), () => false)
