/**
 * The release of a part that no chain limits: people say that what is not paid of it will not be
 * (modules/docs/reference/batches.md#release-of-a-list). Pure.
 */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { BatchCommand, BatchState, LineState, PartState } from "./State.ts"

/** Seconds after its export for which a list is not released: whoever has it pays it within days, or forgets it. */
export const releaseSeconds = 7 * 86_400

/** Whether its last export can be executed late, and twice. */
export const isUnguarded = ({ kind }: Pick<BatchState, "kind">, part: PartState): boolean =>
  kind !== "collect" && part.export !== null && part.export.validUntil === null

/** Epoch seconds of the merchant's clock from which on people may release it. */
export const releasableAt = (part: PartState): number => (part.export?.exportedAt ?? 0) + releaseSeconds

/** Whether there is something to release. */
export const isReleasable = (batch: Pick<BatchState, "kind">, part: PartState): boolean =>
  isUnguarded(batch, part) && (part.status === "out" || part.status === "seen")

/** Why nobody may say so now; null: they may. */
const refusalOf = (
  batch: BatchState,
  part: PartState,
  lines: ReadonlyArray<LineState>,
  now: number
): PublicError | null => {
  if (part.export !== null && !isUnguarded(batch, part)) {
    return publicError("INVALID_TRANSITION", {
      message: `The network limits a part of format ${part.export.format}: it lapses by itself, and nobody releases it`
    })
  }
  if (!isReleasable(batch, part)) {
    return publicError("INVALID_TRANSITION", {
      message: part.export === null
        ? "The part was never given out: cancel the batch to end it"
        : `The part is ${part.status}: nothing of it is left to release`
    })
  }
  if (now < releasableAt(part)) {
    return publicError("INVALID_TRANSITION", {
      message: "A list is released 7 days after its export at the earliest: until then whoever has it may pay it",
      details: { releasable_at: releasableAt(part) }
    })
  }
  const seen = lines.filter(({ status }) => status === "seen").map(({ line }) => line)
  return seen.length === 0 ? null : publicError("INVALID_TRANSITION", {
    message: "Lines of the part are on the network and not final: wait until they are, and look again",
    details: { lines: seen }
  })
}

/** The part and its lines after one more statement. Errors: `INVALID_TRANSITION`, `APPROVER_MUST_DIFFER`. */
export const releasePart = (
  batch: BatchState,
  part: PartState,
  lines: ReadonlyArray<LineState>,
  { required, statement }: BatchCommand & { readonly _tag: "Release" },
  now: number
): { readonly part: PartState; readonly lines: ReadonlyArray<LineState> } | PublicError => {
  const refusal = refusalOf(batch, part, lines, now)
  if (refusal !== null) return refusal
  if (part.releases.some(({ person }) => person === statement.person)) return publicError("APPROVER_MUST_DIFFER")
  const releases = [...part.releases, statement]
  return releases.length < Math.max(required, batch.approvalsRequired) ? { part: { ...part, releases }, lines } : {
    // It stays watched: whoever has the list may pay it all the same.
    part: { ...part, releases, status: "released" },
    lines: lines.map((line) => line.status === "pending" ? { ...line, status: "released" } : line)
  }
}
