/** The comment of a transfer: UTF-8 text after 32 zero bits, continued in the cell's reference (TEP-74 and wallets). */
import { Cell, type Slice } from "@ton/core"
import { Result } from "effect"

/** Bytes of a comment that are read: no memo stands behind more. */
const maximumBytes = 1_024

/** A message body as the API gives it (a bag of cells in base64); null when it is none. */
export const readCell = (text: string): Cell | null => Result.getOrNull(Result.try(() => Cell.fromBase64(text)))

/** Bytes of a cell and of the cells that continue it, at most `limit`; null where one has a part of a byte. */
export const readSnake = (slice: Slice, limit: number): Buffer | null => {
  const chunks: Array<Buffer> = []
  let length = 0
  for (let part: Slice | null = slice; part !== null && length < limit;) {
    if (part.remainingBits % 8 !== 0) return null
    const chunk: Buffer = part.loadBuffer(part.remainingBits / 8)
    chunks.push(chunk)
    length += chunk.length
    part = part.remainingRefs === 1 ? part.loadRef().asSlice() : null
  }
  return Buffer.concat(chunks).subarray(0, limit)
}

/** The comment that a body begins with; null when it begins with something else. An encrypted one cannot be read. */
export const commentIn = (body: Slice): string | null => {
  const slice = body.clone()
  if (slice.remainingBits < 32 || slice.loadUint(32) !== 0) return null
  return Result.getOrNull(Result.try(() => readSnake(slice, maximumBytes)))?.toString("utf8") ?? null
}
