/**
 * Goal: EVM wallets sign in by EIP-4361, with a key or through their contract, and a signature counts once as one
 * thing. Method: the conformance suite with viem's accounts; `siwe`, viem and ethers judge text and signature; a
 * contract wallet on anvil decides for itself, and viem asks it the same.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { Wallet } from "ethers"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { SiweMessage } from "siwe"
import { createPublicClient, type Hex, http, keccak256, recoverMessageAddress, serializeErc6492Signature } from "viem"
import { createSiweMessage } from "viem/siwe"
import { makeDriver as makeChainDriver } from "../../../modules/chains/evm.ts"
import { makeDriver, plugin } from "../../../modules/signins/siwe.ts"
import { type ChainDriver, Chains, DriverError } from "../../../runtime/Chains.ts"
import type { Challenge, SignInDriver } from "../../../runtime/SignIns.ts"
import { evmChainIds, type Network, networks } from "../../../schemas/Network.ts"
import {
  chainsOf,
  chainsThatRead,
  challengeOf,
  driverOf,
  signInConformance,
  testSeconds
} from "../../conformance/signins.ts"
import { anvil } from "../../support/Anvil.ts"
import { contractWalletCode, evmKeyOf, evmWallet } from "../../support/SignInWallets.ts"

signInConformance("siwe (EVM)", {
  plugin,
  network: "base",
  wallet: evmWallet,
  malformed: [
    // A wrong checksum, no prefix, and a name.
    "0x7E5F4552091A69125d5DfCb7b8C2659029395BdF",
    "0x7e5F4552091A69125d5DfCb7b8C2659029395Bdf",
    "7E5F4552091A69125d5DfCb7b8C2659029395Bdf",
    "vitalik.eth",
    `0x${"g".repeat(40)}`
  ],
  signsText: true
})

const proofOf = (message: string, signature: string) => ({ message, signature, publicKey: null, proof: null })

const signed = (driver: SignInDriver, challenge: Challenge, seed = 1) =>
  Effect.promise(async () => {
    const message = driver.message(challenge)
    const { signature } = await evmWallet(seed).sign(challenge, message)
    return { message, signature: signature as Hex }
  })

describe("siwe", () => {
  it.effect("writes byte for byte what viem and siwe write, on every network", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "evm")
      for (const network of networks) {
        for (const environment of ["devnet", "mainnet"] as const) {
          const chainId = driver.chainId(network, environment)
          assert.strictEqual(chainId, evmChainIds[environment][network]?.toString() ?? null)
          if (chainId === null) continue
          const challenge = challengeOf(driver, network, evmWallet(1).address, {
            chainId,
            domain: "localhost:8080",
            uri: "http://localhost:8080"
          })
          const fields = {
            address: evmWallet(1).address as Hex,
            chainId: Number(chainId),
            domain: challenge.domain,
            uri: challenge.uri,
            version: "1" as const,
            statement: challenge.statement,
            nonce: challenge.nonce
          }
          const issuedAt = new Date(testSeconds * 1000)
          const expirationTime = new Date((testSeconds + 300) * 1000)
          const message = driver.message(challenge)
          assert.strictEqual(message, createSiweMessage({ ...fields, issuedAt, expirationTime }))
          const judge = new SiweMessage({
            ...fields,
            issuedAt: issuedAt.toISOString(),
            expirationTime: expirationTime.toISOString()
          })
          assert.strictEqual(message, judge.prepareMessage())
          assert.deepInclude(new SiweMessage(message), { nonce: challenge.nonce, uri: challenge.uri })
        }
      }
    }))

  it.effect("accepts what ethers signs, and siwe accepts what is signed here, with everything checked", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "evm")
      const challenge = challengeOf(driver, "ethereum", evmWallet(7).address)
      const message = driver.message(challenge)
      const signature = yield* Effect.promise(() => new Wallet(evmKeyOf(7)).signMessage(message))
      assert.deepStrictEqual(yield* driver.verify(challenge, proofOf(message, signature)), {
        family: "evm",
        address: evmWallet(7).address,
        chainId: null
      })
      const judged = yield* Effect.promise(() =>
        new SiweMessage(message).verify({
          signature,
          domain: challenge.domain,
          nonce: challenge.nonce,
          time: new Date(testSeconds * 1000).toISOString()
        })
      )
      assert.isTrue(judged.success)
    }))

  it.effect("refuses the other form of a signature, which recovers the same key, and recovery numbers that are none", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "evm")
      const challenge = challengeOf(driver, "base", evmWallet(1).address)
      const { message, signature } = yield* signed(driver, challenge)
      const s = BigInt(`0x${signature.slice(66, 130)}`)
      const high = (secp256k1.Point.CURVE().n - s).toString(16).padStart(64, "0")
      const recovery = signature.endsWith("1b") ? "1c" : "1b"
      const malleated = `${signature.slice(0, 66)}${high}${recovery}` as Hex
      const recovered = yield* Effect.promise(() => recoverMessageAddress({ message, signature: malleated }))
      assert.strictEqual(recovered, evmWallet(1).address)
      assert.isNull(yield* driver.verify(challenge, proofOf(message, malleated)))
      for (const last of ["02", "1d", "23", "24", "ff"]) {
        assert.isNull(yield* driver.verify(challenge, proofOf(message, signature.slice(0, -2) + last)), last)
      }
      const bare = signature.endsWith("1b") ? "00" : "01"
      const asLedger = signature.slice(0, -2) + bare
      assert.strictEqual((yield* driver.verify(challenge, proofOf(message, asLedger)))?.address, challenge.address)
    }))

  it.effect("refuses a contract that is not deployed yet (EIP-6492), and says so", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "evm")
      const challenge = challengeOf(driver, "base", evmWallet(1).address)
      const { message, signature } = yield* signed(driver, challenge, 2)
      const wrapped = serializeErc6492Signature({ address: evmWallet(3).address as Hex, data: "0x1234", signature })
      const error = yield* Effect.flip(driver.verify(challenge, proofOf(message, wrapped)))
      assert.include(error.message, "not deployed yet")
    }))
})

/** Answers of a chain, and what a signature that no key of the address made is worth then. */
const withoutKey = (chains: Layer.Layer<Chains>, network: Network = "base") =>
  Effect.gen(function*() {
    const driver = yield* driverOf(plugin, "evm", chains)
    const challenge = challengeOf(driver, network, evmWallet(1).address)
    const { message, signature } = yield* signed(driver, challenge, 2)
    return yield* driver.verify(challenge, proofOf(message, signature))
  })

const yes = `0x1626ba7e${"0".repeat(56)}`

describe("siwe asks a contract", () => {
  it.effect("and believes the exact answer only", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<readonly [string, boolean]> = [
        [yes, true],
        [yes.toUpperCase().replace("0X", "0x"), true],
        ["0x", false],
        ["0x1626ba7e", false],
        [`0x${"0".repeat(56)}1626ba7e`, false],
        [`0x1626ba7e${"1".repeat(56)}`, false],
        [`${yes}00`, false],
        [`${yes}${"0".repeat(64)}`, false],
        [`0x${"f".repeat(64)}`, false],
        [`0x${"0".repeat(63)}1`, false]
      ]
      for (const [answer, approves] of answers) {
        const identity = yield* withoutKey(chainsThatRead(() => Effect.succeed(answer)))
        const contract = { family: "evm", address: evmWallet(1).address, chainId: "8453" } as const
        assert.deepStrictEqual(identity, approves ? contract : null, answer)
      }
    }))

  it.effect("and does not ask where the key signed", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(plugin, "evm", chainsThatRead(() => Effect.die("asked")))
      const challenge = challengeOf(driver, "base", evmWallet(1).address)
      const { message, signature } = yield* signed(driver, challenge)
      assert.strictEqual((yield* driver.verify(challenge, proofOf(message, signature)))?.chainId, null)
    }))

  it.effect("and says that it cannot where the network has no node here", () =>
    Effect.gen(function*() {
      for (const chains of [chainsOf(() => undefined), chainsThatRead(null)]) {
        const error = yield* Effect.flip(withoutKey(chains, "optimism"))
        assert.strictEqual(
          String(error),
          "SignInRefused: The signature is not by this address's own key, and a contract account cannot be checked: " +
            "there is no node of optimism here."
        )
      }
    }))

  it.effect("for 3 s at most, and never repeats what a node said", () =>
    Effect.gen(function*() {
      const failed = chainsThatRead(() => Effect.fail(new DriverError({ network: "base", reason: "http://secret" })))
      assert.notInclude(String(yield* Effect.flip(withoutKey(failed))), "secret")
      const waiting = yield* Effect.forkChild(Effect.flip(withoutKey(chainsThatRead(() => Effect.never))))
      yield* TestClock.adjust(2_999)
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.include(String(yield* Fiber.join(waiting)), "no node of base answered")
    }))
})

describe("siwe with a contract wallet on a real node", () => {
  it.live("signs in its owner, as an account of that chain", () =>
    Effect.gen(function*() {
      const node = yield* anvil("base")
      const client = yield* Layer.build(NodeHttpClient.layerUndici)
      const base: ChainDriver = yield* Effect.provide(
        makeChainDriver({ network: "base", environment: "devnet", rpc: [Redacted.make(node.url)] as never }),
        client
      )
      const chains = chainsOf((network, environment) =>
        network === "base" && environment === "devnet" ? base : undefined
      )
      const driver = yield* Effect.provide(Effect.map(Chains, makeDriver), chains)
      const address = `0x${keccak256("0x01").slice(26)}`
      yield* node.rpc("anvil_setCode", address, contractWalletCode(evmWallet(2).address))
      const challenge = challengeOf(driver, "base", address, { chainId: "84532" })
      const judge = createPublicClient({ transport: http(node.url) })
      for (const [signer, expected] of [[2, true], [3, false]] as const) {
        const { message, signature } = yield* signed(driver, challenge, signer)
        const identity = yield* driver.verify(challenge, proofOf(message, signature))
        assert.deepStrictEqual(
          identity,
          expected ? { family: "evm", address: challenge.address, chainId: "84532" } : null
        )
        const judged = yield* Effect.promise(() =>
          judge.verifyMessage({ address: challenge.address as Hex, message, signature })
        )
        assert.strictEqual(judged, expected)
        assert.isNull(yield* driver.verify(challenge, proofOf(`${message} `, signature)))
      }
      // A contract that answers something else, one that reverts, the echo at 0x04, and an address without code.
      const { message, signature } = yield* signed(driver, challenge, 2)
      for (const code of ["0x6001600052602060006000f0", "0x60006000fd", "0x"]) {
        yield* node.rpc("anvil_setCode", address, code)
        assert.isNull(yield* driver.verify(challenge, proofOf(message, signature)), code)
      }
      const echo = { ...challenge, address: driver.canonicalAddress(`0x${"4".padStart(40, "0")}`)! }
      assert.isNull(yield* driver.verify(echo, proofOf(message, signature)))
    }).pipe(Effect.scoped))
})
