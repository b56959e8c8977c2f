/** TON. A wallet and a jetton master are accounts, whose address people meet in several spellings (TEP-2). */
import { readTonAddress, type TonAddress, tonAddressText, tonRawAddressText } from "../../TonAddress.ts"
import type { Environment } from "../Environment.ts"
import type { NetworkFamily } from "../NetworkFamily.ts"
import { readHexHash } from "../TransactionHash.ts"

/** Null for the account of zeros, which nobody owns. */
const readAccount = (text: string): TonAddress | null => {
  const address = readTonAddress(text)
  return address === null || address.hash.every((byte) => byte === 0) ? null : address
}

/** A raw address has no flags: it is shown as one that does not bounce, as wallets are paid. */
const readWalletAddress = (text: string, environment: Environment): string | null => {
  const address = readAccount(text)
  if (address === null) return null
  const flags = address.flags ?? { bounceable: false, testOnly: environment === "devnet" }
  return flags.testOnly && environment === "mainnet" ? null : tonAddressText(address, flags)
}

/** Raw, which is the only spelling without flags: `0:` and 64 hex digits in lower case. */
const rawAddress = (text: string): string | null => {
  const account = readAccount(text)
  return account === null ? null : tonRawAddressText(account)
}

/** Explorers write the 32 bytes in base64, some in its form for links. */
const readHash = (text: string): string | null =>
  /^[\w+/-]{43}=?$/.test(text)
    ? readHexHash(Buffer.from(text, "base64").toString("hex"), "")
    : readHexHash(text, "")

export const tonFamily: NetworkFamily<"ton", "ton"> = {
  name: "ton",
  // TON documentation, "Deep links"; the comment of a transfer.
  paymentUriScheme: "ton",
  hasMemo: true,
  tokenType: "ton",
  readAddress: readWalletAddress,
  accountKey: (address) => rawAddress(address) ?? address,
  ownerKeys: ({ address, memo }) => memo === null ? [] : [rawAddress(address) ?? address],
  addressKeys: (address) => [rawAddress(address) ?? address],
  // A wallet is a contract like any other: only the chain knows which.
  isWallet: () => true,
  contractKey: rawAddress,
  tokenAddress: rawAddress,
  tokenKey: (text) => rawAddress(text) ?? text,
  isCaseSensitive: true,
  readTransactionHash: readHash,
  transactionHashForm: "64 hex digits without 0x, or the same 32 bytes in base64",
  hashPrefix: ""
}
