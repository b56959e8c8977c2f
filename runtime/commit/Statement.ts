/**
 * The SQL a flush is made of, generated once from the shapes of the tables: one function that writes a batch in one
 * call, and one that names the commits of a batch that cannot be stored. Pure text, no database.
 */
import { createHash } from "node:crypto"
import type { Rollup } from "../Rollups.ts"
import { isMoreTaken, moveBalances, placesOfMoreTaken } from "./BalanceDeltas.ts"
import { insertSums, updateSums } from "./RollupDeltas.ts"
import { type Column, quote, selectRows } from "./RowValues.ts"

/** A table that commits write to, as the catalogue describes it. */
export interface TableShape {
  readonly name: string
  /** Every column that can be written, in table order; `version` is one of them. */
  readonly columns: ReadonlyArray<Column>
  /** Columns of the primary key, in key order. */
  readonly key: ReadonlyArray<string>
  /** Name of the primary key's constraint. */
  readonly keyConstraint: string
}

/**
 * Raised by the write function when a count differs from what the batch expects, or a balance does not hold what is
 * taken: some commit of it is rejected. Of a key that was taken meanwhile PostgreSQL itself tells (`FlushError.ts`).
 */
export const conflictState = "TW001"

/**
 * Milliseconds a flush waits for one lock. Other instances hold locks only for the milliseconds of their own flushes; a
 * lock that is held longer belongs to a forgotten session or to a change of the table.
 */
export const lockTimeoutMillis = 700

/** The same while the commits of a batch that wait for a lock are searched for. */
export const briefLockMillis = 25

export interface Statements {
  /** `create or replace function …`, in order. */
  readonly definitions: ReadonlyArray<string>
  /** Of the function that writes, and of the one that names the rejections. */
  readonly names: readonly [string, string]
  /**
   * Parameters: counts of fences, replies, events, sums, balances, messages, of what balances must hold, and of each
   * table new rows and changed ones; values of the fences, replies and rows (`RowValues.ts`); merchants with events, in
   * order, and for each the place of its last event; values of the events, and of the sums and the balances by how much
   * they move; values of the messages, and of what balances must hold; milliseconds to wait for a lock, null:
   * {@link lockTimeoutMillis}.
   */
  readonly write: string
  /**
   * Parameters: counts, fences, replies, rows and what must be held as above, and the commits that these belong to, in
   * this order.
   */
  readonly rejections: string
}

const list = (names: ReadonlyArray<string>, prefix = ""): string => names.map((name) => prefix + quote(name)).join(", ")
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
const columns = (types: Readonly<Record<string, string>>): ReadonlyArray<Column> =>
  Object.entries(types).map(([name, type]) => ({ name, type }))

/** Values of a fence, of a stored reply and of an event, in the order in which `Batch.ts` sends them. */
const fenceColumns = columns({ name: "text", token: "bigint" })
const replyColumns = columns({
  merchant_id: "integer",
  environment: "text",
  scope: "text",
  fingerprint: "text",
  status: "integer",
  sealed_body: "text",
  reference: "text"
})
const eventColumns = columns({
  /** Place of its merchant among those of the batch, from 1. */
  merchant: "integer",
  environment: "text",
  type: "text",
  invoice_id: "text",
  order_id: "text",
  customer_id: "text",
  commerce: "boolean",
  request_id: "text",
  idempotency_key: "text",
  is_for_payors: "boolean",
  data: "text",
  /** Filters that select this type. */
  filters: "text[]",
  /** The one endpoint it is delivered to. */
  only_to: "text"
})

const messageColumns = columns({
  /** As for events. */
  merchant: "integer",
  environment: "text",
  format: "text",
  type: "text",
  filters: "text[]",
  data: "text"
})

/** Places in `p_counts`, from 1. */
const counts = { fences: 1, replies: 2, events: 3, sums: 4, balances: 5, messages: 6, held: 7 } as const
const newRows = (table: number): string => `p_counts[${table * 2 + 8}]`
const changedRows = (table: number): string => `p_counts[${table * 2 + 9}]`

/**
 * Rows are written in key order, so that two flushes with the same rows lock them in the same order. A row of version 1
 * is inserted: one that is there already violates the primary key, and means a lost race as {@link conflictState} does.
 * Any other row is updated from the version before, by the conflict with it: that always finds it by its key, where
 * the plan of an update, made on an empty table, may find it by any index that begins with its merchant.
 */
const writeRows = ({ columns, key, name }: TableShape, table: number): string => {
  const rest = columns.filter((column) => !key.includes(column.name)).map((column) => quote(column.name))
  const rows = (count: string) => selectRows(columns, { values: "p_rows", offset: "v_offset", count })
  return `
  if ${newRows(table)} > 0 then
    insert into ${quote(name)} (${list(columns.map((column) => column.name))})
      select ${list(columns.map((column) => column.name), "r.")} from (
        ${rows(newRows(table))}
      ) r order by ${list(key, "r.")};
    v_offset := v_offset + ${newRows(table)} * ${columns.length};
  end if;
  if ${changedRows(table)} > 0 then
    with put as (
      insert into ${quote(name)} as t (${list(columns.map((column) => column.name))})
      select ${list(columns.map((column) => column.name), "r.")} from (
        ${rows(changedRows(table))}
      ) r order by ${list(key, "r.")}
      on conflict (${list(key)}) do update set ${rest.map((column) => `${column} = excluded.${column}`).join(", ")}
        where t.version = excluded.version - 1
      returning t.xmax <> 0 as is_changed
    )
    select count(*) filter (where put.is_changed) into v_count from put;
    if v_count <> ${changedRows(table)} then
      raise exception using errcode = '${conflictState}', message = ${literal(name)};
    end if;
    v_offset := v_offset + ${changedRows(table)} * ${columns.length};
  end if;`
}

/**
 * Locks in a fixed order: fences, idempotency rows, rows table by table, balances, and last the merchants' stream rows
 * in merchant order. Rows of sums come after their merchant's stream row, which no other flush holds then, so nobody
 * waits for them. The clock and the sequence are read in statements after those locks, so for one merchant commit order
 * is id order (modules/docs/reference/events.md#ids). Endpoints are looked for once for all merchants: most have none.
 * Messages get numbers before the events of their flush, so that they go with these when events are pruned.
 */
const writeBody = (tables: ReadonlyArray<TableShape>): string => `
declare
  v_count bigint;
  v_offset integer := 0;
  v_clock bigint;
  v_previous_ms bigint[];
  v_previous_seq bigint[];
  v_seqs bigint[];
  v_endpoints text[];
  v_message_seqs bigint[];
  v_message_endpoints text[];
begin
  if p_lock_millis is not null then
    perform set_config('lock_timeout', p_lock_millis::text, true);
  end if;
  if p_counts[${counts.fences}] > 0 then
    perform 1 from (${selectRows(fenceColumns, { values: "p_fences", count: `p_counts[${counts.fences}]` })}) f
      join leases l on l.name = f.name where l.token = f.token order by l.name for share of l;
    get diagnostics v_count = row_count;
    if v_count <> p_counts[${counts.fences}] then
      raise exception using errcode = '${conflictState}', message = 'leases';
    end if;
  end if;
  if p_counts[${counts.replies}] > 0 then
    insert into idempotency (${list(replyColumns.map(({ name }) => name))})
      select ${list(replyColumns.map(({ name }) => name), "r.")} from (
        ${selectRows(replyColumns, { values: "p_replies", count: `p_counts[${counts.replies}]` })}
      ) r order by r.merchant_id, r.environment, r.scope;
  end if;${tables.map(writeRows).join("")}
  if p_counts[${counts.balances}] > 0 then
    ${moveBalances("p_balances", `p_counts[${counts.balances}]`)};
  end if;
  if p_counts[${counts.held}] > 0 then
    if ${isMoreTaken("p_held", `p_counts[${counts.held}]`)} then
      raise exception using errcode = '${conflictState}', message = 'account_balances';
    end if;
  end if;
  if p_counts[${counts.events}] > 0 then
    ${lockStreams}
    if v_previous_ms is null or cardinality(v_previous_ms) < cardinality(p_merchants) then
      insert into merchant_streams (merchant_id) select m from unnest(p_merchants) m order by m on conflict do nothing;
      ${lockStreams}
    end if;
    if p_counts[${counts.sums}] > 0 then
      ${updateSums("p_sums", `p_counts[${counts.sums}]`)};
      get diagnostics v_count = row_count;
      if v_count < p_counts[${counts.sums}] then
        ${insertSums("p_sums", `p_counts[${counts.sums}]`)};
      end if;
    end if;
    v_clock := floor(extract(epoch from clock_timestamp()) * 1000);
    if p_counts[${counts.messages}] > 0 then
      v_message_seqs := array(select nextval('event_seq') from generate_series(1, p_counts[${counts.messages}]));
    end if;
    v_seqs := array(select nextval('event_seq') from generate_series(1, p_counts[${counts.events}]));
    if exists (select from webhook_endpoints w where w.merchant_id = any (p_merchants) and w.status = 'enabled') then
      v_endpoints := array(
        select array(
          select w.id from webhook_endpoints w
          where w.merchant_id = p_merchants[e.merchant] and w.status = 'enabled' and w.format is null
            and case when e.only_to is null
            then (w.environment is null or w.environment = e.environment) and (e.commerce or not w.commerce_only)
              and w.filters && e.filters
            else w.id = e.only_to end
        )::text from (${events}) e order by e.place
      );
      insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
        select p_merchants[e.merchant], endpoint, greatest(v_previous_ms[e.merchant], v_clock), v_seqs[e.place]
        from (${events}) e, unnest(v_endpoints[e.place]::text[]) endpoint;
      if p_counts[${counts.messages}] > 0 then
        ${queueMessages}
      end if;
    end if;
    insert into events (
        merchant_id, ms, seq, environment, type, invoice_id, order_id, customer_id, commerce, request_id,
        idempotency_key, pending_webhooks, is_for_payors, data
      )
      select p_merchants[e.merchant], greatest(v_previous_ms[e.merchant], v_clock), v_seqs[e.place], e.environment,
        e.type, e.invoice_id, e.order_id, e.customer_id, e.commerce, e.request_id, e.idempotency_key,
        coalesce(cardinality(v_endpoints[e.place]::text[]), 0), e.is_for_payors, e.data
      from (${events}) e;
    update merchant_streams s set last_ms = greatest(s.last_ms, v_clock), last_seq = v_seqs[p_last_events[n]]
      from generate_series(1, cardinality(p_merchants)) n where s.merchant_id = p_merchants[n];
    return query select greatest(v_previous_ms[e.merchant], v_clock), v_seqs[e.place],
        coalesce(v_endpoints[e.place]::text[], '{}'), v_previous_ms[e.merchant], v_previous_seq[e.merchant]
      from (${events}) e order by e.place;
    if p_counts[${counts.messages}] > 0 then
      return query select 0::bigint, 0::bigint, coalesce(v_message_endpoints[n]::text[], '{}'), 0::bigint, 0::bigint
        from generate_series(1, p_counts[${counts.messages}]) n order by n;
    end if;
  end if;
end`

const events = selectRows(eventColumns, { values: "p_events", count: `p_counts[${counts.events}]` })

const messages = selectRows(messageColumns, { values: "p_messages", count: `p_counts[${counts.messages}]` })

/** Stores the messages that an endpoint wants, and queues their deliveries. */
const queueMessages = `v_message_endpoints := array(
          select array(
            select w.id from webhook_endpoints w
            where w.merchant_id = p_merchants[m.merchant] and w.status = 'enabled' and w.format = m.format
              and (w.environment is null or w.environment = m.environment) and w.filters && m.filters
          )::text from (${messages}) m order by m.place
        );
        insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
          select p_merchants[m.merchant], endpoint, greatest(v_previous_ms[m.merchant], v_clock), v_message_seqs[m.place]
          from (${messages}) m, unnest(v_message_endpoints[m.place]::text[]) endpoint;
        insert into webhook_messages (merchant_id, ms, seq, environment, format, type, data)
          select p_merchants[m.merchant], greatest(v_previous_ms[m.merchant], v_clock), v_message_seqs[m.place],
            m.environment, m.format, m.type, m.data
          from (${messages}) m where v_message_endpoints[m.place] <> '{}';`

/** The events before those of the batch: of each merchant the last one, in the order of `p_merchants`. */
const lockStreams = `select array_agg(s.last_ms), array_agg(s.last_seq) into v_previous_ms, v_previous_seq from (
      select last_ms, last_seq from merchant_streams where merchant_id = any (p_merchants) order by merchant_id for update
    ) s;`

/**
 * Rejections: commits of a batch that can never be stored, because a version only grows, a stored reply stays, and a
 * lease's token never comes back; and those that take more of a balance than it holds now. Reads without locks, after
 * the batch was rolled back; what it does not name is tried again.
 */
const rejectionsBody = (tables: ReadonlyArray<TableShape>): string => `
declare
  v_offset integer := 0;
  v_owned integer := 0;
begin
  return query select p_owners[v_owned + f.place], 'leases', null::text, null::integer, null::text, null::text
    from (${selectRows(fenceColumns, { values: "p_fences", count: `p_counts[${counts.fences}]` })}) f
    left join leases l on l.name = f.name where l.token is distinct from f.token;
  v_owned := v_owned + p_counts[${counts.fences}];
  return query select p_owners[v_owned + r.place], 'idempotency', i.fingerprint, i.status, i.sealed_body, i.reference
    from (${selectRows(replyColumns, { values: "p_replies", count: `p_counts[${counts.replies}]` })}) r
    join idempotency i on i.merchant_id = r.merchant_id and i.environment = r.environment and i.scope = r.scope;
  v_owned := v_owned + p_counts[${counts.replies}];${
  tables.map(({ columns, key, name }, table) => {
    const count = `${newRows(table)} + ${changedRows(table)}`
    return `
  if ${count} > 0 then
    return query select p_owners[v_owned + r.place], ${literal(name)}, null::text, null::integer, null::text, null::text
      from (${selectRows(columns, { values: "p_rows", offset: "v_offset", count })}) r
      left join ${quote(name)} t on ${key.map((column) => `t.${quote(column)} = r.${quote(column)}`).join(" and ")}
      where coalesce(t.version, 0) <> r.version - 1;
    v_owned := v_owned + ${count};
    v_offset := v_offset + (${count}) * ${columns.length};
  end if;`
  }).join("")
}
  return query select p_owners[v_owned + h.place], 'account_balances', null::text, null::integer, null::text, null::text
    from (${placesOfMoreTaken("p_held", `p_counts[${counts.held}]`)}) h;
end`

/** Plans are made once, for few rows that are found by key: without this a lone caller waits twice as long. */
const settings = [
  "enable_hashjoin = off",
  "enable_mergejoin = off",
  "enable_seqscan = off",
  "jit = off",
  "plan_cache_mode = force_generic_plan",
  `lock_timeout = ${lockTimeoutMillis}`
].map((setting) => `set ${setting}`).join(" ")

const define = (name: string, parameters: string, returns: string, body: string): string =>
  `create or replace function ${name}(${parameters}) returns table (${returns}) language plpgsql ${settings}
as $tillwire$
#variable_conflict use_column${body}
$tillwire$`

/**
 * The statements for `tables`. The name is a hash of shapes and rollup versions, so an instance never calls a function
 * made for other rollups.
 */
export const statementsFor = (tables: ReadonlyArray<TableShape>, rollups: ReadonlyArray<Rollup> = []): Statements => {
  const write = writeBody(tables)
  const rejections = rejectionsBody(tables)
  const sums = rollups.map(({ sum, version }) => `${sum} ${version}`).toSorted().join()
  const hash = createHash("sha256").update(settings + write + rejections + sums).digest("hex").slice(0, 16)
  const names = [`tillwire_commit_${hash}`, `tillwire_rejections_${hash}`] as const
  return {
    names,
    definitions: [
      define(
        names[0],
        "p_counts integer[], p_fences text[], p_replies text[], p_rows text[], p_merchants integer[], p_last_events integer[], p_events text[], p_sums text[], p_balances text[], p_messages text[], p_held text[], p_lock_millis integer",
        "ms bigint, seq bigint, endpoints text[], previous_ms bigint, previous_seq bigint",
        write
      ),
      define(
        names[1],
        "p_counts integer[], p_fences text[], p_replies text[], p_rows text[], p_held text[], p_owners integer[]",
        "n integer, conflict_table text, fingerprint text, status integer, sealed_body text, reference text",
        rejections
      )
    ],
    write: `select * from ${names[0]}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    rejections: `select * from ${names[1]}($1, $2, $3, $4, $5, $6)`
  }
}
