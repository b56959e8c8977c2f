/** Holds refunds for a batch, and ends them by what the chain shows of their lines. */
import { Effect, MutableRef } from "effect"
import { noCause, type Write } from "../../../runtime/Commit.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { RefundBatch, RefundCommand, RefundState } from "../machine.ts"
import { proofWrite, refundWrite } from "../repo.ts"
import { auditActOf, refundsIn } from "../rules.ts"
import { changeSubject } from "./RefundChanges.ts"
import type { RefundServices } from "./RefundServices.ts"
import { decideOnRefund } from "./RefundSteps.ts"
import { senderOf } from "./Reports.ts"

/** The result of a line that pays a refund. Its transaction is final on most nodes. */
export type BatchEnd =
  & { readonly batchId: string; readonly txHash: string }
  & (
    /** Its line arrived: the transfer with this index, from this wallet. */
    | { readonly _tag: "Paid"; readonly line: number; readonly index: number; readonly from: string }
    /** Another amount arrived, or nothing: a person has to check it. */
    | { readonly _tag: "Mismatch" }
  )

/** `failure_code` of a refund whose batch paid something else. */
const mismatchCode = "payout_mismatch"

/** The actor in the audit log: the chain proved it, so there is no person. */
const actor = "service:batches"

/** `Refunds.holdWrite`. */
export const holdWrite = (refund: RefundState, batch: RefundBatch | null): Write =>
  refundWrite({ ...refund, batch, version: refund.version + 1 })

/**
 * The refund with the transaction in which its line is seen; null: it is seen in none, or in none any more. Nothing is
 * paid by that, so no event tells it.
 */
export const seenWrite = (
  refund: RefundState,
  txHash: string | null,
  batch: RefundBatch | null,
  now: number
): Write => refundWrite({ ...refund, txHash, batch, version: refund.version + 1, updatedAt: now })

/** `Refunds.endByBatch`. */
export const endByBatch = (services: RefundServices) =>
  Effect.fn("Refunds.endByBatch")(
    function*(refundId: string, end: BatchEnd, writes: ReadonlyArray<Write>) {
      const { auditLog, repo } = services
      const { batchId, txHash } = end
      const before = yield* repo.find(refundId)
      if (before === null) return yield* publicError("REFUND_NOT_FOUND")
      const command: RefundCommand = end._tag === "Paid"
        ? { _tag: "Succeed", txHash, isProven: true, batchId }
        : { _tag: "Fail", code: mismatchCode, batchId }
      const stored = MutableRef.make(before)
      const facts = yield* changeSubject(
        services,
        before,
        noCause,
        Effect.fnUntraced(function*(current, now) {
          const refund = yield* repo.find(refundId)
          if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
          MutableRef.set(stored, refund)
          const step = yield* decideOnRefund(services)(refund, command, current, now)
          if (step.facts.length === 0) return { commands: [] }
          const entry = yield* auditLog.writesOf(auditActOf(refund, step.refund, command, actor, noCause))
          const network = refund.terms?.network ?? refund.destination?.network
          if (end._tag === "Mismatch" || network === undefined) {
            return { commands: step.commands, writes: [...step.writes, ...entry, ...writes], facts: step.facts }
          }
          const sender = yield* senderOf(services, refund, network, end.from)
          const { environment } = refund
          const proof = proofWrite({ network, environment, txHash, index: end.index, sender }, {
            merchantId: refund.merchantId,
            refundId,
            line: { batchId, line: end.line }
          })
          return {
            commands: step.commands,
            writes: [...step.writes, proof, ...entry, ...writes],
            facts: sender === null ? step.facts : step.facts.map((fact) => ({ ...fact, sender }))
          }
        })
      )
      return refundsIn(facts).findLast(({ id }) => id === refundId) ?? MutableRef.get(stored)
    },
    Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug))
  )
