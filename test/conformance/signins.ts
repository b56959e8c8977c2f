/**
 * Goal: who signs in is who signed, whichever family's wallet it is, and nothing a caller sends makes a driver fail.
 * Method: each driver's test gives accounts of another implementation that sign as a wallet does; every promise of
 * `SignInDriver` is tried with them, and with what an attacker would change.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { type ChainDriver, Chains } from "../../runtime/Chains.ts"
import { type Family, familyOf, type Network } from "../../schemas/Network.ts"
import {
  type Challenge,
  layer as registry,
  type SignInDriver,
  type SignInProof,
  SignIns,
  type WalletIdentity
} from "../../runtime/SignIns.ts"
import type { SignedProof, SignInWallet } from "../support/SignInWallets.ts"

/** As much of a plugin as makes a driver. */
export interface SignInPlugin {
  readonly layer: (options: undefined) => Layer.Layer<never, unknown, any>
}

export interface SignInSubject {
  readonly plugin: SignInPlugin
  readonly network: Network
  readonly wallet: SignInWallet
  /** Texts that look like addresses and are none. */
  readonly malformed: ReadonlyArray<string>
  /** False where the signature names the challenge's fields instead of the text (TON). */
  readonly signsText: boolean
}

/** When the tests happen, epoch seconds: 2026-11-21T12:00:00Z. */
export const testSeconds = 1_795_262_400

export const nonceOf = (digit: string): string => digit.repeat(32)

/** Chains with these drivers, which register nothing and follow nothing. */
export const chainsOf = (driver: Chains["Service"]["driver"]): Layer.Layer<Chains> =>
  Layer.mock(Chains, {
    driver,
    status: () => [],
    markHandled: () => assert.fail("a sign-in handles no transfers"),
    assignEntry: () => assert.fail("a sign-in assigns no transfers"),
    readWallet: () => assert.fail("a sign-in reads no wallets")
  })

/** Every network has a driver that answers questions to contracts, and does nothing else. */
export const chainsThatRead = (readContract: ChainDriver["readContract"]): Layer.Layer<Chains> =>
  chainsOf((network, environment) => ({ network, environment, readContract }) as ChainDriver)

/** The driver a plugin registers, for as long as the scope lives. `chains`: by default no contract anywhere. */
export const driverOf = (
  plugin: SignInPlugin,
  family: Family,
  chains: Layer.Layer<Chains> = chainsThatRead(() => Effect.succeed("0x"))
): Effect.Effect<SignInDriver, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const layer = plugin.layer(undefined) as Layer.Layer<never, unknown, SignIns | Chains>
    const services = yield* Layer.build(Layer.provideMerge(layer, [registry, chains]))
    const found = yield* Effect.provide(Effect.map(SignIns, (signIns) => signIns.driver(family)), services)
    return found ?? (yield* Effect.die(new Error(`the plugin registers no driver for ${family}`)))
  })

/** A challenge as the service would make it. */
export const challengeOf = (
  driver: SignInDriver,
  network: Network,
  address: string,
  more: Partial<Challenge> = {}
): Challenge => ({
  address: driver.canonicalAddress(address) ?? address,
  network,
  chainId: driver.chainId(network, "mainnet") ?? "",
  domain: "pay.example.com",
  uri: "https://pay.example.com",
  statement: "Sign in to Tillwire.",
  nonce: nonceOf("5"),
  issuedAt: testSeconds,
  expiresAt: testSeconds + 300,
  ...more
})

const flipped = (text: string): ReadonlyArray<string> =>
  [0, Math.floor(text.length / 2), text.length - 3].map((at) => {
    const swap = text[at] === "1" ? "2" : "1"
    return text.slice(0, at) + swap + text.slice(at + 1)
  })

/** A signature text with something broken about it. */
const brokenSignatures = (signature: string): ReadonlyArray<string> => [
  "",
  " ",
  "0x",
  signature.slice(0, -1),
  signature.slice(0, -2),
  signature.slice(0, Math.floor(signature.length / 2)),
  `${signature}00`,
  ` ${signature}`,
  `${signature}\n`,
  signature + signature,
  "x".repeat(16 * 1024),
  "1".repeat(16 * 1024),
  `0x${"00".repeat(65)}`,
  `0x${"ff".repeat(65)}`,
  ...flipped(signature)
]

const Bytes = Schema.Uint8Array
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))
/** Digits and letters of every alphabet the families use. */
const Letter = Schema.Literals([..."023456789abcdef"])

/** Runs the suite. */
export const signInConformance = (name: string, subject: SignInSubject) => {
  const { network, plugin, wallet: account } = subject
  const family = familyOf(network)

  let signing: Promise<SignedProof> | undefined

  /** An account, its challenge, and the proof its wallet gives, made once; the clock is at the challenge. */
  const signedIn = Effect.gen(function*() {
    yield* TestClock.setTime(testSeconds * 1000)
    const driver = yield* driverOf(plugin, family)
    const wallet = account(1)
    const challenge = challengeOf(driver, network, wallet.address)
    const message = driver.message(challenge)
    const signed = yield* Effect.promise(() => signing ??= wallet.sign(challenge, message))
    const proof: SignInProof = { message, ...signed }
    return { challenge, driver, proof, wallet }
  })

  /** The identity, null, or "unavailable"; any defect fails the test. */
  const outcomeOf = (driver: SignInDriver, challenge: Challenge, proof: SignInProof) =>
    Effect.catch(driver.verify(challenge, proof), () => Effect.succeed("unavailable" as const))

  const isNobody = (outcome: WalletIdentity | null | "unavailable") => outcome === null || outcome === "unavailable"

  describe(`${name} signs in`, () => {
    it.effect("whoever holds the key of the address, as that family's account", () =>
      Effect.gen(function*() {
        const { challenge, driver, proof } = yield* signedIn
        assert.deepStrictEqual(yield* driver.verify(challenge, proof), {
          family,
          address: challenge.address,
          chainId: null
        })
      }))

    it.effect("one account under one address, however it is written", () =>
      Effect.gen(function*() {
        const { driver, wallet } = yield* signedIn
        const canonical = driver.canonicalAddress(wallet.address)
        assert.isNotNull(canonical)
        assert.strictEqual(driver.canonicalAddress(canonical!), canonical)
        for (const spelling of wallet.spellings) {
          assert.strictEqual(driver.canonicalAddress(spelling), canonical, spelling)
        }
        const other = account(2)
        assert.notStrictEqual(driver.canonicalAddress(other.address), canonical)
      }))

    it.effect("no address that is none", () =>
      Effect.gen(function*() {
        const { driver, wallet } = yield* signedIn
        const texts = [
          ...subject.malformed,
          "",
          "0x",
          `${wallet.address} `,
          ` ${wallet.address}`,
          `${wallet.address}\nNonce: ${nonceOf("6")}`,
          wallet.address.repeat(500)
        ]
        for (const text of texts) assert.isNull(driver.canonicalAddress(text), text.slice(0, 120))
        const canonical = driver.canonicalAddress(wallet.address)
        // Base58 has no checksum: a shorter text may be another account's address, never this one's.
        for (const text of [wallet.address.slice(0, -1), `${wallet.address}1`, ...flipped(wallet.address)]) {
          assert.notStrictEqual(driver.canonicalAddress(text), canonical, text)
        }
      }))

    it.effect("no network of another family", () =>
      Effect.gen(function*() {
        const { driver } = yield* signedIn
        for (const environment of ["devnet", "mainnet"] as const) {
          assert.isString(driver.chainId(network, environment))
          assert.isNull(driver.chainId(network === "solana" ? "ton" : "solana", environment))
        }
        assert.notStrictEqual(driver.chainId(network, "devnet"), driver.chainId(network, "mainnet"))
      }))

    it.effect("with a text that names everything it is for, each on a line of its own", () =>
      Effect.gen(function*() {
        const { challenge, proof } = yield* signedIn
        const lines = proof.message.split("\n")
        assert.match(lines[0]!, /^pay\.example\.com wants you to sign in with your [A-Z]\w+ account:$/)
        assert.deepStrictEqual(lines.slice(1), [
          challenge.address,
          "",
          "Sign in to Tillwire.",
          "",
          "URI: https://pay.example.com",
          "Version: 1",
          `Chain ID: ${challenge.chainId}`,
          `Nonce: ${challenge.nonce}`,
          "Issued At: 2026-11-21T12:00:00.000Z",
          "Expiration Time: 2026-11-21T12:05:00.000Z"
        ])
      }))

    it.effect("nobody for another challenge: address, nonce or domain", () =>
      Effect.gen(function*() {
        const { challenge, driver, proof } = yield* signedIn
        const other = account(2)
        const changes: ReadonlyArray<Partial<Challenge>> = [
          { address: driver.canonicalAddress(other.address)! },
          { nonce: nonceOf("6") },
          { domain: "pay.example.org" },
          { domain: "pay.example.com.evil.example" }
        ]
        for (const change of changes) {
          const changed = { ...challenge, ...change }
          const outcome = yield* driver.verify(changed, { ...proof, message: driver.message(changed) })
          assert.isNull(outcome, JSON.stringify(change))
        }
      }))

    it.effect("nobody by a signature over another text", () =>
      Effect.gen(function*() {
        const { challenge, driver, proof } = yield* signedIn
        if (!subject.signsText) return
        const { message: text } = proof
        for (const message of ["", text.slice(1), `${text}\n`, text.replace("Version: 1", "Version: 2")]) {
          assert.isNull(yield* driver.verify(challenge, { ...proof, message }), message)
        }
      }))

    it.effect("nobody by a broken signature", () =>
      Effect.gen(function*() {
        const { challenge, driver, proof } = yield* signedIn
        for (const signature of brokenSignatures(proof.signature)) {
          assert.isNull(yield* driver.verify(challenge, { ...proof, signature }), signature.slice(0, 200))
        }
      }))

    it.effect("nobody by another account's proof, whole or in parts", () =>
      Effect.gen(function*() {
        const { challenge, driver, proof } = yield* signedIn
        const other = account(2)
        const theirs = yield* Effect.promise(() => other.sign(challenge, proof.message))
        const mixes: ReadonlyArray<SignInProof> = [
          { ...proof, ...theirs },
          { ...proof, signature: theirs.signature },
          ...(proof.publicKey === null ? [] : [{ ...proof, publicKey: theirs.publicKey }]),
          ...(proof.proof === null ? [] : [{ ...proof, proof: theirs.proof }])
        ]
        for (const mix of mixes) assert.isNull(yield* driver.verify(challenge, mix))
      }))

    it.effect("nobody by a proof of another family's shape", () =>
      Effect.gen(function*() {
        const { challenge, driver, proof } = yield* signedIn
        const signatures: ReadonlyArray<string> = [
          `0x${"1b".repeat(65)}`,
          "5".repeat(87),
          Buffer.alloc(97, 1).toString("base64"),
          Buffer.alloc(64, 1).toString("base64"),
          `845846a201276761646472657373581d61${"11".repeat(28)}a166686173686564f443616263${"5840"}${"22".repeat(64)}`
        ].filter((signature) => signature !== proof.signature)
        for (const signature of signatures) {
          assert.isNull(yield* driver.verify(challenge, { ...proof, signature }), signature)
          const bare = { message: proof.message, signature, publicKey: null, proof: null }
          assert.isNull(yield* driver.verify(challenge, bare), signature)
        }
      }))

    it.effect.prop(
      "nobody by random bytes, and never fails",
      [Schema.String, Schema.Json, Bytes],
      ([text, json, bytes]) =>
        Effect.gen(function*() {
          const { challenge, driver, proof } = yield* signedIn
          const raw = Buffer.from(bytes)
          for (const signature of [text, raw.toString("hex"), `0x${raw.toString("hex")}`, raw.toString("base64")]) {
            const forged = { message: proof.message, signature, publicKey: signature, proof: json }
            assert.isTrue(isNobody(yield* outcomeOf(driver, challenge, forged)))
            assert.isTrue(isNobody(yield* outcomeOf(driver, challenge, { ...proof, signature })))
          }
          assert.isNull(driver.canonicalAddress(text))
        }),
      { arbitrary: { runs: 50 } }
    )

    it.effect.prop(
      "nobody by a proof with one character changed",
      [Place, Letter],
      ([place, letter]) =>
        Effect.gen(function*() {
          const { challenge, driver, proof } = yield* signedIn
          for (const field of ["signature", "publicKey"] as const) {
            const text = proof[field]
            if (text === null) continue
            const at = place % text.length
            if (text[at]!.toLowerCase() === letter) continue
            const changed = { ...proof, [field]: text.slice(0, at) + letter + text.slice(at + 1) }
            assert.isTrue(isNobody(yield* outcomeOf(driver, challenge, changed)), JSON.stringify(changed))
          }
        }),
      { arbitrary: { runs: 100 } }
    )
  })
}
