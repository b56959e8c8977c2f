/** Customers between the wire, the keepers of personal data and the erasures. */
import { Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Commit, dieOnReplay } from "../../runtime/Commit.ts"
import { Idempotency, jsonText, readEnvironment, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import * as Operations from "../../runtime/Operations.ts"
import { type Person, PersonalData, type PersonalDataKeeper } from "../../runtime/PersonalData.ts"
import { publicError } from "../../schemas/Errors.ts"
import { CustomersApi } from "./api.ts"
import { customerActOf, erasureObject, type ErasureState } from "./rules.ts"
import { Erasures } from "./service.ts"

const erasureText = (erasure: ErasureState): string => JSON.stringify({ success: true, data: erasureObject(erasure) })

/** Amounts are text, so that no digit is lost. */
const withIntegers = (_: string, value: unknown): unknown => typeof value === "bigint" ? value.toString() : value

/** All records of one keeper, part by part. */
const recordsOf = (keeper: PersonalDataKeeper, person: Person) =>
  Stream.paginate(
    null as string | null,
    (after) =>
      Effect.map(keeper.records(person, after), ({ next, records }) =>
        [records, next === null ? Option.none() : Option.some(next)] as const)
  )

/** Keeps that a customer was exported, before anything of it leaves; where that cannot be kept, nothing leaves. */
const makeKeepInAuditLog = Effect.gen(function*() {
  const auditLog = yield* AuditLog
  const commit = yield* Commit
  const personalData = yield* PersonalData
  return Effect.fnUntraced(function*(person: Person, actor: string) {
    const { environment, merchantId } = person
    const { requestId } = yield* RequestInfo
    const customer = personalData.hashOf(person)(person.customerId)
    const writes = yield* auditLog.writesOf(
      customerActOf("customer.export", { merchantId, environment, customer }, actor, requestId)
    )
    if (writes.length === 0) return
    yield* commit.append({ merchantId, environment, cause: { requestId, idempotencyKey: null }, writes, events: [] })
      .pipe(Effect.catchTags({ Conflict: Effect.die, IdempotentReplay: Effect.die }))
  })
})

export const handlers = Operations.group(
  CustomersApi,
  "customers",
  Effect.fn(function*(group) {
    const erasures = yield* Erasures
    const keepInAuditLog = yield* makeKeepInAuditLog
    const personalData = yield* PersonalData

    return group
      .handle(
        "export",
        Effect.fnUntraced(function*({ params }) {
          const { credential, environment, merchantId } = yield* requireMerchantScope
          const person: Person = { merchantId, environment, customerId: params.id }
          yield* keepInAuditLog(person, credential)
          const head = JSON.stringify({
            object: "customer_export",
            customer_id: person.customerId,
            environment,
            created_at: yield* nowSeconds
          })
          let divider = ""
          const records = Stream.fromIterable(personalData.keepers()).pipe(
            Stream.flatMap((keeper) => recordsOf(keeper, person)),
            Stream.map((record) => {
              const text = divider + JSON.stringify(record, withIntegers)
              divider = ","
              return text
            })
          )
          // The brackets that end it are missing in a part of it, so no parser takes it for the whole.
          const body = Stream.make(`{"success":true,"data":${head.slice(0, -1)},"records":[`).pipe(
            Stream.concat(records),
            Stream.concat(Stream.make("]}}")),
            Stream.encodeText
          )
          return HttpServerResponse.stream(body, { contentType: "application/json" })
        })
      )
      .handle(
        "erase",
        Effect.fnUntraced(function*({ params }) {
          const { credential, environment, kind, merchantId } = yield* requireMerchantScope
          if (kind !== "wallet") {
            return yield* publicError("CREDENTIAL_NOT_ALLOWED", {
              message:
                "Only an owner erases a customer, because it cannot be undone: sign in with a wallet and call with that " +
                "token. An API key stands on servers, and whoever finds one could erase all customers"
            })
          }
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const erasure = yield* erasures.request({ merchantId, environment, customerId: params.id }, {
            actor: credential,
            cause: { requestId, idempotencyKey: idempotency.key },
            reply: (asked) => idempotency.reply(200, erasureText(asked))
          }).pipe(dieOnReplay)
          return jsonText(erasureText(erasure))
        })
      )
      .handle(
        "erasure",
        Effect.fnUntraced(function*({ params, query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          const found = yield* erasures.find({ merchantId: principal.merchantId, environment, customerId: params.id })
          return found === null
            ? yield* publicError("NOT_FOUND", { message: "No erasure of this customer was asked for" })
            : jsonText(erasureText(found))
        })
      )
  })
)
