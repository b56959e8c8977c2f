/**
 * A file for Safe's Transaction Builder, version 1.0: what it is made of, and the checksum by which the builder tells
 * that nobody changed it on its way. Pure.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import type { Call } from "./PayoutCalls.ts"

type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [name: string]: Json }

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

/** A text for each JSON value, whatever the order of its names: not JSON, but what the builder hashes. */
const serialize = (value: Json): string => {
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  if (isList(value)) return `[${value.map(serialize).join(",")}]`
  const names = Object.keys(value).sort()
  return `{${JSON.stringify(names)}${names.map((name) => `${serialize(value[name]!)},`).join("")}}`
}

/** A file as the builder reads it; `meta.checksum` is absent while the checksum is computed. */
export interface SafeBatch {
  readonly [name: string]: Json
  readonly meta: { readonly [name: string]: Json }
}

/** The checksum of a file: of all of it but the checksum and the name, which a person may change. */
export const safeChecksum = (file: SafeBatch): string => {
  const { checksum: _, ...meta } = file.meta
  return `0x${bytesToHex(keccak_256(utf8ToBytes(serialize({ ...file, meta: { ...meta, name: null } }))))}`
}

/** The version of the builder whose files have this form. */
const builderVersion = "1.18.2"

/** The text of a file. `createdAt`: epoch milliseconds. `from`: the Safe, or null where anybody may send the calls. */
export const safeFile = (options: {
  readonly name: string
  readonly description: string
  readonly chainId: number
  readonly createdAt: number
  readonly from: string | null
  readonly calls: ReadonlyArray<Call>
}): string => {
  const { calls, chainId, createdAt, description, from, name } = options
  const file: SafeBatch = {
    version: "1.0",
    chainId: String(chainId),
    createdAt,
    meta: {
      name,
      description,
      txBuilderVersion: builderVersion,
      createdFromSafeAddress: from ?? "",
      createdFromOwnerAddress: ""
    },
    transactions: calls.map(({ data, to, value }) => ({
      to,
      value: String(value),
      data,
      contractMethod: null,
      contractInputsValues: null
    }))
  }
  return JSON.stringify({ ...file, meta: { ...file.meta, checksum: safeChecksum(file) } })
}
