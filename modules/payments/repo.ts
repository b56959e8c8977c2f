/** Rows of what payors entered. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { Network } from "../../schemas/Network.ts"

/** An invoice, and whose it is. */
export interface InvoiceOwner {
  readonly merchantId: number
  readonly invoiceId: string
}

/** Where the payor can be written to. */
export interface Contact extends InvoiceOwner {
  readonly version: number
  /** Null: it was erased. */
  readonly email: string | null
}

/** Where a refund on one network may go. */
export interface RefundDestination extends InvoiceOwner {
  readonly version: number
  readonly network: Network
  /** In the form `readAddress` gives. */
  readonly address: string
  readonly memo: string | null
}

/** A destination as it is stored; without an address once it was erased. */
export type StoredDestination = Omit<RefundDestination, "address"> & { readonly address: string | null }

export const contactWrite = (contact: Contact, updatedAt: number): Write => ({
  table: "payor_contacts",
  row: {
    merchant_id: contact.merchantId,
    invoice_id: contact.invoiceId,
    version: contact.version,
    email: contact.email,
    updated_at: updatedAt
  }
})

export const destinationWrite = (destination: StoredDestination, updatedAt: number): Write => ({
  table: "refund_destinations",
  row: {
    merchant_id: destination.merchantId,
    invoice_id: destination.invoiceId,
    network: destination.network,
    version: destination.version,
    address: destination.address,
    memo: destination.memo,
    updated_at: updatedAt
  }
})

const ContactRow = Schema.Struct({ version: Schema.BigInt, email: Schema.NullOr(Schema.String) })

const DestinationRow = Schema.Struct({
  version: Schema.BigInt,
  network: Network,
  address: Schema.NullOr(Schema.String),
  memo: Schema.NullOr(Schema.String)
})

const EmailRow = Schema.Struct({ invoice_id: Schema.String, email: Schema.String })

const InvoiceDestinationRow = Schema.Struct({
  invoice_id: Schema.String,
  network: Network,
  address: Schema.String,
  memo: Schema.NullOr(Schema.String)
})

/** Those that were not erased. */
export const present = (stored: ReadonlyArray<StoredDestination>): ReadonlyArray<RefundDestination> =>
  stored.flatMap((each) => each.address === null ? [] : [{ ...each, address: each.address }])

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  contact: (owner: InvoiceOwner): Effect.Effect<Contact | null> =>
    sql`SELECT version, email FROM payor_contacts
      WHERE merchant_id = ${owner.merchantId} AND invoice_id = ${owner.invoiceId}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(ContactRow))),
      Effect.map(([row]) => row === undefined ? null : { ...owner, ...row, version: Number(row.version) }),
      Effect.orDie
    ),

  /** The addresses of these invoices' payors, by invoice. */
  emails: (merchantId: number, invoiceIds: ReadonlyArray<string>): Effect.Effect<ReadonlyMap<string, string>> =>
    sql`SELECT invoice_id, email FROM payor_contacts
      WHERE merchant_id = ${merchantId} AND invoice_id = ANY(${[...invoiceIds]}::text[])
        AND email IS NOT NULL`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(EmailRow))),
      Effect.map((rows) => new Map(rows.map((row) => [row.invoice_id, row.email]))),
      Effect.orDie
    ),

  /** Where refunds of these invoices may go: at most one for each invoice and network, in no order. */
  destinationsOf: (merchantId: number, invoiceIds: ReadonlyArray<string>) =>
    sql`SELECT invoice_id, network, address, memo FROM refund_destinations
      WHERE merchant_id = ${merchantId} AND invoice_id = ANY(${[...invoiceIds]}::text[])
        AND address IS NOT NULL`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(InvoiceDestinationRow))),
      Effect.orDie
    ),

  /** At most one for each network, in no order; erased ones too, because their rows go on with their versions. */
  storedDestinations: (owner: InvoiceOwner): Effect.Effect<ReadonlyArray<StoredDestination>> =>
    sql`SELECT version, network, address, memo FROM refund_destinations
      WHERE merchant_id = ${owner.merchantId} AND invoice_id = ${owner.invoiceId}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(DestinationRow))),
      Effect.map((rows) => rows.map((row) => ({ ...owner, ...row, version: Number(row.version) }))),
      Effect.orDie
    )
}))
