/** The audit log: its entries are kept in the commits of the acts, and chained behind them. */
import { Cause, Clock, Context, Effect, Layer } from "effect"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Commit, noCause } from "../../runtime/Commit.ts"
import { canonicalJson, sha256 } from "../../runtime/http/CanonicalJson.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { type AuditFilter, type AuditPage, chainWrite, entryWrite, makeRepo, type StoredEntry } from "./repo.ts"
import type { AuditEntry } from "./rules.ts"
import { chainEntries } from "./rules/Chain.ts"

/** Entries that are chained in one run. */
const chainBatch = 200

export class AuditEntries extends Context.Service<AuditEntries, {
  readonly list: (
    filter: AuditFilter,
    page: AuditPage
  ) => Effect.Effect<{ readonly entries: ReadonlyArray<StoredEntry>; readonly hasMore: boolean }>
}>()("tillwire/modules/audit/AuditEntries") {
  static readonly layer = Layer.effect(AuditEntries, Effect.suspend(() => make))
}

const make = Effect.gen(function*() {
  const commit = yield* Commit
  const repo = yield* makeRepo

  /**
   * Goes on with one merchant's chain, unless another process was faster: how many entries it chained. Whatever
   * fails is that of this merchant alone, also a row that the database refuses, so that it holds up no other chain.
   */
  const chainOf = (merchantId: number, entries: ReadonlyArray<AuditEntry>) =>
    Effect.gen(function*() {
      const end = yield* repo.chainEnd(merchantId)
      const links = chainEntries(end, entries, (fields) => sha256(canonicalJson(fields)))
      yield* commit.append({
        merchantId,
        environment: entries[0]!.environment,
        cause: noCause,
        writes: [
          ...links.map(({ entry, link }) => entryWrite(entry, link)),
          chainWrite(merchantId, end, links.at(-1)!.link)
        ],
        events: []
      })
      return entries.length
    }).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(
            Effect.logWarning("entries of the audit log could not be chained; they are tried again", cause),
            0
          )
      )
    )

  const chain = Effect.fnUntraced(function*(limit: number) {
    const waiting = yield* repo.unchained(limit)
    const byMerchant = Map.groupBy(waiting, ({ merchantId }) => merchantId)
    const counts = yield* Effect.forEach(byMerchant, ([merchantId, entries]) => chainOf(merchantId, entries))
    return counts.reduce((sum, count) => sum + count, 0)
  })

  yield* (yield* AuditLog).register((act) =>
    Effect.gen(function*() {
      const createdAt = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      return [entryWrite({ ...act, id: `aud_${yield* uuidV7}`, createdAt }, null)]
    })
  )
  yield* (yield* Timers).register({
    name: "audit",
    batchSize: chainBatch,
    nextDueMillis: repo.oldestUnchainedMillis,
    run: (_, limit) => chain(limit)
  })
  const reads = yield* readsOf(makeRepo)
  return AuditEntries.of({
    list: (filter, page) => reads.page(page.cursor?.direction === "older", (from) => from.list(filter, page))
  })
})
