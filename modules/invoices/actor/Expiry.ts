/** The clock: ends invoices that are due, and the grace of those that were paid in part. */
import { Effect, Schedule } from "effect"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { type Aggregate, type Command, decide, type Decision, nothingToScan, type ScanProgress } from "../machine.ts"
import { decisionWrites, type Repo } from "../repo.ts"
import { isIdle } from "./Decisions.ts"
import { InvoiceHooks, runHooks } from "./Hooks.ts"
import { count } from "./Metrics.ts"

/**
 * Invoices the clock changes in one run: enough for their commits to share flushes, few enough for requests to be
 * served between two runs (64 gave 95 % of the rate of 250 and six tenths of its readers' p99; measured).
 */
export const expiryBatch = 100

/**
 * Expiry and the end of grace, by each merchant's clock: one query reads a batch, each invoice is decided by the same
 * machine as a payment, all commits share flushes. It does not use the mailboxes: the version each row expects makes a
 * race with a payment a conflict, and the row is due again at once.
 */
export const makeExpiry = Effect.fnUntraced(function*(repo: Repo) {
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const hooks = yield* InvoiceHooks
  const chains = yield* Chains

  /** What was read of the networks of each invoice, by its id: one query for each environment. */
  const scanProgressOf = Effect.fnUntraced(function*(invoices: ReadonlyArray<Aggregate>) {
    const coverages = yield* Effect.forEach(
      Map.groupBy(invoices.map(({ invoice }) => invoice), ({ environment }) => environment),
      ([environment, group]) => chains.coverage(environment, group)
    )
    return new Map(coverages.flatMap((each) => [...each]))
  })

  /** Block times follow the system's clock: they are shifted by the seconds that the merchant's clock is ahead. */
  const inMerchantTime = ({ handling, networks }: ScanProgress, aheadSeconds: number): ScanProgress => ({
    networks: aheadSeconds === 0 ?
      networks :
      networks.map((each) => each.seenUntil === null ? each : { ...each, seenUntil: each.seenUntil + aheadSeconds }),
    handling
  })

  const expire = Effect.fnUntraced(function*(current: Aggregate, progress: ScanProgress, nowMillis: number) {
    const commands: ReadonlyArray<Command> = [{ _tag: "Tick", progress }]
    const first = decide(current, commands, Math.floor(nowMillis / 1_000)) as Decision
    if (isIdle(current, first)) return
    const { afterCommit, balances, decision, events, messages, writes } = yield* runHooks(
      hooks.current(),
      current,
      commands,
      first,
      [],
      nowMillis
    )
    yield* commit.append({
      merchantId: current.invoice.merchantId,
      environment: current.invoice.environment,
      cause: noCause,
      writes: [...decisionWrites(decision), ...writes],
      events: [...decision.events, ...events],
      messages,
      balances
    })
    yield* count(current.invoice, decision.next.invoice)
    yield* Effect.all(afterCommit, { discard: true })
  }, Effect.catchTag("Conflict", () => Effect.void))

  const run = Effect.fnUntraced(
    function*(nowMillis: number, limit: number) {
      const now = Math.floor(nowMillis / 1000)
      const invoices = yield* repo.due(now, limit)
      const progressById = yield* scanProgressOf(invoices)
      yield* Effect.forEach(invoices, (current) => {
        const { environment, id, merchantId } = current.invoice
        const ahead = clock.aheadSeconds(merchantId, environment)
        return expire(current, inMerchantTime(progressById.get(id) ?? nothingToScan, ahead), nowMillis + ahead * 1_000)
      }, { concurrency: "unbounded", discard: true })
      return invoices.length
    },
    Effect.retry({ schedule: Schedule.spaced("1 second"), times: 3 }),
    Effect.orDie
  )

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  return { run, nextDueMillis }
})
