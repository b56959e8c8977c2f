/** The only SQL of metrics: the sums of a question, as of one moment. */
import { Effect, Exit, Request, RequestResolver } from "effect"
import { SqlClient } from "effect/sql"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { cover, type Span } from "../../runtime/Rollups.ts"
import type { Environment } from "../../schemas/Network.ts"
import { customers, maximumGroups, type Sum } from "./rules.ts"

/** Whose figures, and of which stretches of time. */
export interface SumsQuery {
  readonly merchantId: number
  readonly environment: Environment
  /** Only what belongs to commerce invoices. */
  readonly commerceOnly: boolean
  readonly span: Span
  readonly points: ReadonlyArray<Span>
  /** Sums told by point; the parts before the first `:` of their keys are invoice types. */
  readonly sums: ReadonlyArray<string>
  /** Whether to tell the customers who paid most, too. */
  readonly byCustomer: boolean
}

interface Row {
  readonly point: number | null
  readonly sum: string
  readonly key: string
  readonly count: bigint
  readonly amount: bigint
  readonly amount_paid: bigint
}

/** A question of a batch. */
class SumsRequest extends Request.Class<{ readonly query: SumsQuery }, ReadonlyArray<Sum>> {}

/** Questions that one statement may answer: they differ in their points only. */
const batchKeyOf = ({ commerceOnly, environment, merchantId, sums }: SumsQuery): string =>
  JSON.stringify([merchantId, environment, commerceOnly, sums])

/** Sums over one SqlClient; a failing statement is a defect, an unreachable database included. */
const makeStatement = Effect.map(SqlClient.SqlClient, (sql) => {
  /** The buckets of spans as a table, each with the place of its span. */
  const pieces = (spans: ReadonlyArray<Span>) => {
    const all = spans.flatMap((span, place) => cover(span).pieces.map((piece) => ({ ...piece, place })))
    return sql`unnest(${all.map(({ place }) => place)}::integer[], ${all.map(({ width }) => width)}::integer[],
      ${all.map(({ from }) => BigInt(from))}::bigint[], ${all.map(({ to }) => BigInt(to))}::bigint[])
      AS p(point, width, first, past)`
  }

  /**
   * Rows of `sums`, by point; of customers, those who paid most in the whole span. The sums of each piece
   * are found by the key of the table: \`OFFSET 0\` keeps the planner from joining the other way round.
   */
  return ({ byCustomer, commerceOnly, environment, merchantId, points, span, sums }: SumsQuery) => {
    const ofMerchant = sql`merchant_id = ${merchantId} AND environment = ${environment}
      ${commerceOnly ? sql`AND starts_with(key, 'commerce:')` : sql``}`
    const ofPoints = sql`SELECT p.point, s.sum, r.key, sum(r.count)::bigint AS count, sum(r.amount)::bigint AS amount,
        sum(r.amount_paid)::bigint AS amount_paid
      FROM ${pieces(points)} CROSS JOIN unnest(${[...sums]}::text[]) AS s(sum) CROSS JOIN LATERAL (
        SELECT key, count, amount, amount_paid FROM rollups
        WHERE ${ofMerchant} AND sum = s.sum AND width = p.width AND bucket >= p.first AND bucket < p.past OFFSET 0
      ) r GROUP BY p.point, s.sum, r.key`
    const ofCustomers = sql`(SELECT null::integer AS point, ${customers.sum}::text AS sum,
        ':' || substr(r.key, strpos(r.key, ':') + 1) AS key, sum(r.count)::bigint AS count,
        sum(r.amount)::bigint AS amount, sum(r.amount_paid)::bigint AS amount_paid
      FROM ${pieces([span])} CROSS JOIN LATERAL (
        SELECT key, count, amount, amount_paid FROM rollups
        WHERE ${ofMerchant} AND sum = ${customers.sum} AND width = p.width AND bucket >= p.first AND bucket < p.past OFFSET 0
      ) r GROUP BY 3 HAVING sum(r.count) > 0 ORDER BY 5 DESC, 3 LIMIT ${maximumGroups + 1})`
    return sql<Row>`${byCustomer ? sql`${ofPoints} UNION ALL ${ofCustomers}` : ofPoints}`.pipe(
      Effect.orDie,
      Effect.map((rows) =>
        rows.map(({ amount, amount_paid, count, key, point, sum }): Sum => ({
          point,
          sum,
          key,
          count: Number(count),
          amount,
          amountPaid: amount_paid
        }))
      )
    )
  }
})

/** Sums of both servers, each question by one of them. */
export const make = Effect.gen(function*() {
  const reads = yield* readsOf(makeStatement)
  const readStatement = (query: SumsQuery) => reads((statement) => statement(query))

  /** Questions that are asked at the same moment, as by a page of several figures, are one statement. */
  const sumsOfQuestions = RequestResolver.makeGrouped<SumsRequest, string>({
    key: ({ request }) => batchKeyOf(request.query),
    resolver: (entries) =>
      Effect.map(
        readStatement({ ...entries[0].request.query, points: entries.flatMap(({ request }) => request.query.points) }),
        (rows) => {
          let first = 0
          for (const entry of entries) {
            const [from, past] = [first, first + entry.request.query.points.length]
            const own = rows.filter(({ point }) => point !== null && point >= from && point < past)
            entry.completeUnsafe(Exit.succeed(own.map((row) => ({ ...row, point: row.point! - from }))))
            first = past
          }
        }
      )
  })

  const read = (query: SumsQuery): Effect.Effect<ReadonlyArray<Sum>> =>
    query.byCustomer ? readStatement(query) : Effect.request(new SumsRequest({ query }), sumsOfQuestions)

  return { read }
})
