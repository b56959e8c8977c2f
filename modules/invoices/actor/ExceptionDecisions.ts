/** Decisions of people on exceptions: with the invoice that the exception is of, or alone where its money pays none. */
import { Effect, MutableRef } from "effect"
import type { CommitCause, ReplyWrite, Write } from "../../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { ExceptionResolution } from "../../../schemas/Exception.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Aggregate, type Command, type ExceptionRecord, exceptionRecord } from "../machine.ts"
import { unmatchedWrite } from "../repo.ts"
import { type ChangeContext, changeInvoice } from "./Changes.ts"
import type { AssignmentFact, InvoiceFact } from "./Hooks.ts"
import { changeUnmatched, unmatchedEvents } from "./UnmatchedPayments.ts"

/** What an assignment changes of the invoice that gets the money, and of what else. */
export interface Assignment {
  /** Null: the operator's, who may name any merchant's invoice. */
  readonly merchantId: number | null
  readonly environment: Environment
  readonly invoiceId: string
  readonly plan: (
    current: Aggregate,
    record: ExceptionRecord
  ) => Effect.Effect<
    { readonly commands: ReadonlyArray<Command>; readonly writes: ReadonlyArray<Write> },
    PublicError
  >
}

/** The refunds that a decision opens, and the first of them; `commands` follow the decision. */
export interface RefundWrites {
  readonly refundId: string
  readonly commands: ReadonlyArray<Command>
  readonly writes: ReadonlyArray<Write>
  readonly facts: ReadonlyArray<InvoiceFact>
}

/** A decision, and the caller who makes it. */
export interface ExceptionDecision {
  readonly resolution: ExceptionResolution
  readonly cause: CommitCause
  /** Why the decision is refused, by the exception as it is in the moment of the decision; null: it is not. */
  readonly check: (record: ExceptionRecord) => PublicError | null
  /** The answer to keep for the caller's idempotency key. */
  readonly reply: (record: ExceptionRecord) => ReplyWrite | undefined
  /**
   * What a refund of the money adds to the decision, for the action `refund`; absent: nothing. `current` is null where
   * the money pays no invoice.
   */
  readonly refund?: (
    record: ExceptionRecord,
    current: Aggregate | null,
    nowSeconds: number
  ) => Effect.Effect<RefundWrites, PublicError>
  /** Rows of other features that the decision's commit has, by the exception as it was before. */
  readonly writes: (record: ExceptionRecord) => Effect.Effect<ReadonlyArray<Write>>
}

/** `Invoices.resolveException`. */
export const resolveException = Effect.fnUntraced(function*(
  context: ChangeContext,
  merchantId: number,
  id: string,
  decision: ExceptionDecision
) {
  const found = yield* context.repo.findException(merchantId, id)
  if (found === null) return yield* publicError("EXCEPTION_NOT_FOUND")
  if (found.invoice === null) return yield* resolveUnmatched(context, merchantId, id, decision)
  const { cause, check, reply, resolution, writes } = decision
  const { aggregate } = yield* changeInvoice(
    context,
    found.invoice.id,
    cause,
    Effect.fnUntraced(function*(current, now) {
      const record = recordOf(current, id)
      const refusal = check(record)
      if (refusal !== null) return yield* refusal
      const refund = decision.refund === undefined ? null : yield* decision.refund(record, current, now)
      const decided = refund === null ? resolution : { ...resolution, refundId: refund.refundId }
      return {
        commands: [{ _tag: "Resolve" as const, exceptionId: id, resolution: decided }, ...refund?.commands ?? []],
        writes: [...yield* writes(record), ...refund?.writes ?? []],
        ...(refund === null ? {} : { facts: refund.facts }),
        reply: (next: Aggregate) => reply(recordOf(next, id))
      }
    })
  )
  return recordOf(aggregate, id)
})

/** `Invoices.assignException`. */
export const assignException = Effect.fnUntraced(function*(
  context: ChangeContext,
  merchantId: number,
  id: string,
  assignment: Assignment,
  { cause, check, reply, resolution, writes: decisionWrites }: ExceptionDecision
) {
  const target = yield* context.repo.find(assignment.invoiceId)
  if (target === null || !isOwnInvoice(target, assignment)) return yield* publicError("INVOICE_NOT_FOUND")
  const resolved = MutableRef.make<ExceptionRecord | null>(null)
  yield* changeInvoice(
    context,
    assignment.invoiceId,
    cause,
    Effect.fnUntraced(function*(current) {
      const record = yield* context.repo.findException(merchantId, id)
      if (record === null) return yield* publicError("EXCEPTION_NOT_FOUND")
      const refusal = check(record) ?? invoiceRefusal(current)
      if (refusal !== null) return yield* refusal
      const now = yield* context.clock.nowSeconds(record.merchantId, record.environment)
      const next = resolvedAt(record, resolution, now)
      MutableRef.set(resolved, next)
      const { commands, writes } = yield* assignment.plan(current, record)
      return {
        commands,
        writes: [...writes, unmatchedWrite(record, next.exception), ...yield* decisionWrites(record)],
        events: unmatchedEvents(record, next),
        facts: [{ _tag: "MoneyAssigned", record } satisfies AssignmentFact],
        reply: () => reply(next)
      }
    })
  )
  return MutableRef.get(resolved)!
})

/** Another merchant's invoice is as unknown as none; what is looked at first is this, so that no answer tells of it. */
const isOwnInvoice = ({ invoice }: Aggregate, { environment, merchantId }: Assignment): boolean =>
  invoice.environment === environment && (merchantId === null || invoice.merchantId === merchantId)

/** Why an invoice takes no money by assignment; null: it does. */
const invoiceRefusal = ({ invoice }: Aggregate): PublicError | null =>
  invoice.type === "commerce" || invoice.status === "canceled"
    ? publicError("INVOICE_NOT_PAYABLE", {
      message: "Money is assigned to no canceled invoice and to none of commerce: name another one, or credit it"
    })
    : null

const resolvedAt = (record: ExceptionRecord, resolution: ExceptionResolution, now: number): ExceptionRecord => ({
  ...record,
  exception: {
    ...record.exception,
    version: record.exception.version + 1,
    status: "resolved",
    resolvedAt: now,
    resolution
  }
})

const recordOf = (aggregate: Aggregate, exceptionId: string): ExceptionRecord =>
  exceptionRecord(aggregate, aggregate.exceptions.find(({ id }) => id === exceptionId)!)

/** Of the money alone, which pays no invoice. */
const resolveUnmatched = (
  context: ChangeContext,
  merchantId: number,
  id: string,
  { cause, check, refund: planRefund, reply, resolution, writes }: ExceptionDecision
) =>
  Effect.map(
    changeUnmatched(
      context,
      merchantId,
      id,
      cause,
      Effect.fnUntraced(function*(record, now) {
        const refusal = check(record)
        if (refusal !== null) return yield* refusal
        const refund = planRefund === undefined ? null : yield* planRefund(record, null, now)
        const decided = refund === null ? resolution : { ...resolution, refundId: refund.refundId }
        return {
          event: { _tag: "Resolve", resolution: decided } as const,
          writes: [...yield* writes(record), ...refund?.writes ?? []],
          facts: refund?.facts ?? [],
          reply
        }
      })
    ),
    ({ record }) => record
  )
