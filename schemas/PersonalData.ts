/** What stands in place of a person's data once it is erased. Pure. */
import type { Schema } from "effect"
import type { Environment } from "./Network.ts"

/** A customer, by the name that the merchant gave. */
export interface Person {
  readonly merchantId: number
  readonly environment: Environment
  readonly customerId: string
}

/** A keyed hash of a value: equal values of one customer have equal hashes, and nobody without the key finds a value. */
export type HashOf = (value: string) => string

/** How a hash is told from a value: erasing what is erased changes nothing. */
const anonymous = /^anon_[0-9a-f]{32}$/

export const isAnonymous = (value: string): boolean => anonymous.test(value)

/** The hash in the form that stands in place of a value; `hmac` is in hex. */
export const anonymousForm = (hmac: string): string => `anon_${hmac.slice(0, 32)}`

/** Null and the empty text say nothing of anybody, and stay. */
export const hashText = <T extends string | null>(value: T, hashOf: HashOf): T | string =>
  value === null || value === "" ? value : hashOf(value)

/** JSON with the hash of each text and number in its place. Names, truth values and nulls stay, and so its shape. */
export const hashJson = (value: Schema.Json, hashOf: HashOf): Schema.Json => {
  if (typeof value === "string") return hashText(value, hashOf)
  if (typeof value === "number") return hashOf(String(value))
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((each) => hashJson(each, hashOf))
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hashJson(each, hashOf)]))
}

/** Some fields of an object on the wire: all of them, or those of previous attributes. */
export type WireFields = Readonly<Record<string, unknown>>

/** An object of an event, or some fields of it, with hashes in place of a person's data. Pure. */
export type Redact = (fields: WireFields, hashOf: HashOf) => WireFields

/** The same fields in the same order, with each one that `changes` names as it says; others stay. */
export const replaceFields = (
  fields: WireFields,
  changes: Readonly<Record<string, (value: any) => unknown>>
): WireFields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      Object.hasOwn(changes, name) ? changes[name]!(value) : value
    ])
  )
