/** Identifiers that follow from what they name. */
import { createHash } from "node:crypto"

/**
 * The UUID of a name (RFC 9562, version 8: SHA-256 of it): the same name gives the same id on every instance, so that
 * a row has one primary key, made of what must be unique.
 */
export const uuidOf = (name: string): string => {
  const hex = createHash("sha256").update(name).digest("hex")
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`
}
