/** Exceptions between the wire and the invoices that keep them. */
import { Effect } from "effect"
import { dieOnReplay, noCause, systemMerchant } from "../../runtime/Commit.ts"
import { Idempotency, jsonText, readEnvironment, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import { requireRight } from "../../runtime/Rights.ts"
import * as Operations from "../../runtime/Operations.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Settings } from "../../runtime/Settings.ts"
import { isPublicError, publicError } from "../../schemas/Errors.ts"
import type { Exception } from "../../schemas/Exception.ts"
import { ExceptionId, isUuid } from "../../schemas/Ids.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { usdMillis } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { pageLimits, readPageCursor, unknownCursor } from "../../schemas/Page.ts"
import { exceptionObject, type ExceptionRecord, Invoices } from "../invoices/plugin.ts"
import { type ExceptionRefundCall, linkedRefundObject } from "../refunds/plugin.ts"
import { type ExceptionRefund, ExceptionsApi } from "./api.ts"
import { ExceptionsRpc } from "./rpc.ts"
import { type DecidedException, makeDecide } from "./service.ts"

const wrappedJson = (data: object): string => JSON.stringify({ success: true, data })

/** An exception that this caller may see, in the environment it asks for: any other is as unknown as none. */
const findVisible = Effect.fnUntraced(function*(id: string, requested: Environment | undefined) {
  const principal = yield* requireMerchantScope
  const environment = yield* readEnvironment(principal, requested)
  const found = yield* (yield* Invoices).findException(principal.merchantId, id.toLowerCase())
  return found?.environment === environment ? found : yield* publicError("EXCEPTION_NOT_FOUND")
})

/**
 * How the money of an exception goes back; null where nothing is said of it. Keys and internal services never approve,
 * whatever they ask for.
 */
const refundOf = (
  action: string,
  wish: typeof ExceptionRefund.Type | null | undefined,
  caller: ExceptionRefundCall["caller"]
): ExceptionRefundCall | null => {
  if (action !== "refund" && wish == null) return null
  const { amount, auto_approve, destination, fee_bearer: feeBearer, reason } = wish ?? {}
  return {
    caller,
    destination: destination == null || destination === "claim"
      ? destination ?? null
      : { network: destination.network, address: destination.address, memo: destination.memo ?? null },
    feeBearer: feeBearer ?? "merchant",
    isAutoApproved: auto_approve === true,
    reason: reason ?? null,
    part: amount == null ? null : { usd: usdMillis(BigInt(amount)), tokenAmount: null }
  }
}

export const handlers = Operations.group(
  ExceptionsApi,
  "exceptions",
  Effect.fn(function*(group) {
    const invoices = yield* Invoices
    const decide = yield* makeDecide
    const { publicUrl } = yield* Settings
    const find = (id: string, environment?: Environment) =>
      Effect.provideService(findVisible(id, environment), Invoices, invoices)

    return group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          if (query.invoice_id !== undefined && !isUuid(query.invoice_id.toLowerCase())) {
            return yield* invalidParameter("invoice_id", "the id of an invoice")
          }
          const cursor = readPageCursor(query)
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* invoices.listExceptions({
            merchantId: principal.merchantId,
            environment,
            ...(query.status === undefined ? {} : { status: query.status }),
            ...(query.type === undefined ? {} : { type: query.type }),
            ...(query.invoice_id === undefined ? {} : { invoiceId: query.invoice_id.toLowerCase() }),
            ...(query.network === undefined ? {} : { network: query.network }),
            ...(query.created_gte === undefined ? {} : { createdFrom: query.created_gte }),
            ...(query.created_lte === undefined ? {} : { createdTo: query.created_lte })
          }, { cursor, limit: query.limit ?? pageLimits.default })
          if (page === null) return yield* unknownCursor(query, "the id of an exception of this environment")
          return jsonText(
            wrappedJson({ object: "list", data: page.records.map(exceptionObject), has_more: page.hasMore })
          )
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params, query }) {
          return jsonText(wrappedJson(exceptionObject(yield* find(params.id, query.environment))))
        })
      )
      .handle(
        "resolve",
        Effect.fnUntraced(function*({ params, payload }) {
          const { exception } = yield* find(params.id)
          const principal = yield* requireMerchantScope
          if (payload.action === "refund") yield* requireRight("refunds:create")
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const text = ({ record, refunds }: DecidedException) =>
            JSON.stringify({
              success: true,
              data: exceptionObject(record),
              ...(refunds.length === 0 ? {} : { refunds: refunds.map((each) => linkedRefundObject(each, publicUrl)) })
            })
          const decided = yield* decide(principal.merchantId, exception.id, {
            refund: refundOf(payload.action, payload.refund, principal),
            resolution: {
              action: payload.action,
              note: payload.note ?? "",
              actor: principal.credential,
              invoiceId: payload.invoice_id?.toLowerCase() ?? null
            },
            isOwner: principal.kind === "wallet" && principal.role === "owner",
            cause: { requestId, idempotencyKey: idempotency.key },
            reply: (made) => idempotency.reply(200, text(made))
          }).pipe(dieOnReplay)
          return jsonText(text(decided))
        })
      )
  })
)

/** The calls of `ExceptionsRpc`. */
export const rpcHandlers = Rpc.handlers(
  ExceptionsRpc,
  Effect.gen(function*() {
    const invoices = yield* Invoices
    const decide = yield* makeDecide
    const wire = (record: ExceptionRecord) => exceptionObject(record) as typeof Exception.Type

    return ExceptionsRpc.of({
      "exceptions.list": Effect.fnUntraced(function*({ after, environment, limit, merchant_id, status, type }) {
        const page = yield* invoices.listExceptions({
          merchantId: merchant_id ?? systemMerchant,
          environment,
          ...(status === undefined ? {} : { status }),
          ...(type === undefined ? {} : { type })
        }, {
          cursor: after === undefined ? null : { direction: "older", id: after },
          limit: limit ?? pageLimits.default
        })
        if (page === null) return yield* publicError("INVALID_CURSOR", { param: "after" })
        const last = page.records.at(-1)
        return {
          exceptions: page.records.map(wire),
          next: page.hasMore && last !== undefined ? ExceptionId.make(last.exception.id) : null
        }
      }),
      "exceptions.get": Effect.fnUntraced(function*({ exception_id, merchant_id }) {
        const found = yield* invoices.findException(merchant_id ?? systemMerchant, exception_id)
        return found === null ? yield* publicError("EXCEPTION_NOT_FOUND") : wire(found)
      }),
      "exceptions.resolve": ({ action, actor, exception_id, invoice_id, merchant_id, note = "", refund }) =>
        decide(merchant_id ?? systemMerchant, exception_id, {
          refund: refundOf(action, refund, {
            kind: "key",
            credential: `service:${actor}`,
            person: null,
            role: "owner"
          }),
          resolution: { action, note, actor: `service:${actor}`, invoiceId: invoice_id ?? null },
          isOwner: false,
          cause: noCause,
          reply: () => undefined
        }).pipe(
          dieOnReplay,
          Effect.map(({ record }) => wire(record))
        )
    })
  })
)
