/**
 * The filter over a block's logs that its header carries (Ethereum Yellow Paper, section 4.3.1): which logs it can
 * have.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"

const bloomBytes = 256

/** What of a log is in the filter: whole bytes, in hex. */
interface BloomLog {
  readonly address: string
  readonly topics: ReadonlyArray<string>
}

/**
 * The filter that a block with these logs has. A reading whose filter is not its header's has left logs out or invented
 * some; one that doubles a log has the same filter.
 */
export const bloomOf = (logs: Iterable<BloomLog>): string => {
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

/**
 * Whether these are the logs that a header names. Null: the node does not tell what the header names, and nothing can
 * be compared. A filter may hold by accident what no log has, so it is compared with that of the logs and not searched.
 */
export const isBloomOf = (
  logsBloom: string | null,
  receipts: ReadonlyArray<{ readonly logs: ReadonlyArray<BloomLog> }>
): boolean | null =>
  logsBloom === null ? null : logsBloom.toLowerCase() === bloomOf(receipts.flatMap(({ logs }) => logs))
