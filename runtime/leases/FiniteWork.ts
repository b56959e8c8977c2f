/**
 * Work that ends, done by one instance at a time: `Leases.hold` is for work that goes on for ever, and an instance of a
 * cluster would wait there until the other one stops.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { uuidV4 } from "../Uuid.ts"

/** Pause before a lease is asked for again that another instance holds. */
const retryPause = "200 millis"

/**
 * Runs `work` under the lease `name`, and gives the lease up at its end. It is a row and no lock of a session, so that
 * `work` has every connection of the pool, of which there may be two. The lease is not renewed: `work` must end within
 * `seconds`, after which another instance may begin. An end further ahead than that is of a clock that was set back.
 */
export const runUnderLease = <A, E, R>(
  name: string,
  seconds: number,
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError, R | SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const holder = yield* uuidV4
    const acquire = sql`insert into leases as l (name, holder, token, until)
      values (${name}, ${holder}, 1, clock_timestamp() + ${seconds}::float8 * interval '1 second')
      on conflict (name) do update set holder = excluded.holder, token = l.token + 1, until = excluded.until
        where l.until <= clock_timestamp() or l.until > clock_timestamp() + ${seconds}::float8 * interval '1 second'
      returning 1 as acquired`
    const release = sql`update leases set until = '-infinity' where name = ${name} and holder = ${holder}`.pipe(
      Effect.catch((error) => Effect.logWarning("A lease was not given up; it runs out", { name }, error))
    )
    while ((yield* acquire).length === 0) yield* Effect.sleep(retryPause)
    return yield* Effect.ensuring(work, release)
  })
