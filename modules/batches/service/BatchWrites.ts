/** The rows that a change of a batch brings with it: its changed lines, and the refunds that they pay. */
import { Effect } from "effect"
import type { Write } from "../../../runtime/Commit.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { transactionWrite } from "../../refunds/plugin.ts"
import { type BatchState, isGivenOut, type LineState, partOf } from "../machine.ts"
import { lineWrite } from "../repo.ts"
import type { BatchServices } from "./BatchServices.ts"

/** The rows of the lines that a change of the batch has changed; the version of each rises by one. */
export const lineWrites = (before: BatchState, after: BatchState): ReadonlyArray<Write> =>
  after.lines.flatMap((line, place) =>
    line === before.lines[place] ? [] : [lineWrite(after, { ...line, version: line.version + 1 })]
  )

/**
 * Whether its refund changes with a line: it shows another transaction than before, or none any more, or is released.
 */
const changesRefund = (line: LineState, before: LineState | undefined): boolean =>
  before !== undefined && (line.txHash !== before.txHash || (line.status === "released" && line !== before))

/** Whether a wallet may pay a line: its part was given to one. */
const isLineOut = (batch: BatchState, { part: number }: LineState): boolean => {
  const part = partOf(batch, number)
  return !isPublicError(part) && isGivenOut(part)
}

/**
 * The rows of the refunds that a change of the batch has changed: their line shows another transaction than before, or
 * none any more; their part was given to a wallet, or no wallet can pay it any more; or their line is released, because
 * the batch is over or people released the list. A line that is final is not among them: it is stored together with
 * what it pays.
 */
export const refundWrites = Effect.fnUntraced(function*(
  { refunds }: BatchServices,
  before: BatchState,
  after: BatchState
): Effect.fn.Return<ReadonlyArray<Write>> {
  const changed = after.lines.flatMap((line, place) => {
    const previous = before.lines[place]
    const isOut = isLineOut(after, line)
    return changesRefund(line, previous) || isOut !== isLineOut(before, line)
      ? [{ line, isOut, isTransactionChanged: line.txHash !== previous?.txHash }]
      : []
  })
  const byRefund = new Map(changed.map((each) => [each.line.refundId, each]))
  const lineRefunds = yield* refunds.findAll(changed.flatMap(({ line }) => line.refundId ?? []))
  return lineRefunds.flatMap((refund) => {
    const { isOut, isTransactionChanged, line: { status, txHash } } = byRefund.get(refund.id)!
    if (refund.batch?.id !== after.id) return []
    // A refund that failed because its payment left the chain is not paid by the line: it only leaves the batch.
    const refundTxHash = isTransactionChanged && refund.status === "processing" ? txHash : refund.txHash
    if (status !== "released" && refundTxHash === refund.txHash && isOut === refund.batch.isOut) return []
    const hold = status === "released" ? null : { id: after.id, isOut }
    return [transactionWrite(refund, refundTxHash, hold, after.updatedAt)]
  })
})

/**
 * Wakes the timer of refunds where a refund can no longer be paid by a wallet: it checks whether its money is there.
 */
export const wakeRefunds = (
  { timers }: Pick<BatchServices, "timers">,
  before: BatchState,
  after: BatchState
): Effect.Effect<void> =>
  after.lines.some((line, place) =>
      line.refundId !== null && (isLineOut(before, line) && !isLineOut(after, line) ||
        (line.status === "released" && line !== before.lines[place]))
    )
    ? timers.wake("refunds")
    : Effect.void
