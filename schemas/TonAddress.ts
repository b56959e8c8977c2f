/** Addresses of TON accounts, in the spellings people meet (TEP-2). */
import { base64url } from "@scure/base"
import { Result } from "effect"

/** First byte of a friendly address: may senders expect a bounce, and a bit for test networks only. */
const tags = { bounceable: 0x11, nonBounceable: 0x51, testOnly: 0x80 } as const

const friendlyBytes = 36
const hashBytes = 32

/** The account itself: two spellings of it have the same two. */
export interface TonAccount {
  /** -1: the masterchain. Others do not exist. */
  readonly workchain: 0 | -1
  /** Hash of the account's first state, 32 bytes. */
  readonly hash: Uint8Array
}

/** What a friendly spelling says beside the account. */
export interface TonFlags {
  readonly bounceable: boolean
  readonly testOnly: boolean
}

/** CRC-16: polynomial 0x1021, from zero. */
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc
}

/** 48 characters that begin with `EQ`, `UQ`, `kQ` or `0Q` (masterchain: `Ef`, `Uf`, `kf`, `0f`). */
export const tonAddressText = ({ hash, workchain }: TonAccount, { bounceable, testOnly }: TonFlags): string => {
  const tag = (bounceable ? tags.bounceable : tags.nonBounceable) | (testOnly ? tags.testOnly : 0)
  const payload = Uint8Array.of(tag, workchain & 0xff, ...hash)
  const crc = crc16(payload)
  return base64url.encode(Uint8Array.of(...payload, crc >> 8, crc & 0xff))
}

/** The raw form, which has no flags: `0:` and 64 digits. */
export const tonRawAddressText = ({ hash, workchain }: TonAccount): string =>
  `${workchain}:${Buffer.from(hash).toString("hex")}`

export interface TonAddress extends TonAccount {
  /** Null for a raw address, which has none. */
  readonly flags: TonFlags | null
}

const readFriendly = (text: string): TonAddress | null => {
  const urlSafeText = text.replaceAll("+", "-").replaceAll("/", "_")
  const bytes = Result.getOrNull(Result.try(() => base64url.decode(urlSafeText)))
  if (bytes?.length !== friendlyBytes) return null
  const [tag = 0, workchain = 0] = bytes
  const flags = { bounceable: (tag & ~tags.testOnly) === tags.bounceable, testOnly: (tag & tags.testOnly) !== 0 }
  const account = { workchain: workchain === 0 ? 0 : -1, hash: bytes.slice(2, 2 + hashBytes) } as const
  // Written anew it is the same text only with a known tag, a workchain that exists, and the right checksum.
  return tonAddressText(account, flags) === urlSafeText ? { ...account, flags } : null
}

const readRaw = (text: string): TonAddress | null => {
  const [, workchain, digits = ""] = /^(0|-1):([0-9a-fA-F]{64})$/.exec(text) ?? []
  if (workchain === undefined) return null
  return { workchain: workchain === "0" ? 0 : -1, hash: Uint8Array.from(Buffer.from(digits, "hex")), flags: null }
}

/** Raw (`0:<hex>`), or friendly in either alphabet of base64; null when it is no address. */
export const readTonAddress = (text: string): TonAddress | null =>
  text.length === 48 ? readFriendly(text) : readRaw(text)
