/** Refunds in a batch: it holds them, and what the chain shows of their lines changes them. */
import { Effect, MutableRef } from "effect"
import { dieOnReplay, noCause, type Write } from "../../../runtime/Commit.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { RefundBatch, RefundCommand, RefundState } from "../machine.ts"
import { proofWrite, refundWrite } from "../repo.ts"
import { auditActOf, refundsIn } from "../rules.ts"
import { changeSubject } from "./RefundChanges.ts"
import type { RefundServices } from "./RefundServices.ts"
import { decideOnRefund } from "./RefundSteps.ts"
import { senderOf } from "./Reports.ts"

/** The result of a line that pays a refund: most nodes say that its transaction is final. */
export type LineResult =
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

/** The row of a refund that a batch holds from now on, so that nothing else changes or pays it; null: no batch does. */
export const holdWrite = (refund: RefundState, batch: RefundBatch | null): Write =>
  refundWrite({ ...refund, batch, version: refund.version + 1 })

/**
 * The row of a refund with the transaction that shows its line; null: none does, or none any more. Nothing is paid by
 * that, so there is no event. A refund that a wallet could pay until now, and that none can pay any more, is due at
 * once: it counted as sent, so nobody checked whether its own payment was still on the chain.
 */
export const transactionWrite = (
  refund: RefundState,
  txHash: string | null,
  batch: RefundBatch | null,
  now: number
): Write => {
  const isTakenBack = refund.batch?.isOut === true && batch?.isOut !== true && refund.status === "processing"
  const dueAt = isTakenBack ? now : refund.dueAt
  return refundWrite({ ...refund, txHash, batch, dueAt, version: refund.version + 1, updatedAt: now })
}

/** `Refunds.recordLineResult`. */
export const recordLineResult = (services: RefundServices) =>
  Effect.fn("Refunds.recordLineResult")(
    function*(refundId: string, result: LineResult, writes: ReadonlyArray<Write>) {
      const { auditLog, repo } = services
      const { batchId, txHash } = result
      const before = yield* repo.find(refundId)
      if (before === null) return yield* publicError("REFUND_NOT_FOUND")
      const command: RefundCommand = result._tag === "Paid"
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
          if (result._tag === "Mismatch" || network === undefined) {
            return { commands: step.commands, writes: [...step.writes, ...entry, ...writes], facts: step.facts }
          }
          const sender = yield* senderOf(services, refund, network, result.from)
          const { environment } = refund
          const proof = proofWrite({ network, environment, txHash, index: result.index, sender }, {
            merchantId: refund.merchantId,
            refundId,
            line: { batchId, line: result.line }
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
    dieOnReplay
  )
