/** Which of the accounts that endpoints name as an owner's jetton wallet is read. Pure. */

export interface WalletDecision {
  /** Null: as many name one account as name another. */
  readonly wallet: string | null
  /** Whether two endpoints name it, and fewer name another. */
  readonly isAgreed: boolean
  /** Whether any endpoint names another. */
  readonly isDisputed: boolean
}

/** `own`: what the endpoint names that is read from; `others`: what others have named. */
export const decideWallet = (own: string, others: ReadonlyArray<string>): WalletDecision => {
  const counts = new Map<string, number>()
  for (const wallet of [own, ...others]) counts.set(wallet, (counts.get(wallet) ?? 0) + 1)
  const [first, second] = [...counts].toSorted(([, one], [, other]) => other - one)
  const isDisputed = second !== undefined
  return second?.[1] === first![1]
    ? { wallet: null, isAgreed: false, isDisputed }
    : { wallet: first![0], isAgreed: first![1] > 1, isDisputed }
}
