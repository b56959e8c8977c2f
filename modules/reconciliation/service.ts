/** Reconciliation: what chain, books and events say of a period, side by side; months that are closed for good. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Chains } from "../../runtime/Chains.ts"
import { Commit, decideAnew, dieOnReplay, type IdempotentCall } from "../../runtime/Commit.ts"
import { canonicalJson, sha256 } from "../../runtime/http/CanonicalJson.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { Timers } from "../../runtime/Timers.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { isPublicError, type PublicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { type BookOwner, isChainAccount, Ledger } from "../ledger/plugin.ts"
import { adjustmentWrite, closedPeriodWrite, lastClosedWrite, makeRepo, type Repo } from "./repo.ts"
import {
  adjustmentAct,
  type AdjustmentRequest,
  type ClosedPeriod,
  closePeriod,
  closingAct,
  closingRefusal,
  monthInWords,
  monthToClose,
  ownHoldings,
  type Period,
  readAdjustment,
  readMonth,
  type Report,
  type StoredAdjustment
} from "./rules.ts"
import { makeExplainedMonths, reportMonths } from "./service/ExplainedMonths.ts"
import { makeReports, nowOf } from "./service/PeriodReports.ts"
import { readWallets } from "./service/WalletReadings.ts"

/** A report as it stands now, or as it was closed. */
export type PeriodReport =
  | { readonly _tag: "Open"; readonly report: Report }
  | { readonly _tag: "Closed"; readonly closed: ClosedPeriod }

export class Reconciliation extends Context.Service<Reconciliation, {
  /** Of a month or another span; a closed month as it was closed. */
  readonly report: (owner: BookOwner, period: Period) => Effect.Effect<PeriodReport>
  /**
   * Closes a month, once. Errors: `VALIDATION_ERROR` for a name that is no month, `INVALID_TRANSITION` with the reason
   * why it cannot be closed now, `SERVICE_UNAVAILABLE`. A closed one is answered again.
   */
  readonly close: (
    owner: BookOwner,
    name: string,
    actor: string,
    call: IdempotentCall<ClosedPeriod>
  ) => Effect.Effect<ClosedPeriod, PublicError>
  /** Newest first, those before a month. */
  readonly listClosed: (
    owner: BookOwner,
    before: string | null,
    limit: number
  ) => Effect.Effect<ReadonlyArray<ClosedPeriod>>
  readonly closed: (owner: BookOwner, name: string) => Effect.Effect<ClosedPeriod | null>
  /**
   * The name of the month that is closed next; null: nothing was booked. `newest`: the newest closed month, where the
   * caller has read it; null: there is none.
   */
  readonly nextToClose: (
    owner: BookOwner,
    newest?: Pick<ClosedPeriod, "period"> | null
  ) => Effect.Effect<string | null>
  /** Books an adjustment. Errors: `VALIDATION_ERROR`, `SERVICE_UNAVAILABLE`. */
  readonly adjust: (
    owner: BookOwner,
    request: AdjustmentRequest,
    actor: string,
    call: IdempotentCall<StoredAdjustment>
  ) => Effect.Effect<StoredAdjustment, PublicError>
}>()("tillwire/modules/reconciliation/Reconciliation") {
  static readonly layer = Layer.effect(Reconciliation, Effect.suspend(() => make))
}

const nextToClose = (repo: Pick<Repo, "firstEntryAt" | "lastClosed">) =>
  Effect.fnUntraced(function*(owner: BookOwner, newest?: Pick<ClosedPeriod, "period"> | null) {
    const lastClosed = newest === undefined ? yield* repo.lastClosed(owner) : newest
    // The first entry is looked for among all of them, so only where no closed month says it.
    const firstEntryAt = lastClosed === null ? yield* repo.firstEntryAt(owner) : null
    return monthToClose({ lastClosed, firstEntryAt })?.name ?? null
  })

const make = Effect.gen(function*() {
  const actors = yield* Actors
  const auditLog = yield* AuditLog
  const chains = yield* Chains
  const commit = yield* Commit
  const repo = yield* makeRepo
  const services = { clock: yield* MerchantClock, ledger: yield* Ledger, repo }
  const { ledger } = services
  const reads = yield* readsOf(makeRepo)
  const explainedMonths = yield* makeExplainedMonths
  const { reportOf, reportToClose } = makeReports(services, reads, explainedMonths.record)

  const timers = yield* Timers
  yield* timers.register(yield* readWallets({ chains, commit, repo }))
  yield* timers.register(yield* reportMonths(repo, reportOf))

  const report = Effect.fnUntraced(function*(owner: BookOwner, period: Period): Effect.fn.Return<PeriodReport> {
    const newest = period.name === null ? undefined : yield* repo.newestClosed(owner, period.name)
    return newest != null && newest.period === period.name
      ? { _tag: "Closed", closed: newest }
      : { _tag: "Open", report: yield* reportOf(owner, period, newest) }
  })

  const close = (owner: BookOwner, name: string, actor: string, { cause, reply }: IdempotentCall<ClosedPeriod>) =>
    Effect.gen(function*() {
      const period = readMonth(name)
      if (period === null) return yield* invalidParameter("period", monthInWords)
      const stored = yield* repo.closed(owner, name)
      if (stored !== null) return stored
      const lastClosed = yield* repo.lastClosed(owner)
      const closedAt = yield* nowOf(services, owner)
      const current = yield* reportToClose(owner, period)
      const refusal = closingRefusal({
        period,
        report: current,
        lastClosed,
        firstEntryAt: yield* repo.firstEntryAt(owner),
        hasOpenTransfers: yield* repo.hasOpenTransfers(owner, period.to),
        now: closedAt
      })
      if (refusal !== null) return yield* refusal
      const closed = closePeriod(canonicalJson(current), { actor, closedAt, period: name }, lastClosed, sha256)
      yield* commit.append({
        ...owner,
        cause,
        writes: [
          closedPeriodWrite(owner, closed),
          lastClosedWrite(owner, lastClosed, closed),
          ...yield* auditLog.writesOf(closingAct(owner, closed, cause.requestId))
        ],
        events: [],
        reply: reply(closed)
      })
      return closed
    }).pipe(decideAnew())

  /** Adjustments of one owner are numbered, so they wait for each other; those of another process make one try again. */
  const adjust = (
    owner: BookOwner,
    request: AdjustmentRequest,
    actor: string,
    { cause, reply }: IdempotentCall<StoredAdjustment>
  ) =>
    actors.send(
      "adjustments",
      `${owner.merchantId} ${owner.environment}`,
      Effect.gen(function*() {
        // Before the balances: who is between the two meets in the ordinal.
        const ordinal = (yield* repo.lastOrdinal(owner)) + 1
        const balances = (yield* ledger.balances(owner)).filter(({ asset }) => asset === request.asset)
        const createdAt = yield* nowOf(services, owner)
        const wallets = balances.filter(({ account }) => isChainAccount(account))
        const asked = readAdjustment(
          request,
          wallets,
          ownHoldings(balances),
          request.explains !== undefined &&
            (yield* ledger.isIgnored(owner.merchantId, request.explains.toLowerCase(), request.asset)),
          ledger.tokenOf(owner.environment, request.asset),
          createdAt
        )
        if (isPublicError(asked)) return yield* asked
        const id = `adj_${yield* uuidV7}`
        const booked = yield* ledger.adjust(owner, { ...asked, id, now: createdAt })
        const adjustment: StoredAdjustment = {
          ...asked,
          id,
          balanceTransactionId: booked.transactionId,
          actor,
          createdAt
        }
        yield* commit.append({
          ...owner,
          cause,
          writes: [
            adjustmentWrite(owner, adjustment, ordinal),
            ...booked.writes,
            ...yield* auditLog.writesOf(adjustmentAct(owner, adjustment, cause.requestId))
          ],
          balances: booked.balances,
          events: booked.events,
          reply: reply(adjustment)
        })
        return adjustment
      }).pipe(decideAnew())
    )

  return Reconciliation.of({
    report,
    close: (owner, name, actor, call) => dieOnReplay(close(owner, name, actor, call)),
    listClosed: repo.listClosed,
    closed: repo.closed,
    nextToClose: nextToClose(repo),
    adjust: (owner, request, actor, call) => dieOnReplay(adjust(owner, request, actor, call))
  })
})
