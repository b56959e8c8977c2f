/**
 * Which of several parts a transfer is for. A list knows its payments by wallet, token, receiver and amount only, so
 * another part's payment may look like its own: a transfer pays one line, once. Pure.
 */
import type { PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import type { BatchState, LineState, PartState, TransferName, UnexpectedTransfer } from "./State.ts"

/** A transfer that belongs to something. */
export interface TransferClaim extends TransferName {
  /** Null: no batch paid what it paid. */
  readonly line: { readonly batchId: string; readonly line: number } | null
}

const nameOf = ({ index, txHash }: TransferName): string => `${txHash}:${index}`

/** Whether a part is known by what it pays only. */
export const isList = (part: PartState): boolean => part.export?.format === "csv"

/** What was found without the transfers that belong to anything but these lines. */
export const withoutOthers = (
  batchId: string,
  lines: ReadonlyArray<LineState>,
  search: PayoutSearch,
  claims: ReadonlyArray<TransferClaim>
): PayoutSearch => {
  const isOwn = ({ line: of }: TransferClaim) =>
    of !== null && of.batchId === batchId && lines.some(({ line }) => line === of.line)
  const others = new Set(claims.flatMap((claim) => isOwn(claim) ? [] : [nameOf(claim)]))
  if (others.size === 0) return search
  return {
    ...search,
    executions: search.executions.flatMap((execution) => {
      const { transfers, txHash } = execution
      const left = transfers.filter(({ index }) => !others.has(nameOf({ txHash, index })))
      return left.length === transfers.length
        ? [execution]
        : left.length === 0
        ? []
        : [{ ...execution, transfers: left }]
    })
  }
}

/** Transfers that lines of a batch show as theirs and that are not final. */
export const seenClaims = ({ id, lines }: BatchState): ReadonlyArray<TransferClaim> =>
  lines.flatMap(({ line, status, transferIndex, txHash }) =>
    status === "seen" && txHash !== null && transferIndex !== null
      ? [{ txHash, index: transferIndex, line: { batchId: id, line } }]
      : []
  )

const isLike = (line: LineState, { amount, destination, tokenAddress }: PayoutTransfer): boolean =>
  line.tokenAddress === tokenAddress && line.destination.address === destination && line.units === amount

const linesOfPart = ({ lines }: BatchState, { part }: PartState) => lines.filter((line) => line.part === part)

const isLive = ({ status }: PartState): boolean => status === "out" || status === "seen"

/** Parts with a name of their own on the chain whose payment any of the transfers may be. */
export const namedRivals = (
  batches: ReadonlyArray<BatchState>,
  { executions }: PayoutSearch
): ReadonlyArray<{ readonly batch: BatchState; readonly part: PartState }> => {
  const transfers = executions.flatMap((execution) => execution.transfers)
  return batches.flatMap((batch) =>
    batch.parts.flatMap((part) =>
      part.export !== null && isLive(part) && !isList(part) &&
        linesOfPart(batch, part).some((line) => transfers.some((transfer) => isLike(line, transfer)))
        ? [{ batch, part }]
        : []
    )
  )
}

/**
 * Unexpected transfers of a list that another list waits for: the next look at that one takes them, so they are no
 * duplicates. One that it was searched for already it did not take.
 */
export const awaitedElsewhere = (
  batchId: string,
  number: number,
  batches: ReadonlyArray<BatchState>,
  unexpected: ReadonlyArray<UnexpectedTransfer>,
  { executions }: PayoutSearch
): ReadonlyArray<TransferClaim> => {
  const heightByHash = new Map(executions.map(({ block, txHash }) => [txHash, block.height]))
  const isAwaited = ({ transfer, txHash }: UnexpectedTransfer) =>
    batches.some((batch) =>
      batch.parts.some((part) =>
        isList(part) && isLive(part) && (batch.id !== batchId || part.part !== number) &&
        (part.searchedTo ?? 0n) < (heightByHash.get(txHash) ?? 0n) &&
        linesOfPart(batch, part).some((line) => line.status === "pending" && isLike(line, transfer))
      )
    )
  return unexpected.filter(isAwaited).map(({ transfer: { index }, txHash }) => ({ txHash, index, line: null }))
}
