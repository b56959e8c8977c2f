/** What people do with a batch beside exporting it. */
import { Effect } from "effect"
import { decideAnew, type IdempotentCall, type Write } from "../../../runtime/Commit.ts"
import type { ApprovalAnswer } from "../../../schemas/Approval.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { familyOf, familyRecord } from "../../../schemas/Network.ts"
import {
  approvalBy,
  approvalsRequired,
  type Approver,
  approversOf,
  peopleRequired,
  type ProvedApproval,
  seenWrite,
  valueOf
} from "../../refunds/plugin.ts"
import { type Approval, type BatchCommand, type BatchState, decide, type LineState, statusOf } from "../machine.ts"
import { batchWrite, lineWrite } from "../repo.ts"
import { approvedBatch, auditActOf, eventsOf } from "../rules.ts"
import type { BatchOwner, BatchServices } from "./BatchServices.ts"
import { valueToApprove } from "./Values.ts"

export type BatchActor = Approver

/** Lines whose row is another one than before, as rows; the version of each rises with it. */
export const changedLines = (before: BatchState, after: BatchState): ReadonlyArray<Write> =>
  after.lines.flatMap((line, place) =>
    line === before.lines[place] ? [] : [lineWrite(after, { ...line, version: line.version + 1 })]
  )

/** A line that shows another transaction than before, none among them, or that is released. */
const isNewsForRefund = (line: LineState, before: LineState | undefined): boolean =>
  before !== undefined && (line.txHash !== before.txHash || (line.status === "released" && line !== before))

/**
 * Refunds whose lines are seen in another transaction than before, or in none any more, and those whose lines are
 * released: of a batch that is over, or of a list that people gave up. What is final is stored with what it pays.
 */
export const changedRefunds = Effect.fnUntraced(function*(
  { refunds }: BatchServices,
  before: BatchState,
  after: BatchState
): Effect.fn.Return<ReadonlyArray<Write>> {
  const changed = after.lines.flatMap((line, place) => {
    const previous = before.lines[place]
    return isNewsForRefund(line, previous) ? [{ line, isTransactionChanged: line.txHash !== previous?.txHash }] : []
  })
  const byRefund = new Map(changed.map((each) => [each.line.refundId, each]))
  const lineRefunds = yield* refunds.findAll(changed.flatMap(({ line }) => line.refundId ?? []))
  return lineRefunds.flatMap((refund) => {
    const { isTransactionChanged, line: { status, txHash } } = byRefund.get(refund.id)!
    if (refund.batch?.id !== after.id) return []
    // One that failed with its payment is not sent, and only has to be free.
    const refundTxHash = isTransactionChanged && refund.status === "processing" ? txHash : refund.txHash
    if (status !== "released" && refundTxHash === refund.txHash) return []
    return [seenWrite(refund, refundTxHash, status === "released" ? null : refund.batch, after.updatedAt)]
  })
})

/** What is to happen to a batch as it is, and what must be stored with that. */
export interface BatchChange {
  readonly command: BatchCommand
  readonly writes?: ReadonlyArray<Write>
}

export const changeBatch = (services: BatchServices, verb: "approve" | "cancel" | "release") =>
  Effect.fnUntraced(
    function*(
      owner: BatchOwner,
      id: string,
      changeOf: (batch: BatchState, now: number) => Effect.Effect<BatchChange, PublicError>,
      { credential }: BatchActor,
      { cause, reply }: IdempotentCall<BatchState>
    ) {
      const { auditLog, clock, commit, repo } = services
      const batch = yield* repo.find(owner.merchantId, id)
      if (batch?.environment !== owner.environment) return yield* publicError("BATCH_NOT_FOUND")
      const now = yield* clock.nowSeconds(owner.merchantId, owner.environment)
      const { command, writes = [] } = yield* changeOf(batch, now)
      const decision = decide(batch, command, now)
      if (isPublicError(decision)) return yield* decision
      const { next } = decision
      if (next === batch) return batch
      yield* commit.append({
        ...owner,
        cause,
        writes: [
          batchWrite(next),
          ...changedLines(batch, next),
          ...yield* changedRefunds(services, batch, next),
          ...writes,
          ...yield* auditLog.writesOf(auditActOf(batch, next, verb, credential, cause.requestId))
        ],
        events: eventsOf(batch, next),
        reply: reply(next)
      })
      return next
    },
    decideAnew()
  )

/**
 * An approval of a batch. The rules and prices of now count as well, where they ask for more people than those when it
 * was made. Where it alone lets out what nobody has approved yet, although two people may approve, it counts for the
 * limit of the day; above that it is kept as the first of two.
 */
const approvalChange = (services: BatchServices, bare: Approval, proved: ProvedApproval | null) =>
  Effect.fnUntraced(function*(batch: BatchState, now: number): Effect.fn.Return<BatchChange, PublicError> {
    const { approvals: signed, members, refunds, settings } = services
    const { approvals, environment, kind, lines, merchantId } = batch
    const approval = { ...bare, at: now, ...(proved === null ? {} : { signed: proved.id }) }
    const people = peopleRequired(approversOf("payout", yield* members.list(merchantId), environment))
    const { auto_approve_limit: limit } = yield* settings.forInvoices(merchantId, environment)
    const paidRefunds = yield* refunds.findAll(lines.flatMap(({ refundId }) => refundId ?? []))
    const value = yield* valueToApprove(services, kind, lines, paidRefunds)
    const needed = Math.max(
      batch.approvalsRequired,
      approvalsRequired(value, { autoApproveLimit: usdMillis(BigInt(limit)), people })
    )
    const given = approvals.length + 1
    const isAlone = given >= needed && given < people && valueOf(value) !== 0n
    const writes = isAlone ? yield* refunds.countSoleApproval(batch, valueOf(value), now) : []
    const command: BatchCommand = { _tag: "Approve", approval, required: writes === null ? people : needed }
    // What is refused anyway is refused for its own reason.
    const isRefused = isPublicError(decide(batch, command, now))
    const rows = isRefused ? [] : yield* signed.record(proved, approvedBatch(batch), approval)
    return { command, writes: [...writes ?? [], ...rows] }
  })

/** `Batches.issueApproval`. */
export const issueBatchApproval = ({ approvals, repo }: BatchServices) =>
  Effect.fn("Batches.issueApproval")(function*(owner: BatchOwner, id: string, actor: BatchActor) {
    const batch = yield* repo.find(owner.merchantId, id)
    if (batch?.environment !== owner.environment) return yield* publicError("BATCH_NOT_FOUND")
    return statusOf(batch) === "pending_approval"
      ? yield* approvals.issue(approvedBatch(batch), actor)
      : yield* publicError("INVALID_TRANSITION", {
        message: `The batch is ${statusOf(batch)} and waits for nobody`
      })
  })

/** `Batches.approve`. */
export const approveBatch = (services: BatchServices) => {
  const approve = changeBatch(services, "approve")
  return Effect.fn("Batches.approve")(
    function*(
      owner: BatchOwner,
      id: string,
      actor: BatchActor,
      call: IdempotentCall<BatchState>,
      answer: ApprovalAnswer | null = null
    ) {
      const approval = approvalBy("payout", actor, owner.environment, 0)
      if (approval === null) {
        return yield* publicError("CREDENTIAL_NOT_ALLOWED", {
          message: "Only a person approves a batch: sign in with a wallet of the merchant, and use that token"
        })
      }
      const batch = yield* services.repo.find(owner.merchantId, id)
      if (batch?.environment !== owner.environment) return yield* publicError("BATCH_NOT_FOUND")
      const isWaiting = statusOf(batch) === "pending_approval"
      const proved = isWaiting ? yield* services.approvals.prove(approvedBatch(batch), actor, answer) : null
      return yield* approve(owner, id, approvalChange(services, approval, proved), actor, call)
    }
  )
}

/** `Batches.cancel`. */
export const cancelBatch = (services: BatchServices) => {
  const cancel = changeBatch(services, "cancel")
  return Effect.fn("Batches.cancel")(
    (owner: BatchOwner, id: string, actor: BatchActor, call: IdempotentCall<BatchState>) =>
      cancel(owner, id, () => Effect.succeed({ command: { _tag: "Cancel" } }), actor, call)
  )
}

/** `Batches.hint`. */
export const hintTransaction = (services: BatchServices) =>
  Effect.fn("Batches.hint")(
    function*(
      owner: BatchOwner,
      id: string,
      { part, txHash }: { readonly part: number; readonly txHash: string },
      { cause, reply }: IdempotentCall<BatchState>
    ) {
      const { clock, commit, repo, timers } = services
      const batch = yield* repo.find(owner.merchantId, id)
      if (batch?.environment !== owner.environment) return yield* publicError("BATCH_NOT_FOUND")
      const family = familyRecord(familyOf(batch.network))
      const hash = family.readTransactionHash(txHash)
      if (hash === null) {
        return yield* publicError("VALIDATION_ERROR", {
          message: `tx_hash: write ${family.transactionHashForm}`,
          param: "tx_hash"
        })
      }
      const now = yield* clock.nowSeconds(owner.merchantId, owner.environment)
      const decision = decide(batch, { _tag: "Hint", part, txHash: hash }, now)
      if (isPublicError(decision)) return yield* decision
      const { next } = decision
      if (next === batch) return batch
      yield* commit.append({
        ...owner,
        cause,
        writes: [batchWrite(next)],
        events: eventsOf(batch, next),
        reply: reply(next)
      })
      yield* timers.wake("batches")
      return next
    },
    decideAnew()
  )
