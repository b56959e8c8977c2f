/**
 * Addresses of wallets as people send them: read only where the network's own form and checksum are right. All that is
 * read is ASCII, so no homograph, bidirectional or invisible character survives. The forms are in `networks/families/`.
 */
import { descriptorOf, type Environment, type Network } from "./Network.ts"

/** Characters of an address, at most: the longest form is a Cardano base address of 108. */
export const maximumAddressLength = 128

/**
 * An address of `network` in the one form it is kept in; null when it is none, is of the other environment where the
 * form tells, or is one that nobody can own. EVM: EIP-55 where the case is mixed. Solana: 32 bytes. TON: raw, or
 * friendly with its CRC. Sui: 32 bytes in full. Cardano: a Shelley payment address; Byron's old ones are not taken.
 *
 * @example
 * readAddress("base", "mainnet", "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
 * // => "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
 */
export const readAddress = (network: Network, environment: Environment, text: string): string | null =>
  text.length > maximumAddressLength ? null : descriptorOf(network).family.readAddress(text, environment)
