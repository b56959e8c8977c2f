/** Asking the chain whether a wallet is one: a jetton's wallet or another contract would keep what payors send. */
import { Effect } from "effect"
import type { DriverError, WalletRef } from "../../../runtime/Chains.ts"
import { batchesOf } from "./Reader.ts"
import { accountAt, accountsPerCall, readWalletStates, runGetMethod, type Toncenter } from "./Toncenter.ts"

/** The accounts of a wallet that are looked at: of a list all, of a key's subwallets the one that its owner gave. */
const accountsOf = (wallet: WalletRef, listSize: number): ReadonlyArray<string> => {
  if (wallet._tag === "SharedWallet") return [wallet.accountKey]
  const count = wallet.size !== null && wallet.size <= listSize ? wallet.size : 1
  return Array.from({ length: count }, (_, index) => wallet.derive(index).matchKey)
}

/** Whether a contract keeps a jetton for a wallet, as it says itself: `get_wallet_data` of TEP-74. */
const keepsJetton = (client: Toncenter, account: string): Effect.Effect<boolean, DriverError> =>
  Effect.map(
    runGetMethod(client, account, "get_wallet_data"),
    (data) => data !== null && accountAt(data, 2) !== null
  )

/** Whether an account is the one in which a wallet keeps a jetton. One that the chain has not seen is not. */
export const isJettonWallet = Effect.fnUntraced(function*(
  client: Toncenter,
  account: string
): Effect.fn.Return<boolean, DriverError> {
  const states = yield* readWalletStates(client, [account])
  const isContract = states.some((each) => each.account === account && each.isActive && !each.isWallet)
  return isContract && (yield* keepsJetton(client, account))
})

/**
 * A sentence for people about the first account that is no wallet; null: nothing speaks against any. An account that
 * the chain has not seen yet, or that has no code yet, is as a new wallet is. `listSize`: addresses of a list, at most.
 */
export const checkWallet = Effect.fnUntraced(function*(
  client: Toncenter,
  wallet: WalletRef,
  listSize: number
): Effect.fn.Return<string | null, DriverError> {
  const accounts = accountsOf(wallet, listSize)
  for (const batch of batchesOf(accounts, accountsPerCall)) {
    const states = yield* readWalletStates(client, batch)
    const suspect = states.find(({ account, isActive, isWallet }) =>
      isActive && !isWallet && account !== null && batch.includes(account)
    )
    if (suspect?.account == null) continue
    const place = accounts.length === 1 ? "this" : `address ${accounts.indexOf(suspect.account) + 1} of the list`
    return (yield* keepsJetton(client, suspect.account))
      ? `${place} is the account in which a wallet keeps one jetton, and not the wallet: give the wallet's own address`
      : `${place} is a contract on the chain and no wallet that is known: give the address of a wallet (v3, v4 or v5)`
  }
  return null
})
