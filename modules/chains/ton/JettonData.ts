/** What the master of a jetton says of it: the answer to `get_jetton_data` (TEP-74) with its content (TEP-64). */
import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { type Cell, Dictionary } from "@ton/core"
import { Result } from "effect"
import type { ContractToken } from "../../../runtime/Chains.ts"
import { readSnake } from "./Comment.ts"

/** Content that is kept on the chain begins with this byte, content elsewhere with 1. */
const onChainPrefix = 0

/** Each value is a cell of bytes after this one. */
const snakePrefix = 0

/** Characters of a symbol, at most (`ContractToken`). */
const maximumSymbolLength = 32

const keyOf = (name: string): Buffer => Buffer.from(sha256(utf8ToBytes(name)))

const readValue = (cell: Cell | undefined): string | null => {
  const bytes = cell === undefined || cell.isExotic
    ? null
    : Result.getOrNull(Result.try(() => readSnake(cell.beginParse(), 256)))
  return bytes === null || bytes[0] !== snakePrefix ? null : bytes.subarray(1).toString("utf8")
}

const visible = (text: string | null): string | null =>
  text !== null && /^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(text) ? text.slice(0, maximumSymbolLength) : null

const decimalsOf = (text: string | null): number | null => {
  const decimals = text !== null && /^\d{1,3}$/.test(text) ? Number(text) : 256
  return decimals <= 255 ? decimals : null
}

const nothing: ContractToken = { symbol: null, decimals: null }

/**
 * Symbol and decimals from a master's content. What is kept elsewhere is not fetched: whoever made the contract would
 * choose the address, and could answer differently each time. Then both are null.
 */
export const readJettonContent = (content: Cell): ContractToken =>
  Result.getOrElse(
    Result.try((): ContractToken => {
      const slice = content.beginParse()
      if (slice.loadUint(8) !== onChainPrefix) return nothing
      const values = slice.loadDict(Dictionary.Keys.Buffer(32), Dictionary.Values.Cell())
      return {
        symbol: visible(readValue(values.get(keyOf("symbol")))),
        decimals: decimalsOf(readValue(values.get(keyOf("decimals"))))
      }
    }),
    () => nothing
  )
