/**
 * A merchant's time. It is the system's clock everywhere but on devnet, where a simulator may move one merchant's time
 * forward: then that merchant's objects are dated by it and its due times come by it. Event ids, leases, tokens,
 * sessions, idempotency keys and rate limits go by the system's clock alone.
 *
 * Clocks are rows, one for each merchant whose devnet time was ever moved. They are held in memory, so that asking for
 * the time is a look into a map; what another instance has moved is found by polling.
 */
import { Clock, Context, Effect, Layer, Schedule, type Scope, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type PublicError, publicError } from "../schemas/Errors.ts"
import type { Environment } from "../schemas/Network.ts"
import { nowSeconds } from "./Clock.ts"
import { Commit, decideAnew, type IdempotentCall, type IdempotentReplay, noCause, type Write } from "./Commit.ts"
import { Settings } from "./Settings.ts"
import { advanceRetries } from "./webhooks/DeliveryRepo.ts"

/**
 * Seconds a merchant's clock can be ahead, all its steps together: 10 years of 365 days
 * (modules/docs/reference/simulator.md#time).
 */
export const maximumAheadSeconds = 315_360_000

/** The time of a merchant: on devnet it can be moved ahead. */
export class MerchantClock extends Context.Service<MerchantClock, {
  /** Epoch milliseconds for a merchant in an environment. */
  readonly nowMillis: (merchantId: number, environment: Environment) => Effect.Effect<number>
  /** The same in whole epoch seconds, rounded down. */
  readonly nowSeconds: (merchantId: number, environment: Environment) => Effect.Effect<number>
  /** Seconds by which a merchant's time is ahead of the system's now; 0 on mainnet. */
  readonly aheadSeconds: (merchantId: number, environment: Environment) => number
  /** Those whose devnet time is ahead, and by how many seconds. */
  readonly aheadByMerchant: () => ReadonlyMap<number, number>
  /**
   * Moves a merchant's devnet time forward by whole seconds, at least 1, and answers how many it is ahead now; a reply
   * is made of that number too. What waits to be delivered again of its devnet events is due earlier by as much. The
   * other instances know within 2 s. Errors: `VALIDATION_ERROR` beyond {@link maximumAheadSeconds};
   * `SERVICE_UNAVAILABLE`; `IdempotentReplay` only with a reply.
   */
  readonly advance: (
    merchantId: number,
    seconds: number,
    call?: IdempotentCall<number>
  ) => Effect.Effect<number, PublicError | IdempotentReplay>
  /** Runs on this instance each time it learns that a merchant's clock has moved, for as long as the scope lives. */
  readonly onAdvance: (listener: (merchantId: number) => Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/MerchantClock") {
  /** Nobody's clock is ahead, or can be: a deployment without devnet. */
  static readonly system = Layer.succeed(
    MerchantClock,
    MerchantClock.of({
      nowMillis: () => Clock.currentTimeMillis,
      nowSeconds: () => nowSeconds,
      aheadSeconds: () => 0,
      aheadByMerchant: () => new Map(),
      advance: () => Effect.die(new Error("Nobody's clock can be moved without devnet")),
      onAdvance: () => Effect.void
    })
  )
}

/** Milliseconds between looks for what other instances have moved: with the time of a look it is known within 2 s. */
export const pollMillis = 1_000

interface Row {
  readonly merchant_id: number
  readonly version: bigint
  readonly seconds: bigint
}

const defaultCall: IdempotentCall<number> = { cause: noCause, reply: () => undefined }

const limitError = publicError("VALIDATION_ERROR", {
  param: "seconds",
  message: `seconds: a clock can be ${maximumAheadSeconds} s ahead in all`
})

const make = Effect.gen(function*() {
  const commit = yield* Commit
  const sql = yield* SqlClient.SqlClient
  const ahead = new Map<number, number>()
  const listeners = new Set<(merchantId: number) => Effect.Effect<void>>()
  /** Steps are rare: one at a time here, so that only another instance's can be first. */
  const stepLock = yield* Semaphore.make(1)
  /** Sum of the versions of all rows as last read: each step raises it. */
  let versionSum = 0n

  const learn = (merchantId: number, seconds: number) =>
    Effect.suspend(() => {
      if (seconds <= (ahead.get(merchantId) ?? 0)) return Effect.void
      ahead.set(merchantId, seconds)
      return Effect.forEach([...listeners], (listener) => listener(merchantId), { discard: true })
    })

  const readAll = Effect.gen(function*() {
    const rows = yield* sql<Row>`SELECT merchant_id, version, seconds FROM merchant_clocks`
    versionSum = rows.reduce((sum, { version }) => sum + version, 0n)
    yield* Effect.forEach(rows, (row) => learn(row.merchant_id, Number(row.seconds)), { discard: true })
  })

  const poll = Effect.gen(function*() {
    const [sum] = yield* sql<{ readonly versions: bigint }>`
      SELECT coalesce(sum(version), 0)::bigint AS versions FROM merchant_clocks`
    if (sum!.versions !== versionSum) yield* readAll
  }).pipe(
    Effect.catch((error: SqlError.SqlError) =>
      Effect.logWarning("Merchants' clocks were not read; they are read again", error)
    )
  )

  const step = Effect.fnUntraced(
    function*(merchantId: number, seconds: number, { cause, reply }: IdempotentCall<number>) {
      const [row] = yield* sql<Row>`
      SELECT merchant_id, version, seconds FROM merchant_clocks WHERE merchant_id = ${merchantId}`.pipe(Effect.orDie)
      const next = Number(row?.seconds ?? 0n) + seconds
      if (next > maximumAheadSeconds) return yield* limitError
      const replyWrite = reply(next)
      const write: Write = {
        table: "merchant_clocks",
        row: { merchant_id: merchantId, version: Number(row?.version ?? 0n) + 1, seconds: next }
      }
      yield* commit.append({
        merchantId,
        environment: "devnet",
        cause,
        writes: [write],
        events: [],
        reply: replyWrite
      })
      yield* advanceRetries(merchantId, seconds).pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.catch((error) => Effect.logWarning("Webhook retries keep their times though the clock has moved", error))
      )
      yield* learn(merchantId, next)
      return next
    }
  )

  const advance = (merchantId: number, seconds: number, call: IdempotentCall<number> = defaultCall) =>
    step(merchantId, seconds, call).pipe(
      // Between the commit and what follows from it nobody goes away.
      Effect.uninterruptible,
      decideAnew(),
      stepLock.withPermits(1)
    )

  const aheadSeconds = (merchantId: number, environment: Environment): number =>
    environment === "devnet" ? ahead.get(merchantId) ?? 0 : 0

  const nowMillis = (merchantId: number, environment: Environment) =>
    Effect.map(Clock.currentTimeMillis, (millis) => millis + aheadSeconds(merchantId, environment) * 1000)

  yield* readAll
  yield* Effect.forkScoped(Effect.repeat(poll, Schedule.spaced(pollMillis)))

  return MerchantClock.of({
    nowMillis,
    nowSeconds: (merchantId, environment) =>
      Effect.map(nowMillis(merchantId, environment), (millis) => Math.floor(millis / 1000)),
    aheadSeconds,
    aheadByMerchant: () => ahead,
    advance,
    onAdvance: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      )
  })
})

/** Clocks of the table `merchant_clocks`; without devnet the system's, at no cost. */
export const layer: Layer.Layer<MerchantClock, SqlError.SqlError, Commit | Settings | SqlClient.SqlClient> = Layer
  .unwrap(
    Effect.map(
      Settings,
      ({ environments }) => environments.includes("devnet") ? Layer.effect(MerchantClock, make) : MerchantClock.system
    )
  )
