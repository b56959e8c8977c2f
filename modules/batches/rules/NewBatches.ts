/** A batch as it is made: its lines in parts. Pure. */
import type { BatchKind } from "../../../schemas/Batch.ts"
import type { Metadata } from "../../../schemas/Invoice.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { expiresAt } from "../machine/Expiry.ts"
import type { BatchState, LineState, PartState } from "../machine/State.ts"
import { statusOf } from "../machine/Statuses.ts"

/** A line before it has its place. */
export type PlannedLine = Omit<LineState, "line" | "part" | "status" | "transferIndex" | "txHash" | "version">

export interface NewBatch {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly kind: BatchKind
  readonly network: Network
  readonly from: string | null
  readonly validForSeconds: number
  readonly metadata: Metadata
  readonly contentHash: string
  readonly approvalsRequired: number
  readonly lines: ReadonlyArray<LineState>
  /** Of a collect: nothing that it collects has left in an earlier block. */
  readonly searchedTo: bigint | null
  readonly createdBy: string
  readonly now: number
}

/** Lines in their order, each in its part; `sizes` sum to their number. */
export const newLines = (
  planned: ReadonlyArray<PlannedLine>,
  sizes: ReadonlyArray<number>
): ReadonlyArray<LineState> => {
  const parts = sizes.flatMap((size, place) => Array.from({ length: size }, () => place + 1))
  return planned.map((line, place) => ({
    ...line,
    line: place + 1,
    part: parts[place]!,
    version: 1,
    status: "pending",
    txHash: null,
    transferIndex: null
  }))
}

export const newBatch = (batch: NewBatch): BatchState => {
  const made = readyBatch(batch)
  return { ...made, dueAt: expiresAt(made, statusOf(made)) }
}

const readyBatch = ({ lines, now, searchedTo, ...batch }: NewBatch): BatchState => ({
  ...batch,
  version: 1,
  approvals: [],
  isCanceled: false,
  isExpired: false,
  parts: [...new Set(lines.map(({ part }) => part))].map((part): PartState => ({
    part,
    status: "ready",
    export: null,
    searchedTo,
    hint: null,
    txHash: null,
    fee: null,
    unexpected: [],
    isWatched: false,
    checkAt: null,
    releases: []
  })),
  lines,
  createdAt: now,
  updatedAt: now,
  closedAt: null,
  dueAt: null
})
