/**
 * Goal: Cardano wallets sign in by CIP-8, each with the key its address names.
 * Method: the conformance suite with Node's Ed25519 and COSE built here; the Cardano Foundation's verifier judges the
 * same proofs, and its own vectors are judged here.
 */
import type foundation from "@cardano-foundation/cardano-verify-datasignature"
import { assert, describe, it } from "@effect/vitest"
import { blake2b } from "@noble/hashes/blake2.js"
import { Effect } from "effect"
import { createRequire } from "node:module"
import { plugin } from "../../../modules/signins/cip8.ts"
import type { Challenge, SignInDriver } from "../../../runtime/SignIns.ts"
import { challengeOf, driverOf, signInConformance } from "../../conformance/signins.ts"
import {
  bech32Text,
  cardanoKinds,
  cardanoWallet,
  coseKey,
  keyHashOf,
  keysOf,
  signData,
  type SignedProof,
  stakeHash
} from "../../support/SignInWallets.ts"

/** CommonJS that Node and vitest import differently. */
const verifyDataSignature: typeof foundation.default = createRequire(import.meta.url)(
  "@cardano-foundation/cardano-verify-datasignature"
)

const hash = keyHashOf(keysOf(1).publicKey)

const malformed = [
  // Scripts, a pointer, a Byron address, a network that is none, another length.
  bech32Text("addr", Uint8Array.of(0x11, ...hash, ...stakeHash)),
  bech32Text("addr", Uint8Array.of(0x31, ...hash, ...stakeHash)),
  bech32Text("addr", Uint8Array.of(0x71, ...hash)),
  bech32Text("stake", Uint8Array.of(0xf1, ...hash)),
  bech32Text("addr", Uint8Array.of(0x41, ...hash, 1, 2, 3)),
  bech32Text("addr", Uint8Array.of(0x62, ...hash)),
  bech32Text("addr", Uint8Array.of(0x61, ...hash, 0)),
  "37btjrVyb4KDXBNC4haBVPCrro8AQPHwvCMp3RFhhSVWwfFmZ6wwzSK6JK1hY6wHNmtrpTf1kdbva8TCneM2YsiXT7mrzT21EacHnPpz5YyUdj64na",
  // A prefix of another network, of another kind, and of another chain.
  bech32Text("addr_test", Uint8Array.of(0x61, ...hash)),
  bech32Text("addr", Uint8Array.of(0x60, ...hash)),
  bech32Text("stake", Uint8Array.of(0x61, ...hash)),
  bech32Text("bc", Uint8Array.of(0x61, ...hash))
]

for (const kind of ["base", "base with a stake script", "enterprise", "reward"] as const) {
  signInConformance(`cip8 (Cardano, ${kind} address)`, {
    plugin,
    network: "cardano",
    wallet: cardanoWallet(kind),
    malformed,
    signsText: true
  })
}

const judge = (driver: SignInDriver, challenge: Challenge, message: string, signed: SignedProof) =>
  Effect.catch(
    Effect.map(driver.verify(challenge, { message, ...signed }), (found) => found?.address ?? null),
    (error) => Effect.succeed(error.message)
  )

const enterprise = cardanoKinds.enterprise(hash)[1]

const begin = Effect.gen(function*() {
  const driver = yield* driverOf(plugin, "cardano")
  const challenge = challengeOf(driver, "cardano", bech32Text("addr", enterprise))
  return { driver, challenge, message: driver.message(challenge) }
})

describe("cip8", () => {
  it.effect("lets an account's reward address stand for its payment addresses, and no payment address for another", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "cardano")
      const addressOf = (kind: keyof typeof cardanoKinds, seed = 1) => {
        const [prefix, bytes] = cardanoKinds[kind](keyHashOf(keysOf(seed).publicKey))
        return bech32Text(prefix, bytes)
      }
      const reward = [bech32Text("stake_test", Uint8Array.of(0xe0, ...stakeHash))]
      reward.push(bech32Text("stake", Uint8Array.of(0xe1, ...stakeHash)))
      const accounts = (address: string) => driver.accountsOf!(address)
      // The keys are the same on every network.
      assert.sameMembers([...accounts(addressOf("base"))], [addressOf("test base"), addressOf("base"), ...reward])
      assert.sameMembers([...accounts(addressOf("test base", 2))], [
        addressOf("test base", 2),
        addressOf("base", 2),
        ...reward
      ])
      for (const kind of ["enterprise", "base with a stake script", "reward"] as const) {
        assert.include(accounts(addressOf(kind)), addressOf(kind))
        assert.lengthOf(accounts(addressOf(kind)), 2)
      }
    }))

  it.effect("agrees with the Cardano Foundation's verifier, on what holds and what does not", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "cardano")
      for (const kind of ["base", "enterprise", "reward"] as const) {
        const wallet = cardanoWallet(kind)(1)
        const challenge = challengeOf(driver, "cardano", wallet.address)
        const message = driver.message(challenge)
        const good = yield* Effect.promise(() => wallet.sign(challenge, message))
        const judged = (signed: SignedProof, said: string) =>
          verifyDataSignature(signed.signature, signed.publicKey ?? "", said, wallet.address)
        assert.isTrue(judged(good, message), kind)
        assert.strictEqual(yield* judge(driver, challenge, message, good), wallet.address)
        const theirs = signData(2, cardanoKinds[kind](hash)[1], message)
        for (const [signed, said] of [[theirs, message], [good, `${message} `]] as const) {
          assert.isFalse(judged(signed, said), kind)
          assert.isNull(yield* judge(driver, challenge, said, signed))
        }
      }
    }))

  /** From the tests of that verifier: proofs of real wallets. */
  const stakeProof: SignedProof = {
    signature:
      "84582aa201276761646472657373581de118987c1612069d4080a0eb247820cb987fea81bddeaafdd41f996281a166686173686564f4" +
      "58264175677573746120416461204b696e672c20436f756e74657373206f66204c6f76656c61636558401712458b19f606b322982f6290c78529" +
      "a235b56c0f1cec4f24b12a8660b40cd37f4c5440a465754089c462ed4b0d613bffaee3d1833516569fda4852f42a4a0f",
    publicKey: "a4010103272006215820b89526fd6bf4ba737c55ea90670d16a27f8de6cc1982349b3b676705a2f420c6",
    proof: null
  }
  const stakeAddress = "stake1uyvfslqkzgrf6syq5r4jg7pqewv8l65phh024lw5r7vk9qgznhyty"
  const paymentAddress =
    "addr1qxtu4w2rq2mdguw4fkms2ge4m070nq8cmlyjfhghwlh8sjscnp7pvysxn4qgpg8ty3uzpjuc0l4gr0w74t7ag8uev2qseuyw6u"
  const paymentProof: SignedProof = {
    signature:
      "845846a20127676164647265737358390197cab94302b6d471d54db7052335dbfcf980f8dfc924dd1777ee784a18987c1612069d4080a0" +
      "eb247820cb987fea81bddeaafdd41f996281a166686173686564f44b48656c6c6f20576f726c645840b65cb33e107a692605a479811a8405e44e" +
      "eac5217c6ef92b79c221c2309305ec2db927fb75a7d197602e1eb2e663dae227aa7c0510b6484f5591b2b4bd47b70d",
    publicKey: "a4010103272006215820472be3f30b51ead6d020e0d370774861e242ca23eaca2f4eff4ddb8eaa3abefd",
    proof: null
  }

  it.effect("accepts the published proofs of wallets for their own addresses only", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "cardano")
      const lovelace = "Augusta Ada King, Countess of Lovelace"
      const said = (address: string, message: string, signed: SignedProof) =>
        judge(driver, challengeOf(driver, "cardano", address), message, signed)
      assert.strictEqual(yield* said(stakeAddress, lovelace, stakeProof), stakeAddress)
      assert.strictEqual(yield* said(paymentAddress, "Hello World", paymentProof), paymentAddress)
      assert.isNull(yield* said(stakeAddress, `!${lovelace}!`, stakeProof))
      assert.isNull(yield* said(paymentAddress, "hello World", paymentProof))
      // The address holds the stake key's hash: the other verifier takes the stake key's word for it, we do not.
      assert.isTrue(verifyDataSignature(stakeProof.signature, stakeProof.publicKey!, lovelace, paymentAddress))
      assert.isNull(yield* said(paymentAddress, lovelace, stakeProof))
    }))

  it.effect("refuses a hash in place of the message, which nobody read, and says so", () =>
    Effect.gen(function*() {
      const { challenge, driver, message } = yield* begin
      const payload = blake2b(Buffer.from(message), { dkLen: 28 })
      const hashed = signData(1, enterprise, message, { payload, open: [["hashed", true]] })
      assert.include(yield* judge(driver, challenge, message, hashed) ?? "", "sign the message itself")
      const unmarked = signData(1, enterprise, message, { payload })
      assert.isNull(yield* judge(driver, challenge, message, unmarked))
      const detached = signData(1, enterprise, message, { payload: null })
      assert.isNull(yield* judge(driver, challenge, message, detached))
    }))

  it.effect("keeps the networks apart", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "cardano")
      for (
        const [kind, chainId] of [["base", "preprod"], ["test base", "mainnet"], ["test base", "preprod"]] as const
      ) {
        const wallet = cardanoWallet(kind)(1)
        const challenge = challengeOf(driver, "cardano", wallet.address, { chainId })
        const message = driver.message(challenge)
        const signed = yield* Effect.promise(() => wallet.sign(challenge, message))
        const counts = kind === "test base" && chainId === "preprod"
        const found = yield* judge(driver, challenge, message, signed)
        assert.strictEqual(found, counts ? wallet.address : null, `${kind} on ${chainId}`)
      }
    }))

  it.effect("reads COSE in one spelling only", () =>
    Effect.gen(function*() {
      const { challenge, driver, message } = yield* begin
      const { publicKey } = keysOf(1)
      const good = signData(1, enterprise, message)
      assert.strictEqual(yield* judge(driver, challenge, message, good), challenge.address)
      const wrong: Readonly<Record<string, SignedProof>> = {
        "another algorithm": signData(1, enterprise, message, { header: [[1, -7], ["address", enterprise]] }),
        "no algorithm": signData(1, enterprise, message, { header: [["address", enterprise]] }),
        "no address": signData(1, enterprise, message, { header: [[1, -8]] }),
        "an address that is not signed": signData(1, enterprise, message, {
          header: [[1, -8]],
          open: [["address", enterprise]]
        }),
        "an address as text": signData(1, enterprise, message, { header: [[1, -8], ["address", challenge.address]] }),
        "another address": signData(1, cardanoKinds.base(hash)[1], message),
        "a key of another type": signData(1, enterprise, message, { key: [[1, 2], [3, -8], [-1, 6], [-2, publicKey]] }),
        "a key of another curve": signData(1, enterprise, message, {
          key: [[1, 1], [3, -8], [-1, 4], [-2, publicKey]]
        }),
        "a key without bytes": signData(1, enterprise, message, { key: [[1, 1], [3, -8], [-1, 6]] }),
        "a short key": signData(1, enterprise, message, { key: coseKey(publicKey.slice(1)) }),
        "no key": { ...good, publicKey: null },
        "more behind it": { ...good, signature: `${good.signature}00` },
        "a tag": { ...good, signature: `d2${good.signature}` },
        "a list of unknown length": { ...good, signature: `9f${good.signature.slice(2)}ff` },
        "a long form of a short length": { ...good, signature: `9804${good.signature.slice(2)}` },
        "a key given twice": { ...good, publicKey: `a50101${good.publicKey!.slice(2)}` },
        "deep nesting": { ...good, signature: "81".repeat(4_000) },
        "a length that is not there": { ...good, signature: "845bffffffffffffffff" },
        "an upper-case prefix": { ...good, signature: `0x${good.signature}` }
      }
      for (const [what, signed] of Object.entries(wrong)) {
        assert.isNull(yield* judge(driver, challenge, message, signed), what)
      }
    }))
})
