/**
 * Rows behind a merchant's dashboard, as trade would have left them: of each table copies of a real row, so many for
 * each of the invoices of `list.ts`, over the same hundred days.
 */
import type { Client } from "pg"

/** An id of a row made at a moment, as the service makes them: its milliseconds first. */
const uuidAt = (millis: string, salt: string) =>
  `overlay(overlay(lpad(to_hex((${millis})::bigint), 12, '0') || '7' || substr(md5(${salt}), 1, 19)
    placing '-' from 9 for 0) placing '-' from 14 for 0)`

interface Copies {
  /** A row of the table to copy; any. */
  readonly like?: string
  /** Which invoices `i` have one. */
  readonly where: string
  /** What a copy has of its own, as SQL over its invoice `i`, the place `n` of that one, and the row `r`. */
  readonly own: Readonly<Record<string, string>>
}

const millis = "i.created_at * 1000 + 60000"

/** As the database makes it of the transfer below. */
const paymentId = "payment_id_of_transfer('transfer ' || i.id)"

const tables: Readonly<Record<string, Copies>> = {
  invoice_payments: {
    where: "i.amount_paid > 0",
    own: {
      id: paymentId,
      invoice_id: "i.id",
      environment: "i.environment",
      ordinal: "1",
      amount: "i.amount",
      tx_hash: "'0x' || md5(i.id::text) || md5(n::text)",
      seen_at: "i.created_at + 60",
      created_at: "i.created_at + 60",
      confirmed_at: "i.created_at + 90",
      balance_transaction_id: "'bt_' || md5(i.id::text)"
    }
  },
  exceptions: {
    like: "type = 'overpaid'",
    where: "n % 50 = 3",
    own: {
      id: `'exc_' || ${uuidAt(millis, "'exception' || i.id")}`,
      environment: "i.environment",
      invoice_id: "i.id",
      invoice_payment_id: "null",
      created_at: "i.created_at + 90",
      status: "case when n % 1000 = 3 then 'open' else 'resolved' end",
      resolved_at: "case when n % 1000 = 3 then null else i.created_at + 4000 end",
      resolution: `case when n % 1000 = 3 then null else
        json_build_object('action', 'ignore', 'actor', 'mem_x', 'note', 'left', 'at', i.created_at) end`
    }
  },
  refunds: {
    where: "n % 50 = 8",
    own: {
      id: `'re_' || ${uuidAt(millis, "'refund' || i.id")}`,
      environment: "i.environment",
      invoice_id: "i.id",
      payment_id: paymentId,
      created_at: "i.created_at + 4000",
      updated_at: "i.created_at + 4000",
      due_at: "null"
    }
  },
  batches: {
    where: "n % 500 = 8",
    own: {
      id: `'bat_' || ${uuidAt(millis, "'batch' || i.id")}`,
      environment: "i.environment",
      created_at: "i.created_at",
      updated_at: "i.created_at",
      closed_at: "i.created_at + 9000",
      due_at: "null"
    }
  },
  batch_lines: {
    where: "n % 500 = 8",
    own: {
      batch_id: `'bat_' || ${uuidAt(millis, "'batch' || i.id")}`,
      status: "'paid'",
      reference: "md5(i.id::text)",
      refund_id: "null"
    }
  },
  balance_transactions: {
    where: "i.amount_paid > 0",
    own: {
      id: "'bt_' || md5(i.id::text)",
      environment: "i.environment",
      source_id: "i.id::text",
      booked_micros: "(i.created_at + 90) * 1000000 + n % 1000000"
    }
  },
  ledger_entries: {
    where: "i.amount_paid > 0",
    own: {
      transaction_id: "'bt_' || md5(i.id::text)",
      environment: "i.environment",
      payment_id: paymentId,
      created_at: "i.created_at + 90"
    }
  },
  audit_entries: {
    where: "n % 10 = 4",
    own: {
      id: `'aud_' || ${uuidAt(millis, "'audit' || i.id")}`,
      environment: "i.environment",
      created_at: "i.created_at",
      // Far behind those that the service chains. Without a place it would chain them all while pages are measured.
      chain_place: "n + 1000000000",
      previous_hash: "md5(i.id::text)",
      hash: "md5(i.id::text)"
    }
  },
  events: {
    where: "true",
    own: {
      ms: "i.created_at * 1000",
      seq: "n + 1000",
      environment: "i.environment",
      invoice_id: "i.id::text",
      customer_id: "i.customer_id"
    }
  },
  webhook_deliveries: {
    like: "status = 'succeeded'",
    where: "true",
    own: {
      id: "md5('delivery' || i.id)::uuid",
      event_ms: "i.created_at * 1000",
      event_seq: "n + 1000",
      created_at: "to_timestamp(i.created_at)",
      finished_at: "to_timestamp(i.created_at)",
      due_at: "null"
    }
  },
  receive_targets: {
    where: "i.amount_paid > 0",
    own: {
      id: "'base:' || md5(i.id::text)",
      match_key: "'0x' || md5(i.id::text) || 'aaaaaaaa'",
      address: "'0x' || md5(i.id::text) || 'aaaaaaaa'",
      invoice_id: "i.id::text",
      environment: "i.environment",
      wallet_index: "n + 1000",
      created_at: "i.created_at"
    }
  },
  transfers: {
    where: "i.amount_paid > 0",
    own: {
      id: "'transfer ' || i.id",
      environment: "i.environment",
      invoice_id: "i.id::text",
      match_key: "'0x' || md5(i.id::text) || 'aaaaaaaa'",
      tx_hash: "'0x' || md5(i.id::text) || md5(n::text)",
      height: "n",
      block_time: "i.created_at + 60",
      observed_at: "i.created_at + 60",
      status: "'confirmed'",
      handled: "'confirmed'"
    }
  }
}

/** The sums that invoices do not keep, in every bucket of the hundred days. */
const sums = (first: number, last: number) =>
  `insert into rollups
  select r.merchant_id, r.environment, r.sum, r.width, b.bucket, r.key, r.count, r.amount, r.amount_paid
  from (select distinct on (merchant_id, environment, sum, width, key) * from rollups
    where width > 0 and sum <> 'invoices.states') r
    cross join lateral generate_series(${first} - ${first} % r.width, ${last}::bigint, r.width) b(bucket)
  on conflict do nothing`

/** `invoices` are there; everything else is made of the rows that a little trade left. */
export const fillOtherTables = async (client: Client, first: number, last: number): Promise<void> => {
  for (const [table, { like = "true", own, where }] of Object.entries(tables)) {
    const { rows: columns } = await client.query(
      `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
        where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
      [table]
    )
    const { rowCount } = await client.query(
      `insert into ${table} (${columns.map(({ name }) => `"${name}"`).join(", ")}) select ${
        columns.map(({ name, type }) => own[name] === undefined ? `r."${name}"` : `(${own[name]})::${type}`).join(", ")
      } from (select * from ${table} where ${like} limit 1) r,
      (select invoices.*, row_number() over (order by id) as n from invoices where created_at < ${last}) i
      where ${where} on conflict do nothing`
    )
    if (rowCount === 0) throw new Error(`no row of ${table} to copy`)
  }
  await client.query(sums(first, last))
  await client.query("vacuum analyze")
  await client.query("checkpoint")
}
