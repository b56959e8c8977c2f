/** What is around the steps of a batch: what people approve, what the audit log keeps, what events tell. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import { type EventDraft, previousAttributes } from "../../schemas/Event.ts"
import { uuidOf } from "../../schemas/NamedUuid.ts"
import { batchObject, type BatchState, isOpen, type LineState, statusOf, type TransferName } from "./machine.ts"

export { approvedBatch } from "./rules/ApprovalText.ts"
export { dayOf, limitRefusal, type PayoutLimits } from "./rules/Limits.ts"
export { type NewBatch, newBatch, newLines, type PlannedLine } from "./rules/NewBatches.ts"
export { driverPart } from "./rules/Parts.ts"

/**
 * The id of the exception about a transfer. It comes from the merchant and the transfer alone, so a transfer has one
 * exception even where its line changes, and what one merchant sees of a transfer names nothing of another.
 */
export const exceptionIdOf = (
  { environment, merchantId, network }: Pick<BatchState, "environment" | "merchantId" | "network">,
  { index, txHash }: TransferName
): string => `exc_${uuidOf(`payout:${merchantId}:${network}:${environment}:${txHash}:${index}`)}`

/** What people approve, as canonical JSON takes it. */
export const approvedContent = (
  batch: Pick<BatchState, "environment" | "from" | "id" | "kind" | "merchantId" | "network" | "validForSeconds">,
  lines: ReadonlyArray<Omit<LineState, "status" | "txHash" | "transferIndex" | "version">>
) => ({
  id: batch.id,
  kind: batch.kind,
  merchant_id: batch.merchantId,
  environment: batch.environment,
  network: batch.network,
  from: batch.from,
  valid_for_seconds: batch.validForSeconds,
  lines: lines.map(({ amount, destination, part, reference, refundId, source, tokenAddress, units }) => ({
    part,
    token: tokenAddress,
    units: units.toString(),
    usd_millis: amount.toString(),
    destination,
    source: source?.address ?? null,
    reference,
    refund_id: refundId
  }))
})

/** What the audit log keeps of a batch. */
const auditFieldsOf = (batch: BatchState) => ({
  status: statusOf(batch),
  content_hash: batch.contentHash,
  lines: batch.lines.length,
  approved_by: batch.approvals.map(({ actor }) => actor),
  parts: batch.parts.map(({ export: exported, part, releases, status }) => ({
    part,
    status,
    format: exported?.format ?? null,
    attempt: exported?.attempt ?? null,
    ...(releases.length === 0 ? {} : { released_by: releases.map(({ actor, note }) => ({ actor, note })) })
  }))
})

/** `before` is null for a new one. */
export const auditActOf = (
  before: BatchState | null,
  after: BatchState,
  verb: "approve" | "cancel" | "create" | "export" | "release",
  actor: string,
  requestId: string | null
): AuditAct => ({
  merchantId: after.merchantId,
  environment: after.environment,
  actor,
  action: `batch.${verb}`,
  subject: { object: "batch", id: after.id },
  before: before === null ? {} : auditFieldsOf(before),
  after: auditFieldsOf(after),
  requestId
})

/** What a change tells those who ask for events of batches; nothing where it shows in no field. */
export const eventsOf = (before: BatchState | null, after: BatchState): ReadonlyArray<EventDraft> => {
  const object = batchObject(after)
  if (before === null) return [{ type: "batch.created", object, previousAttributes: {} }]
  const changed = previousAttributes(batchObject(before), object)
  if (Object.keys(changed).every((field) => field === "updated_at")) return []
  const draft = (type: EventDraft["type"]): EventDraft => ({ type, object, previousAttributes: changed })
  const isClosed = isOpen(before) && !isOpen(after)
  return [
    draft("batch.updated"),
    ...(isClosed && statusOf(after) === "paid" ? [draft("batch.paid")] : []),
    ...(isClosed ? [draft("batch.closed")] : [])
  ]
}
