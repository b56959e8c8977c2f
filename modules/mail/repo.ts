/** Rows of the outbox. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Person } from "../../runtime/PersonalData.ts"
import type { Environment } from "../../schemas/Network.ts"

/** A message as it is stored first. */
export interface NewMail {
  readonly merchantId: number
  readonly id: string
  readonly environment: Environment
  readonly kind: string
  readonly sealedContent: string
  readonly recipientHash: string
  readonly customerId: string | null
  readonly createdAt: number
}

export const mailWrite = (mail: NewMail): Write => ({
  table: "mail_messages",
  row: {
    merchant_id: mail.merchantId,
    id: mail.id,
    version: 1,
    environment: mail.environment,
    kind: mail.kind,
    sealed_content: mail.sealedContent,
    recipient_hash: mail.recipientHash,
    customer_id: mail.customerId,
    status: "waiting",
    attempts: 0,
    created_at: mail.createdAt,
    due_at: mail.createdAt
  }
})

type MailOwner = Pick<NewMail, "environment" | "merchantId">

/** What becomes of a message that waits no more. */
export type MailEnd = "sent" | "bounced" | "given_up"

const seconds = Schema.BigInt

const DueMail = Schema.Struct({
  merchant_id: Schema.Int,
  id: Schema.String,
  kind: Schema.String,
  sealed_content: Schema.String,
  attempts: Schema.Int,
  created_at: seconds
})
export type DueMail = typeof DueMail.Type

const WaitingMail = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  sealed_content: Schema.String,
  created_at: seconds
})

/** Rows that one call removes, at most. */
export const pruneBatch = 1_000

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  has: (merchantId: number, id: string): Effect.Effect<boolean> =>
    sql`SELECT 1 FROM mail_messages WHERE merchant_id = ${merchantId} AND id = ${id}`.pipe(
      Effect.map((rows) => rows.length > 0),
      Effect.orDie
    ),

  /** Messages after a moment to an address under any of its hashes, counted to `limit` at most. */
  countOfRecipient: (
    { environment, merchantId }: MailOwner,
    recipientHashes: ReadonlyArray<string>,
    after: number,
    limit: number
  ): Effect.Effect<number> =>
    sql`SELECT 1 FROM mail_messages WHERE merchant_id = ${merchantId} AND environment = ${environment}
      AND recipient_hash = ANY (${[...recipientHashes]}::text[]) AND created_at > ${after} LIMIT ${limit}`.pipe(
      Effect.map((rows) => rows.length),
      Effect.orDie
    ),

  /** The same of a kind. */
  countOfKind: (
    { environment, merchantId }: MailOwner,
    kind: string,
    after: number,
    limit: number
  ): Effect.Effect<number> =>
    sql`SELECT 1 FROM mail_messages WHERE merchant_id = ${merchantId} AND environment = ${environment}
      AND kind = ${kind} AND created_at > ${after} LIMIT ${limit}`.pipe(
      Effect.map((rows) => rows.length),
      Effect.orDie
    ),

  /** Epoch seconds; null: nothing waits. */
  nextDue: sql<{ due_at: bigint }>`SELECT due_at FROM mail_messages WHERE due_at IS NOT NULL
    ORDER BY due_at LIMIT 1`.pipe(
    Effect.map(([row]) => row === undefined ? null : Number(row.due_at)),
    Effect.orDie
  ),

  /** Takes due messages for an attempt, each of them for whoever comes first; the attempt counts from now on. */
  take: (attempt: { readonly token: string; readonly now: number; readonly until: number; readonly limit: number }) =>
    sql`UPDATE mail_messages m
      SET attempts = m.attempts + 1, due_at = ${attempt.until}, attempt_token = ${attempt.token}
      FROM (
        SELECT merchant_id, id FROM mail_messages WHERE due_at <= ${attempt.now}
        ORDER BY due_at LIMIT ${attempt.limit} FOR UPDATE SKIP LOCKED
      ) due
      WHERE m.merchant_id = due.merchant_id AND m.id = due.id
      RETURNING m.merchant_id, m.id, m.kind, m.sealed_content, m.attempts, m.created_at`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(DueMail))),
      Effect.orDie
    ),

  /** Tries a message again at a moment, unless another attempt has it by now. */
  postpone: ({ id, merchant_id }: DueMail, token: string, dueAt: number) =>
    sql`UPDATE mail_messages SET due_at = ${dueAt}
      WHERE merchant_id = ${merchant_id} AND id = ${id} AND attempt_token = ${token} AND status = 'waiting'`.pipe(
      Effect.asVoid,
      Effect.orDie
    ),

  /** Ends a message and deletes what it said, unless another attempt has it by now. */
  end: ({ id, merchant_id }: DueMail, token: string, status: MailEnd) =>
    sql`UPDATE mail_messages SET status = ${status}, sealed_content = NULL, customer_id = NULL, due_at = NULL
      WHERE merchant_id = ${merchant_id} AND id = ${id} AND attempt_token = ${token} AND status = 'waiting'`.pipe(
      Effect.asVoid,
      Effect.orDie
    ),

  /** Messages that wait and that a customer is to get, ordered by id. */
  ofCustomer: ({ customerId, environment, merchantId }: Person, after: string | null, limit: number) =>
    sql`SELECT id, kind, sealed_content, created_at FROM mail_messages
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND customer_id = ${customerId}
        AND id > ${after ?? ""}
      ORDER BY id LIMIT ${limit}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(WaitingMail))),
      Effect.orDie
    ),

  /** Deletes what those messages say, so that nobody sends them any more. */
  eraseOfCustomer: ({ customerId, environment, merchantId }: Person) =>
    sql`UPDATE mail_messages SET status = 'erased', sealed_content = NULL, recipient_hash = NULL, customer_id = NULL,
        due_at = NULL
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND customer_id = ${customerId}`.pipe(
      Effect.asVoid,
      Effect.orDie
    ),

  /**
   * Removes messages that were made before a moment; answers how many. Also those that wait: where nobody sends mail
   * any more, nobody ends them.
   */
  prune: (before: number) =>
    Effect.map(
      sql`DELETE FROM mail_messages WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM mail_messages WHERE created_at < ${before}
        ORDER BY created_at LIMIT ${pruneBatch}
      )) RETURNING 1`,
      (rows) => rows.length
    )
}))
export type Repo = Effect.Success<typeof makeRepo>
