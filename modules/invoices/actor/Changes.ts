/** A change of an invoice: load, plan, decide, run the hooks, commit; a lost race begins anew. */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import {
  type Commit,
  type CommitCause,
  type CommitResult,
  decideAnew,
  type IdempotentReplay,
  type ReplyWrite,
  type Write
} from "../../../runtime/Commit.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { type Aggregate, type Command, decide } from "../machine.ts"
import { decisionWrites, type Repo } from "../repo.ts"
import { isIdle } from "./Decisions.ts"
import { type InvoiceFact, type InvoiceHooks, notCancelable, runHooks } from "./Hooks.ts"
import { count } from "./Metrics.ts"

/** What to do to an invoice, and what of other modules must be stored with it. */
export interface ChangePlan {
  readonly commands: ReadonlyArray<Command>
  readonly writes?: ReadonlyArray<Write>
  /** What those rows publish, after the invoice's own events. */
  readonly events?: ReadonlyArray<EventDraft>
  /** For the hooks that know the tags. */
  readonly facts?: ReadonlyArray<InvoiceFact>
  /** The answer to keep for the caller's idempotency key, made of the decision and all facts by then. */
  readonly reply?: (next: Aggregate, facts: ReadonlyArray<InvoiceFact>) => ReplyWrite | undefined
}

/** A change after its commit; `committed` is null when there was nothing to change. */
export interface ChangeResult {
  readonly aggregate: Aggregate
  readonly committed: CommitResult | null
  readonly facts: ReadonlyArray<InvoiceFact>
}

/** The services that a change takes. */
export interface ChangeContext {
  readonly actors: Actors["Service"]
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly hooks: InvoiceHooks["Service"]
  readonly repo: Repo
}

/** `Invoices.change`. */
export const changeInvoice = <E, R>(
  { actors, clock, commit, hooks, repo }: ChangeContext,
  id: string,
  cause: CommitCause,
  plan: (current: Aggregate, nowSeconds: number) => Effect.Effect<ChangePlan, E, R>
) =>
  actors.send(
    "invoice",
    id,
    Effect.gen(function*() {
      const current = yield* repo.find(id)
      if (current === null) return yield* publicError("INVOICE_NOT_FOUND")
      const nowMillis = yield* clock.nowMillis(current.invoice.merchantId, current.invoice.environment)
      const now = Math.floor(nowMillis / 1_000)
      const changePlan = yield* plan(current, now)
      const first = decide(current, changePlan.commands, now)
      if (first === "not_cancelable") return yield* notCancelable(current.invoice)
      const applicableHooks = isIdle(current, first) && changePlan.facts === undefined ? [] : hooks.current()
      const { afterCommit, balances, decision, events, facts, messages, writes } = yield* runHooks(
        applicableHooks,
        current,
        changePlan.commands,
        first,
        changePlan.facts ?? [],
        nowMillis
      )
      const reply = changePlan.reply?.(decision.next, facts)
      const hasNoExtras = changePlan.writes === undefined && writes.length === 0 && events.length === 0
      if (hasNoExtras && isIdle(current, decision) && reply === undefined) {
        return { aggregate: current, committed: null, facts }
      }
      const committed = yield* commit.append({
        merchantId: current.invoice.merchantId,
        environment: current.invoice.environment,
        cause,
        writes: [...decisionWrites(decision), ...changePlan.writes ?? [], ...writes],
        events: [...decision.events, ...changePlan.events ?? [], ...events],
        messages,
        balances,
        reply
      })
      yield* count(current.invoice, decision.next.invoice)
      yield* Effect.all(afterCommit, { discard: true })
      return { aggregate: decision.next, committed, facts }
    })
  ).pipe(
    decideAnew()
  ) as Effect.Effect<ChangeResult, E | PublicError | IdempotentReplay, R>
