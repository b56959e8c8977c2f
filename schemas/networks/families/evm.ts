/** Ethereum and the networks that run its virtual machine. */
import { readEvmAddress } from "../../EvmAddress.ts"
import type { NetworkFamily } from "../NetworkFamily.ts"
import { readHexHash } from "../TransactionHash.ts"

/** Contracts that a network runs by itself lie below it (EIP-1352). */
const lowestWallet = 0x10000n

export const evmFamily: NetworkFamily<"evm", "erc20"> = {
  name: "evm",
  // EIP-681. An ERC-20 transfer has no field for a text.
  paymentUriScheme: "ethereum",
  hasMemo: false,
  tokenType: "erc20",
  readAddress: readEvmAddress,
  accountKey: (address) => address.toLowerCase(),
  ownerKeys: () => [],
  addressKeys: (address) => [address.toLowerCase()],
  isWallet: (address) => BigInt(address) >= lowestWallet,
  // Zero is no address at all: `readEvmAddress`. The one of `e` stands for a network's own coin in many interfaces.
  burnAddresses: [
    "0x000000000000000000000000000000000000dead",
    "0xdead000000000000000000000000000000000000",
    `0x${"e".repeat(40)}`,
    `0x${"f".repeat(40)}`
  ],
  // As in `modules/chains/evm/Contracts.ts`: the Collector, the Payer and what deploys them.
  ownContracts: [
    "0x7a8c3658258fe04ee067a7d8fc74ce54da169dac",
    "0x1e739f333a5eecd9ab60714a775eca5a46e227c0",
    "0x4e59b44847b379578588920ca78fbf26c0b4956c"
  ],
  contractKey: (address) => address.toLowerCase(),
  tokenAddress: (text) => readEvmAddress(text.toLowerCase()),
  // The checksum of EIP-55 costs a hash of each address, and says nothing of which token it is.
  tokenKey: (text) => text.toLowerCase(),
  isCaseSensitive: false,
  readTransactionHash: (text) => readHexHash(text, "0x"),
  transactionHashForm: "0x and 64 hex digits",
  hashPrefix: "0x"
}
