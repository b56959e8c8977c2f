/** What tests of chain drivers share: what a driver watches, and the parts of one that are of either kind. */
import { Effect } from "effect"
import type {
  BlockHistory,
  ChainDriver,
  IndexedWallet,
  ReceiveTarget,
  TransferIdentity,
  WatchedAccount,
  WatchSet
} from "../../runtime/Chains.ts"

/** The target that a hexadecimal address of forty equal digits is, for rigs of the EVM family. */
export const evmTarget = (invoice: number): ReceiveTarget => {
  const address = `0x${"abcdef".charAt(invoice).repeat(40)}`
  return { address, matchKey: address, memo: null }
}

/** A fixed set of keys; each is an open account too, unless `accounts` says which are. */
export const watching = (keys: ReadonlyArray<string>, more: {
  readonly accounts?: ReadonlyArray<WatchedAccount>
  readonly tokens?: ReadonlyArray<string>
  readonly transfersAbove?: (height: bigint) => ReadonlyArray<TransferIdentity & { readonly height: bigint }>
  readonly refresh?: Effect.Effect<void>
} = {}): WatchSet => {
  const set = new Set(keys)
  const accounts = more.accounts ?? keys.map((key) => ({ key, isOpen: true }))
  return {
    has: (key) => set.has(key),
    accounts: () => accounts,
    tokens: () => more.tokens ?? [],
    transfersAbove: (height) => Effect.sync(() => more.transfersAbove?.(height) ?? []),
    refresh: more.refresh ?? Effect.void
  }
}

/** How a driver reads a block again; dies for one that asks for accounts. */
export const blockHistoryOf = ({ history, network }: ChainDriver): BlockHistory => {
  if (history._tag === "AccountHistory") throw new Error(`${network} is not read by blocks`)
  return history
}

/** A driver that reads blocks again another way. */
export const readingBlocks = (
  driver: ChainDriver,
  wrap: (readBlock: BlockHistory["readBlock"]) => BlockHistory["readBlock"]
): Pick<ChainDriver, "history"> => ({
  history: { _tag: "BlockHistory", readBlock: wrap(blockHistoryOf(driver).readBlock) }
})

/** The deployment's wallet that a driver was given, which has an address for each invoice. */
export const indexedWalletOf = ({ network, wallet }: ChainDriver): IndexedWallet => {
  if (wallet?._tag !== "IndexedWallet") throw new Error(`${network} has no wallet with many addresses`)
  return wallet
}
