/**
 * The advisory locks this service takes, in one place so that no two meanings share a number, and turns of instances
 * that hold none.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { uuidV4 } from "../Uuid.ts"

/** First key of the advisory locks below: "TILL" in ASCII. */
export const lockSpace = 0x54494c4c

/** First key of the locks that replays of webhook deliveries take; the second is a hash of the endpoint's id. */
export const replayLockSpace = 0x54494c4d

/**
 * First key of the locks that keep claims of addresses and allocations apart; the second is a hash of the family's
 * name. It stands as a number in `claim_addresses_v1.sql` and `allocate_targets_v1.sql`.
 */
export const addressLockSpace = 0x54494c4e

export const advisoryLock = {
  /** Held by the transaction of each migration step. */
  migrations: 1,
  /** Held for life by the one service that owns an embedded server. */
  service: 2,
  /** Held by the transaction that counts sums anew. */
  rollups: 3,
  /** Held by a transaction that removes old events; shared by those that count sums from them. */
  pruning: 4,
  /** Held by the transaction that compares the master key with the one the database remembers. */
  masterKey: 5
} as const

/** Pause before a turn is asked for again that another instance has. */
const turnPause = "200 millis"

/**
 * Runs `work` when no other instance is in the turn `name`; for work that ends, where a lease is for work that goes on.
 * The turn is a row of `leases` and no lock of a session, so that `work` has every connection of the pool, of which
 * there may be two. Whoever dies in it keeps it for `seconds`.
 */
export const inTurn = <A, E, R>(
  name: string,
  seconds: number,
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError, R | SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const holder = yield* uuidV4
    const take = sql`insert into leases as l (name, holder, token, until)
      values (${name}, ${holder}, 1, clock_timestamp() + ${seconds}::float8 * interval '1 second')
      on conflict (name) do update set holder = excluded.holder, token = l.token + 1, until = excluded.until
        where l.until <= clock_timestamp() or l.until > clock_timestamp() + ${seconds}::float8 * interval '1 second'
      returning 1 as taken`
    const give = Effect.ignore(
      sql`update leases set until = '-infinity' where name = ${name} and holder = ${holder}`
    )
    while ((yield* take).length === 0) yield* Effect.sleep(turnPause)
    return yield* Effect.ensuring(work, give)
  })
