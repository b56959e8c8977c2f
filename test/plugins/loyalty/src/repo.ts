/** The tables of the plugin, and its only SQL. A fault of the database is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Environment, EventId, type Migrations, type Person, type Write } from "tillwire/plugin"
import type { Account } from "./rules.ts"

export const tables = ["acme_loyalty_accounts", "acme_loyalty_cursors"]

export const migrations: Migrations = {
  "0001_initial": Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE acme_loyalty_accounts (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      customer_id text NOT NULL,
      version bigint NOT NULL,
      points bigint NOT NULL CHECK (points >= 0),
      PRIMARY KEY (merchant_id, environment, customer_id)
    )`
    // Up to which event points were given: both change in one commit, so no event counts twice and none is missed.
    yield* sql`CREATE TABLE acme_loyalty_cursors (
      merchant_id integer NOT NULL,
      environment text NOT NULL,
      version bigint NOT NULL,
      event_id text NOT NULL,
      PRIMARY KEY (merchant_id, environment)
    )`
  })
}

/** The last event of a merchant that was counted. */
export interface Cursor {
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly eventId: EventId
}

export const accountWrite = ({ customerId, environment, merchantId, points, version }: Account): Write => ({
  table: "acme_loyalty_accounts",
  row: { merchant_id: merchantId, environment, customer_id: customerId, version, points: String(points) }
})

export const cursorWrite = ({ environment, eventId, merchantId, version }: Cursor): Write => ({
  table: "acme_loyalty_cursors",
  row: { merchant_id: merchantId, environment, version, event_id: eventId }
})

const AccountRow = Schema.Struct({ customer_id: Schema.String, version: Schema.BigInt, points: Schema.BigInt })
const CursorRow = Schema.Struct({
  merchant_id: Schema.Int,
  environment: Environment,
  version: Schema.BigInt,
  event_id: EventId
})
const readAccounts = Schema.decodeUnknownEffect(Schema.Array(AccountRow))
const readCursors = Schema.decodeUnknownEffect(Schema.Array(CursorRow))

type Owner = Pick<Account, "merchantId" | "environment">

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return {
    /** One for each customer; those without a row have no points and version 0. */
    accounts: ({ environment, merchantId }: Owner, customerIds: ReadonlyArray<string>) =>
      sql`SELECT customer_id, version, points FROM acme_loyalty_accounts
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND customer_id = ANY(${[...customerIds]})`
        .pipe(
          Effect.flatMap(readAccounts),
          Effect.orDie,
          Effect.map((rows) =>
            customerIds.map((customerId): Account => {
              const row = rows.find((each) => each.customer_id === customerId)
              const [version, points] = row === undefined ? [0, 0] : [Number(row.version), Number(row.points)]
              return { merchantId, environment, customerId, version, points }
            })
          )
        ),
    cursors: sql`SELECT merchant_id, environment, version, event_id FROM acme_loyalty_cursors`.pipe(
      Effect.flatMap(readCursors),
      Effect.orDie,
      Effect.map((rows) =>
        rows.map(({ environment, event_id, merchant_id, version }): Cursor => ({
          merchantId: merchant_id,
          environment,
          version: Number(version),
          eventId: event_id
        }))
      )
    ),
    erase: ({ customerId, environment, merchantId }: Person) =>
      Effect.orDie(sql`DELETE FROM acme_loyalty_accounts
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND customer_id = ${customerId}`)
  }
})
export type Repo = Effect.Success<typeof makeRepo>
