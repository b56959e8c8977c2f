/** Leases as rows, in the database's time: instances need not agree on a clock. */
import { Clock, Effect, type Exit, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { Fence } from "../Commit.ts"
import { Leases } from "../Leases.ts"

/** How often a lease is renewed within its time, and asked for while another holds it. */
const renewalsPerTerm = 3

const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const instance = randomUUID()
  let holds = 0

  /** The token, or nothing while another holder's time runs. Each change of holder takes the next token. */
  const acquire = (name: string, holder: string, ttlMillis: number) =>
    Effect.map(
      sql<{ token: bigint }>`insert into leases as l (name, holder, token, until)
        values (${name}, ${holder}, 1, clock_timestamp() + ${ttlMillis}::float8 * interval '1 millisecond')
        on conflict (name) do update set holder = excluded.holder, token = l.token + 1, until = excluded.until
          where l.until <= clock_timestamp()
        returning token`,
      ([row]) => row?.token
    )

  /** False when the lease has passed to another. One that ran out untaken is still ours: nobody else has acted. */
  const renew = ({ name, token }: Fence, ttlMillis: number) =>
    Effect.map(
      sql`update leases set until = clock_timestamp() + ${ttlMillis}::float8 * interval '1 millisecond'
        where name = ${name} and token = ${token} returning 1 as held`,
      (rows) => rows.length === 1
    )

  /** The row stays, so that tokens never repeat; the next holder need not wait for the time to run out. */
  const release = ({ name, token }: Fence) =>
    sql`update leases set until = '-infinity' where name = ${name} and token = ${token}`.pipe(
      Effect.catch((error) => Effect.logWarning("A lease was not given up; it runs out", { name }, error))
    )

  /** Returns when the lease is lost: taken by another, or not renewed for as long as it lasts. */
  const keep = (fence: Fence, ttlMillis: number): Effect.Effect<void> =>
    Effect.gen(function*() {
      let renewed = yield* Clock.currentTimeMillis
      while (true) {
        yield* Effect.sleep(ttlMillis / renewalsPerTerm)
        const asked = yield* Clock.currentTimeMillis
        const held = yield* renew(fence, ttlMillis).pipe(
          Effect.timeoutOrElse({ duration: ttlMillis / renewalsPerTerm, orElse: () => Effect.succeed(undefined) }),
          Effect.catch((error: SqlError.SqlError) =>
            Effect.as(Effect.logWarning("A lease was not renewed", { name: fence.name }, error), undefined)
          )
        )
        if (held === true) renewed = asked
        const now = yield* Clock.currentTimeMillis
        if (held === false || now - renewed >= ttlMillis) return
      }
    })

  const acquired = (name: string, holder: string, ttlMillis: number): Effect.Effect<Fence> =>
    Effect.gen(function*() {
      while (true) {
        const token = yield* acquire(name, holder, ttlMillis).pipe(
          Effect.catch((error) => Effect.as(Effect.logWarning("A lease was not asked for", { name }, error), undefined))
        )
        if (token !== undefined) return { name, token }
        yield* Effect.sleep(ttlMillis / renewalsPerTerm)
      }
    })

  const hold = <A, E, R>(
    name: string,
    ttlMillis: number,
    work: (fence: Fence) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const holder = `${instance}:${holds++}`
      const term = Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(restore(acquired(name, holder, ttlMillis)), (fence) =>
          restore(
            Effect.raceFirst(
              Effect.map(Effect.exit(work(fence)), (exit): Exit.Exit<A, E> | undefined => exit),
              Effect.as(keep(fence, ttlMillis), undefined)
            )
          ).pipe(Effect.ensuring(release(fence))))
      )
      const terms: Effect.Effect<A, E, R> = Effect.flatMap(term, (exit) =>
        exit ?? Effect.andThen(Effect.logWarning("A lease was lost; its work is stopped", { name }), terms))
      return terms
    })

  return Leases.of({ hold })
})

/** Leases of the table `leases`. */
export const layer: Layer.Layer<Leases, never, SqlClient.SqlClient> = Layer.effect(Leases, make)
