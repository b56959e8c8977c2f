/**
 * Goal: an address of a forwarder is the one that the contract on the chain would make, and what lies there goes to its
 * payee by anybody's call. Method: a real EVM node; viem computes addresses by its own code.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type Abi, encodeFunctionData, type Hex } from "viem"
import collectorArtifact from "../../../../modules/chains/evm/contracts/Collector.json" with { type: "json" }
import { collector, keylessDeployer, payer } from "../../../../modules/chains/evm/Contracts.ts"
import { forwarderOf } from "../../../../modules/chains/evm/ForwarderWallet.ts"
import { makeDriver } from "../../../../modules/chains/evm.ts"
import type { Forwarder, IndexedWallet } from "../../../../runtime/Chains.ts"
import { type Anvil, anvil, usdc } from "../../../support/Anvil.ts"

const payee = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const seed = "5b1f3c0de29a4f7786c1d0a9e4b35f60718293a4b5c6d7e8f90a1b2c3d4e5f60"
const noSalt: Hex = `0x${"00".repeat(32)}`

const walletOf = (to = payee, from = seed): IndexedWallet & { readonly forwarder: Forwarder } => {
  const wallet = forwarderOf(to, from)
  assert(typeof wallet !== "string" && wallet.forwarder !== undefined)
  return { ...wallet, forwarder: wallet.forwarder }
}

const call = (functionName: string, args: ReadonlyArray<unknown>): Hex =>
  encodeFunctionData({ abi: collectorArtifact.abi as Abi, functionName, args })

const deploy = (node: Anvil) =>
  Effect.gen(function*() {
    assert.notStrictEqual(yield* node.rpc("eth_getCode", keylessDeployer, "latest"), "0x", "anvil has the deployer")
    yield* node.send({ to: keylessDeployer, data: `${noSalt}${collectorArtifact.bytecode.slice(2)}`, gas: 3_000_000n })
  })

describe("forwarders", () => {
  it("two wallets are the same only where payee and seed are", () => {
    const other = seed.replace("5b", "5c")
    const fingerprints = [walletOf(), walletOf(usdc), walletOf(payee, other)].map(({ fingerprint }) => fingerprint)
    assert.strictEqual(new Set(fingerprints).size, 3)
    assert.strictEqual(walletOf(payee.toLowerCase()).fingerprint, walletOf().fingerprint)
  })

  it("an address from which nobody could take the money is refused, and a secret is not repeated", () => {
    const refused = [
      "0x0000000000000000000000000000000000000000",
      "0x0000000000000000000000000000000000000009",
      collector.address,
      payer.address,
      keylessDeployer,
      payee.replace("5aA", "5Aa"),
      "nothing",
      seed
    ]
    for (const text of refused) {
      const answer = forwarderOf(text, seed)
      assert.isString(answer, text)
      assert.notInclude(answer as string, seed)
    }
  })

  it.live("what lies on addresses goes to the payee by a stranger's call, and the driver says what is missing", () =>
    Effect.gen(function*() {
      const node = yield* anvil("base", "devnet")
      const driver = yield* makeDriver({
        network: "base",
        environment: "devnet",
        rpc: [Redacted.make(node.url)] as never,
        chainId: node.chainId,
        xpub: Redacted.make(
          "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP"
        ),
        startIndex: 0
      } as never)
      const facts = driver.readForwarderFacts!(payee)
      assert.deepStrictEqual(yield* facts, { hasCollector: false, isPayeeContract: false, takesCoin: true })
      yield* deploy(node)
      assert.deepStrictEqual(yield* facts, { hasCollector: true, isPayeeContract: false, takesCoin: true })
      const ofToken = yield* driver.readForwarderFacts!(usdc)
      assert.include(ofToken, { isPayeeContract: true }, "a token is a contract")
      yield* node.rpc("anvil_setCode", payer.address, "0x60006000fd")
      assert.include(yield* driver.readForwarderFacts!(payer.address), { isPayeeContract: true, takesCoin: false })

      const { derive, forwarder } = walletOf()
      assert.strictEqual(
        (yield* node.rpc(
          "eth_call",
          { to: collector.address, data: call("addressOf", [payee, forwarder.saltOf(7)]) },
          "latest"
        ))
          .slice(-40),
        derive(7).address.slice(2).toLowerCase()
      )
      yield* node.token("mint", [derive(0).address, 5n])
      yield* node.send({ to: derive(1).address, value: 9n })
      const tokens = [usdc, "0x0000000000000000000000000000000000000000"]
      const salts = [forwarder.saltOf(0), forwarder.saltOf(1)]
      const before = BigInt(yield* node.rpc("eth_getBalance", payee, "latest"))
      yield* node.send({
        from: node.accounts[3]!,
        to: collector.address,
        data: call("collect", [payee, tokens, salts])
      })
      assert.strictEqual(BigInt(yield* node.rpc("eth_getBalance", payee, "latest")) - before, 9n)
      const { balance } = yield* driver.balanceAt!(payee, usdc, BigInt(yield* node.rpc("eth_blockNumber")))
      assert.strictEqual(balance, 5n)
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
})
