/** The batch as JSON, for answers and events. */
import { type Batch, type BatchLine, partReference } from "../../../schemas/Batch.ts"
import { formatUnits, usdDecimal, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { expiresAt } from "./Expiry.ts"
import type { BatchState, LineState } from "./State.ts"
import { type BatchSummary, type LineSum, summaryOf } from "./Summary.ts"
import { isReleasable, isUnguarded, releasableAt } from "./Release.ts"

/** Digits of the hash that people compare. */
const codeLength = 8

const totalsOf = (sums: ReadonlyArray<LineSum>) =>
  [...Map.groupBy(sums, ({ tokenAddress }) => tokenAddress).values()].map((alike) => ({
    token_id: alike[0]!.tokenId,
    symbol: alike[0]!.symbol,
    token_amount: formatUnits(alike.reduce((sum, { units }) => sum + units, 0n), alike[0]!.decimals)
  }))

const linesIn = (sums: ReadonlyArray<LineSum>): number => sums.reduce((count, { lines }) => count + lines, 0)

export const lineObject = (line: LineState): typeof BatchLine.Encoded => ({
  line: line.line,
  part: line.part,
  status: line.status,
  token_id: line.tokenId,
  symbol: line.symbol,
  token_address: line.tokenAddress,
  token_amount: formatUnits(line.units, line.decimals),
  units: line.units.toString(),
  amount: usdWire(line.amount),
  amount_decimal: usdDecimal(line.amount),
  destination: line.destination,
  source_address: line.source?.address ?? null,
  reference: line.reference,
  refund_id: line.refundId,
  tx_hash: line.txHash
})

/** Exactly the fields of the reference, in its order. */
export const summaryObject = (batch: BatchSummary): typeof Batch.Encoded => {
  const { sums } = batch
  const amount = usdMillis(sums.reduce((sum, each) => sum + each.amount, 0n))
  return {
    id: batch.id,
    object: "batch",
    kind: batch.kind,
    status: batch.status,
    environment: batch.environment,
    network: batch.network,
    from: batch.from,
    lines_total: linesIn(sums),
    amount: usdWire(amount),
    amount_decimal: usdDecimal(amount),
    amount_unit: "usd_millis",
    currency: "usd",
    totals: totalsOf(sums),
    parts: batch.parts.map((part) => ({
      part: part.part,
      status: part.status,
      lines: linesIn(sums.filter((each) => each.part === part.part)),
      reference: partReference({ batchId: batch.id, part: part.part }),
      format: part.export?.format ?? null,
      unguarded: isUnguarded(batch, part),
      valid_until: part.export?.validUntil ?? null,
      tx_hash: part.txHash,
      fee: part.fee?.toString() ?? null,
      releasable_at: isReleasable(batch, part) ? releasableAt(part) : null,
      releases: part.releases.map(({ actor, at, note }) => ({ by: actor, at, note }))
    })),
    content_hash: batch.contentHash,
    approval_code: batch.contentHash.slice(0, codeLength),
    approvals_required: batch.approvalsRequired,
    approvals: batch.approvals.map(({ actor, at }) => ({ by: actor, at })),
    valid_for_seconds: batch.validForSeconds,
    created_by: batch.createdBy,
    created_at: batch.createdAt,
    updated_at: batch.updatedAt,
    expires_at: expiresAt(batch, batch.status),
    closed_at: batch.closedAt,
    metadata: batch.metadata
  }
}

export const batchObject = (batch: BatchState): typeof Batch.Encoded => summaryObject(summaryOf(batch))
