/** Ethereum and the networks that run its virtual machine. */
import { readEvmAddress } from "../../EvmAddress.ts"
import type { NetworkFamily } from "../NetworkFamily.ts"
import { readHexHash } from "../TransactionHash.ts"

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
  isWallet: () => true,
  // Zero is no address at all: `readEvmAddress`.
  burnAddresses: ["0x000000000000000000000000000000000000dead", "0xdead000000000000000000000000000000000000"],
  contractKey: (address) => address.toLowerCase(),
  tokenAddress: (text) => readEvmAddress(text.toLowerCase()),
  // The checksum of EIP-55 costs a hash of each address, and says nothing of which token it is.
  tokenKey: (text) => text.toLowerCase(),
  isCaseSensitive: false,
  readTransactionHash: (text) => readHexHash(text, "0x"),
  transactionHashForm: "0x and 64 hex digits",
  hashPrefix: "0x"
}
