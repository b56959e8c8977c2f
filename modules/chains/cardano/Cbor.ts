/**
 * Reads CBOR (RFC 8949) in place: an item is the offset of its first byte, and nothing of it is decoded before it is
 * asked for. Cardano needs more than most: strings in chunks (Plutus data over 64 bytes), arrays and maps without a
 * length, tags around sets, and data nested as deep as a transaction is long. Pure; null: not of the form asked for.
 */

/** What an item begins with. */
interface Head {
  readonly major: number
  /** Its value, or how many bytes, items or pairs follow; null: as many as there are before the break. */
  readonly argument: bigint | null
  /** Offset of what follows. */
  readonly end: number
}

const major = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6, simple: 7 } as const
const breakByte = 0xff
/** Tag of an unsigned integer of any length (RFC 8949, 3.4.3). */
const bigIntegerTag = 2n
const argumentBytes: ReadonlyMap<number, number> = new Map([[24, 1], [25, 2], [26, 4], [27, 8]])
/** Additional information of an item without a length. */
const indefinite = 31

const headAt = (data: Uint8Array, offset: number): Head | null => {
  const first = data[offset]
  if (first === undefined) return null
  const kind = first >> 5
  const information = first & 0x1f
  if (information < 24) return { major: kind, argument: BigInt(information), end: offset + 1 }
  if (information === indefinite) {
    const hasIndefinite = kind >= major.bytes && kind <= major.map
    return hasIndefinite ? { major: kind, argument: null, end: offset + 1 } : null
  }
  const size = argumentBytes.get(information)
  if (size === undefined || offset + 1 + size > data.length) return null
  let argument = 0n
  for (const byte of data.subarray(offset + 1, offset + 1 + size)) argument = argument << 8n | BigInt(byte)
  return { major: kind, argument, end: offset + 1 + size }
}

/** Where a string of a known length ends. */
const stringEnd = (data: Uint8Array, { argument, end }: Head): number | null =>
  argument !== null && argument <= BigInt(data.length - end) ? end + Number(argument) : null

/** Where a string in chunks ends: chunks of its own kind, each with a length. */
const chunksEnd = (data: Uint8Array, head: Head): number | null => {
  let offset = head.end
  while (data[offset] !== breakByte) {
    const chunk = headAt(data, offset)
    const end = chunk === null || chunk.major !== head.major ? null : stringEnd(data, chunk)
    if (end === null) return null
    offset = end
  }
  return offset + 1
}

/** Items that an item's own head asks for, beside it; null: until the break. */
const itemsWithin = ({ argument, major: kind }: Head): bigint | null =>
  kind === major.array ? argument : kind === major.map ? argument === null ? null : 2n * argument : 1n

/**
 * Offset behind the item; null where it is not well-formed. Without recursion: somebody may nest data as deep as they
 * can pay for.
 */
export const endOf = (data: Uint8Array, start: number): number | null => {
  /** Items still to come on each level; null: until the break. */
  const levels: Array<bigint | null> = [1n]
  let offset = start
  while (levels.length > 0) {
    const left = levels.at(-1)!
    if (left === 0n) {
      levels.pop()
      continue
    }
    if (left === null && data[offset] === breakByte) {
      levels.pop()
      offset += 1
      continue
    }
    const head = headAt(data, offset)
    if (head === null) return null
    if (left !== null) levels[levels.length - 1] = left - 1n
    if (head.major === major.bytes || head.major === major.text) {
      const end = head.argument === null ? chunksEnd(data, head) : stringEnd(data, head)
      if (end === null) return null
      offset = end
      continue
    }
    offset = head.end
    if (head.major >= major.array && head.major <= major.tag) levels.push(itemsWithin(head))
  }
  return offset
}

/** The item within any tags: a set of the ledger may be tagged. */
const untagged = (data: Uint8Array, start: number): Head | null => {
  let head = headAt(data, start)
  while (head?.major === major.tag) head = headAt(data, head.end)
  return head
}

/** Offsets of the items of an array; with `isMap` of the keys and values of a map in turn. */
const itemsAt = (data: Uint8Array, start: number, isMap: boolean): ReadonlyArray<number> | null => {
  const head = untagged(data, start)
  if (head === null || head.major !== (isMap ? major.map : major.array)) return null
  const count = itemsWithin(head)
  const items: Array<number> = []
  let offset = head.end
  while (count === null ? data[offset] !== breakByte : BigInt(items.length) < count) {
    const end = endOf(data, offset)
    if (end === null) return null
    items.push(offset)
    offset = end
  }
  return items
}

/** Offsets of the items of an array. */
export const arrayAt = (data: Uint8Array, start: number): ReadonlyArray<number> | null => itemsAt(data, start, false)

/** Offsets of the keys and values of a map, in its order. */
export const mapAt = (
  data: Uint8Array,
  start: number
): ReadonlyArray<readonly [key: number, value: number]> | null => {
  const items = itemsAt(data, start, true)
  if (items === null || items.length % 2 !== 0) return null
  return Array.from({ length: items.length / 2 }, (_, pair) => [items[2 * pair]!, items[2 * pair + 1]!] as const)
}

/** A byte string, whole or in chunks. */
export const bytesAt = (data: Uint8Array, start: number): Uint8Array | null => {
  const head = untagged(data, start)
  if (head === null || head.major !== major.bytes) return null
  if (head.argument !== null) {
    const end = stringEnd(data, head)
    return end === null ? null : data.subarray(head.end, end)
  }
  if (chunksEnd(data, head) === null) return null
  const chunks: Array<Uint8Array> = []
  let offset = head.end
  while (data[offset] !== breakByte) {
    const chunk = headAt(data, offset)!
    const end = stringEnd(data, chunk)!
    chunks.push(data.subarray(chunk.end, end))
    offset = end
  }
  return Uint8Array.from(Buffer.concat(chunks))
}

/** An unsigned integer, in whichever form. */
export const unsignedAt = (data: Uint8Array, start: number): bigint | null => {
  const head = headAt(data, start)
  if (head?.major === major.unsigned) return head.argument
  if (head?.major !== major.tag || head.argument !== bigIntegerTag) return null
  const bytes = bytesAt(data, head.end)
  return bytes === null ? null : bytes.reduce((value, byte) => value << 8n | BigInt(byte), 0n)
}

/** Whether the item is `false`; null where it is no truth value. */
export const booleanAt = (data: Uint8Array, start: number): boolean | null => {
  const byte = data[start]
  return byte === 0xf4 ? false : byte === 0xf5 ? true : null
}
