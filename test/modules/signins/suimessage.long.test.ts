/**
 * Goal: Sui wallets sign in with each kind of key.
 * Method: the conformance suite once a kind, with the keys of Sui's own SDK, which judges the signatures too.
 */
import { MultiSigPublicKey } from "@mysten/sui/multisig"
import { verifyPersonalMessageSignature } from "@mysten/sui/verify"
import { assert, describe, it } from "@effect/vitest"
import { p256 } from "@noble/curves/nist.js"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { Effect } from "effect"
import { plugin } from "../../../modules/signins/suimessage.ts"
import { challengeOf, driverOf, signInConformance } from "../../conformance/signins.ts"
import { suiKeys, suiWallet } from "../../support/SignInWallets.ts"

for (const kind of ["Ed25519", "secp256k1", "secp256r1"] as const) {
  signInConformance(`suimessage (Sui, ${kind})`, {
    plugin,
    network: "sui",
    wallet: suiWallet(kind),
    malformed: ["0x2", "2", "a".repeat(64), `0x${"g".repeat(64)}`, `0X${"a".repeat(64)}`, `0x${"a".repeat(40)}`],
    signsText: true
  })
}

/** A proof of the challenge for the address of `keys`, and what its driver says. */
const attempt = (address: string, sign: (message: string) => Promise<string>) =>
  Effect.gen(function*() {
    const driver = yield* driverOf(plugin, "sui")
    const challenge = challengeOf(driver, "sui", address)
    const message = driver.message(challenge)
    const signature = yield* Effect.promise(() => sign(message))
    return yield* Effect.result(driver.verify(challenge, { message, signature, publicKey: null, proof: null }))
  })

describe("suimessage", () => {
  it.effect("agrees with Sui's SDK on messages around each length of a length", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "sui")
      const keys = suiKeys.Ed25519(1)
      const challenge = challengeOf(driver, "sui", keys.toSuiAddress())
      for (const length of [0, 1, 127, 128, 16_383, 16_384, 20_000]) {
        const message = "é".repeat(Math.floor(length / 2)) + "x".repeat(length % 2)
        const { signature } = yield* Effect.promise(() => keys.signPersonalMessage(Buffer.from(message)))
        yield* Effect.promise(() => verifyPersonalMessageSignature(Buffer.from(message), signature))
        const identity = yield* driver.verify(challenge, { message, signature, publicKey: null, proof: null })
        assert.strictEqual(identity?.address, keys.toSuiAddress(), String(length))
      }
    }))

  it.effect("refuses the other form of an ECDSA signature", () =>
    Effect.gen(function*() {
      for (const [kind, curve] of [["secp256k1", secp256k1], ["secp256r1", p256]] as const) {
        const keys = suiKeys[kind](1)
        const outcome = yield* attempt(keys.toSuiAddress(), async (message) => {
          const bytes = Buffer.from((await keys.signPersonalMessage(Buffer.from(message))).signature, "base64")
          const { r, s } = curve.Signature.fromBytes(bytes.subarray(1, 65), "compact")
          const high = new curve.Signature(r, curve.Point.CURVE().n - s).toBytes("compact")
          return Buffer.concat([bytes.subarray(0, 1), high, bytes.subarray(65)]).toString("base64")
        })
        assert.deepStrictEqual(outcome._tag === "Success" ? outcome.success : outcome, null, kind)
      }
    }))

  it.effect("does not take a signed transaction, or bare bytes, for a personal message", () =>
    Effect.gen(function*() {
      const keys = suiKeys.Ed25519(1)
      const signed = [
        (message: string) => keys.signTransaction(Buffer.from(message)).then(({ signature }) => signature),
        async (message: string) => {
          const bare = await keys.sign(Buffer.from(message))
          return Buffer.concat([Buffer.from([0]), bare, keys.getPublicKey().toRawBytes()]).toString("base64")
        }
      ]
      for (const sign of signed) {
        const outcome = yield* attempt(keys.toSuiAddress(), sign)
        assert.deepStrictEqual(outcome._tag === "Success" ? outcome.success : outcome, null)
      }
    }))

  it.effect("says why accounts of several keys, of zkLogin and of passkeys cannot sign in", () =>
    Effect.gen(function*() {
      const keys = suiKeys.Ed25519(1)
      const multisig = MultiSigPublicKey.fromPublicKeys({
        threshold: 1,
        publicKeys: [{ publicKey: keys.getPublicKey(), weight: 1 }]
      })
      const outcome = yield* attempt(multisig.toSuiAddress(), async (message) => {
        const { signature } = await keys.signPersonalMessage(Buffer.from(message))
        return multisig.combinePartialSignatures([signature])
      })
      assert.strictEqual(
        outcome._tag === "Failure" ? outcome.failure.message : null,
        "Multisig accounts cannot sign in: use an account held by one key."
      )
      for (const [flag, name] of [[5, "zkLogin"], [6, "Passkey"]] as const) {
        const refused = yield* attempt(
          keys.toSuiAddress(),
          () => Promise.resolve(Buffer.from([flag, ...new Uint8Array(200)]).toString("base64"))
        )
        assert.include(refused._tag === "Failure" ? refused.failure.message : "", `${name} accounts cannot sign in`)
      }
    }))
})
