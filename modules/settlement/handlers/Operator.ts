/** Settlements between the operator API and the service. */
import { Effect } from "effect"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import { dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { operatorWrites, requireServed } from "../../../runtime/OperatorRoutes.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { isUuid } from "../../../schemas/Ids.ts"
import { pageLimits, unknownCursor } from "../../../schemas/Page.ts"
import { Invoices } from "../../invoices/plugin.ts"
import { rowBody } from "../handlers.ts"
import { OperatorSettlementsApi } from "../operator.ts"
import { Settlements } from "../service.ts"

export const operatorHandlers = Operations.group(
  OperatorSettlementsApi,
  "operatorSettlements",
  Effect.fn(function*(group) {
    const auditLog = yield* AuditLog
    const invoices = yield* Invoices
    const settings = yield* Settings
    const settlements = yield* Settlements

    /** A payment's settlement as it is stored; null: it has none. */
    const find = Effect.fnUntraced(function*(paymentId: string) {
      const invoiceId = yield* invoices.invoiceOfPayment(paymentId)
      const current = invoiceId === null ? null : yield* invoices.find(invoiceId)
      return current === null ? null : yield* settlements.get(current, paymentId)
    })
    const required = (paymentId: string) =>
      Effect.flatMap(
        find(paymentId),
        (row) => row === null ? Effect.fail(publicError("NOT_FOUND")) : Effect.succeed(row)
      )

    return group
      .handle(
        "stuck",
        Effect.fnUntraced(function*({ query }) {
          const { environment, limit = pageLimits.default, starting_after: after } = query
          if (environment !== undefined) yield* requireServed(settings, environment)
          const cursor = after?.toLowerCase()
          const start = cursor === undefined || !isUuid(cursor) ? null : yield* find(cursor)
          if (cursor !== undefined && start === null) {
            return yield* unknownCursor(query, "the id of a payment with a settlement")
          }
          const found = yield* settlements.open(environment ?? null, ["manual", "failed"], start, limit + 1)
          return {
            success: true as const,
            data: {
              object: "list" as const,
              data: found.slice(0, limit).map((state) => ({ object: "stuck_settlement", ...rowBody(state) }) as never),
              has_more: found.length > limit
            }
          }
        })
      )
      .handle(
        "retry",
        Effect.fnUntraced(function*({ params: { payment_id: paymentId } }) {
          const before = yield* required(paymentId)
          const writes = yield* operatorWrites(auditLog, {
            merchantId: before.merchantId,
            environment: before.environment,
            action: "settlement.retry",
            subject: { object: "payment", id: paymentId },
            before: { settlement_status: before.status, reason: before.reason },
            after: { invoice_id: before.invoiceId }
          })
          yield* settlements.report(paymentId, { _tag: "Retry" }, noCause, writes).pipe(dieOnReplay)
          const after = yield* required(paymentId)
          return { success: true as const, data: { object: "settlement" as const, ...rowBody(after) } as never }
        })
      )
  })
)
