/**
 * Exports a part for a wallet. The export is stored before it is answered, so a wallet never has an export that the
 * service does not search for.
 */
import { Effect } from "effect"
import { decideAnew, type IdempotentCall, type Write } from "../../../runtime/Commit.ts"
import type { PayoutExport, PayoutFormat } from "../../../runtime/Payouts.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { familyOf, familyRecord, type Network } from "../../../schemas/Network.ts"
import { hasTerms, holdWrite, sentUnits } from "../../refunds/plugin.ts"
import {
  type BatchState,
  decide,
  equalLines,
  exportRefusal,
  linesOf,
  type LineState,
  partOf,
  type PartState
} from "../machine.ts"
import { batchWrite, exportWrite, reservationCounterWrite } from "../repo.ts"
import { auditActOf, driverPart, eventsOf } from "../rules.ts"
import { type BatchOwner, type BatchServices, findBatch, networkDegraded, payoutDriver } from "./BatchServices.ts"

/** An exported part, with the payload for the wallet. */
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

/** The shortest validity of an export, in seconds, because a person has to read and sign it. */
const minimumValiditySeconds = 60

/**
 * A refund can change after its batch was created, for example when its payment leaves the chain. Each must still match
 * its line. The writes mark the refunds as exported.
 */
const holdRefunds = Effect.fnUntraced(function*(
  { refunds }: BatchServices,
  batch: BatchState,
  lines: ReadonlyArray<LineState>
): Effect.fn.Return<ReadonlyArray<Write>, PublicError> {
  const found = yield* refunds.recheckMoney(refunds.findAll(lines.flatMap(({ refundId }) => refundId ?? [])))
  const byId = new Map(found.map((refund) => [refund.id, refund]))
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

/** Screens the receivers again, because a screening list may have changed since the batch was created. */
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

/** The stored export of a part that a wallet can still execute. */
const readStoredExport = Effect.fnUntraced(function*({ repo }: BatchServices, batch: BatchState, part: PartState) {
  const payload = yield* repo.exported(batch.merchantId, batch.id, part.part, part.export?.attempt ?? 0)
  return payload === null
    ? yield* Effect.die(new Error(`the export ${batch.id}/${part.part} is not kept`))
    : { batch, part, payload }
})

/** Of the addresses that one signature may spend from those that the merchant has proven to be its own. */
const ownAddresses = Effect.fnUntraced(function*(
  { chains, linkedWallets }: BatchServices,
  { environment, from, merchantId, network }: BatchState,
  spendsWallets: boolean
) {
  if (from === null) return new Set<string>()
  const walletAddresses = spendsWallets
    ? yield* chains.walletAddresses({
      merchantId,
      network,
      environment,
      matchKey: familyRecord(familyOf(network)).accountKey(from)
    })
    : []
  return yield* linkedWallets.linkedOf(merchantId, network, [from, ...walletAddresses])
})

/**
 * An export that reserves something is found on the chain by what it pays or spends, and not by a name of its own. The
 * search takes any transaction of the wallet that looks the same, so another merchant who names the wallet could take
 * the payments of its owner for its own, and the owner would pay again.
 */
const refusalOfStranger = (from: string | null, network: Network, format: PayoutFormat): PublicError =>
  publicError("WALLET_NOT_LINKED", {
    message: `Nobody has shown that ${from} is yours. A part in the format ${format} on ${network} is recognized by ` +
      "what the wallet pays or spends, so it leaves only a wallet that is linked to you: sign in with it once, or have " +
      "the operator link it",
    param: "from"
  })

/** An export, with the row that keeps others from reserving the same at the same time. */
interface ReservedExport {
  readonly built: PayoutExport
  readonly writes: ReadonlyArray<Write>
}

const build = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  { part: number }: PartState,
  format: PayoutFormat
): Effect.fn.Return<ReservedExport, PublicError> {
  const { chains, clock, repo } = services
  const { environment, from, merchantId, network } = batch
  const driver = yield* payoutDriver({ chains }, network, environment)
  const formats = batch.kind === "collect" ? driver.collectFormats : driver.formats
  if (!formats.includes(format)) {
    return yield* publicError("VALIDATION_ERROR", {
      message: `format: ${network} takes ${formats.join(", ")}`,
      param: "format"
    })
  }
  const now = yield* clock.nowSeconds(merchantId, environment)
  const addresses = yield* ownAddresses(services, batch, driver.spendsWallets === true)
  const reserved = yield* repo.reservations(batch)
  const built = yield* driver.build({
    part: driverPart(batch, number, linesOf(batch, number)),
    format,
    // The chain compares this with real time, so the seconds by which a devnet merchant moved its clock are taken off.
    validUntil: now - clock.aheadSeconds(merchantId, environment) +
      Math.max(batch.validForSeconds, minimumValiditySeconds),
    spentInputs: reserved.inputs,
    walletAddresses: [...addresses]
  }).pipe(Effect.catchTag("DriverError", networkDegraded))
  if (built.inputs.length === 0) return { built, writes: [] }
  return from !== null && addresses.has(from)
    ? { built, writes: [reservationCounterWrite(batch, reserved.version + 1)] }
    : yield* refusalOfStranger(from, network, format)
})

/** `Batches.export`. */
export const exportPart = (services: BatchServices) =>
  Effect.fn("Batches.export")(
    function*(owner: BatchOwner, id: string, request: ExportRequest, { cause, reply }: IdempotentCall<GivenPart>) {
      const { auditLog, clock, commit, repo, timers } = services
      const batch = yield* findBatch(repo, owner, id)
      const part = partOf(batch, request.part)
      if (isPublicError(part)) return yield* part
      const lines = linesOf(batch, part.part)
      const refusal = exportRefusal(batch, part, request.format, equalLines(lines))
      if (refusal !== null) return yield* refusal
      if (part.status === "out") return yield* readStoredExport(services, batch, part)
      if (batch.kind !== "collect") yield* screenLines(services, batch, lines)
      const holds = yield* holdRefunds(services, batch, lines)
      const { built, writes } = yield* build(services, batch, part, request.format)
      const now = yield* clock.nowSeconds(owner.merchantId, owner.environment)
      const decision = decide(batch, { _tag: "Export", part: part.part, export: built }, now)
      if (isPublicError(decision)) return yield* decision
      const { next } = decision
      const exportedPart = next.parts.find((each) => each.part === part.part)!
      const result: GivenPart = { batch: next, part: exportedPart, payload: built.payload }
      const { attempt } = exportedPart.export!
      yield* commit.append({
        ...owner,
        cause,
        writes: [
          batchWrite(next),
          exportWrite(next, { part: part.part, attempt, payload: built.payload }, now),
          ...holds,
          ...writes,
          ...yield* auditLog.writesOf(auditActOf(batch, next, "export", request.actor, cause.requestId))
        ],
        events: eventsOf(batch, next),
        reply: reply(result)
      })
      yield* timers.wake("batches")
      return result
    },
    // Of two exports at once the second loses its commit and is decided again. Of one part it answers the stored export
    // of the first; of another part it is built without what the first has reserved.
    decideAnew()
  )
