/** Hooks: what other modules keep of an invoice changes in the invoice's own commit. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { BalanceDelta, WebhookMessage, Write } from "../../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { type Aggregate, type Command, decide, type Decision, type InvoiceState } from "../machine.ts"
import type { ExceptionRecord } from "../machine.ts"

/** Something that happened to what another module keeps of an invoice; its tag is that module's. */
export interface InvoiceFact {
  readonly _tag: string
}

/** A change as a hook sees it, before its commit. */
export interface HookInput {
  readonly before: Aggregate
  readonly decision: Decision
  /** Facts of the change itself and of the hooks before this one. */
  readonly facts: ReadonlyArray<InvoiceFact>
  /** Epoch seconds of the merchant's time. */
  readonly now: number
  /** The same moment in milliseconds: what happens in one second has an order. */
  readonly nowMillis: number
}

/** What a hook adds to the commit of a change. */
export interface HookResult {
  /** Decided after those of the change. */
  readonly commands?: ReadonlyArray<Command>
  readonly writes?: ReadonlyArray<Write>
  /** What it moves of balances, which no commit loses a race for. */
  readonly balances?: ReadonlyArray<BalanceDelta>
  /** Published after the invoice's own. */
  readonly events?: ReadonlyArray<EventDraft>
  /** What endpoints of a format are sent with it; for a change that publishes no event, nothing. */
  readonly messages?: ReadonlyArray<WebhookMessage>
  /** For the hooks after it, and for the caller of the change. */
  readonly facts?: ReadonlyArray<InvoiceFact>
  /** Run once the commit is there; a process that ends before it leaves it out, so it is no more than a hint. */
  readonly afterCommit?: Effect.Effect<void>
}

/** Fact: money of an exception without an invoice is given to this one; the exception as it was before. */
export interface AssignmentFact extends InvoiceFact {
  readonly _tag: "MoneyAssigned"
  readonly record: ExceptionRecord
}

/** A change of an exception without an invoice, before its commit; `before` is null where it opens. */
export interface UnmatchedChange {
  readonly before: ExceptionRecord | null
  readonly after: ExceptionRecord
  /** Facts of the change itself and of the hooks before this one. */
  readonly facts: ReadonlyArray<InvoiceFact>
  /** Epoch seconds of the merchant's time. */
  readonly now: number
  /** The same moment in milliseconds. */
  readonly nowMillis: number
}

/** Changes what another module keeps of an invoice in the invoice's own commit. */
export interface InvoiceHook {
  /** Unique. */
  readonly name: string
  /** It runs after all others, as it must see what they add. Absent: in the order of registration. */
  readonly isLast?: boolean
  /**
   * Runs for every change that does something, and again when a lost race decides anew: nothing but reads may happen
   * here. An error refuses the whole change.
   */
  readonly run: (input: HookInput) => Effect.Effect<HookResult, PublicError>
  /** The same for money that pays no invoice, but where it is assigned to one: then {@link AssignmentFact} tells. */
  readonly onUnmatched?: (change: UnmatchedChange) => Effect.Effect<UnmatchedHookResult>
  /**
   * The balance transaction that books a refund whose money is set apart by its change to this version. Absent: this
   * hook keeps no books.
   */
  readonly nameRefund?: (refundId: string, version: number) => string
}

/** What a hook adds to the commit of an exception without an invoice. */
export type UnmatchedHookResult = Pick<HookResult, "writes" | "balances" | "events" | "facts">

/**
 * Hooks of invoices, by late binding: run in the order they registered, which is that of the config file, those that
 * are last after all others.
 */
export class InvoiceHooks extends Context.Service<InvoiceHooks, {
  /** For as long as the scope lives. */
  readonly register: (hook: InvoiceHook) => Effect.Effect<void, never, Scope.Scope>
  readonly current: () => ReadonlyArray<InvoiceHook>
}>()("tillwire/modules/invoices/InvoiceHooks") {
  static readonly layer = Layer.sync(InvoiceHooks, () => {
    let hooks: ReadonlyArray<InvoiceHook> = []
    return InvoiceHooks.of({
      register: (hook) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const first = hooks.filter(({ isLast = false }) => !isLast || hook.isLast === true)
            hooks = [...first, hook, ...hooks.filter((each) => !first.includes(each))]
          }),
          () =>
            Effect.sync(() => {
              hooks = hooks.filter((each) => each !== hook)
            })
        ),
      current: () => hooks
    })
  })
}

/** What hooks add to the commit of an exception without an invoice: one after the other, with the facts by then. */
export const runUnmatchedHooks = Effect.fnUntraced(function*(
  hooks: ReadonlyArray<InvoiceHook>,
  change: UnmatchedChange
) {
  let added: Required<UnmatchedHookResult> = { writes: [], balances: [], events: [], facts: change.facts }
  for (const { onUnmatched } of hooks) {
    if (onUnmatched === undefined) continue
    const { balances = [], events = [], facts = [], writes = [] } = yield* onUnmatched({
      ...change,
      facts: added.facts
    })
    added = {
      writes: [...added.writes, ...writes],
      balances: [...added.balances, ...balances],
      events: [...added.events, ...events],
      facts: [...added.facts, ...facts]
    }
  }
  return added
})

/** A decision with all that the hooks add to it. */
interface HookedDecision {
  readonly decision: Decision
  readonly writes: ReadonlyArray<Write>
  readonly balances: ReadonlyArray<BalanceDelta>
  readonly events: ReadonlyArray<EventDraft>
  readonly messages: ReadonlyArray<WebhookMessage>
  readonly facts: ReadonlyArray<InvoiceFact>
  readonly afterCommit: ReadonlyArray<Effect.Effect<void>>
}

/** Runs one hook after the other; what they command is decided together with what came before. */
export const runHooks = Effect.fnUntraced(function*(
  hooks: ReadonlyArray<InvoiceHook>,
  before: Aggregate,
  commands: ReadonlyArray<Command>,
  first: Decision,
  facts: ReadonlyArray<InvoiceFact>,
  nowMillis: number
): Effect.fn.Return<HookedDecision, PublicError> {
  const now = Math.floor(nowMillis / 1_000)
  let all = commands
  let combined: HookedDecision = {
    decision: first,
    writes: [],
    balances: [],
    events: [],
    messages: [],
    facts,
    afterCommit: []
  }
  for (const { run } of hooks) {
    const result = yield* run({ before, decision: combined.decision, facts: combined.facts, now, nowMillis })
    all = [...all, ...result.commands ?? []]
    const decision = result.commands === undefined ? combined.decision : decide(before, all, now)
    if (decision === "not_cancelable") return yield* notCancelable(before.invoice)
    combined = {
      decision,
      writes: [...combined.writes, ...result.writes ?? []],
      balances: [...combined.balances, ...result.balances ?? []],
      events: [...combined.events, ...result.events ?? []],
      messages: [...combined.messages, ...result.messages ?? []],
      facts: [...combined.facts, ...result.facts ?? []],
      afterCommit: result.afterCommit === undefined
        ? combined.afterCommit
        : [...combined.afterCommit, result.afterCommit]
    }
  }
  return combined
})

/** The invoice of an order ends with its order, so that no order waits for a payment that nobody can make. */
export const notCancelable = ({ orderId }: InvoiceState): PublicError =>
  orderId === null ? publicError("INVOICE_NOT_CANCELABLE") : publicError("INVOICE_NOT_CANCELABLE", {
    message: `This invoice is part of an order: cancel it with POST /api/commerce/merchant/orders/${orderId}/cancel`
  })
