/**
 * Orders: the hook that moves an order in the commit of its invoice, whoever changes that; the one way to tell an
 * order of a fact; and the work that is due, which is to call the retailer.
 */
import { Context, Effect, Layer } from "effect"
import {
  Commit,
  type CommitCause,
  type CommitResult,
  dieOnReplay,
  type IdempotentReplay,
  noCause,
  type ReplyWrite,
  type Write
} from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { Timers } from "../../runtime/Timers.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { isUuid } from "../../schemas/Ids.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import type { Network } from "../../schemas/Network.ts"
import type { RefundQuote } from "../../schemas/Refund.ts"
import {
  type Aggregate,
  type Command,
  type ExtraWrites,
  type HookInput,
  type HookResult,
  type InvoiceFact,
  InvoiceHooks,
  Invoices,
  type InvoiceState
} from "../invoices/plugin.ts"
import { Refunds, type RefundStep } from "../refunds/plugin.ts"
import { type RetailerDriver, type RetailerReport, Retailers } from "../retail/plugin.ts"
import {
  answerSeconds,
  decide,
  isRedirectable,
  type NewOrder,
  newOrder,
  orderCreatedEvent,
  type OrderDecision,
  type OrderFact,
  orderObject,
  type OrderState,
  orderUpdate,
  placedOrderOf,
  placementOf,
  type RefundRequest,
  type RefundView,
  taskOf,
  trackingSeconds,
  withRefund
} from "./machine.ts"
import { makeRepo, orderWrite, type Repo } from "./repo.ts"
import { registerPersonalRecords } from "./service/PersonalRecords.ts"

/** Facts for the hook of orders. */
interface OrderFacts extends InvoiceFact {
  readonly _tag: "Order"
  readonly facts: ReadonlyArray<OrderFact>
}

/** What became of the order, for whoever asked for the change. */
interface OrderChanged extends InvoiceFact {
  readonly _tag: "OrderChanged"
  readonly order: OrderState
}

/** What else is stored in the commit of an order's change. */
export interface OrderChangeExtras {
  /** For the order's invoice. */
  readonly commands?: ReadonlyArray<Command>
  readonly writes?: ReadonlyArray<Write>
  readonly facts?: ReadonlyArray<InvoiceFact>
  /** The answer to keep for the caller's idempotency key. */
  readonly reply?: (order: OrderState, invoice: Aggregate) => ReplyWrite | undefined
}

/** An order after its commit; `committed` is null when there was nothing to change. */
export interface OrderChangeResult {
  readonly order: OrderState
  readonly object: WireObject
  readonly invoice: Aggregate
  readonly committed: CommitResult | null
}

export class Orders extends Context.Service<Orders, {
  /** A new order of a drafted invoice, whose `orderId` is the order's: for `Invoices.createWith`. */
  readonly creation: (
    input: NewOrder,
    invoice: InvoiceState
  ) => { readonly order: OrderState; readonly extraWrites: ExtraWrites }
  /** Facts about an order, for a change of its invoice that something else asks for. */
  readonly asInvoiceFact: (facts: ReadonlyArray<OrderFact>) => InvoiceFact
  /** The order as a change of its invoice left it, by all that was told in it; undefined where the change was none. */
  readonly orderAfter: (invoiceFacts: ReadonlyArray<InvoiceFact>) => OrderState | undefined
  /**
   * Tells an order of facts, in turn, in one commit with its invoice: at most one `commerce.order.updated`, with every
   * step in the timeline. Errors: `ORDER_NOT_FOUND`; `INVALID_TRANSITION` for a fact that cannot be true of it now;
   * `ORDER_NOT_CANCELABLE`; those of refunds; `SERVICE_UNAVAILABLE`. Nothing is written then.
   */
  readonly change: (
    merchantId: number,
    orderId: string,
    cause: CommitCause,
    facts: ReadonlyArray<OrderFact>,
    more?: OrderChangeExtras
  ) => Effect.Effect<OrderChangeResult, PublicError | IdempotentReplay>
  /** By id alone: for callers who were handed the id by us. */
  readonly find: Repo["find"]
  /** The same within a merchant: another merchant's order is as unknown as none. */
  readonly get: Repo["get"]
  readonly getMany: Repo["getMany"]
  readonly list: Repo["list"]
  readonly count: Repo["count"]
}>()("tillwire/modules/commerce/Orders") {
  static readonly layer = Layer.effect(Orders, Effect.suspend(() => make))
}

/** Orders that one run of the timer reads, at most. */
export const duePageSize = 100

/** Calls to retailers under way at once. */
const callsAtOnce = 16

const hasTag = <T extends InvoiceFact>(tag: T["_tag"]) => (fact: InvoiceFact): fact is T => fact._tag === tag

/** Facts about the order among all that was told, in the order it was told in. */
const factsOf = (invoiceFacts: ReadonlyArray<InvoiceFact>): ReadonlyArray<OrderFact> =>
  invoiceFacts.flatMap((each): ReadonlyArray<OrderFact> => {
    switch (each._tag) {
      case "Order":
        return (each as OrderFacts).facts
      case "Refund":
        return [{ _tag: "Refund", refund: (each as InvoiceFact & { readonly refund: RefundView }).refund }]
      case "SettlementAbandoned":
        return [each as InvoiceFact & { readonly _tag: "SettlementAbandoned"; readonly paymentId: string }]
      default:
        return []
    }
  })

// oxlint-disable-next-line max-lines-per-function -- calls of one service; machine.ts decides
const make = Effect.gen(function*() {
  const hooks = yield* InvoiceHooks
  const invoices = yield* Invoices
  const refunds = yield* Refunds
  const retailers = yield* Retailers
  const timers = yield* Timers
  const repo = yield* makeRepo
  const reads = yield* readsOf(makeRepo)

  const asInvoiceFact = (facts: ReadonlyArray<OrderFact>): OrderFacts => ({ _tag: "Order", facts })

  const orderAfter = (all: ReadonlyArray<InvoiceFact>) => all.find(hasTag<OrderChanged>("OrderChanged"))?.order

  const run = Effect.fnUntraced(function*(
    { decision, now, facts }: HookInput
  ): Effect.fn.Return<HookResult, PublicError> {
    const { invoice } = decision.next
    const before = invoice.orderId === null ? null : yield* repo.get(invoice.merchantId, invoice.orderId)
    if (before === null || before.invoiceId !== invoice.id) return {}
    const orderDecision = decide(before, factsOf(facts), decision.next, now)
    if (isPublicError(orderDecision)) return yield* orderDecision
    const { next, steps } = yield* applyRefunds(orderDecision, decision.next, facts, now)
    const update = orderUpdate(before, next, now)
    const order = update?.order ?? before
    return {
      commands: [...orderDecision.commands, ...steps.flatMap(({ commands }) => commands)],
      writes: [...steps.flatMap(({ writes }) => writes), ...update === null ? [] : [orderWrite(order)]],
      events: update?.events ?? [],
      facts: [...steps.flatMap(({ facts }) => facts), { _tag: "OrderChanged", order } as OrderChanged],
      ...(order.dueAt !== null && order.dueAt !== before.dueAt ? { afterCommit: timers.wake("orders") } : {})
    }
  })

  /** A destination that came too late for the engine to take is no reason to refuse what happened: the refund waits. */
  const open = (
    current: Aggregate,
    refundRequest: RefundRequest,
    quote: RefundQuote | null,
    invoiceFacts: ReadonlyArray<InvoiceFact>,
    now: number
  ) => {
    const { feeFree, lateOnly, reason } = refundRequest
    const request = {
      amount: "remaining",
      reason,
      feeFree,
      quote,
      ...(lateOnly ? { payments: "late" as const } : {})
    } as const
    return refunds.open(current, { ...request, destination: refundRequest.destination }, now, invoiceFacts).pipe(
      Effect.catch((error) =>
        Effect.logWarning("a refund could not be opened with its destination", { code: error.code }).pipe(
          Effect.andThen(refunds.open(current, { ...request, destination: null }, now, invoiceFacts))
        )
      )
    )
  }

  /**
   * What of a decision is the refund engine's: refunds that wait go where the order says now, and one may be opened.
   */
  const applyRefunds = Effect.fnUntraced(function*(
    { needsRefundQuote, next, redirect, refund }: OrderDecision,
    current: Aggregate,
    invoiceFacts: ReadonlyArray<InvoiceFact>,
    now: number
  ): Effect.fn.Return<{ readonly next: OrderState; readonly steps: ReadonlyArray<RefundStep> }, PublicError> {
    const steps: Array<RefundStep> = []
    const factsSoFar = () => [...invoiceFacts, ...steps.flatMap((step) => step.facts)]
    const feeFree = next.status === "failed"
    const quote = (amount: UsdMillis | "remaining", network: Network | null) =>
      network === null ? Effect.succeed(null) : refunds.quote(current, { amount, network, feeFree }, now)
    let refundQuote = next.refundQuote
    if (redirect !== null) {
      const redirectable = (yield* refunds.ofInvoice(next.merchantId, next.invoiceId, invoiceFacts)).filter(
        isRedirectable
      )
      for (const each of redirectable) {
        refundQuote = yield* quote(each.amount, redirect.network)
        // The fee that was shown before is honoured, so it is the older quote that counts.
        steps.push(
          yield* refunds.decideOn(
            each,
            { _tag: "SetDestination", destination: redirect, quote: next.refundQuote },
            current,
            now,
            factsSoFar()
          )
        )
      }
    }
    const network = next.refundDestination?.network ?? next.payment.network
    if (refund !== null) {
      const refundStep = yield* open(current, refund, next.refundQuote, factsSoFar(), now)
      if (refundStep !== null) {
        steps.push(refundStep)
        refundQuote = yield* quote(refundStep.refund.amount, refundStep.refund.destination?.network ?? network)
      }
    } else if (needsRefundQuote && steps.length === 0) {
      refundQuote = yield* quote("remaining", network)
    }
    const withRefunds = steps.flatMap(({ facts }) => facts).reduce(
      (order, { refund }) => withRefund(order, refund),
      { ...next, refundQuote }
    )
    return { next: withRefunds, steps }
  })

  const change: Orders["Service"]["change"] = Effect.fn("Orders.change")(function*(
    merchantId,
    orderId,
    cause,
    facts,
    more = {}
  ) {
    const before = isUuid(orderId) ? yield* repo.get(merchantId, orderId) : null
    if (before === null) return yield* publicError("ORDER_NOT_FOUND")
    const orderIn = (all: ReadonlyArray<InvoiceFact>) => orderAfter(all) ?? before
    const { reply } = more
    const { aggregate, committed, facts: all } = yield* invoices.change(before.invoiceId, cause, () =>
      Effect.succeed({
        commands: more.commands ?? [],
        writes: more.writes ?? [],
        facts: [...more.facts ?? [], asInvoiceFact(facts)],
        ...(reply === undefined
          ? {}
          : { reply: (next: Aggregate, all: ReadonlyArray<InvoiceFact>) => reply(orderIn(all), next) })
      }))
    const order = orderIn(all)
    return { order, object: orderObject(order), invoice: aggregate, committed }
  })

  yield* hooks.register({ name: "commerce", run })
  yield* registerPersonalRecords(repo)
  yield* retailers.onReport(Effect.fnUntraced(function*({ environment, orderId }, report) {
    const order = isUuid(orderId) ? yield* repo.find(orderId) : null
    if (order?.environment !== environment) return yield* publicError("ORDER_NOT_FOUND")
    yield* change(order.merchantId, order.id, noCause, [report]).pipe(dieOnReplay)
  }))
  yield* timers.register({ name: "orders", batchSize: duePageSize, ...yield* makeWork(repo, change) })

  return Orders.of({
    creation: (input, invoice) => {
      const order = newOrder(input, invoice.id, invoice.createdAt)
      return { order, extraWrites: { writes: [orderWrite(order)], events: [orderCreatedEvent(order)] } }
    },
    asInvoiceFact,
    orderAfter,
    change,
    find: repo.find,
    get: repo.get,
    getMany: repo.getMany,
    list: (filter, page) => reads.page(page.offset > 0, (from) => from.list(filter, page)),
    count: repo.count
  })
})

/**
 * Calls the retailer for orders that are due. Before a call that does something, its beginning is committed, and with
 * it when it is repeated if this process ends in between: a retailer takes the same order for the same.
 */
// oxlint-disable-next-line max-lines-per-function -- calls to retailers; machine.ts decides
const makeWork = Effect.fnUntraced(function*(repo: Repo, change: Orders["Service"]["change"]) {
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const invoices = yield* Invoices
  const retailers = yield* Retailers

  const applyFacts = (order: OrderState, facts: ReadonlyArray<OrderFact>) =>
    change(order.merchantId, order.id, noCause, facts).pipe(dieOnReplay)

  /** The row alone: when it is looked at again is no decision. */
  const postpone = Effect.fnUntraced(function*(order: OrderState, after: (now: number) => number | null) {
    const seconds = after(yield* clock.nowSeconds(order.merchantId, order.environment))
    yield* commit.append({
      merchantId: order.merchantId,
      environment: order.environment,
      cause: noCause,
      writes: [orderWrite({ ...order, version: order.version + 1, dueAt: seconds })],
      events: []
    }).pipe(dieOnReplay)
  })

  /** What cannot be true of the order is left out and logged; the rest of what the retailer said still counts. */
  const acceptReports = (order: OrderState, reports: ReadonlyArray<RetailerReport>, more: ReadonlyArray<OrderFact>) =>
    applyFacts(order, [...reports, ...more]).pipe(
      Effect.catchIf(
        ({ code }) => code === "INVALID_TRANSITION",
        () =>
          Effect.forEach([...reports, ...more], (fact) =>
            applyFacts(order, [fact]).pipe(
              Effect.catchIf(
                ({ code }) => code === "INVALID_TRANSITION",
                () => Effect.logWarning("a retailer told what cannot be true of the order", { report: fact._tag })
              )
            ), { discard: true })
      ),
      Effect.asVoid
    )

  /**
   * Commits that a call begins. False: the order has moved on since it was read, so the call is not wanted any more;
   * its row says when it is due next. An order that is as it was read and still refuses is an error.
   */
  const commitStart = (order: OrderState, startFact: OrderFact) =>
    Effect.as(applyFacts(order, [startFact]), true).pipe(
      Effect.catchIf(({ code }) => code === "INVALID_TRANSITION", (error) =>
        Effect.flatMap(repo.get(order.merchantId, order.id), (current) =>
          current?.version === order.version ? Effect.fail(error) : Effect.succeed(false)))
    )

  const attempt = Effect.fnUntraced(
    function*(
      driver: RetailerDriver,
      startFact: OrderFact,
      order: OrderState,
      call: Effect.Effect<
        readonly [ReadonlyArray<RetailerReport>, ReadonlyArray<OrderFact>],
        { readonly _tag: "RetailerUnavailable"; readonly reason: string }
      >
    ) {
      if (!(yield* commitStart(order, startFact))) return
      yield* call.pipe(Effect.matchEffect({
        onSuccess: ([reports, more]) => acceptReports(order, reports, more),
        onFailure: ({ reason }) =>
          Effect.logWarning("a retailer gave no answer", { retailer: driver.name, reason }).pipe(
            Effect.andThen(applyFacts(order, [{ _tag: "RetailerSilent" }])),
            Effect.asVoid
          )
      }))
    }
  )

  const handle = Effect.fnUntraced(function*(order: OrderState) {
    const invoice = yield* invoices.find(order.invoiceId)
    const task = invoice === null ? null : taskOf(order, invoice)
    if (task === null) return yield* postpone(order, () => null)
    const driver = retailers.driver(order.environment)
    if (driver === undefined) return yield* postpone(order, (now) => now + answerSeconds)
    const placedOrder = placedOrderOf(order)
    const withAnswerFact = (reports: ReadonlyArray<RetailerReport>) =>
      [reports, [{ _tag: "RetailerAnswered" }]] as const
    switch (task) {
      case "place":
        return yield* attempt(
          driver,
          { _tag: "PlacementBegun" },
          order,
          Effect.map(driver.place(placementOf(order)), withAnswerFact)
        )
      case "cancel":
        return yield* attempt(
          driver,
          { _tag: "CancellationBegun" },
          order,
          Effect.map(driver.cancel(placedOrder), withAnswerFact)
        )
      case "withdraw":
        return yield* attempt(
          driver,
          { _tag: "CancellationBegun" },
          order,
          Effect.gen(function*() {
            const trackReports = yield* driver.track(placedOrder)
            if (trackReports.some(({ _tag }) => _tag === "Placed")) return [trackReports, []] as const
            const cancelReports = yield* driver.cancel(placedOrder)
            // Placed in between: the next look finds it, and what is on its way is not given back.
            const isKept = cancelReports.some(({ _tag }) => _tag === "CancellationRejected" || _tag === "Placed")
            return isKept
              ? [cancelReports.filter(({ _tag }) => _tag === "Placed"), []] as const
              : [[], [{ _tag: "Withdrawn" }]] as const
          })
        )
      case "track": {
        const isOwed = order.status === "processing" || order.substatus === "CANCELLATION_REQUESTED"
        yield* postpone(order, (now) => now + (isOwed ? answerSeconds : trackingSeconds(order, now)))
        const reports = yield* driver.track(placedOrder).pipe(
          Effect.catch(({ reason }) =>
            Effect.as(Effect.logWarning("a retailer could not be asked", { retailer: driver.name, reason }), [])
          )
        )
        return reports.length === 0 ? undefined : yield* acceptReports(order, reports, [])
      }
    }
  }, (effect, order) =>
    effect.pipe(
      // Somebody else was first: the row is due again if it still is.
      Effect.catchTag("Conflict", () => Effect.void),
      Effect.catchCause((cause) =>
        Effect.logError("an order that is due could not be handled", cause).pipe(
          Effect.andThen(Effect.ignore(postpone(order, (now) => now + answerSeconds)))
        )
      ),
      Effect.annotateLogs({ order_id: order.id })
    ))

  const run = Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const due = yield* repo.due(Math.floor(nowMillis / 1000), limit)
    yield* Effect.forEach(due, handle, { concurrency: callsAtOnce, discard: true })
    return due.length
  })

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  return { run, nextDueMillis }
})
