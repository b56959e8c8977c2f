/** Decisions on a batch: people approve it and cancel it, and a caller says in which transaction to look for a part. */
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
  valueOf
} from "../../refunds/plugin.ts"
import { type Approval, type BatchCommand, type BatchState, decide, statusOf } from "../machine.ts"
import { batchWrite } from "../repo.ts"
import { approvedBatch, auditActOf, eventsOf } from "../rules.ts"
import { type BatchOwner, type BatchServices, findBatch } from "./BatchServices.ts"
import { lineWrites, refundWrites, wakeRefunds } from "./BatchWrites.ts"
import { valueToApprove } from "./Values.ts"

export type BatchActor = Approver

/** The command for a batch as it is stored, and the rows that must be stored with its decision. */
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
      const batch = yield* findBatch(repo, owner, id)
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
          ...lineWrites(batch, next),
          ...yield* refundWrites(services, batch, next),
          ...writes,
          ...yield* auditLog.writesOf(auditActOf(batch, next, verb, credential, cause.requestId))
        ],
        events: eventsOf(batch, next),
        reply: reply(next)
      })
      yield* wakeRefunds(services, batch, next)
      return next
    },
    decideAnew()
  )

/**
 * An approval of a batch. The rules and prices of now count too, where they ask for more people than those at its
 * creation. Where one approval is enough although several people may approve, it counts for the daily limit of sole
 * approvals. Above that limit it is stored, and a second person must approve.
 */
const approvalChange = (services: BatchServices, approvalWithoutProof: Approval, proof: ProvedApproval | null) =>
  Effect.fnUntraced(function*(batch: BatchState, now: number): Effect.fn.Return<BatchChange, PublicError> {
    const { approvals: approvalService, members, refunds, settings } = services
    const { approvals, environment, kind, lines, merchantId } = batch
    const approval = { ...approvalWithoutProof, at: now, ...(proof === null ? {} : { signed: proof.id }) }
    const people = peopleRequired(approversOf("payout", yield* members.list(merchantId), environment))
    const { auto_approve_limit: limit } = yield* settings.forInvoices(merchantId, environment)
    const paidRefunds = yield* refunds.findAll(lines.flatMap(({ refundId }) => refundId ?? []))
    const value = yield* valueToApprove(services, kind, lines, paidRefunds)
    const needed = Math.max(
      batch.approvalsRequired,
      approvalsRequired(value, { autoApproveLimit: usdMillis(BigInt(limit)), people })
    )
    const approvalCount = approvals.length + 1
    const isSoleApproval = approvalCount >= needed && approvalCount < people && valueOf(value) !== 0n
    const writes = isSoleApproval ? yield* refunds.countSoleApproval(batch, valueOf(value), now) : []
    const command: BatchCommand = { _tag: "Approve", approval, required: writes === null ? people : needed }
    // Where the approval is refused, the caller gets the reason of that: recording the proof could fail with another.
    const isRefused = isPublicError(decide(batch, command, now))
    const rows = isRefused ? [] : yield* approvalService.record(proof, approvedBatch(batch), approval)
    return { command, writes: [...writes ?? [], ...rows] }
  })

/** `Batches.issueApproval`. */
export const issueBatchApproval = ({ approvals, repo }: BatchServices) =>
  Effect.fn("Batches.issueApproval")(function*(owner: BatchOwner, id: string, actor: BatchActor) {
    const batch = yield* findBatch(repo, owner, id)
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
      const batch = yield* findBatch(services.repo, owner, id)
      const isWaiting = statusOf(batch) === "pending_approval"
      const proof = isWaiting ? yield* services.approvals.prove(approvedBatch(batch), actor, answer) : null
      return yield* approve(owner, id, approvalChange(services, approval, proof), actor, call)
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
      const batch = yield* findBatch(repo, owner, id)
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
