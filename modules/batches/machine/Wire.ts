/** The batch as JSON, for answers and events. */
import { type Batch, type BatchLine, partReference } from "../../../schemas/Batch.ts"
import { formatUnits, usdDecimal, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { expiresAt } from "./Expiry.ts"
import type { BatchState, LineState } from "./State.ts"
import { isReleasable, isUnguarded, releasableAt } from "./Release.ts"
import { statusOf } from "./Statuses.ts"

/** Digits of the hash that people compare. */
const codeLength = 8

const totalsOf = (lines: ReadonlyArray<LineState>) =>
  [...Map.groupBy(lines, ({ tokenAddress }) => tokenAddress).values()].map((alike) => ({
    token_id: alike[0]!.tokenId,
    symbol: alike[0]!.symbol,
    token_amount: formatUnits(alike.reduce((sum, { units }) => sum + units, 0n), alike[0]!.decimals)
  }))

export const lineObject = (line: LineState): typeof BatchLine.Encoded => ({
  line: line.line,
  part: line.part,
  status: line.status,
  token_id: line.tokenId,
  symbol: line.symbol,
  token_amount: formatUnits(line.units, line.decimals),
  amount: usdWire(line.amount),
  amount_decimal: usdDecimal(line.amount),
  destination: line.destination,
  source_address: line.source?.address ?? null,
  reference: line.reference,
  refund_id: line.refundId,
  tx_hash: line.txHash
})

/** Exactly the fields of the reference, in its order. */
export const batchObject = (batch: BatchState): typeof Batch.Encoded => {
  const amount = usdMillis(batch.lines.reduce((sum, line) => sum + line.amount, 0n))
  return {
    id: batch.id,
    object: "batch",
    kind: batch.kind,
    status: statusOf(batch),
    environment: batch.environment,
    network: batch.network,
    from: batch.from,
    lines_total: batch.lines.length,
    amount: usdWire(amount),
    amount_decimal: usdDecimal(amount),
    amount_unit: "usd_millis",
    currency: "usd",
    totals: totalsOf(batch.lines),
    parts: batch.parts.map((part) => ({
      part: part.part,
      status: part.status,
      lines: batch.lines.filter((line) => line.part === part.part).length,
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
    expires_at: expiresAt(batch),
    closed_at: batch.closedAt,
    metadata: batch.metadata
  }
}
