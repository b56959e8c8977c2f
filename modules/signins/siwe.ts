/**
 * Ethereum-like wallets: Sign-In With Ethereum (EIP-4361), signed by a key (EIP-191) or approved by an account that is
 * a contract (EIP-1271), which is asked on its own chain.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { Effect, Layer, Result } from "effect"
import { evmAddressOf, readEvmAddress } from "../../schemas/EvmAddress.ts"
import { Environment, evmChainIds } from "../../schemas/Network.ts"
import { Chains } from "../../runtime/Chains.ts"
import {
  type Challenge,
  type SignInDriver,
  type SignInProof,
  SignInRefused,
  SignIns,
  SignInUnavailable,
  type WalletIdentity
} from "../../runtime/SignIns.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { signInMessage } from "./siwe/Message.ts"

/** The port's limit for one verification. */
const timeLimitMillis = 3_000

/** r, s and the recovery number. */
const keySignatureBytes = 65

/** Selector of `isValidSignature(bytes32,bytes)`, and the answer that means yes (EIP-1271). */
const isValidSignature = "1626ba7e"

/** A signature for a contract that does not exist yet ends so (EIP-6492). */
const erc6492Suffix = "6492".repeat(16)

/** What a wallet signs for `personal_sign` (EIP-191). */
const personalHash = (message: string): Uint8Array => {
  const bytes = utf8ToBytes(message)
  return keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes))
}

/** Bytes of `0x` hex in any case; null when it is none. */
const readHex = (text: string): Uint8Array | null =>
  /^0x(?:[0-9a-fA-F]{2})+$/.test(text) ? hexToBytes(text.slice(2)) : null

/**
 * The address whose key signed; null when none can have. Only the lower of the two forms of a signature counts (EIP-2):
 * the other is made from it by anyone.
 */
const signerOf = (hash: Uint8Array, signature: Uint8Array): string | null => {
  if (signature.length !== keySignatureBytes) return null
  const last = signature[keySignatureBytes - 1]!
  const recovery = last >= 27 ? last - 27 : last
  if (recovery > 1) return null
  return Result.getOrNull(Result.try(() => {
    const parts = secp256k1.Signature.fromBytes(signature.slice(0, keySignatureBytes - 1), "compact")
    return parts.hasHighS() ? null : evmAddressOf(parts.addRecoveryBit(recovery).recoverPublicKey(hash).toBytes(false))
  }))
}

const word = (value: number): string => value.toString(16).padStart(64, "0")

/** The call `isValidSignature(hash, signature)`. */
const isValidSignatureCall = (hash: Uint8Array, signature: Uint8Array): string => {
  const padded = bytesToHex(signature).padEnd(Math.ceil(signature.length / 32) * 64, "0")
  return `0x${isValidSignature}${bytesToHex(hash)}${word(64)}${word(signature.length)}${padded}`
}

/**
 * A `bytes4` is returned as exactly one 32-byte word, padded with zeros: a contract that echoes its input, or returns
 * anything longer, has not accepted the signature.
 */
const isMagicValue = (answer: string): boolean => answer.toLowerCase() === `0x${isValidSignature.padEnd(64, "0")}`

/** The environment whose `network` has the challenge's chain id. */
const environmentOf = ({ chainId, network }: Challenge): Environment | undefined =>
  Environment.literals.find((environment) => String(evmChainIds[environment][network]) === chainId)

export const makeDriver = (chains: Chains["Service"]): SignInDriver => {
  const askContract = Effect.fnUntraced(function*(
    challenge: Challenge,
    hash: Uint8Array,
    signature: Uint8Array
  ): Effect.fn.Return<WalletIdentity | null, SignInRefused | SignInUnavailable> {
    const { address, chainId, network } = challenge
    const environment = environmentOf(challenge)
    const read = environment === undefined ? undefined : chains.driver(network, environment)?.readContract
    if (read === undefined || read === null) {
      return yield* new SignInRefused({
        reason: "The signature is not by this address's own key, and a contract account cannot be checked: " +
          `there is no node of ${network} here.`
      })
    }
    const answer = yield* read(address, isValidSignatureCall(hash, signature)).pipe(
      Effect.timeout(timeLimitMillis),
      Effect.mapError(() =>
        new SignInUnavailable({
          reason: "The signature is not by this address's own key, and whether a contract account approves of it is " +
            `not known: no node of ${network} answered. Try again.`
        })
      )
    )
    return isMagicValue(answer) ? { family: "evm", address, chainId } : null
  })

  const verify = (challenge: Challenge, proof: SignInProof) => {
    const signature = readHex(proof.signature)
    if (signature === null) return Effect.succeed(null)
    const hash = personalHash(proof.message)
    if (signerOf(hash, signature) === challenge.address) {
      return Effect.succeed<WalletIdentity>({ family: "evm", address: challenge.address, chainId: null })
    }
    if (bytesToHex(signature).endsWith(erc6492Suffix)) {
      return Effect.fail(
        new SignInRefused({ reason: "The account's contract is not deployed yet (EIP-6492): deploy it, then sign in." })
      )
    }
    return askContract(challenge, hash, signature)
  }

  return {
    name: "siwe",
    family: "evm",
    canonicalAddress: readEvmAddress,
    chainId: (network, environment) => evmChainIds[environment][network]?.toString() ?? null,
    message: (challenge) => signInMessage("Ethereum", challenge),
    verify
  }
}

/** EVM: `signature` is what `personal_sign` gives, or whatever the account's contract wants. */
export const plugin = Plugin.make({
  name: "siwe",
  slot: "signIns",
  layer: () =>
    Layer.effectDiscard(Effect.gen(function*() {
      const signIns = yield* SignIns
      yield* signIns.register(makeDriver(yield* Chains))
    }))
})
