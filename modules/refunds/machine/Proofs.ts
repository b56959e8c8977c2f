/** Which transfer on the chain proves that a refund was paid: nobody's word does. Pure. */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { tokenAddress } from "../../../schemas/Token.ts"
import { sentUnits, type TermsRefund } from "./PaymentRefunds.ts"

/** A transfer to the refund's destination, as the chain has it. */
export interface ChainTransfer {
  readonly index: number
  /** In the one spelling of its family; null for the network's own coin. */
  readonly tokenAddress: string | null
  readonly amount: bigint
  /** Who sent it; null: the network does not say. */
  readonly from: string | null
  /** Epoch seconds of its block. */
  readonly time: number
  readonly memos: ReadonlyArray<string>
}

/** What is known of the transaction that is said to have paid a refund. */
export interface ReportedTransaction {
  /** What it brought to the destination of the refund. */
  readonly transfers: ReadonlyArray<ChainTransfer>
  readonly isFinal: boolean
  /** The transfer that is meant; null: the one that fits. */
  readonly index: number | null
  /** Transfers of it that have paid something else, or that a line of a batch shows as its own. */
  readonly used: ReadonlySet<number>
  /** Why the wallet that sent a transfer can have paid nothing of this merchant; null: it can. */
  readonly senderRefusal: (transfer: ChainTransfer) => PublicError | null
  /** Epoch seconds by the chain's clock: nothing that was sent earlier can be for this refund. */
  readonly notBefore: number
}

const refuse = (message: string): PublicError =>
  publicError("VALIDATION_ERROR", { message: `report.tx_hash: ${message}`, param: "report.tx_hash" })

const isMeantFor = ({ destination }: TermsRefund, { memos }: ChainTransfer): boolean =>
  destination?.memo == null || memos.some((memo) => memo.trim() === destination.memo)

/** Why none of the transfers pays the refund, by the first thing that is wrong with what came closest. */
const refusal = (
  refund: TermsRefund,
  token: string | null,
  { notBefore, transfers, used }: ReportedTransaction
): PublicError => {
  const { decimals, symbol } = refund.token ?? { decimals: 0, symbol: "" }
  const units = sentUnits(refund.terms)
  if (transfers.length === 0) {
    return refuse("brought nothing to the destination in that block. Report the block that the transaction is in")
  }
  const ofToken = transfers.filter((each) => each.tokenAddress === token)
  if (ofToken.length === 0) return refuse(`brought another token: the refund is in ${symbol}`)
  const ofAmount = ofToken.filter(({ amount }) => amount === units)
  if (ofAmount.length === 0) {
    return refuse(
      `brought ${formatUnits(ofToken[0]!.amount, decimals)} ${symbol}, and exactly ${
        formatUnits(units, decimals)
      } are to be sent`
    )
  }
  const withMemo = ofAmount.filter((each) => isMeantFor(refund, each))
  if (withMemo.length === 0) return refuse("lacks the memo of the destination")
  if (withMemo.every(({ time }) => time < notBefore)) return refuse("was sent before the refund was approved")
  return withMemo.every(({ index }) => used.has(index))
    ? refuse("has paid another refund or payout, and pays one only")
    : refuse("has no such transfer: leave index out, or name the one that was sent to the destination")
}

/**
 * The transfer that proves the refund: to its destination with its memo, in its token, of exactly the units that are to
 * be sent, after it was approved, from a wallet that pays for its merchant, final, and of no other refund. Errors:
 * `VALIDATION_ERROR` that says what is wrong, `INVALID_TRANSITION` where it is not final yet.
 */
export const proofOf = (refund: TermsRefund, transaction: ReportedTransaction): ChainTransfer | PublicError => {
  const { network, tokenAddress: address } = refund.terms
  const token = address === null ? null : tokenAddress(network, address) ?? address
  const units = sentUnits(refund.terms)
  const fitting = transaction.transfers.filter((each) =>
    (transaction.index === null || each.index === transaction.index) && !transaction.used.has(each.index) &&
    each.tokenAddress === token && each.amount === units && each.time >= transaction.notBefore &&
    isMeantFor(refund, each)
  )
  if (fitting.length === 0) return refusal(refund, token, transaction)
  const proof = fitting.find((each) => transaction.senderRefusal(each) === null)
  if (proof === undefined) return transaction.senderRefusal(fitting[0]!)!
  return transaction.isFinal ? proof : publicError("INVALID_TRANSITION", {
    message: "The transaction is not final yet: report it again later",
    retryAfterSeconds: 60
  })
}
