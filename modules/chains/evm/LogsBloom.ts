/**
 * The filter over a block's logs that its header carries (Ethereum Yellow Paper, section 4.3.1): which logs it can
 * have.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"

const bloomBytes = 256

const bytesOf = (hex: string): Uint8Array => hexToBytes(hex.slice(2))

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
      const hash = keccak_256(bytesOf(item))
      for (const pair of [0, 2, 4]) {
        const bit = ((hash[pair]! << 8) | hash[pair + 1]!) & 2_047
        bloom[bloomBytes - 1 - (bit >> 3)]! |= 1 << (bit & 7)
      }
    }
  }
  return `0x${bytesToHex(bloom)}`
}

/** The logs of a block, receipt by receipt. */
type BlockLogs = ReadonlyArray<{ readonly logs: ReadonlyArray<BloomLog> }>

/**
 * Whether these are exactly the logs that a header names. Null: the node does not tell what the header names, and
 * nothing can be compared.
 */
export const isBloomOf = (logsBloom: string | null, receipts: BlockLogs): boolean | null =>
  logsBloom === null
    ? null
    : logsBloom.toLowerCase() === bloomOf(receipts.flatMap(({ logs }) => logs))

/**
 * Whether a log is missing that the header names: one that was left out may pay an invoice. More logs than the header
 * names are no fault: Polygon's blocks have logs of bridge deposits that are in no header, and some chains leave the
 * filter empty.
 */
export const isLogMissing = (logsBloom: string | null, receipts: BlockLogs): boolean => {
  if (logsBloom === null) return false
  const present = bytesOf(bloomOf(receipts.flatMap(({ logs }) => logs)))
  return bytesOf(logsBloom).some((byte, index) => (byte & ~(present[index] ?? 0)) !== 0)
}
