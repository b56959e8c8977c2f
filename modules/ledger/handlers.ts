/** The ledger between the wire and its books. */
import { Effect } from "effect"
import { dieOnReplay } from "../../runtime/Commit.ts"
import { Idempotency, jsonText, readEnvironment, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import * as Operations from "../../runtime/Operations.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { isPublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { signedUsdWire } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { pageLimits, readPageCursor, unknownCursor } from "../../schemas/Page.ts"
import { LedgerApi } from "./api.ts"
import {
  type AccountBalance,
  balanceObject,
  settlementObject,
  type StoredTransaction,
  transactionObject
} from "./rules.ts"
import { LedgerRpc } from "./rpc.ts"
import { Ledger } from "./service.ts"

const flatJson = (data: object) => jsonText(JSON.stringify(data))

const wrappedJson = (data: object) => jsonText(JSON.stringify({ success: true, data }))

/** A network and the address of a token, or `native`. */
const assetPattern = /^[a-z]{1,32}:[\w:.-]{1,400}$/u

/** Ids are a prefix and a UUID, or a UUID. */
const sourcePattern = /^[\w-]{1,128}$/u

const preferenceObject = (preference: string) => ({ settlement_preference: preference, settlement_token_id: null })

/** Whose books the caller reads. */
const readOwner = Effect.fnUntraced(function*(requested: Environment | undefined) {
  const principal = yield* requireMerchantScope
  return { merchantId: principal.merchantId, environment: yield* readEnvironment(principal, requested) }
})

export const handlers = Operations.group(
  LedgerApi,
  "ledger",
  Effect.fn(function*(group) {
    const ledger = yield* Ledger

    const wireOf = (environment: Environment) => (transaction: StoredTransaction) =>
      transactionObject(transaction, (asset) => ledger.tokenOf(environment, asset))

    const settlementOf = (environment: Environment) => (settled: AccountBalance) =>
      settlementObject(environment, settled, ledger.tokenOf(environment, settled.asset))

    return group
      .handle(
        "balance",
        Effect.fnUntraced(function*({ query }) {
          const books = yield* readOwner(query.environment)
          const balances = yield* ledger.balances(books)
          const { environment } = books
          return wrappedJson(balanceObject(environment, balances, (asset) => ledger.tokenOf(environment, asset)))
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const books = yield* readOwner(query.environment)
          if (query.asset !== undefined && !assetPattern.test(query.asset)) {
            return yield* invalidParameter("asset", "a network and the address of a token, like `base:native`")
          }
          if (query.source_id !== undefined && !sourcePattern.test(query.source_id)) {
            return yield* invalidParameter("source_id", "the id of an object, like that of a payment")
          }
          const cursor = readPageCursor(query)
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* ledger.list({
            ...books,
            ...(query.type === undefined ? {} : { type: query.type }),
            ...(query.asset === undefined ? {} : { asset: query.asset }),
            ...(query.source_id === undefined ? {} : { sourceId: query.source_id }),
            ...(query.created_gte === undefined ? {} : { createdFrom: query.created_gte }),
            ...(query.created_lte === undefined ? {} : { createdTo: query.created_lte })
          }, { cursor, limit: query.limit ?? pageLimits.default })
          if (page === null) return yield* unknownCursor(query, "the id of a balance transaction of this environment")
          const data = page.transactions.map(wireOf(books.environment))
          return wrappedJson({ object: "list", data, has_more: page.hasMore })
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params, query }) {
          const books = yield* readOwner(query.environment)
          const found = yield* ledger.find(books, params.id.toLowerCase())
          return found === null ? yield* publicError("NOT_FOUND") : wrappedJson(wireOf(books.environment)(found))
        })
      )
      .handle(
        "settlements",
        Effect.fnUntraced(function*({ query }) {
          const books = yield* readOwner(query.environment)
          const cursor = readPageCursor(query)
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* ledger.listSettlements(books, { cursor, limit: query.limit ?? pageLimits.default })
          if (page === null) return yield* unknownCursor(query, "the id of a settlement of this environment")
          const data = page.settlements.map(settlementOf(books.environment))
          return wrappedJson({ object: "list", data, has_more: page.hasMore })
        })
      )
      .handle(
        "settlement",
        Effect.fnUntraced(function*({ params, query }) {
          const books = yield* readOwner(query.environment)
          const found = yield* ledger.findSettlement(books, params.id)
          return found === null ? yield* publicError("NOT_FOUND") : wrappedJson(settlementOf(books.environment)(found))
        })
      )
  })
)

export const preferenceHandlers = Operations.group(
  LedgerApi,
  "settlementPreference",
  Effect.fn(function*(group) {
    const ledger = yield* Ledger
    return group
      .handle(
        "preference",
        Effect.fnUntraced(function*({ query }) {
          return flatJson(preferenceObject(yield* ledger.preferences.read(yield* readOwner(query.environment))))
        })
      )
      .handle(
        "changePreference",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* requireMerchantScope
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const data = preferenceObject(payload.settlement_preference)
          yield* ledger.preferences.change(principal, payload.settlement_preference, {
            actor: principal.credential,
            cause: { requestId, idempotencyKey: idempotency.key },
            reply: idempotency.reply(200, JSON.stringify(data))
          }).pipe(dieOnReplay)
          return flatJson(data)
        })
      )
      .handle(
        "changeToken",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* requireMerchantScope
          if (payload.settlement_token_id !== null) {
            return yield* publicError("VALIDATION_ERROR", {
              message: "settlement_token_id: only null: payors pay straight to your wallet, so money is settled in the "
                + "token that was paid",
              param: "settlement_token_id"
            })
          }
          return flatJson(preferenceObject(yield* ledger.preferences.read(principal)))
        })
      )
  })
)

/** The calls of `LedgerRpc`. */
export const rpcHandlers = Rpc.handlers(
  LedgerRpc,
  Effect.gen(function*() {
    const ledger = yield* Ledger
    return LedgerRpc.of({
      "ledger.check": ({ merchant_id }) =>
        Effect.map(ledger.check(merchant_id ?? null), ({ differences, more }) => ({
          is_balanced: differences.length === 0,
          more,
          differences: differences.map((each) => ({
            merchant_id: each.merchantId,
            environment: each.environment,
            account: each.account,
            asset: each.asset,
            against: each.against,
            held: { units: each.units.toString(), usd_millis: signedUsdWire(each.usdMillis) },
            expected: { units: each.expectedUnits.toString(), usd_millis: signedUsdWire(each.expectedUsdMillis) }
          }))
        }))
    })
  })
)
