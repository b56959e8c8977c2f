/**
 * Goal: the frozen contracts stay what they are, byte for byte, and what the code knows of them is true.
 * Method: the artifacts are compared with pinned hashes, compiled again from their sources by the exact compiler, and
 * deployed on a real node; addresses, selectors and topics are computed by viem.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { getContractAddress, hexToBytes, keccak256, toEventSelector, toFunctionSelector } from "viem"
import collectorBuild from "../../../../modules/chains/evm/contracts/Collector.json" with { type: "json" }
import payerBuild from "../../../../modules/chains/evm/contracts/Payer.json" with { type: "json" }
import {
  collector,
  contractErrors,
  forwarderHash,
  keylessDeployer,
  payer,
  selectors,
  topics
} from "../../../../modules/chains/evm/Contracts.ts"
import { evmFamily } from "../../../../schemas/networks/families/evm.ts"
import { builds, compiledSources, contractRig } from "../../../support/ContractRig.ts"
import { frozenContract } from "../../../support/Solidity.ts"

const folder = decodeURIComponent(new URL("../../../../modules/chains/evm/contracts/", import.meta.url).pathname)
const fixtures = decodeURIComponent(new URL("../../../fixtures/contracts/", import.meta.url).pathname)

/** Never to be changed: money lies on addresses that these bytes decide. */
const frozen = [
  {
    name: "Collector",
    build: collectorBuild,
    known: collector,
    sha256: "50391d5b75d5db6e50dbc772a67557d5dda2eb5e9997d3454b760e7eab271275"
  },
  {
    name: "Payer",
    build: payerBuild,
    known: payer,
    sha256: "41336994e89c649e4b4dee9ec7387478523bcd0a5fa907edf2a9972eeb71d8e8"
  }
] as const

describe("the frozen contracts and what deploys them", () => {
  it("are addresses that no refund goes to", () => {
    const addresses = [keylessDeployer, collector.address, payer.address].map(evmFamily.accountKey)
    assert.sameMembers([...evmFamily.ownContracts ?? []], addresses)
  })
})

for (const { build, known, name, sha256 } of frozen) {
  describe(`the frozen ${name}`, () => {
    it("has the bytes it was frozen with", () => {
      const bytes = hexToBytes(build.bytecode as `0x${string}`)
      assert.strictEqual(createHash("sha256").update(bytes).digest("hex"), sha256)
      assert.strictEqual(build.creationSha256, sha256)
    })

    it("has the address at which the keyless deployer creates these bytes with salt 0", () => {
      const address = getContractAddress({
        opcode: "CREATE2",
        from: keylessDeployer,
        salt: `0x${"0".repeat(64)}`,
        bytecode: build.bytecode as `0x${string}`
      })
      assert.strictEqual(known.address, address)
      assert.strictEqual(build.address, address.toLowerCase())
    })

    it("is what its source compiles to, alone, by the compiler and settings it names", () => {
      assert.deepStrictEqual(JSON.parse(JSON.stringify(frozenContract(`${folder}${name}.sol`))), build as never)
    })
  })
}

// `paris` is the oldest the builds are made for, `london` and `istanbul` show that they need nothing of it.
for (const hardfork of ["istanbul", "london", "paris", "prague"]) {
  it.live(`both contracts are deployed by anybody, with the known code, on a chain of ${hardfork}`, () =>
    Effect.scoped(Effect.gen(function*() {
      const { accounts, code, deployFrozen, read } = yield* contractRig(hardfork)
      for (const { known, name } of frozen) {
        yield* deployFrozen(name, accounts[2]!)
        assert.strictEqual(keccak256(yield* code(known.address)), known.codeHash)
      }
      assert.strictEqual(yield* read("Collector", collector.address, "forwarderHash"), forwarderHash)
    })))
}

describe("what the code knows of the contracts", () => {
  const abis = frozen.flatMap(({ name }) => builds[name]!.abi)

  it("are the selectors of their functions, all of them", () => {
    const expected = abis.flatMap((item) => item.type === "function" ? [[item.name, toFunctionSelector(item)]] : [])
    assert.deepStrictEqual({ ...selectors }, Object.fromEntries(expected))
  })

  it("are the topics of their events, all of them", () => {
    const expected = abis.flatMap((item) =>
      item.type === "event" ? [[item.name[0]!.toLowerCase() + item.name.slice(1), toEventSelector(item)]] : []
    )
    assert.deepStrictEqual({ ...topics }, Object.fromEntries(expected))
  })

  it("are the selectors of their errors, all of them", () => {
    const expected = abis.flatMap((item) =>
      item.type === "error"
        ? [[item.name, toFunctionSelector(`${item.name}(${item.inputs.map(({ type }) => type).join(",")})`)]]
        : []
    )
    assert.deepStrictEqual({ ...contractErrors }, Object.fromEntries(expected))
  })
})

it("the contracts of the tests are compiled from the sources beside them", () => {
  for (const [file, sha256] of Object.entries(compiledSources)) {
    const source = readFileSync(`${fixtures}${file}`)
    assert.strictEqual(createHash("sha256").update(source).digest("hex"), sha256, `${file}: npm run contracts`)
  }
})
