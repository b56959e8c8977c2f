/** The only SQL of sign-ins: rows in, states out; writes as rows for the commit. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { systemMerchant, type Write } from "../../runtime/Commit.ts"
import type { Challenge } from "../../runtime/SignIns.ts"
import type { Family } from "../../schemas/Network.ts"
import { type ChallengeState, type EndReason, maximumWallets, type SessionState, type WalletState } from "./rules.ts"

export const challengeWrite = (state: ChallengeState): Write => ({
  table: "sign_in_challenges",
  row: {
    id: state.id,
    merchant_id: state.linkTo ?? systemMerchant,
    version: state.version,
    message: state.message,
    challenge: state.challenge,
    used: state.used,
    expires_at: state.challenge.expiresAt
  }
})

export const walletWrite = (wallet: WalletState): Write => ({
  table: "sign_in_wallets",
  row: {
    id: wallet.id,
    merchant_id: wallet.merchantId,
    version: wallet.version,
    family: wallet.family,
    address: wallet.address,
    chain_id: wallet.chainId,
    status: wallet.status,
    linked_at: wallet.linkedAt,
    signed_in_at: wallet.signedInAt,
    person: wallet.person,
    money_from: wallet.moneyFrom
  }
})

export const sessionWrite = (session: SessionState): Write => ({
  table: "sign_in_sessions",
  row: {
    id: session.id,
    merchant_id: session.merchantId,
    version: session.version,
    wallet_id: session.walletId,
    status: session.status,
    end_reason: session.endReason,
    refresh_hash: session.refreshHash,
    created_at: session.createdAt,
    expires_at: session.expiresAt
  }
})

/** The session's current refresh token, for as long as it could be used. */
export const refreshTokenWrite = (session: SessionState): Write => ({
  table: "refresh_tokens",
  row: {
    id: session.refreshHash,
    merchant_id: session.merchantId,
    version: 1,
    session_id: session.id,
    expires_at: session.expiresAt
  }
})

interface ChallengeRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly message: string
  readonly challenge: Challenge
  readonly used: boolean
}

interface WalletRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly family: Family
  readonly address: string
  readonly chain_id: string | null
  readonly status: "linked" | "unlinked"
  readonly linked_at: bigint
  readonly signed_in_at: bigint | null
  readonly person: string | null
  readonly money_from: bigint
}

/** Wallets with an open session that are read at once. */
const signedInAtOnce = 100

interface SessionRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly wallet_id: string
  readonly status: "active" | "ended"
  readonly end_reason: EndReason | null
  readonly refresh_hash: string
  readonly created_at: bigint
  readonly expires_at: bigint
}

const challengeOf = (row: ChallengeRow): ChallengeState => ({
  id: row.id,
  linkTo: row.merchant_id === systemMerchant ? null : row.merchant_id,
  message: row.message,
  challenge: row.challenge,
  used: row.used,
  version: Number(row.version)
})

const walletOf = (row: WalletRow): WalletState => ({
  id: row.id,
  merchantId: row.merchant_id,
  family: row.family,
  address: row.address,
  chainId: row.chain_id,
  status: row.status,
  linkedAt: Number(row.linked_at),
  signedInAt: row.signed_in_at === null ? null : Number(row.signed_in_at),
  person: row.person,
  moneyFrom: Number(row.money_from),
  version: Number(row.version)
})

const sessionOf = (row: SessionRow): SessionState => ({
  id: row.id,
  merchantId: row.merchant_id,
  walletId: row.wallet_id,
  status: row.status,
  endReason: row.end_reason,
  refreshHash: row.refresh_hash,
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  version: Number(row.version)
})

const findByTokens = `SELECT s.*, t.id AS token_id FROM refresh_tokens t JOIN sign_in_sessions s ON s.id = t.session_id
  WHERE t.id IN (SELECT json_array_elements_text($1::json))`

/** Wallets of one person that are read, at most: linked ones are far fewer. */
const maximumListed = 1_000

/** Rows deleted by one statement, so that it holds its locks for milliseconds. */
export const pruneBatch = 1_000

/**
 * What can be of no use any more: a session goes last, so that a token that is still there finds its own. Ordered, so
 * that it walks the index on ends and never the table, whatever the statistics say.
 */
const deletions = (["sign_in_challenges", "refresh_tokens", "sign_in_sessions"] as const).map((table) =>
  `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${table} WHERE expires_at < $1::bigint ORDER BY expires_at LIMIT ${pruneBatch}
  )) RETURNING 1`
)

export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return {
    challenge: (id: string): Effect.Effect<ChallengeState | undefined> =>
      Effect.map(
        Effect.orDie(sql<ChallengeRow>`SELECT * FROM sign_in_challenges WHERE id = ${id}`),
        (rows) => rows[0] && challengeOf(rows[0])
      ),
    /** Whoever's it is, linked or not. */
    wallet: (id: string): Effect.Effect<WalletState | undefined> =>
      Effect.map(
        Effect.orDie(sql<WalletRow>`SELECT * FROM sign_in_wallets WHERE id = ${id}`),
        (rows) => rows[0] && walletOf(rows[0])
      ),
    /** The linked ones, oldest first; there are never more. */
    wallets: (merchantId: number): Effect.Effect<ReadonlyArray<WalletState>> =>
      Effect.map(
        Effect.orDie(sql<WalletRow>`SELECT * FROM sign_in_wallets
          WHERE merchant_id = ${merchantId} AND status = 'linked' ORDER BY linked_at, id LIMIT ${maximumWallets}`),
        (rows) => rows.map(walletOf)
      ),
    /** Of one person, null: the first owner; linked or not any more, the newest first. */
    walletIds: (merchantId: number, person: string | null): Effect.Effect<ReadonlyArray<string>> =>
      Effect.map(
        Effect.orDie(sql<{ id: string }>`SELECT id FROM sign_in_wallets
          WHERE merchant_id = ${merchantId} AND person IS NOT DISTINCT FROM ${person}
          ORDER BY linked_at DESC, id LIMIT ${maximumListed}`),
        (rows) => rows.map(({ id }) => id)
      ),
    session: (id: string): Effect.Effect<SessionState | undefined> =>
      Effect.map(
        Effect.orDie(sql<SessionRow>`SELECT * FROM sign_in_sessions WHERE id = ${id}`),
        (rows) => rows[0] && sessionOf(rows[0])
      ),
    /** Those of `ids` that are open at `nowSeconds`. */
    active: (ids: ReadonlyArray<string>, nowSeconds: number): Effect.Effect<ReadonlyArray<string>> =>
      Effect.map(
        Effect.orDie(sql<{ id: string }>`SELECT id FROM sign_in_sessions WHERE id = ANY (${[...ids]}::text[])
          AND status = 'active' AND expires_at > ${nowSeconds}`),
        (rows) => rows.map(({ id }) => id)
      ),
    openSessions: (walletId: string): Effect.Effect<ReadonlyArray<SessionState>> =>
      Effect.map(
        Effect.orDie(
          sql<SessionRow>`SELECT * FROM sign_in_sessions WHERE wallet_id = ${walletId} AND status = 'active'`
        ),
        (rows) => rows.map(sessionOf)
      ),
    /** Some of the wallets with an open session, for as long as there are any. */
    signedIn: Effect.map(
      Effect.orDie(
        sql<{ readonly wallet_id: string }>`SELECT DISTINCT wallet_id FROM sign_in_sessions WHERE status = 'active'
          ORDER BY wallet_id LIMIT ${signedInAtOnce}`
      ),
      (rows): ReadonlyArray<string> => rows.map(({ wallet_id }) => wallet_id)
    ),
    /**
     * The session of the refresh token with one of these hashes (the same token under each pepper), and which it was.
     */
    sessionByToken: (
      hashes: ReadonlyArray<string>
    ): Effect.Effect<{ readonly session: SessionState; readonly hash: string } | undefined> =>
      Effect.map(
        Effect.orDie(sql.unsafe<SessionRow & { readonly token_id: string }>(findByTokens, [JSON.stringify(hashes)])),
        (rows) => rows[0] && { session: sessionOf(rows[0]), hash: rows[0].token_id }
      ),
    /** Deletes a batch of each table that ended before `before`; answers the most rows that one of them lost. */
    prune: (before: number): Effect.Effect<number> =>
      Effect.map(
        Effect.orDie(Effect.forEach(deletions, (deletion) => sql.unsafe(deletion, [String(before)]))),
        (deleted) => Math.max(...deleted.map((rows) => rows.length))
      )
  }
})
export type Repo = Effect.Success<typeof make>
