/** The transfers to watched addresses that a transaction made. Pure. */
import { baseUnits } from "../../../schemas/Money.ts"
import type { LocatedTransfer } from "../../../runtime/Chains.ts"
import { nativeCoinType } from "./Identifiers.ts"
import type { BalanceChange, CheckpointedTransaction } from "./Messages.ts"

/**
 * What names a checkpoint where a hash is expected. A list of transactions names checkpoints by number, and a
 * checkpoint is final: no other one ever has its number.
 */
export const checkpointName = (height: bigint): string => height.toString()

const keyOf = ({ address, coinType }: BalanceChange): string => `${address} ${coinType}`

/** One change for each address and coin, in an order that does not depend on the node. */
const mergedChanges = (changes: ReadonlyArray<BalanceChange>): ReadonlyArray<BalanceChange> =>
  [...Map.groupBy(changes, keyOf)]
    .map(([, alike]) => ({ ...alike[0]!, amount: alike.reduce((sum, { amount }) => sum + amount, 0n) }))
    .sort((one, other) => keyOf(one) < keyOf(other) ? -1 : 1)

/**
 * What arrived at watched addresses. A transaction that failed credits nothing, and neither does one that an address
 * sent itself or spent from: what is left of it there (change, a rebate of storage, the other side of a swap) is its
 * owner's own money. A transfer's `index` is the place of its address and coin among all that changed.
 */
export const transfersOf = (
  transaction: CheckpointedTransaction,
  has: (matchKey: string) => boolean
): ReadonlyArray<LocatedTransfer> => {
  const { balanceChanges, checkpoint, digest, isSuccess, sender, time } = transaction
  if (!isSuccess || !balanceChanges.some(({ address }) => has(address))) return []
  const changes = mergedChanges(balanceChanges)
  const spenders = new Set(changes.filter(({ amount }) => amount < 0n).map(({ address }) => address))
  return changes.flatMap(({ address, amount, coinType }, index): ReadonlyArray<LocatedTransfer> =>
    amount <= 0n || address === sender || spenders.has(address) || !has(address) ? [] : [{
      txHash: digest,
      index,
      kind: "direct",
      matchKey: address,
      tokenAddress: coinType === nativeCoinType ? null : coinType,
      amount: baseUnits(amount),
      from: sender,
      at: { height: checkpoint, hash: checkpointName(checkpoint), time }
    }]
  )
}
