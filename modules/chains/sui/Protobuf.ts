/**
 * The wire format of Protocol Buffers (protobuf.dev, "Encoding"), as much of it as Sui's messages use: varints and what
 * has a length. Pure. Written here because the generated types of Sui's SDK weigh more than this whole service.
 */

/** A field as it was on the wire: a varint, or the bytes of a text, a message or anything of fixed size. */
export type FieldValue = bigint | Uint8Array

/** A message: what each field number was given, in order. */
export type Message = ReadonlyMap<number, ReadonlyArray<FieldValue>>

const wireTypes = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const

/** Bytes of a varint, at most: 64 bits in groups of seven. */
const maximumVarintBytes = 10

const varint = (value: bigint): ReadonlyArray<number> => {
  const bytes: Array<number> = []
  let rest = BigInt.asUintN(64, value)
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return [...bytes, Number(rest)]
}

const tag = (field: number, wireType: number): ReadonlyArray<number> => varint(BigInt(field << 3 | wireType))

/** A field of an integer, a flag or an enumeration. */
export const varintField = (field: number, value: bigint): Uint8Array =>
  Uint8Array.from([...tag(field, wireTypes.varint), ...varint(value)])

/** A field of bytes, or of a message whose fields are `parts`. */
export const bytesField = (field: number, ...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const content = message(...parts)
  return message(
    Uint8Array.from([...tag(field, wireTypes.lengthDelimited), ...varint(BigInt(content.length))]),
    content
  )
}

export const textField = (field: number, text: string): Uint8Array => bytesField(field, Buffer.from(text, "utf8"))

/** A message of these fields. */
export const message = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => Buffer.concat(parts)

interface Read<A> {
  readonly value: A
  /** Where the next thing begins. */
  readonly end: number
}

const readVarint = (bytes: Uint8Array, start: number): Read<bigint> | null => {
  let value = 0n
  for (let place = 0; place < maximumVarintBytes; place++) {
    const byte = bytes[start + place]
    if (byte === undefined) return null
    value |= BigInt(byte & 0x7f) << BigInt(7 * place)
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: start + place + 1 }
  }
  return null
}

const readBytes = (bytes: Uint8Array, start: number, length: number): Read<Uint8Array> | null =>
  start + length > bytes.length ? null : { value: bytes.subarray(start, start + length), end: start + length }

const readLengthDelimited = (bytes: Uint8Array, start: number): Read<Uint8Array> | null => {
  const length = readVarint(bytes, start)
  return length === null || length.value > BigInt(bytes.length)
    ? null
    : readBytes(bytes, length.end, Number(length.value))
}

const readValue = (bytes: Uint8Array, start: number, wireType: number): Read<FieldValue> | null => {
  switch (wireType) {
    case wireTypes.varint:
      return readVarint(bytes, start)
    case wireTypes.fixed64:
      return readBytes(bytes, start, 8)
    case wireTypes.lengthDelimited:
      return readLengthDelimited(bytes, start)
    case wireTypes.fixed32:
      return readBytes(bytes, start, 4)
    default:
      return null
  }
}

/** The fields of a message; null where the bytes are none. Fields nobody knows are kept like any other. */
export const readMessage = (bytes: Uint8Array): Message | null => {
  const fields = new Map<number, Array<FieldValue>>()
  let place = 0
  while (place < bytes.length) {
    const key = readVarint(bytes, place)
    if (key === null || key.value > 0xffff_ffffn || key.value < 8n) return null
    const field = Number(key.value >> 3n)
    const read = readValue(bytes, key.end, Number(key.value & 7n))
    if (read === null) return null
    const values = fields.get(field)
    if (values === undefined) fields.set(field, [read.value])
    else values.push(read.value)
    place = read.end
  }
  return fields
}

/** Of a field that stands once the last value counts, as the format says. */
const last = (fields: Message, field: number): FieldValue | undefined => fields.get(field)?.at(-1)

/** An unsigned integer; null where the message has none. */
export const integerOf = (fields: Message, field: number): bigint | null => {
  const value = last(fields, field)
  return typeof value === "bigint" ? value : null
}

export const bytesOf = (fields: Message, field: number): Uint8Array | null => {
  const value = last(fields, field)
  return value instanceof Uint8Array ? value : null
}

/** A text; null where the message has none. What is no UTF-8 becomes U+FFFD, which no identifier holds. */
export const textOf = (fields: Message, field: number): string | null => {
  const value = bytesOf(fields, field)
  return value === null ? null : Buffer.from(value).toString("utf8")
}

/** A message within the message; null where there is none, or its bytes are none. */
export const messageOf = (fields: Message, field: number): Message | null => {
  const value = bytesOf(fields, field)
  return value === null ? null : readMessage(value)
}

/** The messages of a repeated field; null where the bytes of one of them are none. */
export const messagesOf = (fields: Message, field: number): ReadonlyArray<Message> | null => {
  const messages: Array<Message> = []
  for (const value of fields.get(field) ?? []) {
    const read = value instanceof Uint8Array ? readMessage(value) : null
    if (read === null) return null
    messages.push(read)
  }
  return messages
}
