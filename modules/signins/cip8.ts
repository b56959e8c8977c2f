/** Cardano wallets: CIP-8 signatures, as `signData` of CIP-30 gives them. */
import { equalBytes } from "@noble/curves/utils.js"
import { blake2b } from "@noble/hashes/blake2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Effect, Layer } from "effect"
import {
  type Challenge,
  type SignInDriver,
  type SignInProof,
  SignInRefused,
  SignIns,
  type WalletIdentity
} from "../../runtime/SignIns.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { accountsOfCardano, cardanoAddressText, readCardanoAddress } from "./cip8/Address.ts"
import { readCoseSign1, readPublicKey } from "./cip8/Cose.ts"
import { signInMessage } from "./siwe/Message.ts"
import { isSignedBy } from "./siws/Ed25519.ts"

const keyHashBytes = 28

/**
 * `signature` is a COSE_Sign1 and `publicKey` a COSE_Key, both hex. The key is believed because the address holds its
 * hash: the payment key's, or the stake key's for a reward address. Both kinds are accounts of their own here: a wallet
 * has many payment addresses, and its reward address is the one that stays.
 *
 * A payload that is only the message's hash is refused: the flag that says so is not signed, so any 28 bytes a wallet
 * signed for another site, shown as gibberish, could be passed off as a message that was read.
 */
const verify = Effect.fnUntraced(function*(
  challenge: Challenge,
  proof: SignInProof
): Effect.fn.Return<WalletIdentity | null, SignInRefused> {
  const address = readCardanoAddress(challenge.address)
  const cose = yield* readCoseSign1(proof.signature)
  const publicKey = proof.publicKey === null ? null : yield* readPublicKey(proof.publicKey)
  if (address === null || cose === null || publicKey === null) return null
  if ((address.network === "mainnet") !== (challenge.chainId === "mainnet")) return null
  if (!equalBytes(cose.address, address.bytes)) return null
  if (!equalBytes(blake2b(publicKey, { dkLen: keyHashBytes }), address.keyHash)) return null
  if (!isSignedBy(publicKey, cose.signedBytes, cose.signature)) return null
  if (cose.isHashed) {
    return yield* new SignInRefused({
      reason: "The wallet signed a hash of the message: let it sign the message itself (CIP-8, `hashed` false)."
    })
  }
  return cose.payload !== null && equalBytes(cose.payload, utf8ToBytes(proof.message))
    ? { family: "cardano", address: challenge.address, chainId: null }
    : null
})

export const driver: SignInDriver = {
  name: "cip8",
  family: "cardano",
  canonicalAddress: (text) => {
    const address = readCardanoAddress(text)
    return address === null ? null : cardanoAddressText(address)
  },
  accountsOf: (text) => {
    const address = readCardanoAddress(text)
    return address === null ? [] : accountsOfCardano(address).map(cardanoAddressText)
  },
  chainId: (network, environment) => network !== "cardano" ? null : environment === "mainnet" ? "mainnet" : "preprod",
  message: (challenge) => signInMessage("Cardano", challenge),
  verify
}

/** Cardano: `signature` is the COSE_Sign1 and `public_key` the COSE_Key that `signData` gives, in hex. */
export const plugin = Plugin.make({
  name: "cip8",
  slot: "signIns",
  layer: () => Layer.effectDiscard(Effect.flatMap(SignIns, (signIns) => signIns.register(driver)))
})
