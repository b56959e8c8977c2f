/** What the account of a mint says of its token: SPL Token, Token-2022 with its extensions, and Metaplex. Pure. */
import { base58 } from "@scure/base"
import type { ContractToken } from "../../../runtime/Chains.ts"
import { token2022Program, tokenPrograms } from "./Addresses.ts"

/** An account, as `getMultipleAccounts` shows it. */
export interface Account {
  /** The program that it belongs to. */
  readonly owner: string
  readonly isExecutable: boolean
  readonly data: Uint8Array
}

/** Layout of a mint: `spl_token::state::Mint`. */
const mintLength = 82
const decimalsAt = 44
const isInitializedAt = 45
/** Token-2022 pads a mint with extensions to the length of a token account, then says what it is. */
const accountLength = 165
const mintType = 1
/** Each extension: type and length of 2 bytes each, then the value (`spl_token_2022::extension`). */
const extensionsAt = accountLength + 1
const metadataExtension = 19

/** Characters of a symbol that are kept: the longest in token lists have 20. */
const maximumSymbolLength = 32

/** Controls, marks of direction, unassigned characters; and white space. */
const invisible = /[\p{C}\p{Z}\s]+/gu

const isMint = ({ data, owner }: Account): boolean =>
  tokenPrograms.has(owner) && data[isInitializedAt] === 1 &&
  (data.length === mintLength || (data.length > accountLength && data[accountLength] === mintType))

/** Decimal places of a token; null: the account is no mint. */
export const decimalsOf = (account: Account | null): number | null =>
  account !== null && isMint(account) ? account.data[decimalsAt]! : null

/** A text with its length of 4 bytes before it, and where it ends; null: it does not fit. */
const readText = (data: Uint8Array, start: number): { readonly text: string; readonly end: number } | null => {
  if (start + 4 > data.length) return null
  const length = new DataView(data.buffer, data.byteOffset).getUint32(start, true)
  const end = start + 4 + length
  if (end > data.length) return null
  return { text: Buffer.from(data.subarray(start + 4, end)).toString("utf8"), end }
}

/** Name, then symbol. */
const readSymbolAfterName = (data: Uint8Array, start: number): string | null => {
  const name = readText(data, start)
  const symbol = name === null ? null : readText(data, name.end)
  if (symbol === null) return null
  const visible = [...symbol.text.replace(invisible, "")].slice(0, maximumSymbolLength).join("")
  return visible === "" ? null : visible
}

/** The value of an extension of a Token-2022 mint; null: it has none of the type. */
const extensionOf = (data: Uint8Array, type: number): Uint8Array | null => {
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  for (let at = extensionsAt; at + 4 <= data.length;) {
    const end = at + 4 + view.getUint16(at + 2, true)
    if (end > data.length) return null
    if (view.getUint16(at, true) === type) return data.subarray(at + 4, end)
    at = end
  }
  return null
}

/**
 * Bytes that extensions of a Token-2022 mint bring into each of its token accounts, with 4 of type and length
 * (`ExtensionType::get_required_init_account_extensions`): a transfer fee, no transfers, a hook, a pause.
 */
const accountExtensions: ReadonlyMap<number, number> = new Map([[1, 12], [9, 4], [14, 5], [26, 4]])
/** Every associated token account of Token-2022 says that its owner never changes. */
const immutableOwnerLength = 4

/** Bytes of a token account that is made for a mint. */
export const tokenAccountLength = (mint: Account): number =>
  mint.owner === token2022Program
    ? [...accountExtensions].reduce(
      (sum, [type, length]) => extensionOf(mint.data, type) === null ? sum : sum + length,
      extensionsAt + immutableOwnerLength
    )
    : accountLength

/** Layout of a token account: 32 bytes of the mint and of the owner, 8 of the amount; then, among others, its state. */
const holderAt = 32
const amountAt = 64
const stateAt = 108
const frozenState = 2

/** What a token account says. */
export interface TokenAccount {
  readonly holder: string
  readonly amount: bigint
  readonly isFrozen: boolean
}

/** Null: the account keeps no token. */
export const tokenAccountOf = (account: Account | null): TokenAccount | null => {
  if (account === null || !tokenPrograms.has(account.owner) || account.data.length < accountLength) return null
  const { data } = account
  return {
    holder: base58.encode(data.subarray(holderAt, amountAt)),
    amount: new DataView(data.buffer, data.byteOffset).getBigUint64(amountAt, true),
    isFrozen: data[stateAt] === frozenState
  }
}

/** Two keys stand before the name in both: who may change it, and the mint. Metaplex has a byte of type first. */
const nameAt = 64
const metaplexNameAt = 65

/** The symbol in a Metaplex account, if that account is about this mint. */
const metaplexSymbol = (mint: string, account: Account | null): string | null => {
  if (account === null || account.data.length < metaplexNameAt) return null
  return base58.encode(account.data.subarray(33, metaplexNameAt)) === mint
    ? readSymbolAfterName(account.data, metaplexNameAt)
    : null
}

/**
 * What is said of a token: untrusted, but short and visible. `metadata`: the account of Metaplex beside the mint.
 */
export const contractToken = (mint: string, account: Account | null, metadata: Account | null): ContractToken => {
  const decimals = decimalsOf(account)
  if (account === null || decimals === null) return { symbol: null, decimals: null }
  const extension = extensionOf(account.data, metadataExtension)
  const symbol = extension === null ? metaplexSymbol(mint, metadata) : readSymbolAfterName(extension, nameAt)
  return { symbol, decimals }
}
