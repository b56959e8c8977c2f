/**
 * Goal: Solana wallets sign in by the standard that they and others read.
 * Method: the conformance suite with tweetnacl's keys; the wallet standard's own text and verifier as judges.
 */
import { createSignInMessageText, verifySignIn } from "@solana/wallet-standard-util"
import { assert, describe, it } from "@effect/vitest"
import { base58 } from "@scure/base"
import { Effect } from "effect"
import nacl from "tweetnacl"
import { plugin } from "../../../modules/signins/siws.ts"
import type { Challenge } from "../../../runtime/SignIns.ts"
import { challengeOf, driverOf, signInConformance } from "../../conformance/signins.ts"
import { keysOf, solanaWallet } from "../../support/SignInWallets.ts"

signInConformance("siws (Solana)", {
  plugin,
  network: "solana",
  wallet: solanaWallet,
  malformed: ["0".repeat(44), "1".repeat(31), "1".repeat(33), "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "So1111"],
  signsText: true
})

const inputOf = (challenge: Challenge) => ({
  domain: challenge.domain,
  address: challenge.address,
  statement: challenge.statement,
  uri: challenge.uri,
  version: "1",
  chainId: challenge.chainId,
  nonce: challenge.nonce,
  issuedAt: new Date(challenge.issuedAt * 1000).toISOString(),
  expirationTime: new Date(challenge.expiresAt * 1000).toISOString()
})

describe("siws", () => {
  it.effect("writes byte for byte what the wallet standard writes, which verifies the sign-in too", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "solana")
      for (const chainId of ["mainnet", "devnet"]) {
        const challenge = challengeOf(driver, "solana", solanaWallet(1).address, { chainId })
        const message = driver.message(challenge)
        assert.strictEqual(message, createSignInMessageText(inputOf(challenge)))
        const { signature } = yield* Effect.promise(() => solanaWallet(1).sign(challenge, message))
        const output = {
          account: { publicKey: keysOf(1).publicKey } as never,
          signedMessage: new TextEncoder().encode(message),
          signature: base58.decode(signature)
        }
        assert.isTrue(verifySignIn(inputOf(challenge), output))
      }
    }))

  it.effect("lets nobody in by a key of small order, whose one signature fits any message", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "solana")
      // The neutral point as key and as R, and S = 0: the equation holds for every message.
      const neutral = Uint8Array.of(1, ...new Uint8Array(31))
      const challenge = challengeOf(driver, "solana", base58.encode(neutral))
      const signature = base58.encode(Uint8Array.of(...neutral, ...new Uint8Array(32)))
      const message = driver.message(challenge)
      assert.isNull(yield* driver.verify(challenge, { message, signature, publicKey: null, proof: null }))
    }))

  it.effect("does not take the envelope of hardware wallets for the message", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "solana")
      const challenge = challengeOf(driver, "solana", solanaWallet(1).address)
      const message = driver.message(challenge)
      const text = Buffer.from(message)
      const length = Buffer.from([text.length & 0xff, text.length >> 8])
      const envelope = Buffer.concat([Buffer.from("\xffsolana offchain\0\0", "latin1"), length, text])
      const signature = base58.encode(nacl.sign.detached(envelope, keysOf(1).secretKey))
      assert.isNull(yield* driver.verify(challenge, { message, signature, publicKey: null, proof: null }))
    }))
})
