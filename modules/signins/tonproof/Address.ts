/** Addresses of TON accounts, in the three spellings people meet. */
import { base64url } from "@scure/base"
import { concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { Result } from "effect"

/** First byte of a user-friendly address: may senders expect a bounce, and is it for test networks only. */
const bounceable = 0x11
const nonBounceable = 0x51
const testOnly = 0x80

const friendlyBytes = 36
const bodyBytes = 34

export interface TonAddress {
  /** 0, or -1 for the masterchain. */
  readonly workchain: number
  /** Hash of the account's first state, 32 bytes. */
  readonly hash: Uint8Array
}

/** CRC-16/XMODEM, as the last two bytes of a user-friendly address hold it. */
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1
  }
  return crc & 0xffff
}

const readRaw = (text: string): TonAddress | null => {
  const [, workchain, digits] = /^(0|-1):([0-9a-fA-F]{64})$/.exec(text) ?? []
  return digits === undefined ? null : { workchain: Number(workchain), hash: hexToBytes(digits) }
}

const readFriendly = (text: string): TonAddress | null => {
  const url = text.replaceAll("+", "-").replaceAll("/", "_")
  const bytes = Result.getOrNull(Result.try(() => base64url.decode(url)))
  if (bytes?.length !== friendlyBytes) return null
  const [flags = 0, workchain = 0] = bytes
  const [high = 0, low = 0] = bytes.slice(bodyBytes)
  const kind = flags & ~testOnly
  if (kind !== bounceable && kind !== nonBounceable || workchain !== 0 && workchain !== 0xff) return null
  if (crc16(bytes.slice(0, bodyBytes)) !== (high << 8 | low)) return null
  return { workchain: workchain === 0 ? 0 : -1, hash: bytes.slice(2, bodyBytes) }
}

/** `0:<hex>`, or 48 characters of base64 in either alphabet, with any flags; null when it is no address. */
export const readTonAddress = (text: string): TonAddress | null => readRaw(text) ?? readFriendly(text)

/** As wallets show their own address: not bounceable, base64url (`UQ…`), on test networks too. */
export const tonAddressText = ({ hash, workchain }: TonAddress): string => {
  const body = concatBytes(Uint8Array.of(nonBounceable, workchain & 0xff), hash)
  const crc = crc16(body)
  return base64url.encode(concatBytes(body, Uint8Array.of(crc >> 8, crc & 0xff)))
}
