/**
 * The SQL a flush is made of, generated once from the shapes of the tables: one function that writes a batch in one
 * call, and one that names the commits of a batch that can never be stored. Pure text, no database.
 */
import { createHash } from "node:crypto"
import type { Rollup } from "../Rollups.ts"
import { addDeltas } from "./RollupDeltas.ts"

/** A table that commits write to, as the catalogue describes it. */
export interface TableShape {
  readonly name: string
  /** Every column that can be written, in table order; `version` is one of them. */
  readonly columns: ReadonlyArray<string>
  /** Columns of the primary key, in key order. */
  readonly key: ReadonlyArray<string>
}

/** Raised by the write function when a count differs from what the batch expects: some commit of it has lost. */
export const conflictState = "TW001"

/**
 * Milliseconds a flush waits for one lock. Other instances hold locks only for the milliseconds of their own flushes; a
 * lock that is held longer belongs to a forgotten session or to a change of the table.
 */
const lockTimeoutMillis = 700

/** The same while the commits of a batch that wait for a lock are searched for. */
export const briefLockMillis = 25

export interface Statements {
  /** `create or replace function …`, in order. */
  readonly definitions: ReadonlyArray<string>
  /** Of the function that writes, and of the one that names the losers. */
  readonly names: readonly [string, string]
  /**
   * Parameters: counts of fences, keys and rows per table; fences, keys, rows per table, merchants with events, events,
   * their data, by how much sums move; milliseconds to wait for a lock, null: {@link
   * lockTimeoutMillis}.
   */
  readonly write: string
  /** Parameters: fences, keys, rows per table, owners of the rows per table. */
  readonly rejections: string
}

const quote = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`
const list = (names: ReadonlyArray<string>, prefix = ""): string => names.map((name) => prefix + quote(name)).join(", ")

/**
 * Rows are upserted in key order, so that two flushes with the same rows lock them in the same order. A row of version
 * 1 must be inserted and any other must be updated from the version before; what is neither is not counted.
 */
const writeRows = ({ columns, key, name }: TableShape, index: number): string => {
  const rest = columns.filter((column) => !key.includes(column))
  return `
  if p_rows[${index}] <> '' then
    with put as (
      insert into ${quote(name)} as t (${list(columns)})
      select ${list(columns, "r.")} 
        from json_populate_recordset(null::${quote(name)}, p_rows[${index}]::json) r order by ${list(key, "r.")}
      on conflict (${list(key)}) do update set ${
    rest.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(", ")
  }
        where t.version = excluded.version - 1
      returning (t.xmax = 0) = (t.version = 1) as expected
    )
    select count(*) filter (where put.expected) into v_count from put;
    if v_count <> p_expected[${index + 2}] then
      raise exception using errcode = '${conflictState}', message = ${literal(name)};
    end if;
  end if;`
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * Locks in a fixed order: fences, idempotency rows, rows table by table, and last the merchants' stream rows in
 * merchant order. Rows of sums come after their merchant's stream row, which no other flush holds then, so nobody waits
 * for them. The clock and the sequence are read in a statement after those locks, so for one merchant commit order is
 * id order (modules/docs/reference/events.md#ids).
 */
const writeBody = (tables: ReadonlyArray<TableShape>): string => `
declare
  v_count bigint;
  v_clock bigint;
begin
  if p_lock_millis is not null then
    perform set_config('lock_timeout', p_lock_millis::text, true);
  end if;
  if p_fences is not null then
    perform 1 from json_to_recordset(p_fences) as f(name text, token bigint)
      join leases l on l.name = f.name where l.token = f.token order by l.name for share of l;
    get diagnostics v_count = row_count;
    if v_count <> p_expected[1] then
      raise exception using errcode = '${conflictState}', message = 'leases';
    end if;
  end if;
  if p_keys is not null then
    insert into idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body, reference)
    select k.m, k.e, k.s, k.f, k.a, k.b, k.d
      from json_to_recordset(p_keys) as k(m integer, e text, s text, f text, a integer, b text, d text)
      order by k.m, k.e, k.s
    on conflict do nothing;
    get diagnostics v_count = row_count;
    if v_count <> p_expected[2] then
      raise exception using errcode = '${conflictState}', message = 'idempotency';
    end if;
  end if;${tables.map((table, index) => writeRows(table, index + 1)).join("")}
  if p_events is not null then
    perform 1 from merchant_streams s where s.merchant_id = any (p_merchants) order by s.merchant_id for update;
    get diagnostics v_count = row_count;
    if v_count < cardinality(p_merchants) then
      insert into merchant_streams (merchant_id) select m from unnest(p_merchants) m order by m on conflict do nothing;
      perform 1 from merchant_streams s where s.merchant_id = any (p_merchants) order by s.merchant_id for update;
    end if;
    if p_sums is not null then
      ${addDeltas("p_sums")};
    end if;
    v_clock := floor(extract(epoch from clock_timestamp()) * 1000);
    return query
    with numbered as materialized (
      select e.*, greatest(e.last_ms, v_clock) as ms, nextval('event_seq') as seq, array(
          select w.id from webhook_endpoints w
          where w.merchant_id = e.m and w.status = 'enabled' and case when e.one is null
            then (w.environment is null or w.environment = e.e) and (e.commerce or not w.commerce_only)
              and w.filters && e.filters
            else w.id = e.one end
        ) as targets
      from (
        select d.*, s.last_ms, s.last_seq
        from rows from (
          json_to_recordset(p_events) as (
            m integer, e text, t text, filters text[], one text, commerce boolean,
            i text, o text, c text, r text, k text, p boolean
          ),
          unnest(p_data)
        ) with ordinality as d(m, e, t, filters, one, commerce, i, o, c, r, k, p, data, place)
        join merchant_streams s on s.merchant_id = d.m
        order by d.place
      ) e
    ), moved as (
      update merchant_streams s set last_ms = n.ms, last_seq = n.seq
      from (select m, max(numbered.ms) as ms, max(numbered.seq) as seq from numbered group by m) n
      where s.merchant_id = n.m
    ), told as (
      insert into events (
        merchant_id, ms, seq, environment, type, invoice_id, order_id, customer_id, commerce, request_id,
        idempotency_key, pending_webhooks, is_for_payors, data
      )
      select n.m, n.ms, n.seq, n.e, n.t, n.i, n.o, n.c, n.commerce, n.r, n.k, cardinality(n.targets), n.p,
        n.data
      from numbered n
    ), queued as (
      insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      select n.m, target, n.ms, n.seq from numbered n, unnest(n.targets) target
    )
    select n.ms, n.seq, n.targets, n.last_ms, n.last_seq from numbered n order by n.place;
  end if;
end`

/**
 * Commits of a batch that lost for good: a version only grows, a kept reply stays, a lease's token never comes back.
 * Reads without locks, after the batch was rolled back; what it does not name is tried again.
 */
const rejectionsBody = (tables: ReadonlyArray<TableShape>): string => `
begin
  return query select k.n, 'idempotency', i.fingerprint, i.status, i.sealed_body, i.reference
    from json_to_recordset(p_keys) as k(n integer, m integer, e text, s text)
    join idempotency i on i.merchant_id = k.m and i.environment = k.e and i.scope = k.s;
  return query select f.n, 'leases', null::text, null::integer, null::text, null::text
    from json_to_recordset(p_fences) as f(n integer, name text, token bigint)
    left join leases l on l.name = f.name where l.token is distinct from f.token;${
  tables.map(({ key, name }, index) => `
  if p_rows[${index + 1}] <> '' then
    return query select r.unnest, ${literal(name)}, null::text, null::integer, null::text, null::text from rows from (
        json_populate_recordset(null::${quote(name)}, p_rows[${index + 1}]::json),
        unnest(p_owners[${index + 1}]::integer[])
      ) r left join ${quote(name)} t on ${key.map((column) => `t.${quote(column)} = r.${quote(column)}`).join(" and ")}
      where coalesce(t.version, 0) <> r.version - 1;
  end if;`).join("")
}
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
 * The statements for `tables`; equal shapes and sums give equal names, others never share one: whoever may call a
 * function keeps the sums it is named by.
 */
export const statementsFor = (tables: ReadonlyArray<TableShape>, rollups: ReadonlyArray<Rollup> = []): Statements => {
  const write = writeBody(tables)
  const losers = rejectionsBody(tables)
  const sums = rollups.map(({ sum, version }) => `${sum} ${version}`).toSorted().join()
  const hash = createHash("sha256").update(settings + write + losers + sums).digest("hex").slice(0, 16)
  const names = [`tillwire_commit_${hash}`, `tillwire_losers_${hash}`] as const
  return {
    names,
    definitions: [
      define(
        names[0],
        "p_expected integer[], p_fences json, p_keys json, p_rows text[], p_merchants integer[], p_events json, p_data text[], p_sums json, p_lock_millis integer",
        "ms bigint, seq bigint, endpoints text[], previous_ms bigint, previous_seq bigint",
        write
      ),
      define(
        names[1],
        "p_fences json, p_keys json, p_rows text[], p_owners text[]",
        "n integer, cause text, fingerprint text, status integer, sealed_body text, reference text",
        losers
      )
    ],
    write: `select * from ${names[0]}($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    rejections: `select * from ${names[1]}($1, $2, $3, $4)`
  }
}
