/**
 * The accounts of the books, and what is counted in them (modules/docs/reference/ledger.md#accounts). Pure.
 *
 * An entry raises the balance of the account that it debits and lowers that of the one that it credits by as much, so
 * it sums to zero by itself. A balance is what was debited less what was credited: above zero for what the chain should
 * show, below zero for what is owed to somebody, above all to the merchant.
 */
import type { BalanceDelta } from "../../../runtime/Commit.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { nativeAddress, tokenAddress } from "../../../schemas/Token.ts"

/** Where money that was received is; `chain:<wallet>` is what a wallet should show of it. */
export const accounts = {
  pending: "merchant_pending",
  available: "merchant_available",
  refundPayable: "refund_payable",
  suspense: "suspense",
  ignored: "suspense:ignored",
  revaluation: "revaluation",
  adjustments: "adjustments"
} as const
export type Account = typeof accounts[keyof typeof accounts]

export const chainPrefix = "chain:"

/** Money whose wallet is not known: it was recorded before wallets were. */
export const unknownWallet = "unknown"

export const chainAccount = (wallet: string | null | undefined): string => chainPrefix + (wallet ?? unknownWallet)

export const isChainAccount = (account: string): boolean => account.startsWith(chainPrefix)

/** Addresses that were spelled before: a checksum costs more than all else that naming an asset takes. */
const spellings = new Map<string, string>()
const maximumSpellings = 10_000

/** The one spelling of a token's address, in which the journal has it; a catalogue may have another. */
const spellingOf = (network: Network, address: string): string => {
  const key = `${network}:${address}`
  const spelled = spellings.get(key)
  if (spelled !== undefined) return spelled
  if (spellings.size >= maximumSpellings) spellings.clear()
  const spelling = tokenAddress(network, address) ?? address
  spellings.set(key, spelling)
  return spelling
}

/**
 * What is counted: a token by its address on its network, in the one spelling of its family, so that what came by a
 * catalogue's word and what left by the chain's is one asset. A row older than version 2026-11-01 knows only the
 * token's id.
 *
 * @example
 * assetOf("base", { address: null }, 1) // => "base:native"
 */
export const assetOf = (
  network: Network,
  token: { readonly address: string | null } | null,
  tokenId: number | null
): string => {
  if (token === null) return `${network}:token-${tokenId ?? "unknown"}`
  return `${network}:${token.address === null ? nativeAddress : spellingOf(network, token.address)}`
}

/** The network of an asset, and the address of its token; null: the network's coin. */
export const readAsset = (asset: string): { readonly network: string; readonly address: string | null } => {
  const end = asset.indexOf(":")
  const address = asset.slice(end + 1)
  return { network: asset.slice(0, end), address: address === nativeAddress ? null : address }
}

/**
 * So many base units, worth so many usd_millis in the books, that the debited balance rises and the credited one falls
 * by; neither is below zero.
 */
export interface Entry {
  readonly debit: string
  readonly credit: string
  readonly asset: string
  readonly units: bigint
  readonly usdMillis: bigint
}

/** Whose books. */
export interface BookOwner {
  readonly merchantId: number
  readonly environment: Environment
}

/** What entries move of balances. */
export const balanceDeltas = (
  { environment, merchantId }: BookOwner,
  entries: ReadonlyArray<Entry>
): ReadonlyArray<BalanceDelta> =>
  entries.flatMap(({ asset, credit, debit, units, usdMillis }) => [
    { merchantId, environment, account: debit, asset, units, usdMillis },
    { merchantId, environment, account: credit, asset, units: -units, usdMillis: -usdMillis }
  ])

/** Accounts of what is the merchant's to spend or lose. */
const ownAccounts: ReadonlySet<string> = new Set([accounts.available, accounts.ignored])

/**
 * The same deltas, where what they take from the merchant's own accounts and from a wallet must be there when they are
 * stored: dollars, and units as well where `units` says so. For bookings that take no more than these accounts had when
 * they were read. Money of an unknown wallet is valued by what is available, so its account need not have it.
 */
export const takenFromHeld = (
  deltas: ReadonlyArray<BalanceDelta>,
  { units }: { readonly units: boolean }
): ReadonlyArray<BalanceDelta> =>
  deltas.map((delta) => {
    const { account, units: moved, usdMillis } = delta
    const isWallet = isChainAccount(account) && account !== chainAccount(null)
    const isTaken = ownAccounts.has(account) ? moved > 0n || usdMillis > 0n : isWallet && (moved < 0n || usdMillis < 0n)
    return isTaken ? { ...delta, mustHold: { units, usdMillis: true } } : delta
  })
