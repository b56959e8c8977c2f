/** The SQL of sessions and of what opens them. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { systemMerchant, type Write } from "../../../runtime/Commit.ts"
import {
  idleSeconds,
  type LinkState,
  maximumMembers,
  maximumSessionSeconds,
  type MemberState,
  type PasskeyState,
  type PersonState,
  type RecoveryCodeState,
  type SessionState,
  triesSeconds
} from "../rules.ts"
import { memberOfRow, type MemberRow, personOfRow, type PersonRow } from "./Members.ts"

export const sessionWrite = (session: SessionState): Write => ({
  table: "team_sessions",
  row: {
    id: session.id,
    merchant_id: systemMerchant,
    version: session.version,
    person: session.person,
    method: session.method,
    passkey: session.passkey,
    read_hash: session.readHash,
    act_hash: session.actHash,
    status: session.status,
    end_reason: session.endReason,
    signed_in_at: session.signedInAt,
    last_used_at: session.lastUsedAt,
    fresh_until: session.freshUntil,
    money_from: session.moneyFrom
  }
})

export const linkWrite = (link: LinkState): Write => ({
  table: "team_links",
  row: {
    id: link.id,
    merchant_id: link.merchantId,
    version: link.version,
    person: link.person,
    used: link.used,
    expires_at: link.expiresAt
  }
})

export const passkeyWrite = (passkey: PasskeyState): Write => ({
  table: "team_passkeys",
  row: {
    id: passkey.id,
    merchant_id: systemMerchant,
    version: passkey.version,
    person: passkey.person,
    name: passkey.name,
    credential_id: passkey.credentialId,
    public_key: passkey.publicKey,
    counter: passkey.counter,
    transports: passkey.transports,
    status: passkey.status,
    money_from: passkey.moneyFrom,
    created_at: passkey.createdAt,
    last_used_at: passkey.lastUsedAt
  }
})

/** A challenge that was answered: a second answer finds the row there, and its commit loses. */
export const answerWrite = (id: string, expiresAt: number): Write => ({
  table: "team_passkey_answers",
  row: { id, merchant_id: systemMerchant, version: 1, expires_at: expiresAt }
})

export const recoveryCodeWrite = (code: RecoveryCodeState): Write => ({
  table: "team_recovery_codes",
  row: {
    id: code.id,
    merchant_id: systemMerchant,
    version: code.version,
    person: code.person,
    code_set: code.set,
    ended_at: code.endedAt
  }
})

/** Tries of one e-mail address. */
export interface TriesState {
  readonly id: string
  readonly tries: ReadonlyArray<number>
  readonly version: number
}

export const triesWrite = ({ id, tries, version }: TriesState): Write => ({
  table: "team_recovery_tries",
  row: { id, merchant_id: systemMerchant, version, tries, expires_at: Math.max(...tries) + triesSeconds }
})

interface SessionRow {
  readonly id: string
  readonly version: bigint
  readonly person: string
  readonly method: SessionState["method"]
  readonly passkey: string | null
  readonly read_hash: string
  readonly act_hash: string
  readonly status: SessionState["status"]
  readonly end_reason: SessionState["endReason"]
  readonly signed_in_at: bigint
  readonly last_used_at: bigint
  readonly fresh_until: bigint
  readonly money_from: bigint
}

/** A session with its person, and all that the person is a member of now. */
export interface SessionOfPerson {
  readonly session: SessionState
  readonly person: PersonState
  readonly members: ReadonlyArray<MemberState>
}

interface SessionOfPersonRow extends SessionRow {
  readonly person_row: PersonRow
  readonly members: ReadonlyArray<MemberRow>
}

interface PasskeyRow {
  readonly id: string
  readonly version: bigint
  readonly person: string
  readonly name: string
  readonly credential_id: string
  readonly public_key: string
  readonly counter: bigint
  readonly transports: ReadonlyArray<string>
  readonly status: PasskeyState["status"]
  readonly money_from: bigint
  readonly created_at: bigint
  readonly last_used_at: bigint | null
}

const sessionOf = (row: SessionRow): SessionState => ({
  id: row.id,
  person: row.person,
  method: row.method,
  passkey: row.passkey,
  readHash: row.read_hash,
  actHash: row.act_hash,
  status: row.status,
  endReason: row.end_reason,
  signedInAt: Number(row.signed_in_at),
  lastUsedAt: Number(row.last_used_at),
  freshUntil: Number(row.fresh_until),
  moneyFrom: Number(row.money_from),
  version: Number(row.version)
})

interface RecoveryCodeRow {
  readonly id: string
  readonly version: bigint
  readonly person: string
  readonly code_set: number
  readonly ended_at: bigint | null
}

const recoveryCodeOf = (row: RecoveryCodeRow): RecoveryCodeState => ({
  id: row.id,
  person: row.person,
  set: row.code_set,
  endedAt: row.ended_at === null ? null : Number(row.ended_at),
  version: Number(row.version)
})

const passkeyOf = (row: PasskeyRow): PasskeyState => ({
  id: row.id,
  person: row.person,
  name: row.name,
  credentialId: row.credential_id,
  publicKey: row.public_key,
  counter: Number(row.counter),
  transports: row.transports,
  status: row.status,
  moneyFrom: Number(row.money_from),
  createdAt: Number(row.created_at),
  lastUsedAt: row.last_used_at === null ? null : Number(row.last_used_at),
  version: Number(row.version)
})

/** Sessions, passkeys and codes of one person that are read, at most; rules keep them far below. */
const maximumRead = 100

/** Rows deleted by one statement, so that it holds its locks for milliseconds. */
export const pruneBatch = 1_000

/** What can be of no use any more. Ordered, so that it walks the index on ends, whatever the statistics say. */
const deletions = [
  ["team_links", "expires_at", 0],
  ["team_passkey_answers", "expires_at", 0],
  ["team_recovery_tries", "expires_at", 0],
  ["team_recovery_codes", "ended_at", 0],
  ["saved_views", "ended_at", 0],
  ["team_sessions", "signed_in_at", maximumSessionSeconds]
].map(([table, column, seconds]) =>
  `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${table} WHERE ${column} < $1::bigint - ${seconds} ORDER BY ${column} LIMIT ${pruneBatch}
  )) RETURNING 1`
)

export const makeSignInsRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const first = <Row, A>(rows: Effect.Effect<ReadonlyArray<Row>, unknown>, read: (row: Row) => A) =>
    Effect.map(Effect.orDie(rows), ([row]) => row === undefined ? undefined : read(row))
  const all = <Row, A>(rows: Effect.Effect<ReadonlyArray<Row>, unknown>, read: (row: Row) => A) =>
    Effect.map(Effect.orDie(rows), (found) => found.map(read))
  return {
    /**
     * By one of the hashes of its reading token: the same token under each pepper. One statement, because every page
     * needs all of it.
     */
    sessionByToken: (hashes: ReadonlyArray<string>) =>
      first(
        sql<SessionOfPersonRow>`SELECT s.*, to_json(p) AS person_row, (
            SELECT coalesce(json_agg(m ORDER BY m.joined_at, m.merchant_id), '[]') FROM (
              SELECT * FROM members WHERE person = s.person AND status = 'active'
              ORDER BY joined_at, merchant_id LIMIT ${maximumMembers}
            ) m
          ) AS members
          FROM team_sessions s JOIN people p ON p.id = s.person WHERE s.read_hash = ANY (${[...hashes]}::text[])`,
        (row): SessionOfPerson => ({
          session: sessionOf(row),
          person: personOfRow(row.person_row),
          members: row.members.map(memberOfRow)
        })
      ),
    session: (id: string) => first(sql<SessionRow>`SELECT * FROM team_sessions WHERE id = ${id}`, sessionOf),
    /** A person's that did not end by an act; time may have ended some. Newest first. */
    sessionsOf: (person: string) =>
      all(
        sql<SessionRow>`SELECT * FROM team_sessions WHERE person = ${person} AND status = 'active'
          ORDER BY signed_in_at DESC, id DESC LIMIT ${maximumRead}`,
        sessionOf
      ),
    /** Some of those with a session that did not end by an act, for as long as there are any. */
    signedIn: all(
      sql<{ readonly person: string }>`SELECT DISTINCT person FROM team_sessions WHERE status = 'active'
        ORDER BY person LIMIT ${maximumRead}`,
      ({ person }) => person
    ),
    /** Those of `ids` that are open at a moment. */
    openSessions: (ids: ReadonlyArray<string>, now: number) =>
      all(
        sql<SessionRow>`SELECT * FROM team_sessions WHERE id = ANY (${[...ids]}::text[]) AND status = 'active'
          AND signed_in_at > ${now - maximumSessionSeconds} AND last_used_at > ${now - idleSeconds}`,
        ({ id }) => id
      ),
    /** Notes a use, unless the session has ended meanwhile: time that ended it is never turned back. */
    recordUse: (id: string, now: number) =>
      Effect.asVoid(Effect.orDie(
        sql`UPDATE team_sessions SET last_used_at = ${now} WHERE id = ${id} AND status = 'active'
          AND last_used_at < ${now} AND last_used_at > ${now - idleSeconds}`
      )),
    link: (hashes: ReadonlyArray<string>) =>
      first(
        sql<{
          id: string
          merchant_id: number
          version: bigint
          person: string
          used: boolean
          expires_at: bigint
        }>`SELECT * FROM team_links WHERE id = ANY (${[...hashes]}::text[])`,
        (row): LinkState => ({
          id: row.id,
          merchantId: row.merchant_id,
          person: row.person,
          used: row.used,
          expiresAt: Number(row.expires_at),
          version: Number(row.version)
        })
      ),
    passkey: (id: string) => first(sql<PasskeyRow>`SELECT * FROM team_passkeys WHERE id = ${id}`, passkeyOf),
    /** Those that still sign in, newest first. */
    passkeysOf: (person: string) =>
      all(
        sql<PasskeyRow>`SELECT * FROM team_passkeys WHERE person = ${person} AND status = 'active'
          ORDER BY created_at DESC, id DESC LIMIT ${maximumRead}`,
        passkeyOf
      ),
    isAnswered: (id: string) =>
      Effect.map(
        Effect.orDie(sql`SELECT 1 FROM team_passkey_answers WHERE id = ${id}`),
        (rows) => rows.length > 0
      ),
    /** By one of the hashes of the code: the same code under each pepper. */
    recoveryCode: (hashes: ReadonlyArray<string>) =>
      first(
        sql<RecoveryCodeRow>`SELECT * FROM team_recovery_codes WHERE id = ANY (${[...hashes]}::text[])`,
        recoveryCodeOf
      ),
    /** Those of a person that are good. */
    recoveryCodesOf: (person: string) =>
      all(
        sql<RecoveryCodeRow>`SELECT * FROM team_recovery_codes WHERE person = ${person} AND ended_at IS NULL
          LIMIT ${maximumRead}`,
        recoveryCodeOf
      ),
    tries: (id: string) =>
      first(
        sql<{ id: string; version: bigint; tries: ReadonlyArray<number> }>`SELECT * FROM team_recovery_tries
          WHERE id = ${id}`,
        (row): TriesState => ({ id: row.id, tries: row.tries, version: Number(row.version) })
      ),
    /** Deletes a batch of each table that ended before `before`; answers the most rows that one of them lost. */
    prune: (before: number): Effect.Effect<number> =>
      Effect.map(
        Effect.orDie(Effect.forEach(deletions, (deletion) => sql.unsafe(deletion, [String(before)]))),
        (deleted) => Math.max(...deleted.map((rows) => rows.length))
      )
  }
})
