/**
 * An instance of a cluster that does nothing but its work: each piece writes a row every 50 ms as a commit would, under
 * its fence. Started by `test/support/LeaseTrial.ts`.
 */
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type InstanceRole, Leases } from "../../runtime/Leases.ts"
import { layer, sessionNameOf } from "../../runtime/leases/Cluster.ts"
import { sessionSettings } from "../../runtime/store/Sessions.ts"
import { answerQuestions, say, specification } from "./Process.ts"

export interface LeaseProcessSpecification {
  readonly url: string
  readonly instanceId: string
  readonly roles: ReadonlyArray<InstanceRole>
  readonly takeoverMillis: number
  readonly names: ReadonlyArray<string>
}

export type LeaseProcessQuestion = { readonly stallMillis: number } | "names"

const writeMillis = 50

const { instanceId, names, roles, takeoverMillis, url } = specification<LeaseProcessSpecification>()
const running = new Set<string>()

const work = Effect.gen(function*() {
  const leases = yield* Leases
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(names, (name) =>
    Effect.forkScoped(leases.hold(
      name,
      { role: name.startsWith("chain:") ? "follower" : "worker", ttlMillis: takeoverMillis, passMillis: 60_000 },
      ({ token }, progress) => {
        // The lock on the lease's row, as in a commit: a newer term cannot begin in the middle.
        const write = sql`with held as (select 1 from leases where name = ${name} and token = ${token} for share)
          insert into lease_writes (name, instance, token, accepted)
          select ${name}, ${instanceId}, ${token}, exists (select from held)`
        return Effect.forever(Effect.gen(function*() {
          running.add(name)
          yield* Effect.ignore(write)
          yield* progress
          yield* Effect.sleep(writeMillis)
        })).pipe(Effect.ensuring(Effect.sync(() => running.delete(name))))
      }
    )))
  say({})
  return yield* Effect.never
})

const program = Effect.scoped(work).pipe(
  Effect.provide(
    layer({ instanceId, roles, takeoverMillis }).pipe(Layer.provideMerge(PgClient.layer({
      url: Redacted.make(url),
      maxConnections: 8,
      connectTimeout: Duration.seconds(3),
      applicationName: sessionNameOf(instanceId),
      startupParameters: sessionSettings
    })))
  ),
  Effect.provide(Logger.layer([]))
)

const main = Effect.runFork(program)
process.once("SIGTERM", () => main.interruptUnsafe())
main.addObserver(() => process.exit(0))

answerQuestions<LeaseProcessQuestion>((question) => {
  if (question === "names") return { names: [...running] }
  const end = performance.now() + question.stallMillis
  while (performance.now() < end);
  return {}
})
