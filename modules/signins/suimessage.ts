/** Sui wallets: a personal message, signed by an Ed25519, secp256k1 or secp256r1 key. */
import { p256 } from "@noble/curves/nist.js"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { blake2b } from "@noble/hashes/blake2.js"
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { base64 } from "@scure/base"
import { Effect, Layer, Result } from "effect"
import {
  type Challenge,
  type SignInDriver,
  type SignInProof,
  SignInRefused,
  SignIns,
  type WalletIdentity
} from "../../runtime/SignIns.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { signInMessage } from "./siwe/Message.ts"
import { isSignedBy } from "./siws/Ed25519.ts"

/** Scope "personal message", version 0, application Sui: what is signed can never be a transaction. */
const intent = Uint8Array.of(3, 0, 0)

const signatureBytes = 64

interface Scheme {
  readonly publicKeyBytes: number
  readonly isSigned: (publicKey: Uint8Array, digest: Uint8Array, signature: Uint8Array) => boolean
}

const ecdsa = (curve: typeof secp256k1): Scheme => ({
  publicKeyBytes: 33,
  // ECDSA signs SHA-256 of the digest; the chain accepts the lower form of a signature only.
  isSigned: (publicKey, digest, signature) =>
    Result.getOrElse(Result.try(() => curve.verify(signature, digest, publicKey, { lowS: true })), () => false)
})

/** By the first byte of a serialized signature. */
const schemes: Readonly<Record<number, Scheme>> = {
  0: { publicKeyBytes: 32, isSigned: isSignedBy },
  1: ecdsa(secp256k1),
  2: ecdsa(p256)
}

/** Accounts that are not one key, by the same byte. */
const unsupportedSchemes: Readonly<Record<number, string>> = { 3: "Multisig", 5: "zkLogin", 6: "Passkey" }

/** A length as BCS writes it: seven bits a byte, the lowest first. */
const uleb128 = (length: number): ReadonlyArray<number> =>
  length < 128 ? [length] : [length % 128 | 128, ...uleb128(Math.floor(length / 128))]

const digestOf = (message: string): Uint8Array => {
  const bytes = utf8ToBytes(message)
  return blake2b(concatBytes(intent, Uint8Array.from(uleb128(bytes.length)), bytes), { dkLen: 32 })
}

const addressOf = (flag: number, publicKey: Uint8Array): string =>
  `0x${bytesToHex(blake2b(concatBytes(Uint8Array.of(flag), publicKey), { dkLen: 32 }))}`

/**
 * `signature` is base64 of flag, signature and public key; the key is believed only because the address is its hash.
 */
const verify = (challenge: Challenge, proof: SignInProof): Effect.Effect<WalletIdentity | null, SignInRefused> => {
  const serialized = Result.getOrNull(Result.try(() => base64.decode(proof.signature)))
  const flag = serialized?.[0]
  if (serialized === null || flag === undefined) return Effect.succeed(null)
  const unsupported = unsupportedSchemes[flag]
  if (unsupported !== undefined) {
    return Effect.fail(
      new SignInRefused({ reason: `${unsupported} accounts cannot sign in: use an account held by one key.` })
    )
  }
  const scheme = schemes[flag]
  const isKnown = scheme !== undefined && serialized.length === 1 + signatureBytes + scheme.publicKeyBytes
  if (!isKnown) return Effect.succeed(null)
  const signature = serialized.slice(1, 1 + signatureBytes)
  const publicKey = serialized.slice(1 + signatureBytes)
  return Effect.succeed(
    addressOf(flag, publicKey) === challenge.address && scheme.isSigned(publicKey, digestOf(proof.message), signature)
      ? { family: "sui", address: challenge.address, chainId: null }
      : null
  )
}

export const driver: SignInDriver = {
  name: "suimessage",
  family: "sui",
  // Accounts are always written in full; the short form is for packages.
  canonicalAddress: (text) => /^0x[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : null,
  chainId: (network, environment) => network !== "sui" ? null : environment === "mainnet" ? "mainnet" : "testnet",
  message: (challenge) => signInMessage("Sui", challenge),
  verify: (challenge, proof) => Effect.suspend(() => verify(challenge, proof))
}

/** Sui: `signature` is the serialized signature that `signPersonalMessage` gives. */
export const plugin = Plugin.make({
  name: "suimessage",
  slot: "signIns",
  layer: () => Layer.effectDiscard(Effect.flatMap(SignIns, (signIns) => signIns.register(driver)))
})
