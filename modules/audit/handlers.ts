/** The audit log between the wire and its entries. */
import { Effect } from "effect"
import { type Grant, jsonText, readEnvironment, requireMerchantScope } from "../../runtime/Http.ts"
import { systemMerchant } from "../../runtime/Commit.ts"
import { requireServed } from "../../runtime/OperatorRoutes.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Members } from "../../runtime/Members.ts"
import * as Operations from "../../runtime/Operations.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { type CursorQuery, type PageCursor, pageLimits, readPageCursor, unknownCursor } from "../../schemas/Page.ts"
import { mayDo } from "../../schemas/Roles.ts"
import { AuditApi } from "./api.ts"
import { OperatorAuditApi } from "./operator.ts"
import type { AuditFilter } from "./repo.ts"
import { auditEntryObject } from "./rules.ts"
import { AuditEntries } from "./service.ts"

const idPrefix = "aud_"

/** The object and the verb. */
const actionPattern = /^[a-z_]{1,64}\.[a-z_]{1,64}$/u

/** Ids are a prefix and a UUID, or a UUID. */
const subjectIdPattern = /^[A-Za-z0-9_-]{1,128}$/u

const readCursor = (query: CursorQuery): PageCursor | null | PublicError => {
  const cursor = readPageCursor(query)
  return cursor === null || isPublicError(cursor)
      || cursor.id.startsWith(idPrefix) && isUuid(cursor.id.slice(idPrefix.length))
    ? cursor
    : unknownCursor(query, "the id of an entry of the audit log")
}

interface AuditQuery extends CursorQuery {
  readonly action?: string
  readonly subject_id?: string
  readonly created_gte?: number
  readonly created_lte?: number
  readonly limit?: number
}

/** The page of the log that a query asks for, of whose entries the caller may read. */
const answerPage = Effect.fnUntraced(function*(
  entries: AuditEntries["Service"],
  query: AuditQuery,
  readable: Pick<AuditFilter, "actors" | "environment" | "merchantId">
) {
  if (query.action !== undefined && !actionPattern.test(query.action)) {
    return yield* invalidParameter("action", "the name of an action, like `exception.resolve`")
  }
  if (query.subject_id !== undefined && !subjectIdPattern.test(query.subject_id)) {
    return yield* invalidParameter("subject_id", "the id of an object, like `exc_…` of an exception")
  }
  const cursor = readCursor(query)
  if (isPublicError(cursor)) return yield* cursor
  const page = yield* entries.list({
    ...readable,
    ...(query.action === undefined ? {} : { action: query.action }),
    ...(query.subject_id === undefined ? {} : { subjectId: query.subject_id }),
    ...(query.created_gte === undefined ? {} : { createdFrom: query.created_gte }),
    ...(query.created_lte === undefined ? {} : { createdTo: query.created_lte })
  }, { cursor, limit: query.limit ?? pageLimits.default })
  return jsonText(JSON.stringify({
    success: true,
    data: {
      object: "list",
      data: page.entries.map(({ entry, link }) => auditEntryObject(entry, link)),
      has_more: page.hasMore
    }
  }))
})

export const handlers = Operations.group(
  AuditApi,
  "audit",
  Effect.fn(function*(group) {
    const entries = yield* AuditEntries
    const members = yield* Members

    /** As whom a caller may read; undefined: all entries. */
    const actorsFor = (caller: Grant) =>
      mayDo(caller, "audit:read", caller.environment)
        ? Effect.succeed(undefined)
        : Effect.map(
          caller.person === null ? Effect.succeed([]) : members.actorsOf(caller.merchantId, caller.person),
          (actors) => [...new Set([caller.credential, ...actors])]
        )
    return group.handle(
      "list",
      Effect.fnUntraced(function*({ query }) {
        const principal = yield* requireMerchantScope
        const environment = yield* readEnvironment(principal, query.environment)
        const actors = yield* actorsFor(principal)
        return yield* answerPage(entries, query, {
          ...(actors === undefined ? {} : { actors }),
          merchantId: principal.merchantId,
          environment
        })
      })
    )
  })
)

export const operatorHandlers = Operations.group(
  OperatorAuditApi,
  "operatorAudit",
  Effect.fn(function*(group) {
    const entries = yield* AuditEntries
    const settings = yield* Settings
    return group.handle(
      "list",
      Effect.fnUntraced(function*({ query }) {
        const { environment, merchant_id: merchantId = systemMerchant } = query
        yield* requireServed(settings, environment)
        return yield* answerPage(entries, query, { merchantId, environment })
      })
    )
  })
)
