/** Commits on their way to a flush: encoded once, gathered so that no two of a batch want the same row. */
import type { Append, BalanceDelta, CommittedEvent } from "../Commit.ts"
import { dataText, type EventDraft, eventIndex, isForPayors } from "../../schemas/Event.ts"
import { eventIdOf } from "../../schemas/Ids.ts"
import { filtersMatching } from "../../schemas/Webhook.ts"
import { maximumWrites, systemMerchant } from "../Commit.ts"
import type { TableShape } from "./Statement.ts"
import { textArray, type Value, valueOf } from "./RowValues.ts"
import { balanceRows, heldRows } from "./BalanceDeltas.ts"
import { deltaRows, deltasOf, type RollupDelta, type RollupsByObject } from "./RollupDeltas.ts"

/** Commits in one flush, at most: past it the gain of sharing is spent and the wait grows. */
export const maximumBatch = 256

/** Bytes of encoded rows and events in one flush, at most; a larger commit flushes alone. */
export const maximumBatchBytes = 4 * 1024 * 1024

/** Waiting commits looked at for one batch, at most: behind one contended row, the rest may as well wait. */
const maximumExamined = 4 * maximumBatch

/** An event without its position. */
type Draft = Omit<
  CommittedEvent,
  "id" | "position" | "created" | "pendingWebhooks" | "webhookEndpoints" | "messageEndpoints"
>

/** A commit as the flush sends it. */
export interface EncodedCommit {
  readonly append: Append
  /** Values of each row, with the place of its table in the list. */
  readonly rows: ReadonlyArray<
    { readonly table: number; readonly isNew: boolean; readonly values: ReadonlyArray<Value> }
  >
  /** Names of what no other commit of the batch may name: its rows, its idempotency scope, the balances it takes from. */
  readonly conflictKeys: ReadonlyArray<string>
  readonly drafts: ReadonlyArray<Draft>
  /** By how much its events move the sums. */
  readonly deltas: ReadonlyArray<RollupDelta>
  /** UTF-16 units: what held a batch need not be exact. */
  readonly size: number
}

const filterLists = new Map<string, string>()

/** The filters that select `type` as a PostgreSQL array literal; types are few and need no quoting. */
const filterList = (type: string): string => {
  const existing = filterLists.get(type)
  if (existing !== undefined) return existing
  const made = `{${filtersMatching(type).join(",")}}`
  filterLists.set(type, made)
  return made
}

/** Renders events; what tells the same as the one before it (`invoice.paid` after `invoice.updated`) only once. */
const renderer = () => {
  let last: { readonly event: EventDraft; readonly data: string } | undefined
  return (event: EventDraft): string => {
    const isSame = last !== undefined && last.event.object === event.object &&
      last.event.previousAttributes === event.previousAttributes
    const data = isSame && last !== undefined
      ? last.data
      : dataText(event.object, event.previousAttributes, event.objectText)
    last = { event, data }
    return data
  }
}

/** Throws on a commit that breaks the rules of `Commit.ts`: a bug of its caller. */
export const encode = (
  append: Append,
  shapes: ReadonlyMap<string, TableShape & { readonly place: number }>,
  rollups: RollupsByObject = new Map()
): EncodedCommit => {
  if (append.writes.length > maximumWrites) {
    throw new Error(`A commit takes at most ${maximumWrites} rows, not ${append.writes.length}`)
  }
  if (append.merchantId === systemMerchant && append.events.length > 0) {
    throw new Error("A commit of no merchant tells no events")
  }
  if (append.messages !== undefined && append.messages.length > 0 && append.events.length === 0) {
    throw new Error("A commit without events sends no messages: their place is behind its events")
  }
  const conflictKeys: Array<string> = []
  let size = 0
  const rows = append.writes.map(({ row, table }) => {
    const shape = shapes.get(table)
    if (shape === undefined) throw new Error(`Table "${table}" is not on the list of tables that commits write to`)
    if (!Number.isSafeInteger(row.version) || row.version < 1) throw new Error(`"${table}": version ${row.version}`)
    conflictKeys.push(shape.key.reduce((key, column) => `${key}\n${String(row[column])}`, table))
    const values = shape.columns.map(({ name, type }) => valueOf(type, row[name]))
    for (const value of values) size += value === null ? 0 : value.length
    return { table: shape.place, isNew: row.version === 1, values }
  })
  if (new Set(conflictKeys).size < conflictKeys.length) {
    throw new Error(`A commit writes a row twice: ${conflictKeys.join(", ")}`)
  }
  // Two that take what one balance holds may each find enough, and both together too little.
  const balances = append.balances ?? []
  for (const delta of balances) {
    if (delta.mustHold === undefined) continue
    const { account, asset, environment, merchantId } = delta
    const isSame = (other: BalanceDelta) =>
      other.account === account && other.asset === asset && other.merchantId === merchantId &&
      other.environment === environment
    if (balances.filter(isSame).length > 1) throw new Error(`A commit takes twice from the balance of ${account}`)
    conflictKeys.push(`\n${merchantId}\n${environment}\n${account}\n${asset}`)
  }
  if (append.reply !== undefined) {
    conflictKeys.push(`\n${append.merchantId}\n${append.reply.environment}\n${append.reply.scope}`)
    size += (append.reply.sealedBody ?? append.reply.reference).length
  }
  for (const { data } of append.messages ?? []) size += data.length
  const render = renderer()
  const drafts = append.events.map((event): Draft => {
    const data = render(event)
    size += data.length
    return {
      merchantId: append.merchantId,
      environment: append.environment,
      type: event.type,
      requestId: append.cause.requestId,
      idempotencyKey: append.cause.idempotencyKey,
      ...eventIndex(event.object),
      data,
      isForPayors: isForPayors(event)
    }
  })
  return { append, rows, conflictKeys, drafts, deltas: deltasOf(rollups, append.events), size }
}

/**
 * Takes the next batch out of `waiting`, oldest first: at most {@link maximumBatch} commits and
 * {@link maximumBatchBytes}, no two with a conflict key in common; what has to wait keeps its place.
 */
export const takeBatch = <A extends { readonly encoded: EncodedCommit }>(waiting: Array<A>): Array<A> => {
  const batch: Array<A> = []
  const remaining: Array<A> = []
  const takenKeys = new Set<string>()
  let size = 0
  let index = 0
  const end = Math.min(waiting.length, maximumExamined)
  for (; index < end && batch.length < maximumBatch; index++) {
    const next = waiting[index]!
    const { conflictKeys } = next.encoded
    size += next.encoded.size
    if (size > maximumBatchBytes && batch.length > 0) break
    if (conflictKeys.some((key) => takenKeys.has(key))) {
      size -= next.encoded.size
      remaining.push(next)
    } else {
      batch.push(next)
    }
    for (const key of conflictKeys) takenKeys.add(key)
  }
  waiting.splice(0, index, ...remaining)
  return batch
}

/** Rows of a batch in the order the functions read them: table by table, of each the new rows first. */
const gatherRows = (batch: ReadonlyArray<EncodedCommit>, tables: number) => {
  const groups = Array.from({ length: 2 * tables }, (): Array<{ values: ReadonlyArray<Value>; owner: number }> => [])
  batch.forEach((commit, owner) => {
    for (const { isNew, table, values } of commit.rows) groups[2 * table + (isNew ? 0 : 1)]!.push({ values, owner })
  })
  return { counts: groups.map((group) => group.length), rows: groups.flat() }
}

/** What both functions are given: counts, and values of fences, replies, rows and held. */
const commonArguments = (batch: ReadonlyArray<EncodedCommit>, tables: number) => {
  const fences = batch.flatMap(({ append: { fence } }, owner) =>
    fence === undefined ? [] : [{ owner, values: [fence.name, String(fence.token)] }]
  )
  const replies = batch.flatMap(({ append: { merchantId, reply } }, owner) =>
    reply === undefined ? [] : [{
      owner,
      values: [
        String(merchantId),
        reply.environment,
        reply.scope,
        reply.fingerprint,
        String(reply.status),
        reply.sealedBody ?? null,
        reply.reference ?? null
      ]
    }]
  )
  const held = batch.flatMap(({ append: { balances } }, owner) =>
    heldRows(balances).map((values) => ({ owner, values }))
  )
  const { counts, rows } = gatherRows(batch, tables)
  return { held, fences, replies, rows, tableCounts: counts }
}

const valuesOf = (rows: ReadonlyArray<{ readonly values: ReadonlyArray<Value> }>) =>
  textArray(rows.flatMap(({ values }) => values))

/** Arguments of the write function. */
export const writeArguments = (batch: ReadonlyArray<EncodedCommit>, tables: number): ReadonlyArray<unknown> => {
  const { held, fences, replies, rows, tableCounts } = commonArguments(batch, tables)
  const drafts = batch.flatMap(({ append, drafts }) => drafts.map((draft) => ({ draft, onlyTo: append.deliverOnlyTo })))
  const lastEvents = new Map(drafts.map(({ draft }, index) => [draft.merchantId, index + 1]))
  const merchants = [...lastEvents.keys()].toSorted((a, b) => a - b)
  const places = new Map(merchants.map((merchant, index) => [merchant, index + 1]))
  const events = drafts.flatMap(({ draft, onlyTo }): ReadonlyArray<Value> => [
    String(places.get(draft.merchantId)),
    draft.environment,
    draft.type,
    draft.invoiceId,
    draft.orderId,
    draft.customerId,
    String(draft.commerce),
    draft.requestId,
    draft.idempotencyKey,
    String(draft.isForPayors),
    draft.data,
    filterList(draft.type),
    onlyTo ?? null
  ])
  const messages = batch.flatMap(({ append }) =>
    (append.messages ?? []).map(({ data, filters, format, type }): ReadonlyArray<Value> => [
      String(places.get(append.merchantId)),
      append.environment,
      format,
      type,
      valueOf("text[]", filters),
      data
    ])
  )
  const sums = deltaRows(batch.map(({ append, deltas }) => ({ owner: append, deltas })))
  const balances = balanceRows(batch.map(({ append }) => append.balances))
  return [
    [
      fences.length,
      replies.length,
      drafts.length,
      sums.length,
      balances.length,
      messages.length,
      held.length,
      ...tableCounts
    ],
    valuesOf(fences),
    valuesOf(replies),
    valuesOf(rows),
    merchants,
    merchants.map((merchant) => lastEvents.get(merchant)),
    textArray(events),
    textArray(sums.flat()),
    textArray(balances.flat()),
    textArray(messages.flat()),
    valuesOf(held)
  ]
}

/** Arguments of the function that names the rejections of a batch. */
export const rejectionArguments = (batch: ReadonlyArray<EncodedCommit>, tables: number): ReadonlyArray<unknown> => {
  const { held, fences, replies, rows, tableCounts } = commonArguments(batch, tables)
  return [
    [fences.length, replies.length, 0, 0, 0, 0, held.length, ...tableCounts],
    valuesOf(fences),
    valuesOf(replies),
    valuesOf(rows),
    valuesOf(held),
    [...fences, ...replies, ...rows, ...held].map(({ owner }) => owner)
  ]
}

/** A row of the function that names the rejections: with the stored reply where one was there already. */
export type RejectedCommit =
  & { readonly n: number; readonly conflict_table: string }
  & (
    | {
      readonly fingerprint: string
      readonly status: number
      readonly sealed_body: string | null
      readonly reference: string | null
    }
    | { readonly fingerprint: null; readonly status: null; readonly sealed_body: null; readonly reference: null }
  )

/** A row the write function answers with: one for each event, in order, then one for each message. */
export interface EventNumberRow {
  readonly ms: bigint
  readonly seq: bigint
  readonly endpoints: ReadonlyArray<string>
  readonly previous_ms: bigint
  readonly previous_seq: bigint
}

/** Milliseconds in a second; an event's `created` is in whole seconds (modules/docs/reference/events.md#envelope). */
const millisPerSecond = 1_000n

/** The event as it now stands in the table. */
export const committedEvent = (
  draft: Draft,
  { endpoints, ms, seq }: EventNumberRow,
  messageEndpoints: ReadonlyArray<string> = []
): CommittedEvent => ({
  ...draft,
  id: eventIdOf({ ms, seq }),
  position: { ms, seq },
  created: Number(ms / millisPerSecond),
  pendingWebhooks: endpoints.length,
  webhookEndpoints: endpoints,
  ...(messageEndpoints.length === 0 ? {} : { messageEndpoints })
})
