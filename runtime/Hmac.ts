/**
 * HMAC-SHA256 (RFC 2104) of short texts under a key that is used often. `createHmac` makes a stream object for each
 * call, which takes longer than the hashing itself.
 */
import { hash, type KeyObject } from "node:crypto"

/** Bytes of a block of SHA-256. */
const blockBytes = 64

/** A block of the key, each byte combined with `mask`. */
const keyBlock = (key: Buffer, mask: number): Buffer => {
  const block = Buffer.alloc(blockBytes, mask)
  const bytes = key.length > blockBytes ? hash("sha256", key, "buffer") : key
  bytes.forEach((byte, index) => {
    block[index] = byte ^ mask
  })
  return block
}

/** The function that gives the HMAC, hex, of bytes written as text in an encoding. */
export const hmacUnder = (key: KeyObject): (text: string, encoding: "utf8" | "hex") => string => {
  const bytes = key.export()
  const inner = keyBlock(bytes, 0x36)
  const outer = keyBlock(bytes, 0x5c)
  const hashAfter = (block: Buffer, text: string, encoding: "utf8" | "hex") =>
    hash("sha256", Buffer.concat([block, Buffer.from(text, encoding)]), "hex")
  return (text, encoding) => hashAfter(outer, hashAfter(inner, text, encoding), "hex")
}
