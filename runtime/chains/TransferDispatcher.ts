/**
 * Hands journal entries to the one handler: one at a time per invoice, different invoices side by side, again after a
 * failure with a growing pause kept in the row. Tokens of the catalogue come first, merchants and invoices take turns,
 * so that what is sent to one holds up no other. Woken by the followers; the rows are the truth, so a restart or a lost
 * wake-up loses nothing.
 */
import { Cause, Clock, Effect, Exit, FiberSet, Queue } from "effect"
import type { JournalEntry } from "../Chains.ts"
import { Commit, noCause, systemMerchant } from "../Commit.ts"
import type { Leases } from "../Leases.ts"
import { retryPauseMillis } from "./Confirmations.ts"
import { type ChainsRepo, transferWrite } from "./ChainsRepo.ts"

/** Invoices that one instance handles at once. */
const concurrency = 16
/** What instances divide among them: an invoice is in one of these shares. The number stands in the query, too. */
export const handlerShares = [0, 1, 2, 3, 4, 5, 6, 7] as const
/** Rows read at a time. */
const pageSize = 64
/** Entries of one invoice in a page: the others have their turn before it goes on. */
const entriesPerInvoice = 8
/** How often rows are looked for without a wake-up: entries other instances journalled, pauses that ended. */
const pollMillis = 500
/** A handler that takes longer is interrupted and counts as failed. */
const handlerTimeoutMillis = 30_000
/** How long a look at the journal may take. */
const lookTimeoutMillis = 40_000
/** A share's entries are looked for twice a second. */
const leaseOptions = { role: "worker", ttlMillis: 6_000, passMillis: 120_000 } as const

export type TransferHandler = (entry: JournalEntry) => Effect.Effect<void, unknown>

/** The order of what is handed over together: tokens of the catalogue first, then as they came, the larger first. */
const compareEntries = (one: JournalEntry, other: JournalEntry): number =>
  Number(one.isUnlisted ?? false) - Number(other.isUnlisted ?? false) || Number(one.height - other.height) ||
  (other.amount > one.amount ? 1 : other.amount < one.amount ? -1 : one.index - other.index)

export interface DispatcherServices {
  readonly repo: ChainsRepo
  readonly commit: Commit["Service"]
  readonly leases: Leases["Service"]
  readonly wakes: Queue.Queue<void>
  /** Called after the handler dealt with an entry: its depth may be reached already. */
  readonly onHandled: (entry: JournalEntry) => Effect.Effect<void>
}

/** Hands entries over for ever. */
export const dispatchTransfers = (
  { commit, onHandled, leases, repo, wakes }: DispatcherServices,
  handler: TransferHandler
) => {
  /** Keeps the failure in the row; a row that changed meanwhile is due anyway. */
  const postpone = Effect.fnUntraced(function*(entry: JournalEntry, cause: Cause.Cause<unknown>) {
    const attempts = entry.attempts + 1
    const pause = retryPauseMillis(attempts)
    yield* Effect.logWarning("a transfer could not be handled", { id: entry.id, attempts, pauseMillis: pause }, cause)
    const retryAt = (yield* Clock.currentTimeMillis) + pause
    yield* commit.append({
      merchantId: systemMerchant,
      environment: entry.environment,
      cause: noCause,
      writes: [transferWrite({ ...entry, attempts, version: entry.version + 1 }, retryAt)],
      events: []
    }).pipe(Effect.catch((error) =>
      error._tag === "Conflict"
        ? Effect.void
        : Effect.andThen(Effect.logWarning("the pause could not be kept", error), Effect.sleep(pause))
    ))
  })

  const handleOne = Effect.fnUntraced(function*(entry: JournalEntry) {
    const outcome = yield* handler(entry).pipe(Effect.timeout(handlerTimeoutMillis), Effect.exit)
    if (Exit.isFailure(outcome)) {
      yield* postpone(entry, outcome.cause)
      return false
    }
    const after = (yield* repo.entriesById([entry.id]))[0]
    if (after !== undefined && after.version === entry.version) {
      yield* postpone(entry, Cause.die(new Error("the handler returned without marking the entry as handled")))
      return false
    }
    yield* onHandled(entry)
    return true
  })

  const handleInvoice = Effect.fnUntraced(function*(entries: ReadonlyArray<JournalEntry>) {
    for (const entry of entries.toSorted(compareEntries)) {
      if (!(yield* handleOne(entry))) return
    }
  })

  /** The shares that this instance has, with what of them is being handled. */
  const shares = new Map<number, { readonly fibers: FiberSet.FiberSet; readonly progress: Effect.Effect<void> }>()
  const busySubjects = new Set<string>()

  const handleSubject = (fibers: FiberSet.FiberSet, subject: string, entries: ReadonlyArray<JournalEntry>) => {
    busySubjects.add(subject)
    const work = handleInvoice(entries).pipe(
      Effect.catchCause((cause) => Effect.logWarning("handling failed", cause)),
      Effect.ensuring(Effect.suspend(() => {
        busySubjects.delete(subject)
        return busySubjects.size < concurrency / 2 ? Queue.offer(wakes, undefined) : Effect.void
      }))
    )
    return FiberSet.run(fibers, work)
  }

  /** One query for all shares: a query for each would be eight times as many while nothing happens. */
  const look = Effect.gen(function*() {
    const looked = [...shares]
    if (looked.length === 0 || busySubjects.size >= concurrency) return
    const now = yield* Clock.currentTimeMillis
    const dueEntries = yield* repo.unhandledEntries(
      now,
      looked.map(([share]) => share),
      [...busySubjects],
      entriesPerInvoice,
      pageSize
    )
    for (const [subject, due] of Map.groupBy(dueEntries, ({ entry }) => entry.invoiceId ?? entry.id)) {
      if (busySubjects.size >= concurrency) break
      // A share that was lost meanwhile is another instance's.
      const fibers = shares.get(due[0]!.share)?.fibers
      if (fibers !== undefined) yield* handleSubject(fibers, subject, due.map(({ entry }) => entry))
    }
  })

  const keepLooking = Effect.gen(function*() {
    yield* Effect.timeout(look, lookTimeoutMillis)
    yield* Effect.forEach(shares.values(), ({ progress }) => progress, { discard: true })
    yield* shares.size === 0 ? Queue.take(wakes) : Effect.timeoutOption(Queue.take(wakes), pollMillis)
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logWarning("the journal could not be read", cause), Effect.sleep(pollMillis))
    ),
    Effect.forever
  )

  const holdShare = (share: number) =>
    leases.hold(`chain:handler:${share}`, leaseOptions, (_, progress) =>
      Effect.scoped(Effect.gen(function*() {
        const fibers = yield* FiberSet.make()
        yield* Effect.acquireRelease(
          Effect.sync(() => shares.set(share, { fibers, progress })),
          () => Effect.sync(() => shares.delete(share))
        )
        yield* Queue.offer(wakes, undefined)
        return yield* Effect.never
      })))

  return Effect.all([keepLooking, ...handlerShares.map(holdShare)], { concurrency: "unbounded", discard: true })
}
