/** Spellings of TON accounts: one for keys and comparisons, one for people (TEP-2). */
import { base64, hex } from "@scure/base"
import { Result } from "effect"
import type { Environment } from "../../../schemas/Network.ts"
import { readTonAddress, type TonAccount, tonAddressText } from "../../../schemas/TonAddress.ts"

/** The key of an account: workchain, `:`, and 64 hex digits in lower case. */
export const accountKeyOf = ({ hash, workchain }: TonAccount): string => `${workchain}:${hex.encode(hash)}`

/** The key of the account that an address in any spelling names; null when it is no address. */
export const readAccountKey = (text: string): string | null => {
  const account = readTonAddress(text)
  return account === null ? null : accountKeyOf(account)
}

/** An account as its owner's wallet shows it: it does not bounce, and says where it is for test networks only. */
export const walletAddressOf = (account: TonAccount, environment: Environment): string =>
  tonAddressText(account, { bounceable: false, testOnly: environment === "devnet" })

/** {@link walletAddressOf} of an account's key; null when it is none. */
export const walletAddressOfKey = (key: string, environment: Environment): string | null => {
  const account = readTonAddress(key)
  return account === null ? null : walletAddressOf(account, environment)
}

/** A hash of 32 bytes that an API spells in base64, as hex in lower case; null when it is none. */
export const readHash = (text: string): string | null => {
  const bytes = Result.getOrNull(Result.try(() => base64.decode(text)))
  return bytes?.length === 32 ? hex.encode(bytes) : null
}
