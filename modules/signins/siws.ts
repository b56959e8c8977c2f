/** Solana wallets: Sign-In With Solana, an Ed25519 signature over the message itself. */
import { base58 } from "@scure/base"
import { Effect, Layer, Result } from "effect"
import {
  type Challenge,
  type SignInDriver,
  type SignInProof,
  SignIns,
  type WalletIdentity
} from "../../runtime/SignIns.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { signInMessage } from "./siwe/Message.ts"
import { isSignedBy, publicKeyBytes, signatureBytes } from "./siws/Ed25519.ts"

/** Base58 needs at most 1.38 characters a byte; decoding takes time by the square of the length. */
const maximumBase58 = 88

const readBase58 = (text: string, bytes: number): Uint8Array | null => {
  if (text.length > maximumBase58) return null
  const decoded = Result.getOrNull(Result.try(() => base58.decode(text)))
  return decoded?.length === bytes ? decoded : null
}

/**
 * The message is signed as it is: a wallet that wraps it (the off-chain envelope of hardware wallets) is refused.
 * `signature` is base58, 64 bytes. The address is the public key, so nothing else is needed.
 */
const identityOf = (challenge: Challenge, proof: SignInProof): WalletIdentity | null => {
  const publicKey = readBase58(challenge.address, publicKeyBytes)
  const signature = readBase58(proof.signature, signatureBytes)
  if (publicKey === null || signature === null) return null
  return isSignedBy(publicKey, new TextEncoder().encode(proof.message), signature)
    ? { family: "solana", address: challenge.address, chainId: null }
    : null
}

export const driver: SignInDriver = {
  name: "siws",
  family: "solana",
  // Base58 spells 32 bytes in one way only.
  canonicalAddress: (text) => readBase58(text, publicKeyBytes) === null ? null : text,
  chainId: (network, environment) => network !== "solana" ? null : environment,
  message: (challenge) => signInMessage("Solana", challenge),
  verify: (challenge, proof) => Effect.sync(() => identityOf(challenge, proof))
}

/** Solana: `signature` is the base58 signature of the message. */
export const plugin = Plugin.make({
  name: "siws",
  slot: "signIns",
  layer: () => Layer.effectDiscard(Effect.flatMap(SignIns, (signIns) => signIns.register(driver)))
})
