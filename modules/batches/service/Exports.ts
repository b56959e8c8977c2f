/** Gives a part to a wallet: built from the chain as it is, kept, and only then told. */
import { Effect } from "effect"
import { decideAnew, type IdempotentCall, type Write } from "../../../runtime/Commit.ts"
import type { PayoutExport, PayoutFormat } from "../../../runtime/Payouts.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { hasTerms, holdWrite, sentUnits } from "../../refunds/plugin.ts"
import {
  type BatchState,
  decide,
  exportRefusal,
  linesOf,
  type LineState,
  lookAlikeLines,
  partOf,
  type PartState
} from "../machine.ts"
import { batchWrite, exportWrite } from "../repo.ts"
import { auditActOf, driverPart, eventsOf } from "../rules.ts"
import { type BatchOwner, type BatchServices, networkDegraded, payoutDriver } from "./BatchServices.ts"

/** A part as it was given out, with its bytes. */
export interface GivenPart {
  readonly batch: BatchState
  readonly part: PartState
  readonly payload: string
}

export interface ExportRequest {
  readonly part: number
  readonly format: PayoutFormat
  readonly actor: string
}

/** Seconds that an export is valid at least: a person has to read and sign it. */
const minimumValiditySeconds = 60

/**
 * Refunds may have been moved since the batch was made: by a payment that left its chain. Each must still be what its
 * line says. The writes mark them as given to a wallet.
 */
const holdRefunds = Effect.fnUntraced(function*(
  { refunds }: BatchServices,
  batch: BatchState,
  lines: ReadonlyArray<LineState>
): Effect.fn.Return<ReadonlyArray<Write>, PublicError> {
  const byId = new Map(
    (yield* refunds.findAll(lines.flatMap(({ refundId }) => refundId ?? []))).map((refund) => [refund.id, refund])
  )
  const writes: Array<Write> = []
  for (const line of lines) {
    if (line.refundId === null) continue
    const refund = byId.get(line.refundId)
    const units = refund === undefined ? null : hasTerms(refund) ? sentUnits(refund.terms) : refund.tokenAmount
    if (
      refund?.status !== "processing" || refund.batch?.id !== batch.id || units !== line.units ||
      refund.destination?.address !== line.destination.address || refund.destination.memo !== line.destination.memo
    ) {
      return yield* publicError("PAYOUT_LINE_REFUSED", {
        message: `Line ${line.line} is no longer to be paid: its refund ${line.refundId} is ${
          refund?.status ?? "gone"
        }. Cancel the batch, and make it anew`,
        details: { line: line.line, refund_id: line.refundId }
      })
    }
    if (!refund.batch.isOut) writes.push(holdWrite(refund, { id: batch.id, isOut: true }))
  }
  return writes
})

/** Lists change: whoever was not on one when the batch was made may be now. */
const screenLines = Effect.fnUntraced(function*(
  { screening }: BatchServices,
  { environment, network }: BatchState,
  lines: ReadonlyArray<LineState>
) {
  for (const { destination, line } of lines) {
    if (yield* screening.isListed(network, environment, [destination.address])) {
      return yield* publicError("PAYOUT_LINE_REFUSED", {
        message: `Line ${line} goes to an address that this deployment does not pay: make the batch anew without it`,
        details: { line }
      })
    }
  }
})

/** The exported bytes of a part that is out, again. */
const givenBefore = Effect.fnUntraced(function*({ repo }: BatchServices, batch: BatchState, part: PartState) {
  const payload = yield* repo.exported(batch.merchantId, batch.id, part.part, part.export?.attempt ?? 0)
  return payload === null
    ? yield* Effect.die(new Error(`the export ${batch.id}/${part.part} is not kept`))
    : { batch, part, payload }
})

const build = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  { part: number }: PartState,
  format: PayoutFormat
): Effect.fn.Return<PayoutExport, PublicError> {
  const { chains, clock, repo } = services
  const { environment, merchantId, network } = batch
  const driver = yield* payoutDriver({ chains }, network, environment)
  const formats = batch.kind === "collect" ? driver.collectFormats : driver.formats
  if (!formats.includes(format)) {
    return yield* publicError("VALIDATION_ERROR", {
      message: `format: ${network} takes ${formats.join(", ")}`,
      param: "format"
    })
  }
  const now = yield* clock.nowSeconds(merchantId, environment)
  return yield* driver.build({
    part: driverPart(batch, number, linesOf(batch, number)),
    format,
    // By the chain's clock, which is the system's and none that a merchant has moved.
    validUntil: now - clock.aheadSeconds(merchantId, environment) +
      Math.max(batch.validForSeconds, minimumValiditySeconds),
    spentInputs: yield* repo.liveInputs(network, environment)
  }).pipe(Effect.catchTag("DriverError", networkDegraded))
})

/** `Batches.export`. */
export const exportPart = (services: BatchServices) =>
  Effect.fn("Batches.export")(
    function*(owner: BatchOwner, id: string, request: ExportRequest, { cause, reply }: IdempotentCall<GivenPart>) {
      const { auditLog, clock, commit, repo, timers } = services
      const batch = yield* repo.find(owner.merchantId, id)
      if (batch?.environment !== owner.environment) return yield* publicError("BATCH_NOT_FOUND")
      const part = partOf(batch, request.part)
      if (isPublicError(part)) return yield* part
      const lines = linesOf(batch, part.part)
      const refusal = exportRefusal(batch, part, request.format, lookAlikeLines(lines))
      if (refusal !== null) return yield* refusal
      if (part.status === "out") return yield* givenBefore(services, batch, part)
      if (batch.kind !== "collect") yield* screenLines(services, batch, lines)
      const holds = yield* holdRefunds(services, batch, lines)
      const built = yield* build(services, batch, part, request.format)
      const now = yield* clock.nowSeconds(owner.merchantId, owner.environment)
      const decision = decide(batch, { _tag: "Export", part: part.part, export: built }, now)
      if (isPublicError(decision)) return yield* decision
      const { next } = decision
      const given = next.parts.find((each) => each.part === part.part)!
      const made: GivenPart = { batch: next, part: given, payload: built.payload }
      const { attempt } = given.export!
      yield* commit.append({
        ...owner,
        cause,
        writes: [
          batchWrite(next),
          exportWrite(next, { part: part.part, attempt, payload: built.payload }, now),
          ...holds,
          ...yield* auditLog.writesOf(auditActOf(batch, next, "export", request.actor, cause.requestId))
        ],
        events: eventsOf(batch, next),
        reply: reply(made)
      })
      yield* timers.wake("batches")
      return made
    },
    // Two who export at once: the second finds what the first was given.
    decideAnew()
  )
