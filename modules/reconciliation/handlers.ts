/** Reconciliation between the wire and the reports. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import {
  Idempotency,
  jsonText,
  readEnvironment,
  RequestInfo,
  requireMerchantScope,
  requirePerson
} from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import * as Operations from "../../runtime/Operations.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { isPublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import type { Environment } from "../../schemas/Network.ts"
import { Ledger } from "../ledger/plugin.ts"
import { closedLimits, ReconciliationApi } from "./api.ts"
import { ReconciliationRpc } from "./rpc.ts"
import {
  adjustmentObject,
  closedCsv,
  closedObject,
  type ClosedPeriod,
  closedText,
  monthInWords,
  readMonth,
  readPeriod
} from "./rules.ts"
import { type PeriodReport, Reconciliation } from "./service.ts"

const wrapped = (data: string): string => `{"success":true,"data":${data}}`

const reportText = (found: PeriodReport): string =>
  found._tag === "Open" ? JSON.stringify(found.report) : found.closed.report

/** Whose books the caller reads. */
const ownerOf = Effect.fnUntraced(function*(requested?: Environment) {
  const principal = yield* requireMerchantScope
  return { merchantId: principal.merchantId, environment: yield* readEnvironment(principal, requested) }
})

/** What a person books or closes stands in nobody else's name. */
const personOf = Effect.gen(function*() {
  const principal = yield* requirePerson
  const { environment, merchantId } = yield* ownerOf()
  return { owner: { merchantId, environment }, actor: principal.credential }
})

export const handlers = Operations.group(
  ReconciliationApi,
  "reconciliation",
  Effect.fn(function*(group) {
    const clock = yield* MerchantClock
    const ledger = yield* Ledger
    const reconciliation = yield* Reconciliation
    const findClosed = Effect.fnUntraced(function*(name: string, requested: Environment | undefined) {
      const owner = yield* ownerOf(requested)
      if (readMonth(name) === null) return yield* invalidParameter("period", monthInWords)
      return (yield* reconciliation.closed(owner, name)) ?? (yield* publicError("NOT_FOUND"))
    })

    return group
      .handle(
        "report",
        Effect.fnUntraced(function*({ query }) {
          const owner = yield* ownerOf(query.environment)
          const period = readPeriod(query, yield* clock.nowSeconds(owner.merchantId, owner.environment))
          if (isPublicError(period)) return yield* period
          return jsonText(wrapped(reportText(yield* reconciliation.report(owner, period))))
        })
      )
      .handle(
        "close",
        Effect.fnUntraced(function*({ payload }) {
          const { actor, owner } = yield* personOf
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const text = (closed: ClosedPeriod) => wrapped(closedText(closed))
          const closed = yield* reconciliation.close(owner, payload.period, actor, {
            cause: { requestId, idempotencyKey: idempotency.key },
            reply: (made) => idempotency.reply(200, text(made))
          })
          return jsonText(text(closed))
        })
      )
      .handle(
        "closed",
        Effect.fnUntraced(function*({ query }) {
          const owner = yield* ownerOf(query.environment)
          const before = query.starting_after ?? null
          if (before !== null && readMonth(before) === null) {
            return yield* publicError("INVALID_CURSOR", {
              message: `starting_after: not ${monthInWords}`,
              param: "starting_after"
            })
          }
          const limit = query.limit ?? closedLimits.default
          const found = yield* reconciliation.listClosed(owner, before, limit + 1)
          const data = found.slice(0, limit).map(closedObject)
          const next_period = yield* reconciliation.nextToClose(owner, before === null ? found[0] ?? null : undefined)
          const list = { object: "list", data, has_more: found.length > limit, next_period }
          return jsonText(wrapped(JSON.stringify(list)))
        })
      )
      .handle(
        "closedPeriod",
        Effect.fnUntraced(function*({ params, query }) {
          const closed = yield* findClosed(params.period, query.environment)
          return query.format === "csv"
            ? HttpServerResponse.text(closedCsv(closed), {
              contentType: "text/csv; charset=utf-8; header=present",
              headers: { "content-disposition": `attachment; filename="closed-${closed.period}.csv"` }
            })
            : jsonText(wrapped(closedText(closed)))
        })
      )
      .handle(
        "adjust",
        Effect.fnUntraced(function*({ payload }) {
          const { actor, owner } = yield* personOf
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const token = ledger.tokenOf(owner.environment, payload.asset)
          const text = (made: Parameters<typeof adjustmentObject>[0]) =>
            wrapped(JSON.stringify(adjustmentObject(made, token)))
          const adjustment = yield* reconciliation.adjust(owner, payload, actor, {
            cause: { requestId, idempotencyKey: idempotency.key },
            reply: (made) => idempotency.reply(200, text(made))
          })
          return jsonText(text(adjustment))
        })
      )
  })
)

/** The calls of `ReconciliationRpc`: internal services read, and neither close nor adjust. */
export const rpcHandlers = Rpc.handlers(
  ReconciliationRpc,
  Effect.gen(function*() {
    const reconciliation = yield* Reconciliation
    const clock = yield* MerchantClock
    return ReconciliationRpc.of({
      "reconciliation.report": Effect.fnUntraced(function*({ environment, merchant_id, period }) {
        const asked = readPeriod({ period }, yield* clock.nowSeconds(merchant_id, environment))
        if (isPublicError(asked)) return yield* asked
        const found = yield* reconciliation.report({ merchantId: merchant_id, environment }, asked)
        return found._tag === "Open" ? found.report : JSON.parse(found.closed.report)
      })
    })
  })
)
