/** Decisions of people on exceptions: with the invoice that the exception is of, or alone where its money pays none. */
import { Clock, Effect } from "effect"
import { type CommitCause, decideAnew, type ReplyWrite } from "../../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { ExceptionResolution } from "../../../schemas/Exception.ts"
import { type Aggregate, paymentOf } from "../machine.ts"
import { type ExceptionRecord, unmatchedResolution } from "../repo.ts"
import { type ChangeContext, changeInvoice } from "./Changes.ts"

/** A decision, and the caller who makes it. */
export interface ExceptionDecision {
  readonly resolution: ExceptionResolution
  readonly cause: CommitCause
  /** Why the decision is refused, by the exception as it is in the moment of the decision; null: it is not. */
  readonly check: (record: ExceptionRecord) => PublicError | null
  /** The answer to keep for the caller's idempotency key. */
  readonly reply: (record: ExceptionRecord) => ReplyWrite | undefined
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
  const { cause, check, reply, resolution } = decision
  const { aggregate } = yield* changeInvoice(context, found.invoice.id, cause, (current) => {
    const refusal = check(recordOf(current, id))
    return refusal !== null ? Effect.fail(refusal) : Effect.succeed({
      commands: [{ _tag: "Resolve" as const, exceptionId: id, resolution }],
      reply: (next: Aggregate) => reply(recordOf(next, id))
    })
  })
  return recordOf(aggregate, id)
})

const recordOf = ({ exceptions, invoice, payments }: Aggregate, exceptionId: string): ExceptionRecord => {
  const exception = exceptions.find(({ id }) => id === exceptionId) as ExceptionRecord["exception"]
  return {
    exception,
    merchantId: invoice.merchantId,
    environment: invoice.environment,
    invoice,
    payment: exception.paymentId === null ? null : paymentOf({ payments }, exception.paymentId) ?? null
  }
}

const resolveUnmatched = Effect.fnUntraced(
  function*(
    { commit, repo }: ChangeContext,
    merchantId: number,
    id: string,
    { cause, check, reply, resolution }: ExceptionDecision
  ) {
    const record = yield* repo.findException(merchantId, id)
    if (record === null) return yield* publicError("EXCEPTION_NOT_FOUND")
    const refusal = check(record)
    if (refusal !== null) return yield* refusal
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const exception = {
      ...record.exception,
      version: record.exception.version + 1,
      status: "resolved" as const,
      resolvedAt: now,
      resolution
    }
    const resolved: ExceptionRecord = { ...record, exception }
    yield* commit.append({
      merchantId,
      environment: record.environment,
      cause,
      writes: [unmatchedResolution(record, exception)],
      events: [],
      reply: reply(resolved)
    })
    return resolved
  },
  decideAnew()
)
