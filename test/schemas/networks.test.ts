/** Goal: what the descriptors of the networks promise each other holds, also for one that is added. */
import { assert, describe, it } from "@effect/vitest"
import { descriptors, evmDescriptors } from "../../schemas/networks/all.ts"
import {
  descriptorOf,
  Environment,
  evmChainIds,
  evmNetworks,
  Family,
  familyOf,
  Network,
  networkFamilies,
  networks
} from "../../schemas/Network.ts"

const repeated = (values: ReadonlyArray<unknown>) => values.filter((value, place) => values.indexOf(value) !== place)

describe("the descriptors of the networks", () => {
  it("have names, labels and places in the payor's list of which no two are equal", () => {
    assert.deepStrictEqual(repeated(descriptors.map(({ name }) => name)), [])
    assert.deepStrictEqual(repeated(descriptors.map(({ label }) => label)), [])
    assert.deepStrictEqual(repeated(descriptors.map(({ paymentListRank }) => paymentListRank)), [])
  })

  it("give the API its list of networks, in their order, and each network its own facts", () => {
    assert.deepStrictEqual(Network.literals, networks)
    for (const descriptor of descriptors) assert.strictEqual(descriptorOf(descriptor.name), descriptor)
  })

  it("of the family evm have chain ids of which no two are equal, and the others have none", () => {
    assert.sameMembers([...evmNetworks], networks.filter((network) => familyOf(network) === "evm"))
    const ids = evmDescriptors.flatMap(({ chainIds }) => Environment.literals.map((each) => chainIds[each]))
    assert.deepStrictEqual(repeated(ids), [])
    for (const environment of Environment.literals) {
      assert.sameMembers(Object.keys(evmChainIds[environment]), [...evmNetworks])
    }
  })

  it("name families of which no two have one name, and from which the API has its list", () => {
    assert.deepStrictEqual(repeated(networkFamilies.map(({ name }) => name)), [])
    assert.deepStrictEqual(Family.literals, networkFamilies.map(({ name }) => name))
    assert.deepStrictEqual(repeated(networkFamilies.map(({ paymentUriScheme }) => paymentUriScheme)), [])
    assert.sameMembers([...new Set(networks.map(familyOf))], [...Family.literals])
  })

  it("ask on mainnet for at least one block, and never for more than for finality", () => {
    for (const { finalBlocks, name, standardDepth } of descriptors) {
      assert.isAtLeast(standardDepth.blocks, 1, name)
      assert.isAtLeast(finalBlocks, standardDepth.blocks, name)
    }
  })

  it("trap 11: of Solana's devnet link to the devnet of an explorer whose path is that of mainnet", () => {
    const { transactionUrl } = descriptorOf("solana")
    assert.strictEqual(transactionUrl.devnet?.("5Uab"), "https://explorer.solana.com/tx/5Uab?cluster=devnet")
    assert.strictEqual(transactionUrl.mainnet?.("5Uab"), "https://explorer.solana.com/tx/5Uab")
  })

  it("link to an explorer by https, with the whole hash", () => {
    for (const { name, transactionUrl } of descriptors) {
      for (const environment of Environment.literals) {
        const url = transactionUrl[environment]?.("0xabc") ?? "https://none/0xabc"
        assert.match(url, /^https:\/\/[^\s]+\/0xabc(?:\?[^\s]*)?$/, name)
      }
    }
  })
})
