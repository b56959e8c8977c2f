/**
 * TON wallets: `ton_proof` of TON Connect 2. The wallet signs the nonce together with its address, our domain and the
 * time; the message is for people only.
 */
import { equalBytes } from "@noble/curves/utils.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { base64 } from "@scure/base"
import { Effect, Layer, Option, Result, Schema } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { readTonAddress, type TonAccount, tonAddressText } from "../../schemas/TonAddress.ts"
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
import { readStateInit } from "./tonproof/StateInit.ts"

/** How far the wallet's clock may be from ours, either way: the life of a nonce. */
const maximumSkewSeconds = 300

/** The object a wallet returns, with the `walletStateInit` it gave when it connected. */
const TonProof = Schema.Struct({
  /** Epoch seconds; the protocol says text, its SDK a number. */
  timestamp: Schema.Union([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99_999_999_999 })),
    Schema.String.check(Schema.isPattern(/^\d{1,11}$/))
  ]),
  domain: Schema.Struct({ lengthBytes: Schema.Int, value: Schema.String }),
  payload: Schema.String,
  /** The same as beside the proof; absent is as good. */
  signature: Schema.optionalKey(Schema.String),
  state_init: Schema.String
})
type TonProof = typeof TonProof.Type

const readProof = Schema.decodeUnknownOption(TonProof)

const littleEndian = (value: number, bytes: 4 | 8): Uint8Array => {
  const view = new DataView(new ArrayBuffer(bytes))
  if (bytes === 4) view.setUint32(0, value, true)
  else view.setBigUint64(0, BigInt(value), true)
  return new Uint8Array(view.buffer)
}

const bigEndian32 = (value: number): Uint8Array => {
  const view = new DataView(new ArrayBuffer(4))
  view.setInt32(0, value)
  return new Uint8Array(view.buffer)
}

/** What the wallet signs: every part is ours but the time. */
const digestOf = (address: TonAccount, domain: string, timestamp: number, nonce: string): Uint8Array => {
  const host = utf8ToBytes(domain)
  const message = concatBytes(
    utf8ToBytes("ton-proof-item-v2/"),
    bigEndian32(address.workchain),
    address.hash,
    littleEndian(host.length, 4),
    host,
    littleEndian(timestamp, 8),
    utf8ToBytes(nonce)
  )
  return sha256(concatBytes(Uint8Array.of(0xff, 0xff), utf8ToBytes("ton-connect"), sha256(message)))
}

/** Whether the proof names this challenge. What it does not name is not asked: the digest is made of our own values. */
const matchesChallenge = (challenge: Challenge, { signature }: SignInProof, proof: TonProof): boolean =>
  proof.payload === challenge.nonce && proof.domain.value === challenge.domain &&
  proof.domain.lengthBytes === utf8ToBytes(challenge.domain).length &&
  (proof.signature === undefined || proof.signature === signature)

const verify = Effect.fnUntraced(function*(
  challenge: Challenge,
  signInProof: SignInProof
): Effect.fn.Return<WalletIdentity | null, SignInRefused> {
  const address = readTonAddress(challenge.address)
  const proof = Option.getOrNull(readProof(signInProof.proof))
  const signature = Result.getOrNull(Result.try(() => base64.decode(signInProof.signature)))
  if (address === null || proof === null || signature === null || !matchesChallenge(challenge, signInProof, proof)) {
    return null
  }
  const timestamp = Number(proof.timestamp)
  const now = yield* nowSeconds
  if (Math.abs(now - timestamp) > maximumSkewSeconds) return null
  const state = yield* readStateInit(proof.state_init)
  if (state === null || !equalBytes(state.hash, address.hash)) return null
  if (state.publicKey === null) {
    return yield* new SignInRefused({
      reason: "The key of this account cannot be known from its first state: sign in with a v3, v4 or v5 (W5) wallet."
    })
  }
  return isSignedBy(state.publicKey, digestOf(address, challenge.domain, timestamp, challenge.nonce), signature)
    ? { family: "ton", address: challenge.address, chainId: null }
    : null
})

export const driver: SignInDriver = {
  name: "tonproof",
  family: "ton",
  canonicalAddress: (text) => {
    const address = readTonAddress(text)
    // As wallets show their own address, on test networks too: flags are advice to a sender, not part of the account.
    return address === null ? null : tonAddressText(address, { bounceable: false, testOnly: false })
  },
  // The network's global id, as TON Connect spells it.
  chainId: (network, environment) => network !== "ton" ? null : environment === "mainnet" ? "-239" : "-3",
  message: (challenge) => signInMessage("TON", challenge),
  verify
}

/** TON: `payload` of the proof request is the nonce; `proof` is what comes back, and `signature` the one in it. */
export const plugin = Plugin.make({
  name: "tonproof",
  slot: "signIns",
  layer: () => Layer.effectDiscard(Effect.flatMap(SignIns, (signIns) => signIns.register(driver)))
})
