/** JSON in one spelling (RFC 8785), so that bodies of equal meaning have equal fingerprints. */
import { hash } from "node:crypto"

/**
 * `value`, as `JSON.parse` gave it, in canonical form: keys sorted by UTF-16 code units, no white space, numbers in the
 * shortest form that reads back as the same double. A number beyond a double's range, which RFC 8785 leaves undefined,
 * is spelled as JavaScript does (`Infinity`), so that it never equals another value.
 *
 * Recursive: the caller bounds the depth.
 */
export const canonicalJson = (value: unknown): string => {
  if (typeof value === "number") return Number.isFinite(value) ? JSON.stringify(value) : String(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const members = value as Readonly<Record<string, unknown>>
  let text = ""
  for (const key of Object.keys(members).sort()) {
    text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${canonicalJson(members[key])}`
  }
  return text === "" ? "{}" : `${text}}`
}

/** SHA-256, hex, of a text. */
export const sha256 = (text: string): string => hash("sha256", text)
