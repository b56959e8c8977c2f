/**
 * Batches: every rule about when money may leave, and when it has left. Pure: no clock, no ids, no SQL, no chain.
 *
 *   part   ready | lapsed ──> out ──> seen ──> paid | mismatch
 *          out ──> lapsed    nobody can execute it any more, at a final block
 *          out | seen ──> released    a list of which people have said that the rest will not be paid
 *          seen ──> out      a reorganisation
 *
 * The rules in words: modules/docs/reference/batches.md#states. A line is released, so that something else may pay it,
 * only when no export of its part can be executed any more, or when people answer for it: that is what keeps it from
 * being paid twice.
 */
import { Equal, Struct } from "effect"
import type { PayoutFormat } from "../../runtime/Payouts.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { expiresAt } from "./machine/Expiry.ts"
import { observe } from "./machine/Observation.ts"
import { releasePart } from "./machine/Release.ts"
import type { BatchCommand, BatchDecision, BatchState, LineState, PartState, TransferName } from "./machine/State.ts"
import { isGivenOut, isOpen, statusOf } from "./machine/Statuses.ts"

export {
  awaitedElsewhere,
  isList,
  namedRivals,
  seenClaims,
  type TransferClaim,
  withoutOthers
} from "./machine/Claims.ts"
export { isReleasable } from "./machine/Release.ts"
export type {
  Approval,
  BatchCommand,
  BatchDecision,
  BatchState,
  FinalLine,
  LineSource,
  LineState,
  PartExport,
  PartState,
  ReleaseStatement,
  TransferName,
  UnexpectedTransfer
} from "./machine/State.ts"
export { isGivenOut, isOpen, statusOf } from "./machine/Statuses.ts"
export { type BatchSummary, type LineSum, summaryOf } from "./machine/Summary.ts"
export { batchObject, lineObject, summaryObject } from "./machine/Wire.ts"

/** Batches of a merchant and environment that may be open at once. */
export const maximumOpenBatches = 20

/**
 * Seconds between two checks of the chain: few right after a part was exported, and more the longer nothing comes. An
 * unguarded list (`csv`) can be paid at any time, so its checks never end.
 */
const minimumCheckSeconds = 5
const maximumCheckSeconds = 3_600

/** The next check of a part waits for one part in so many of the time since its export. */
const checkDivisor = 20

const checkSeconds = (exportedAt: number, now: number): number =>
  Math.min(Math.max(Math.floor((now - exportedAt) / checkDivisor), minimumCheckSeconds), maximumCheckSeconds)

/**
 * When the chain is checked next for a part. A line that is seen becomes final within minutes, so its part is checked
 * often. A part whose other lines may never come is not: it can stay `seen` for months.
 */
const partCheck = (part: PartState, lines: ReadonlyArray<LineState>, now: number): number => {
  const isWaiting = lines.some((line) => line.part === part.part && line.status === "seen")
  return now + (isWaiting ? minimumCheckSeconds : checkSeconds(part.export?.exportedAt ?? now, now))
}

/** When the chain is checked next for any part of the batch, or the batch ends by itself. */
const nextCheck = (batch: BatchState, now: number): number | null => {
  const end = expiresAt(batch, statusOf(batch))
  const checks = batch.parts.flatMap(({ checkAt, isWatched }) => isWatched ? [checkAt ?? now] : [])
  const all = end === null ? checks : [...checks, end]
  return all.length === 0 ? null : Math.min(...all)
}

/**
 * The parts that the chain is to be searched for now. All of them where the time of none has come: then the batch is
 * due because a search has failed.
 */
export const dueParts = ({ parts }: BatchState, now: number): ReadonlyArray<PartState> => {
  const watched = parts.filter(({ isWatched }) => isWatched)
  const due = watched.filter(({ checkAt }) => (checkAt ?? now) <= now)
  return due.length === 0 ? watched : due
}

export const linesOf = (batch: BatchState, part: number): ReadonlyArray<LineState> =>
  batch.lines.filter((line) => line.part === part)

export const partOf = (batch: BatchState, number: number): PartState | PublicError =>
  batch.parts.find(({ part }) => part === number) ?? publicError("VALIDATION_ERROR", {
    message: `part: this batch has the parts 1 to ${batch.parts.length}`,
    param: "part"
  })

/**
 * Why a part cannot be given out in a format now; null: it can, or the same export is given again. `equal`: lines
 * that a list could not tell apart.
 */
export const exportRefusal = (
  batch: BatchState,
  part: PartState,
  format: PayoutFormat,
  equal: ReadonlyArray<number>
): PublicError | null => {
  const status = statusOf(batch)
  if (batch.isCanceled || !isOpen(batch)) {
    return publicError("INVALID_TRANSITION", { message: `The batch is ${status}: make a new one` })
  }
  if (status === "pending_approval") {
    return publicError("APPROVAL_REQUIRED", {
      details: { required: batch.approvalsRequired, given: batch.approvals.length }
    })
  }
  if (part.status !== "ready" && part.status !== "lapsed" && part.status !== "out") {
    return publicError("INVALID_TRANSITION", { message: `The part is ${part.status}: do not sign it again` })
  }
  if (part.status === "out" && part.export !== null && part.export.format !== format) {
    return publicError("EXPORT_LIVE", {
      details: { format: part.export.format, valid_until: part.export.validUntil }
    })
  }
  return format === "csv" && equal.length > 0
    ? publicError("LINES_AMBIGUOUS", { details: { lines: [...equal] } })
    : null
}

/** Lines of a part that have token, receiver and amount in common with another one. */
export const equalLines = (lines: ReadonlyArray<LineState>): ReadonlyArray<number> => {
  const byPayment = Map.groupBy(
    lines,
    ({ destination, tokenAddress, units }) => JSON.stringify([tokenAddress, destination.address, units.toString()])
  )
  return [...byPayment.values()].filter((alike) => alike.length > 1).flatMap((alike) => alike.map(({ line }) => line))
}

const onlyNext = (next: BatchState): BatchDecision => ({ next, finalLines: [], unexpected: [], withdrawn: [] })

/** With the status that it comes to: a batch that is over gives free what it has not paid. */
const change = (batch: BatchState, more: Partial<BatchState>, now: number): BatchState => {
  const changed = { ...batch, ...more, version: batch.version + 1, updatedAt: now }
  const next = { ...changed, dueAt: nextCheck(changed, now) }
  return isOpen(next) ? next : {
    ...next,
    closedAt: batch.closedAt ?? now,
    lines: next.lines.map((line) => line.status === "pending" ? { ...line, status: "released" } : line)
  }
}

const withPart = (batch: BatchState, part: PartState): ReadonlyArray<PartState> =>
  batch.parts.map((each) => each.part === part.part ? part : each)

const cancel = (batch: BatchState, now: number): BatchDecision | PublicError => {
  if (batch.isCanceled) return onlyNext(batch)
  if (!isOpen(batch)) return publicError("BATCH_NOT_CANCELABLE")
  // What lies on a forwarder can go to its payee only, so an export of it does no harm.
  const parts = batch.kind === "collect"
    ? batch.parts.map((part): PartState =>
      part.status === "out" ? { ...part, status: "lapsed", isWatched: false } : part
    )
    : batch.parts
  return onlyNext(change(batch, { isCanceled: true, parts }, now))
}

const giveOut = (
  batch: BatchState,
  part: PartState,
  command: BatchCommand & { readonly _tag: "Export" },
  now: number
): BatchDecision | PublicError => {
  const exported = Struct.omit(command.export, ["payload"])
  const refusal = exportRefusal(batch, part, exported.format, [])
  if (refusal !== null) return refusal
  if (isGivenOut(part)) return onlyNext(batch)
  const next: PartState = {
    ...part,
    status: "out",
    export: { ...exported, attempt: (part.export?.attempt ?? 0) + 1, exportedAt: now },
    // Of a collect it may have begun earlier: anybody can collect.
    searchedTo: batch.kind === "collect" && part.searchedTo !== null ? part.searchedTo : exported.builtAt - 1n,
    hint: null,
    txHash: null,
    fee: null,
    isWatched: true,
    checkAt: now + minimumCheckSeconds
  }
  return onlyNext(change(batch, { parts: withPart(batch, next) }, now))
}

const release = (
  batch: BatchState,
  part: PartState,
  command: BatchCommand & { readonly _tag: "Release" },
  now: number
): BatchDecision | PublicError => {
  const released = releasePart(batch, part, linesOf(batch, part.part), command, now)
  if (isPublicError(released)) return released
  const byLine = new Map(released.lines.map((line) => [line.line, line]))
  const lines = batch.lines.map((line) => byLine.get(line.line) ?? line)
  return onlyNext(change(batch, { parts: withPart(batch, released.part), lines }, now))
}

const isSameLine = (one: LineState, other: LineState): boolean =>
  one.status === other.status && one.txHash === other.txHash && one.transferIndex === other.transferIndex

const isSameTransfers = (some: ReadonlyArray<TransferName>, others: ReadonlyArray<TransferName>): boolean =>
  some.length === others.length &&
  some.every(({ index, txHash }, place) => others[place]!.index === index && others[place]!.txHash === txHash)

/** Whether a look has found anything of a part but its own times. */
const isNewsOfPart = (before: PartState, after: PartState): boolean =>
  before.status !== after.status || before.txHash !== after.txHash || before.fee !== after.fee ||
  before.isWatched !== after.isWatched || !isSameTransfers(before.unexpected, after.unexpected)

const observePart = (
  batch: BatchState,
  part: PartState,
  { hint = part.hint, search }: BatchCommand & { readonly _tag: "Observe" },
  now: number
): BatchDecision => {
  const observed = observe(batch.kind, part, linesOf(batch, part.part), search)
  const byLine = new Map(observed.lines.map((line) => [line.line, line]))
  for (const { line, status, transfer, txHash } of observed.finalLines) {
    byLine.set(line.line, { ...line, status, txHash, transferIndex: transfer?.index ?? null })
  }
  const nextPart: PartState = {
    ...part,
    status: observed.status,
    searchedTo: observed.searchedTo,
    txHash: observed.txHash,
    fee: observed.fee,
    unexpected: observed.unexpected.filter(({ isFinal }) => !isFinal).map(({ transfer: { index }, txHash }) => ({
      txHash,
      index
    })),
    isWatched: observed.isWatched
  }
  const lines = batch.lines.map((line) => {
    const next = byLine.get(line.line)
    return next === undefined || isSameLine(line, next) ? line : next
  })
  // A report that came during the search is still to be looked at, unless it would have been refused a moment later.
  const isHintNeeded = lines.some((line) => line.part === part.part && line.status === "seen" && line.txHash === hint)
  const parts = withPart(
    batch,
    hint === part.hint || isHintNeeded
      ? { ...nextPart, hint, checkAt: partCheck(nextPart, lines, now) }
      : { ...nextPart, checkAt: part.checkAt }
  )
  const next = change(batch, { parts, lines }, now)
  const isNews = lines.some((line, place) => line !== batch.lines[place]) || isNewsOfPart(part, nextPart)
  return {
    // Nobody is shown the times of a look, so that one of many which find nothing is no version of the batch.
    next: isNews ? next : { ...next, version: batch.version, updatedAt: batch.updatedAt },
    finalLines: observed.finalLines,
    unexpected: observed.unexpected,
    withdrawn: part.unexpected.filter(({ index, txHash }) =>
      !observed.unexpected.some((each) => each.txHash === txHash && each.transfer.index === index)
    )
  }
}

/** The batch with nothing changed but what is unexpected of its parts, so that this can be stored before all else. */
export const onlyUnexpected = (batch: BatchState, next: BatchState): BatchState => ({
  ...batch,
  version: batch.version + 1,
  parts: batch.parts.map((part, place) => ({ ...part, unexpected: next.parts[place]?.unexpected ?? part.unexpected }))
})

/**
 * The batch with the transaction that somebody reported for a part, which is then checked at once. A part that is no
 * longer watched stays as it is: nothing would check it, so the batch would be due for ever. A part remembers one
 * report: what pays a line and is found by it alone would be lost with the next one, so that waits until it is final.
 */
const hintAt = (batch: BatchState, part: PartState, txHash: string, now: number): BatchDecision | PublicError => {
  const { hint } = part
  if (!part.isWatched || hint === txHash) return onlyNext(batch)
  if (linesOf(batch, part.part).some((line) => line.status === "seen" && line.txHash === hint)) {
    return publicError("INVALID_TRANSITION", {
      message:
        "The transaction that was reported for this part is on the network, and its line is not decided: report " +
        "the next one when the line is no longer seen",
      details: { tx_hash: hint }
    })
  }
  return onlyNext(change(batch, { parts: withPart(batch, { ...part, hint: txHash, checkAt: now }) }, now))
}

/** The batch without what a report of a transaction changes. */
const withoutReports = (batch: BatchState): BatchState => ({
  ...batch,
  version: 0,
  updatedAt: 0,
  dueAt: null,
  parts: batch.parts.map((part) => ({ ...part, hint: null, checkAt: null })),
  // A line that was stored has a version more than the look that found it.
  lines: batch.lines.map((line) => ({ ...line, version: 0 }))
})

/** Whether nothing but reports of transactions came to a batch: what was found for it meanwhile holds as it did. */
export const isOnlyReported = (before: BatchState, after: BatchState): boolean =>
  Equal.equals(withoutReports(before), withoutReports(after))

/**
 * Applies one command. `next` is the batch itself where it changes nothing; a change raises its version by one. A look
 * at the chain that finds nothing new moves only the times of the next one, and the version stays. Errors:
 * `INVALID_TRANSITION`, `APPROVAL_REQUIRED`, `APPROVER_MUST_DIFFER`, `EXPORT_LIVE`, `BATCH_NOT_CANCELABLE`,
 * `VALIDATION_ERROR` for a part that it does not have.
 */
export const decide = (batch: BatchState, command: BatchCommand, now: number): BatchDecision | PublicError => {
  switch (command._tag) {
    case "Approve": {
      if (statusOf(batch) !== "pending_approval") {
        return publicError("INVALID_TRANSITION", { message: `The batch is ${statusOf(batch)} and waits for nobody` })
      }
      return batch.approvals.some(({ person }) => person === command.approval.person)
        ? publicError("APPROVER_MUST_DIFFER")
        : onlyNext(change(batch, {
          approvals: [...batch.approvals, command.approval],
          approvalsRequired: Math.max(batch.approvalsRequired, command.required ?? 0)
        }, now))
    }
    case "Cancel":
      return cancel(batch, now)
    case "Expire": {
      const end = expiresAt(batch, statusOf(batch))
      return onlyNext(end === null || now < end ? batch : change(batch, { isExpired: true }, now))
    }
    case "Export":
    case "Hint":
    case "Observe":
    case "Release": {
      const part = partOf(batch, command.part)
      if (isPublicError(part)) return part
      if (command._tag === "Export") return giveOut(batch, part, command, now)
      if (command._tag === "Release") return release(batch, part, command, now)
      if (part.export === null) {
        return publicError("INVALID_TRANSITION", { message: "The part was never given out: export it first" })
      }
      return command._tag === "Hint"
        ? hintAt(batch, part, command.txHash, now)
        : observePart(batch, part, command, now)
    }
  }
}
