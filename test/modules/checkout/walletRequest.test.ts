/**
 * Goal: a wallet of the payor's browser is asked for the very transfer that the payment link names, of every token on
 * every EVM network.
 * Method: what is encoded here is decoded by another library.
 */
import { assert, describe, it } from "@effect/vitest"
import { Interface } from "ethers"
import { decodeFunctionData, erc20Abi, getAddress } from "viem"
import { walletRequestOf } from "../../../modules/checkout/rules/WalletRequest.ts"
import bundled from "../../../modules/tokensources/bundled.json" with { type: "json" }
import { baseUnits } from "../../../schemas/Money.ts"
import { evmChainIds, evmNetworks } from "../../../schemas/Network.ts"
import { evmPaymentUri } from "../../../schemas/PaymentUri.ts"

const receiver = "0x8c9D3F0b1a2E4C5d6f708192A3b4c5D6E7f8781D"
const target = { address: receiver, memo: null }
const amounts = [1n, 25_000_000n, 10n ** 30n, 2n ** 200n]
const transfer = new Interface(["function transfer(address to, uint256 value) returns (bool)"])

/** Of each of six networks in two environments: a network that is added may have its coin alone. */
const chainsWithTokens = 12

describe("what a wallet is asked for", () => {
  it("is tested with tokens of every network that the catalogue has tokens of", () => {
    const chains = bundled.filter(({ network }) => evmNetworks.some((name) => name === network))
      .map(({ environment, network }) => `${network} ${environment}`)
    assert.isAtLeast(new Set(chains).size, chainsWithTokens)
  })

  for (const network of evmNetworks) {
    for (const environment of ["mainnet", "devnet"] as const) {
      const chainId = evmChainIds[environment][network]!
      const listed = bundled.filter((token) => token.network === network && token.environment === environment)
      const addresses: ReadonlyArray<string | null> = [null, ...listed.map(({ address }) => address)]

      it(`is the transfer of the link, of each token on ${network} ${environment}`, () => {
        for (const address of addresses) {
          for (const amount of amounts) {
            const uri = evmPaymentUri(chainId, target, { address }, baseUnits(amount))
            const request = walletRequestOf(uri, network, environment)!
            assert.strictEqual(Number(request.chainId), chainId)
            assert.strictEqual(BigInt(request.needs), amount)
            assert.isNotEmpty(request.add?.rpcUrls)
            for (const url of request.add!.rpcUrls) assert.match(url, /^https:\/\/[^/?@]+(\/[\w/]*)?$/)
            if (address === null) {
              assert.deepInclude(request, { to: receiver, value: `0x${amount.toString(16)}` })
              assert.notProperty(request, "data")
              continue
            }
            assert.deepInclude(request, { to: address, token: address, value: "0x0" })
            const data = request.data as `0x${string}`
            assert.deepStrictEqual(decodeFunctionData({ abi: erc20Abi, data }), {
              functionName: "transfer",
              args: [getAddress(receiver.toLowerCase()), amount]
            })
            const [to, value] = transfer.decodeFunctionData("transfer", data)
            assert.deepStrictEqual([to, value], [getAddress(receiver.toLowerCase()), amount])
          }
        }
      })
    }
  }

  it("names no network that nobody else can reach, and is nothing for links of other families", () => {
    const uri = evmPaymentUri(31_337, target, { address: null }, baseUnits(7n))
    assert.deepStrictEqual(walletRequestOf(uri, "base", "devnet"), {
      chainId: "0x7a69",
      to: receiver,
      value: "0x7",
      needs: "0x7"
    })
    for (const other of [null, "", "solana:7YWH?amount=25", "ethereum:0x12@1?value=1", `${uri}&gas=1`]) {
      assert.isNull(walletRequestOf(other, "base", "devnet"), String(other))
    }
  })
})
