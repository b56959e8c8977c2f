/** What callers of `Wallets` give and get. */
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import type { Proposer } from "../../../schemas/Proposals.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"

/** A wallet as its owner gives it. */
export interface NewWallet {
  readonly kind: WalletKind
  readonly value: string
  readonly startIndex: number | undefined
}

/** A call that changes a wallet, and who made it. */
export interface WalletCall<A> extends IdempotentCall<A> {
  readonly by: Proposer
}
