/** What the chain says of a part, line by line. Pure. */
import type { PayoutExecution, PayoutFormat, PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import type { BatchPartStatus } from "../../../schemas/Batch.ts"
import { baseUnits, maximumCredit, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { BatchKind } from "../../../schemas/Batch.ts"
import type { FinalLine, LineState, PartState, UnexpectedTransfer } from "./State.ts"

/** Formats whose lines stand alone: a transaction may have some of them, and another the rest. */
const separateFormats: ReadonlySet<PayoutFormat> = new Set(["csv", "ton"])

/**
 * Formats whose export the chain may execute once more after somebody has changed it, or a wallet has: what one
 * transaction leaves out, another may pay until the export is over.
 */
const repeatableFormats: ReadonlySet<PayoutFormat> = new Set(["solana", "ton"])

/** Whether another execution may follow one of the same export. */
const mayRepeat = (part: PartState, { isOver }: PayoutSearch): boolean =>
  !isOver && part.export !== null && repeatableFormats.has(part.export.format)

interface Sighting {
  readonly execution: PayoutExecution
  readonly transfer: PayoutTransfer
}

const keyOf = ({ execution, transfer }: Sighting): string => `${execution.txHash}:${transfer.index}`

/** What became of a part, as far as the chain has it. */
export interface Observation {
  readonly status: BatchPartStatus
  /** From where the next search goes on. */
  readonly searchedTo: bigint | null
  readonly txHash: string | null
  readonly fee: PartState["fee"]
  readonly isWatched: boolean
  /** Every line of the part, as it is seen; those of `finalLines` are still as they were. */
  readonly lines: ReadonlyArray<LineState>
  readonly finalLines: ReadonlyArray<FinalLine>
  readonly unexpected: ReadonlyArray<UnexpectedTransfer>
}

/** Nothing that comes changes it: what still comes for it is unexpected. */
const isSettled = ({ status }: LineState): boolean =>
  status === "paid" || status === "mismatch" || status === "released"

/**
 * The transfer that pays a line: the one that did; else one of the right amount that is final, first the one that was
 * seen, as no other can take its place any more; else the one that was seen; else the first of the right amount, else
 * the first.
 */
const chosenFor = (line: LineState, sightings: ReadonlyArray<Sighting>): Sighting | undefined => {
  const own = sightings.find(({ execution, transfer }) =>
    execution.txHash === line.txHash && transfer.index === line.transferIndex
  )
  const isRight = ({ transfer }: Sighting) => transfer.amount === line.units
  if (isSettled(line) || (own?.execution.isFinal === true && isRight(own))) return own
  const right = sightings.filter(isRight)
  return right.find(({ execution }) => execution.isFinal) ?? own ?? right[0] ?? sightings[0]
}

/** What a transfer is worth, by the line that it is like or by another one of its token. */
const worthOf = (
  { amount, tokenAddress }: PayoutTransfer,
  like: LineState | null,
  lines: ReadonlyArray<LineState>
): UsdMillis => {
  const line = like?.tokenAddress === tokenAddress ? like : lines.find((each) => each.tokenAddress === tokenAddress)
  const worth = line === undefined ? 0n : line.amount * amount / line.units
  return usdMillis(worth < maximumCredit ? worth : maximumCredit)
}

/** The transfers that no line is paid by, and those that pay another amount than their line says. */
const unexpectedOf = (
  part: number,
  lines: ReadonlyArray<LineState>,
  chosen: ReadonlyArray<Sighting | undefined>,
  { executions }: PayoutSearch
): ReadonlyArray<UnexpectedTransfer> => {
  const taken = new Set(chosen.flatMap((each) => each === undefined ? [] : [keyOf(each)]))
  for (const line of lines) if (isSettled(line)) taken.add(`${line.txHash}:${line.transferIndex}`)
  /** The line that a transaction paid somebody else for. */
  const leftOutFor = (transfer: PayoutTransfer, { transfers }: PayoutExecution): LineState | null =>
    lines.find(({ tokenAddress, units }, place) =>
      tokenAddress === transfer.tokenAddress && units === transfer.amount &&
      transfers.every((each) => each.line !== place)
    ) ?? null
  return executions.flatMap((execution) =>
    execution.transfers.flatMap((transfer): ReadonlyArray<UnexpectedTransfer> => {
      const fitting = transfer.line === null ? null : lines[transfer.line] ?? null
      const isTaken = taken.has(keyOf({ execution, transfer }))
      if (isTaken && (fitting === null || fitting.units === transfer.amount)) return []
      const line = fitting ?? leftOutFor(transfer, execution)
      return [{
        type: !isTaken && fitting !== null && fitting.status !== "mismatch" ? "duplicate_payout" : "payout_mismatch",
        part,
        line,
        txHash: execution.txHash,
        amount: worthOf(transfer, line, lines),
        isFinal: execution.isFinal,
        transfer
      }]
    })
  )
}

const pending = (line: LineState): LineState =>
  line.status === "pending" && line.txHash === null
    ? line
    : { ...line, status: "pending", txHash: null, transferIndex: null }

const seen = (line: LineState, { execution, transfer }: Sighting): LineState =>
  line.status === "seen" && line.txHash === execution.txHash && line.transferIndex === transfer.index
    ? line
    : { ...line, status: "seen", txHash: execution.txHash, transferIndex: transfer.index }

/** What lies on an address is moved by anybody, in as many transactions as they like: their sum counts. */
const observeCollected = (
  lines: ReadonlyArray<LineState>,
  sightingsOf: (place: number) => ReadonlyArray<Sighting>
): Pick<Observation, "finalLines" | "lines"> => {
  const observed = lines.map((line, place) => {
    const sightings = sightingsOf(place)
    const sum = sightings.reduce((total, { transfer }) => total + transfer.amount, 0n)
    const last = sightings.at(-1)
    if (isSettled(line)) return { line, final: null }
    if (last === undefined || sum < line.units) return { line: pending(line), final: null }
    const isFinal = sightings.every(({ execution }) => execution.isFinal)
    const transfer = { ...last.transfer, amount: baseUnits(sum) }
    return isFinal
      ? { line, final: { line, status: "paid" as const, transfer, txHash: last.execution.txHash } }
      : { line: seen(line, last), final: null }
  })
  return {
    lines: observed.map(({ line }) => line),
    finalLines: observed.flatMap(({ final }) => final === null ? [] : [final])
  }
}

const observePaid = (
  part: PartState,
  lines: ReadonlyArray<LineState>,
  search: PayoutSearch,
  sightingsOf: (place: number) => ReadonlyArray<Sighting>
): Pick<Observation, "finalLines" | "lines" | "unexpected"> => {
  const isSeparate = part.export !== null && separateFormats.has(part.export.format)
  const chosen = lines.map((line, place) => chosenFor(line, sightingsOf(place)))
  const isRepeatable = mayRepeat(part, search)
  // One signature pays all of its lines or none: one that is final without a line never pays it.
  const execution = isSeparate ?
    undefined :
    search.executions.find(({ txHash }) => chosen.some((each) => each?.execution.txHash === txHash)) ??
      search.executions.find(({ transfers }) => transfers.length > 0)
  const observed = lines.map((line, place): { readonly line: LineState; readonly final: FinalLine | null } => {
    if (isSettled(line)) return { line, final: null }
    const sighting = chosen[place]
    if (sighting === undefined) {
      return execution?.isFinal === true && !isRepeatable
        ? { line, final: { line, status: "mismatch", transfer: null, txHash: execution.txHash } }
        : { line: pending(line), final: null }
    }
    if (!sighting.execution.isFinal) return { line: seen(line, sighting), final: null }
    const status = sighting.transfer.amount === line.units ? "paid" as const : "mismatch" as const
    // Its refund would go into another batch, and then this one would be paid as well.
    if (status === "mismatch" && isRepeatable) return { line: seen(line, sighting), final: null }
    return { line, final: { line, status, transfer: sighting.transfer, txHash: sighting.execution.txHash } }
  })
  return {
    lines: observed.map(({ line }) => line),
    finalLines: observed.flatMap(({ final }) => final === null ? [] : [final]),
    unexpected: unexpectedOf(part.part, lines, chosen, search)
  }
}

/** The status of a part once its final lines are stored. */
const statusOfPart = (
  part: PartState,
  lines: ReadonlyArray<LineState>,
  finalLines: ReadonlyArray<FinalLine>,
  search: PayoutSearch
): BatchPartStatus => {
  const { isOver } = search
  const finalByLine = new Map(finalLines.map(({ line, status }) => [line.line, status]))
  const statuses = lines.map((line) => {
    const status = finalByLine.get(line.line) ?? line.status
    // Of a batch that is over, and whose part cannot be executed any more.
    return status === "released" ? "pending" : status
  })
  if (part.status === "released") return "released"
  if (statuses.every((status) => status === "paid")) return "paid"
  if (statuses.every((status) => status === "paid" || status === "mismatch")) return "mismatch"
  if (statuses.every((status) => status === "pending")) {
    // Somebody has executed it, though no line of it arrived: it is not to be signed again.
    if (mayRepeat(part, search) && search.executions.some(({ transfers }) => transfers.length > 0)) return "seen"
    return isOver || part.status === "lapsed" ? "lapsed" : "out"
  }
  // Some lines are there, and those that are not can never follow.
  const isSettledApart = statuses.every((status) => status === "paid" || status === "mismatch" || status === "pending")
  return isOver && isSettledApart ? "mismatch" : "seen"
}

/** What the chain has of a part that was given out: of `lines`, in their order. */
export const observe = (
  kind: BatchKind,
  part: PartState,
  lines: ReadonlyArray<LineState>,
  search: PayoutSearch
): Observation => {
  const sightingsOf = (place: number) =>
    search.executions.flatMap((execution) =>
      execution.transfers.filter(({ line }) => line === place).map((transfer): Sighting => ({ execution, transfer }))
    )
  const observed = kind === "collect"
    ? { ...observeCollected(lines, sightingsOf), unexpected: [] }
    : observePaid(part, lines, search, sightingsOf)
  const status = statusOfPart(part, observed.lines, observed.finalLines, search)
  const first = search.executions[0]
  const hasOpenEnd = observed.unexpected.some(({ isFinal }) => !isFinal)
  return {
    ...observed,
    status,
    // What was changed before it was signed decides only when the export is over, so that look must find it once more.
    searchedTo: mayRepeat(part, search) ? part.searchedTo : search.searchedTo,
    txHash: first?.txHash ?? (status === "paid" || status === "mismatch" ? part.txHash : null),
    fee: first?.fee ?? part.fee,
    // A collect is over with its lines: anybody may repeat it, and nothing comes of that.
    isWatched: kind === "collect" ? status !== "paid" && status !== "lapsed" : !search.isOver || hasOpenEnd
  }
}
