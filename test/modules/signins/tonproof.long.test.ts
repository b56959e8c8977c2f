/**
 * Goal: TON wallets sign in by `ton_proof`, whichever of their contracts they run. Method: the conformance suite with
 * tweetnacl's keys and the contracts' published codes; a proof that a wallet app made; `@ton/core` judges addresses.
 */
import { Address, contractAddress } from "@ton/core"
import { sha256_sync } from "@ton/crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { plugin } from "../../../modules/signins/tonproof.ts"
import type { Challenge, SignInDriver, SignInProof } from "../../../runtime/SignIns.ts"
import { challengeOf, driverOf, nonceOf, signInConformance, testSeconds } from "../../conformance/signins.ts"
import {
  keysOf,
  type SignedProof,
  tonProof,
  type TonProofOverrides,
  tonState,
  tonStateText,
  type TonVersion,
  tonWallet
} from "../../support/SignInWallets.ts"

const malformed = [
  "1:" + "a".repeat(64),
  "0:" + "a".repeat(63),
  "a".repeat(64),
  // A wrong checksum, and a workchain that does not exist.
  "EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2X",
  new Address(7, Buffer.alloc(32, 7)).toString()
]

for (const version of ["v3r1", "v3r2", "v4r2", "v5r1"] as const) {
  signInConformance(`tonproof (TON, wallet ${version})`, {
    plugin,
    network: "ton",
    wallet: tonWallet(version),
    malformed,
    signsText: false
  })
}

/** What the driver says to a proof made at the tests' time; a refusal is its sentence. */
const judge = (challenge: Challenge, signed: SignedProof, driver: SignInDriver) =>
  Effect.catch(
    Effect.map(
      driver.verify(challenge, { message: driver.message(challenge), ...signed }),
      (found) => found?.address ?? null
    ),
    ({ message }) => Effect.succeed(message)
  )

const begin = (version: TonVersion = "v4r2", workchain = 0) =>
  Effect.gen(function*() {
    yield* TestClock.setTime(testSeconds * 1000)
    const driver = yield* driverOf(plugin, "ton")
    const wallet = tonWallet(version, workchain)(1)
    return { driver, challenge: challengeOf(driver, "ton", wallet.address) }
  })

describe("tonproof", () => {
  /**
   * Made by a W5 wallet app on the test network for TON Connect's demo page, as a developer published it
   * (b0mbdiggity/b0mbdiggity-nodejs-sandbox, `verify.js`); its payload stands where our nonce does.
   */
  const recorded = {
    address: "0:605893d6874139ae5cf8ca022a6b63ad9594ce704dd472d356db1be650ee090a",
    timestamp: 1_730_704_057,
    domain: "ton-connect.github.io",
    signature: "Als2EvxZ8EAJD2ELlD40CuOaQu9Q8LDasHujJjSp7725DdF35agrrWQlwToWdKYzz0zYFa8M18LqfnFxZJOcBg==",
    payload: "eyJhbGciOiJIUzI1NiJ9.eyJwYXlsb2FkIjoiYmMwODEwODI2YmIzMmYyMmMyMGQ5OTYzNGFhM2ViMWM1ZDg2OGMzM2ZmODJmMWY3" +
      "ZWMzMDE1N2I5MDA4NDdlMyIsImlhdCI6MTczMDcwNDA0MiwiZXhwIjoxNzMwNzA0OTQyfQ." +
      "LujjRO9zHu8xCnqLZLKhZ_pR8PG6129dL1MehtyL13A",
    publicKey: "b32332c92071d4f27d2d986ff97b3a601d01e9d0f6669f784c69ceb6018c1ded"
  }

  it.effect("accepts the proof of a real wallet, in its time and for its words only", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(recorded.timestamp * 1000)
      const driver = yield* driverOf(plugin, "ton")
      const { domain, payload, signature, timestamp } = recorded
      const state = tonState("v5r1", Buffer.from(recorded.publicKey, "hex"), { walletId: 0x7fff_ff11 })
      assert.strictEqual(contractAddress(0, state).toRawString(), recorded.address)
      const state_init = tonStateText(state)
      const challenge = challengeOf(driver, "ton", recorded.address, { nonce: payload, domain })
      const signed = (at: number | string): SignedProof => ({
        signature,
        publicKey: null,
        proof: { timestamp: at, domain: { lengthBytes: 21, value: domain }, payload, signature, state_init }
      })
      assert.strictEqual(yield* judge(challenge, signed(timestamp), driver), challenge.address)
      assert.strictEqual(yield* judge(challenge, signed(String(timestamp)), driver), challenge.address)
      assert.isNull(yield* judge(challenge, signed(timestamp + 1), driver))
    }))

  it.effect("binds time, domain, nonce and address, and believes no field that is not signed", () =>
    Effect.gen(function*() {
      const { challenge, driver } = yield* begin()
      const said: ReadonlyArray<TonProofOverrides> = [
        { domain: "pay.example.org" },
        { payload: nonceOf("6") },
        { lengthBytes: 1 },
        { lengthBytes: challenge.domain.length + 1 },
        { address: new Address(-1, Address.parse(challenge.address).hash) },
        { address: new Address(0, Buffer.alloc(32, 1)) }
      ]
      for (const one of said) {
        assert.isNull(yield* judge(challenge, tonProof("v4r2", 1, challenge, one), driver), JSON.stringify(one))
      }
      const good = tonProof("v4r2", 1, challenge)
      const proof = good.proof as { readonly [key: string]: Schema.Json }
      const other = tonProof("v4r2", 2, challenge).signature
      const changes: ReadonlyArray<Schema.Json> = [
        null,
        "",
        [],
        {},
        { ...proof, signature: other },
        { ...proof, timestamp: testSeconds + 1 },
        { ...proof, timestamp: -1 },
        { ...proof, timestamp: 1e300 },
        { ...proof, timestamp: "0x10" },
        { ...proof, timestamp: " 1" },
        { ...proof, domain: challenge.domain },
        { ...proof, state_init: "" },
        { ...proof, state_init: "te6cckEBAQEAAgAAAEysuc0=" },
        { ...proof, state_init: "A".repeat(16_000) }
      ]
      for (const change of changes) {
        assert.isNull(yield* judge(challenge, { ...good, proof: change }, driver), JSON.stringify(change).slice(0, 80))
      }
      assert.strictEqual(yield* judge(challenge, good, driver), challenge.address)
    }))

  it.effect("does not take a stranger's key for the address that the stranger signed", () =>
    Effect.gen(function*() {
      const { challenge, driver } = yield* begin()
      const theirs = tonProof("v4r2", 2, challenge, { address: Address.parse(challenge.address) })
      assert.isNull(yield* judge(challenge, theirs, driver))
      const { state_init } = tonProof("v4r2", 1, challenge).proof as { readonly state_init: string }
      const mixed = { ...theirs, proof: { ...theirs.proof as object, state_init } } as SignedProof
      assert.isNull(yield* judge(challenge, mixed, driver))
    }))

  it.effect("counts for 5 minutes by either clock", () =>
    Effect.gen(function*() {
      const { challenge, driver } = yield* begin()
      for (const [skew, counts] of [[-301, false], [-300, true], [300, true], [301, false]] as const) {
        const signed = tonProof("v4r2", 1, challenge, { timestamp: testSeconds + skew })
        assert.strictEqual(yield* judge(challenge, signed, driver), counts ? challenge.address : null, String(skew))
      }
    }))

  it.effect("signs in a wallet of the masterchain", () =>
    Effect.gen(function*() {
      const { challenge, driver } = yield* begin("v4r2", -1)
      assert.strictEqual(yield* judge(challenge, tonProof("v4r2", 1, challenge, {}, -1), driver), challenge.address)
      assert.isNull(yield* judge(challenge, tonProof("v4r2", 1, challenge), driver))
    }))

  it.effect("says so where a contract's key cannot be known, or may not sign", () =>
    Effect.gen(function*() {
      const { challenge, driver } = yield* begin("v2r2")
      assert.include(
        yield* judge(challenge, tonProof("v2r2", 1, challenge), driver) ?? "",
        "sign in with a v3, v4 or v5"
      )
      const mute = tonState("v5r1", keysOf(1).publicKey, { mayKeySign: false })
      const muted = challengeOf(driver, "ton", contractAddress(0, mute).toRawString())
      const good = tonProof("v5r1", 1, muted, { address: contractAddress(0, mute) })
      const state_init = tonStateText(mute)
      const signed = { ...good, proof: { ...good.proof as object, state_init } } as Omit<SignInProof, "message">
      assert.include(yield* judge(muted, signed, driver) ?? "", "sign in with a v3, v4 or v5")
    }))

  const Hash = Schema.Uint8Array

  it.effect.prop(
    "spells addresses as @ton/core does",
    [Hash, Schema.Literals([0, -1])],
    ([bytes, workchain]) =>
      Effect.gen(function*() {
        const driver = yield* driverOf(plugin, "ton")
        const address = new Address(workchain, sha256_sync(Buffer.from(bytes)))
        const expected = address.toString({ bounceable: false, urlSafe: true, testOnly: false })
        assert.strictEqual(driver.canonicalAddress(address.toString()), expected)
        assert.strictEqual(driver.canonicalAddress(address.toRawString()), expected)
      })
  )
})
