/** Erasures of customers. The customer's id is kept only while it is needed, and sealed. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrations } from "../../runtime/Plugin.ts"
import type { SealedColumn } from "../../runtime/Secrets.ts"

export const tables: ReadonlyArray<string> = ["customer_erasures"]

/** What a rotation of the master key seals anew. */
export const sealedColumns: ReadonlyArray<SealedColumn> = [
  { table: "customer_erasures", column: "sealed_customer_id", label: "personal" }
]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE customer_erasures (
      merchant_id integer NOT NULL,
      environment text NOT NULL CHECK (environment IN ('devnet', 'mainnet')),
      -- What stands in place of the customer's id.
      customer text NOT NULL,
      version bigint NOT NULL,
      -- Null once it is done.
      sealed_customer_id text,
      -- Invoices up to this id are erased.
      until uuid NOT NULL,
      -- How far it has come: a keeper, and what it went past.
      keeper text,
      after text,
      waiting_for text,
      requested_at bigint NOT NULL,
      finished_at bigint,
      -- Epoch seconds at which it goes on; null: it is done.
      due_at bigint,
      PRIMARY KEY (merchant_id, environment, customer),
      CHECK ((finished_at IS NULL) = (sealed_customer_id IS NOT NULL)),
      CHECK ((finished_at IS NULL) = (due_at IS NOT NULL))
    )`
    yield* sql`CREATE INDEX customer_erasures_due ON customer_erasures (due_at) WHERE due_at IS NOT NULL`
  })
}
