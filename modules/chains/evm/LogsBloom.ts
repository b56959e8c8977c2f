/**
 * The filter over a block's logs that its header carries (Ethereum Yellow Paper, section 4.3.1): which logs it can
 * have.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"

const bloomBytes = 256

/**
 * The filter that a block with these logs has. A reading whose filter is not its header's has left logs out or invented
 * some; one that doubles a log has the same filter.
 */
export const bloomOf = (
  logs: Iterable<{ readonly address: string; readonly topics: ReadonlyArray<string> }>
): string => {
  const bloom = new Uint8Array(bloomBytes)
  const seenItems = new Set<string>()
  for (const { address, topics } of logs) {
    for (const item of [address, ...topics]) {
      if (seenItems.has(item)) continue
      seenItems.add(item)
      const hash = keccak_256(hexToBytes(item.slice(2)))
      for (const pair of [0, 2, 4]) {
        const bit = ((hash[pair]! << 8) | hash[pair + 1]!) & 2_047
        bloom[bloomBytes - 1 - (bit >> 3)]! |= 1 << (bit & 7)
      }
    }
  }
  return `0x${bytesToHex(bloom)}`
}
