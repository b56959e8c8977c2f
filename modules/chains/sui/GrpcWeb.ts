/**
 * gRPC-Web over plain HTTP (github.com/grpc/grpc, doc/PROTOCOL-WEB.md): a call is one POST, its answer is messages in
 * frames and a last frame with the status. Pure.
 */
import { Result } from "effect"

export const contentType = "application/grpc-web+proto"

/** One byte of flags and four of length. */
const headerBytes = 5
/** The frame holds the trailers. */
const trailerFlag = 0x80

/** How a call ended: a code of gRPC (github.com/grpc/grpc, doc/statuscodes.md), 0 is good. */
export interface GrpcStatus {
  readonly code: number
  readonly message: string
}

export const statusCodes = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  unavailable: 14
} as const

export interface GrpcAnswer {
  readonly messages: ReadonlyArray<Uint8Array>
  readonly status: GrpcStatus
}

/** A message in its frame, as the body of a call. */
export const requestBody = (message: Uint8Array): Uint8Array => {
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32BE(message.length, 1)
  return Buffer.concat([header, message])
}

/** Percent-encoded by the protocol; a text that is not stays as it is. */
const decodeMessage = (text: string): string => Result.getOrElse(Result.try(() => decodeURIComponent(text)), () => text)

/** The status that trailers, or the headers of an answer without a body, name; null: they name none. */
export const readStatus = (fields: Readonly<Record<string, string | undefined>>): GrpcStatus | null => {
  const code = fields["grpc-status"]
  return code === undefined || !/^\d{1,3}$/.test(code)
    ? null
    : { code: Number(code), message: decodeMessage(fields["grpc-message"] ?? "") }
}

const readTrailers = (bytes: Uint8Array): GrpcStatus | null =>
  readStatus(Object.fromEntries(
    Buffer.from(bytes).toString("utf8").split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(":")
      return colon === -1 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]]
    })
  ))

/**
 * The messages of an answer and how it ended. Null where it broke off, so that there may have been more: a frame that
 * is not whole, no trailers, or anything after them. A compressed frame was not asked for.
 */
export const readAnswer = (body: Uint8Array): GrpcAnswer | null => {
  const messages: Array<Uint8Array> = []
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  let place = 0
  while (place + headerBytes <= body.length) {
    const flags = body[place]!
    const start = place + headerBytes
    const end = start + view.getUint32(place + 1)
    if (end > body.length) return null
    const content = body.subarray(start, end)
    if (flags === trailerFlag) {
      const status = readTrailers(content)
      return status === null || end < body.length ? null : { messages, status }
    }
    if (flags !== 0) return null
    messages.push(content)
    place = end
  }
  return null
}
