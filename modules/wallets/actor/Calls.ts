/** What callers of `Wallets` give and get. */
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import type { ForwarderRecovery, ReceivingWallet, WalletKind } from "../../../schemas/Wallet.ts"

/** A wallet as its owner gives it. */
export interface NewWallet {
  readonly kind: WalletKind
  readonly value: string
  readonly startIndex: number | undefined
}

/** A call that changes a wallet, and who made it. */
export interface WalletCall<A> extends IdempotentCall<A> {
  readonly actor: string
}

/** A wallet that was set; `recovery`: of a forwarder, the document that must be kept. */
export interface SetWallet {
  readonly wallet: ReceivingWallet
  readonly recovery: ForwarderRecovery | null
}
