/**
 * Texts of events made by PostgreSQL. Events are stored as the newest version shows them, so their texts in that
 * version need nothing but to be put together: a row of one text crosses the wire, where eight columns would be read
 * and rendered. The SQL is made from the function that renders a text in TypeScript. Pure.
 */
import { envelopeText } from "../../../schemas/Event.ts"
import { newestVersion } from "../../../schemas/Version.ts"

/** No envelope has this character: it stands around the SQL of a value, in place of the value. */
const mark = "\u0000"
const sqlValue = (expression: string): string => `${mark}${expression}${mark}`

/** The SQL of a text that was rendered with {@link sqlValue}s. */
const concatenation = (rendered: string): string =>
  rendered.split(mark).map((part, index) => index % 2 === 1 ? `(${part})` : `'${part}'`).join(" || ")

const jsonOf = (column: string): string =>
  sqlValue(`CASE WHEN ${column} IS NULL THEN 'null' ELSE to_json(${column})::text END`)

/** An event's text in the newest version, from the columns of `e` that a page is read with. */
const envelope = concatenation(envelopeText({
  id: `evt_${sqlValue("e.ms")}-${sqlValue("e.seq")}`,
  version: newestVersion,
  created: sqlValue("e.ms / 1000"),
  type: sqlValue("e.type"),
  livemode: sqlValue("CASE WHEN e.environment = 'mainnet' THEN 'true' ELSE 'false' END"),
  pendingWebhooks: sqlValue("e.pending"),
  requestId: jsonOf("e.request_id"),
  idempotencyKey: jsonOf("e.idempotency_key"),
  data: sqlValue("e.data")
}))

/** A statement that answers the `text` of each row of another, in the newest version and in the same order. */
export const textStatement = (rows: string): string => `SELECT ${envelope} AS text FROM (${rows}) e`
