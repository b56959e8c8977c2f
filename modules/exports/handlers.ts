/** Exports between the wire and the pages of rows. */
import { Effect, Option, Schedule, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type AuditAct, AuditLog } from "../../runtime/AuditLog.ts"
import { monotonicMillis } from "../../runtime/Clock.ts"
import { Commit } from "../../runtime/Commit.ts"
import { readEnvironment, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import { withTrailers } from "../../runtime/http/Trailers.ts"
import * as Operations from "../../runtime/Operations.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidV4 } from "../../runtime/Uuid.ts"
import { type Cell, csvLine, text } from "../../schemas/Csv.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { type Environment, networks } from "../../schemas/Network.ts"
import { InvoiceHooks } from "../invoices/plugin.ts"
import { type ExportKind, ExportsApi } from "./api.ts"
import * as Repo from "./repo.ts"
import {
  exportUnderWay,
  jsonRow,
  keepsBooks,
  maximumExportMillis,
  metadataCell,
  pageRows,
  readMetadataKeys,
  readRange,
  refuseBooks
} from "./rules.ts"
import * as Kinds from "./rules/Kinds.ts"

/** The trailer with the number of rows of a complete file. */
const rowCountTrailer = "x-row-count"

/**
 * A caller that has read a file to its end may ask for the next one before the place is given up: so a request waits
 * for it, a second at most.
 */
const placeRetries = 20
const placePause = "50 millis"

/** What every kind's rows have, beside their columns. */
interface ExportRow {
  readonly id: string
  readonly metadata: Readonly<Record<string, unknown>>
}

interface Kind<Row extends ExportRow> {
  /** Whether it needs that the books are kept. */
  readonly isOfBooks?: true
  readonly columns: ReadonlyArray<string>
  readonly page: (query: Repo.PageQuery) => Effect.Effect<ReadonlyArray<Row>>
  readonly moment: Kinds.Moment<Row>
  readonly cells: (row: Row) => ReadonlyArray<Cell>
}

interface KindSources {
  readonly repo: Effect.Success<typeof Repo.make>
  readonly catalog: TokenCatalog["Service"]
  readonly hasBooks: () => boolean
}

const kindsOf = ({ catalog, hasBooks, repo }: KindSources): Readonly<Record<ExportKind, Kind<ExportRow>>> =>
  ({
    invoices: {
      columns: Kinds.invoiceColumns,
      page: repo.invoices,
      moment: Kinds.createdAt,
      cells: Kinds.invoiceCells
    } satisfies Kind<Repo.InvoiceRow>,
    payments: {
      columns: Kinds.paymentColumns,
      page: repo.payments,
      moment: Kinds.createdAt,
      cells: Kinds.paymentCells
    } satisfies Kind<Repo.PaymentRow>,
    refunds: {
      columns: Kinds.refundColumns,
      page: repo.refunds,
      moment: Kinds.createdAt,
      cells: Kinds.refundCells
    } satisfies Kind<Repo.RefundRow>,
    lots: {
      columns: Kinds.lotColumns,
      page: repo.payments,
      moment: Kinds.receiptMoment,
      cells: Kinds.lotCells
    } satisfies Kind<Repo.PaymentRow>,
    koinly: {
      columns: Kinds.koinlyColumns,
      page: (query) =>
        Effect.map(
          repo.movements(query, hasBooks()),
          (rows) => rows.map((row) => withCatalogToken(catalog, query.environment, row))
        ),
      moment: Kinds.movementMoment,
      cells: Kinds.koinlyCells
    } satisfies Kind<Repo.MovementRow>,
    "balance-transactions": {
      isOfBooks: true,
      columns: Kinds.bookingColumns,
      page: repo.bookings,
      moment: Kinds.bookedAt,
      cells: Kinds.bookingCells
    } satisfies Kind<Repo.BookingRow>,
    journal: {
      isOfBooks: true,
      columns: Kinds.journalColumns,
      page: repo.journal,
      moment: Kinds.bookedAt,
      cells: Kinds.journalCells
    } satisfies Kind<Repo.JournalRow>
  }) as unknown as Readonly<Record<ExportKind, Kind<ExportRow>>>

/** What an adjustment moves is told by its asset alone, so the catalogue names it. */
const withCatalogToken = (
  catalog: TokenCatalog["Service"],
  environment: Environment,
  row: Repo.MovementRow
): Repo.MovementRow => {
  if (row.kind !== "sent" || row.token !== null) return row
  const network = networks.find((each) => each === row.asset_network)
  return { ...row, token: network === undefined ? null : catalog.find(network, environment, row.token_address) ?? null }
}

/** How a file begins, divides its rows and ends. */
interface FileFormat {
  readonly contentType: string
  readonly head: (columns: ReadonlyArray<string>) => string
  readonly row: (columns: ReadonlyArray<string>, cells: ReadonlyArray<Cell>) => string
  readonly divider: string
  readonly foot: string
}

const formats: Readonly<Record<"csv" | "json", FileFormat>> = {
  csv: {
    contentType: "text/csv; charset=utf-8; header=present",
    head: (columns) => csvLine(columns.map(text)),
    row: (_, cells) => csvLine(cells),
    divider: "",
    foot: ""
  },
  // The bracket that ends the array is missing in a part of a file, so no parser takes it for the whole.
  json: { contentType: "application/json", head: () => "[\n", row: jsonRow, divider: ",\n", foot: "\n]\n" }
}

/** Keeps that a file was asked for, before anything of it leaves; where that cannot be kept, nothing leaves. */
const makeKeepInAuditLog = Effect.gen(function*() {
  const auditLog = yield* AuditLog
  const commit = yield* Commit
  return (act: AuditAct) =>
    Effect.flatMap(auditLog.writesOf(act), (writes) =>
      writes.length === 0
        ? Effect.void
        : commit.append({
          merchantId: act.merchantId,
          environment: act.environment,
          cause: { requestId: act.requestId, idempotencyKey: null },
          writes,
          events: []
        }).pipe(Effect.catchTags({ Conflict: Effect.die, IdempotentReplay: Effect.die })))
})

/**
 * The handlers. Rows are read in pages, each a statement of its own: no snapshot is held, so that a slow reader holds
 * back no vacuum and no connection. Which rows are in the file is fixed by their moments.
 */
export const handlers = Operations.group(
  ExportsApi,
  "exports",
  Effect.fn(function*(group) {
    const keepInAuditLog = yield* makeKeepInAuditLog
    const repo = yield* Repo.make
    const hooks = yield* InvoiceHooks
    const hasBooks = () => keepsBooks(hooks.current())
    const catalog = yield* TokenCatalog
    const kinds = kindsOf({ repo, catalog, hasBooks })
    const reads = yield* readsOf(Effect.map(Repo.make, (from) => kindsOf({ repo: from, catalog, hasBooks })))

    /** The merchant's only place for an export, until the answer has ended. */
    const takePlace = Effect.fnUntraced(function*(merchantId: number) {
      const holder = yield* uuidV4
      const isTaken = yield* Effect.acquireRelease(
        Effect.repeat(repo.acquire(merchantId, holder), {
          until: (isAcquired) => isAcquired,
          times: placeRetries,
          schedule: Schedule.spaced(placePause)
        }),
        (isAcquired) => isAcquired ? repo.release(merchantId, holder) : Effect.void
      )
      return isTaken ? holder : yield* exportUnderWay
    })

    return group.handle(
      "read",
      Effect.fnUntraced(function*({ params, query }) {
        const principal = yield* requireMerchantScope
        const environment = yield* readEnvironment(principal, query.environment)
        const range = readRange(query)
        if (range instanceof PublicError) return yield* range
        const keys = readMetadataKeys(query.metadata_keys)
        if (keys instanceof PublicError) return yield* keys
        const { merchantId } = principal
        const kind = kinds[params.kind]
        const refusal = kind.isOfBooks ? refuseBooks(params.kind, hasBooks(), keys) : undefined
        if (refusal !== undefined) return yield* refusal
        const format = formats[query.format ?? "csv"]
        const columns = [...kind.columns, ...keys.map((key) => `metadata.${key}`)]
        const headers = {
          "content-disposition": `attachment; filename="${params.kind}-v1-${environment}.${query.format ?? "csv"}"`,
          "x-export-version": "1",
          trailer: rowCountTrailer
        }
        const request = yield* HttpServerRequest.HttpServerRequest
        if (request.method === "HEAD") return HttpServerResponse.empty({ status: 200, headers })
        const holder = yield* takePlace(merchantId)
        let rows = 0
        const fileOf = (page: ReadonlyArray<ExportRow>): string => {
          let file = ""
          for (const row of page) {
            const moment = kind.moment(row)
            if (moment === null || moment < range.from || moment >= range.to) continue
            const cells = [...kind.cells(row), ...keys.map((key) => metadataCell(row.metadata, key))]
            file += (rows === 0 ? "" : format.divider) + format.row(columns, cells)
            rows += 1
          }
          return file
        }
        yield* keepInAuditLog({
          merchantId,
          environment,
          actor: principal.credential,
          action: "export.read",
          subject: { object: "export", id: params.kind },
          before: {},
          after: { format: query.format ?? "csv", from: range.from, to: range.to, metadata_keys: [...keys] },
          requestId: (yield* RequestInfo).requestId
        })
        const startedAtMillis = yield* monotonicMillis
        const pages = Stream.paginate(Repo.firstId, (after) =>
          Effect.gen(function*() {
            if ((yield* monotonicMillis) - startedAtMillis > maximumExportMillis) {
              return yield* Effect.die(new Error("an export took longer than an hour: it is ended"))
            }
            if (!(yield* repo.renew(merchantId, holder))) {
              return yield* Effect.die(new Error("an export did not renew its place in time, and another has it"))
            }
            const page = yield* reads((from) => from[params.kind].page({ merchantId, environment, after }))
            const file = fileOf(page)
            const next = page.length < pageRows ? Option.none() : Option.some(page.at(-1)!.id)
            return [file === "" ? [] : [file], next] as const
          }))
        const body = Stream.make(format.head(columns)).pipe(
          Stream.concat(pages),
          Stream.concat(Stream.make(format.foot)),
          Stream.encodeText
        )
        return HttpServerResponse.stream(withTrailers(body, () => ({ [rowCountTrailer]: String(rows) })), {
          contentType: format.contentType,
          headers
        })
      })
    )
  })
)
