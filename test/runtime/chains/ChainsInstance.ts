/**
 * A process of the chains on a test's database: torn down and built again it is a restart, two of them are two
 * instances.
 */
import { Clock, Effect, Layer, Schedule, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { ChainDriver } from "../../../runtime/Chains.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { layer as chainsLayer } from "../../../runtime/chains/TransferJournal.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { layer as commitLayer } from "../../../runtime/commit/GroupCommit.ts"
import { layer as leasesLayer } from "../../../runtime/leases/Database.ts"
import { runtimeTables } from "../../../runtime/Tables.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import type { Token } from "../../../schemas/Token.ts"
import { connect, type TestDatabase } from "../../support/Database.ts"
import { makeDatabaseProxy } from "../../support/DatabaseProxy.ts"
import { withQuickPauses } from "../../support/QuickPauses.ts"

export const usdc = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

/** A database as somebody sees it who is `delayMillis` away from it. */
export const withLatency = (
  database: TestDatabase,
  delayMillis: number
): Effect.Effect<TestDatabase, never, Scope.Scope> =>
  Effect.map(
    makeDatabaseProxy(database, delayMillis),
    ({ url }) => ({ ...database, host: "127.0.0.1", port: Number(new URL(url).port), url })
  )

/** An instance on a database. */
export const instance = (database: TestDatabase, tokens: ReadonlyArray<Token> = []) =>
  Layer.fresh(chainsLayer.pipe(
    Layer.provideMerge(Layer.mergeAll(commitLayer(runtimeTables), leasesLayer, catalogOf(...tokens))),
    Layer.provideMerge(connect(database))
  ))

export type InstanceServices = Chains | Commit | SqlClient.SqlClient

/** Runs `work` in an instance that lives no longer, and whose own work rests for moments only. */
export const inInstance = <A, E>(
  database: TestDatabase,
  work: Effect.Effect<A, E, InstanceServices | Scope.Scope>
) =>
  work.pipe(
    Effect.scoped,
    Effect.provide(Layer.updateService(instance(database), Clock.Clock, withQuickPauses), { local: true })
  )

/** Follows the networks of `drivers` in this instance, resting for moments only. */
export const follow = (drivers: ReadonlyArray<ChainDriver>) =>
  Effect.flatMap(
    Chains,
    (chains) =>
      Effect.forEach(drivers, (driver) => chains.register(driver), { discard: true }).pipe(
        Effect.updateService(Clock.Clock, withQuickPauses)
      )
  )

/** Looks until the promise holds; the test's own time limit ends it otherwise. */
export const eventually = <A, E, R>(look: Effect.Effect<A | undefined, E, R>): Effect.Effect<A, never, R> =>
  look.pipe(
    Effect.flatMap((found) => found === undefined ? Effect.fail("not yet") : Effect.succeed(found)),
    Effect.retry(Schedule.spaced(10)),
    Effect.orDie
  )

/** Marks every entry as dealt with at a depth of so many blocks, as payments do. */
export const markHandledAt = Effect.fnUntraced(function*(blocks: number) {
  const chains = yield* Chains
  const commit = yield* Commit
  yield* chains.onTransfer((entry) =>
    commit.append({
      merchantId: entry.merchantId,
      environment: entry.environment,
      cause: noCause,
      writes: [chains.markHandled(entry, { blocks, finalized: false })],
      events: []
    })
  )
})

export const markHandled = markHandledAt(1)

export const invoiceId = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`

export const allocate = (number: number, merchantId = 1, isOfStranger = false) =>
  Effect.flatMap(
    Chains,
    (chains) =>
      chains.allocate({ merchantId, invoiceId: invoiceId(number), environment: "devnet", family: "evm", isOfStranger })
  )
