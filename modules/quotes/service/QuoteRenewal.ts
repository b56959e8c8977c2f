/** Quotes of invoices that are watched on this instance: looked at every second, renewed, and sent to the listeners. */
import { Context, Effect, Latch, Layer, Result } from "effect"
import { Availability } from "../../../runtime/Availability.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { EventBus, type EventHandler } from "../../../runtime/EventBus.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { Sockets } from "../../../runtime/Sockets.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { previousAttributes } from "../../../schemas/Event.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { Quote } from "../../../schemas/Quote.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { amountRemaining, Invoices, isPayable } from "../../invoices/plugin.ts"
import { makeRepo } from "../repo.ts"
import { quoteEventText, quoteObject, type QuoteRow, renewSeconds } from "../rules.ts"
import {
  afterEnd,
  afterFailure,
  afterFreshRow,
  afterInvoiceEvent,
  afterRenewal,
  afterWake,
  beforeLook,
  beforeRenewal,
  listenersQuote,
  needsRenewal,
  newWatch,
  type QuoteWatch,
  withNextCheck
} from "../rules/QuoteWatch.ts"
import { PaymentQuotes } from "../service.ts"
import { payableToken } from "./Routes.ts"

/** Invoices looked at closely in one second, at most; what is left has its turn a second later. */
const maximumRenewals = 500

/** Renewals under way at once. */
const renewalConcurrency = 8

/** Invoices whose quotes are read by one statement. */
const maximumBatch = 1_000

/**
 * An invoice that is watched. Calls that are under way when nobody listens any more keep it, and change nothing else.
 */
interface WatchCell {
  watch: QuoteWatch
}

/** Renewals begun in one second of the system's clock. */
interface RenewalBudget {
  second: number
  count: number
}

interface RenewalContext {
  readonly availability: Availability["Service"]
  readonly bus: EventBus["Service"]
  readonly catalog: TokenCatalog["Service"]
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly invoices: Invoices["Service"]
  readonly quotes: PaymentQuotes["Service"]
  readonly sockets: Sockets["Service"]
  readonly repo: Effect.Success<typeof makeRepo>
  /** By invoice id. */
  readonly cells: Map<string, WatchCell>
  /** Open while an event asks for a look that has not begun. */
  readonly checkRequested: Latch.Latch
  readonly budget: RenewalBudget
}

/** A quote for a new listener, and where its invoice is. */
export interface CurrentQuote {
  readonly quote: Quote
  readonly environment: Environment
}

/**
 * Keeps the quote fresh that the payor of each invoice was shown last, while somebody listens on this instance: a new
 * one 30 s before the old one ends, when the amount that remains changes, and when a price is lost or found again. Each
 * is told to this instance's listeners as `payment_quote.updated`; what another instance renewed is found in the rows
 * and told without a commit. Nothing is told of an invoice that cannot be paid; it begins anew if it can be paid again.
 *
 * Work: a look at memory each second and after events of these invoices, one read for every 1,000 invoices that are
 * due, at most {@link maximumRenewals} renewals a second, each at most one commit.
 */
export class QuoteRenewal extends Context.Service<QuoteRenewal, {
  /**
   * The quote to greet a new listener of an invoice with, null when the payor was shown none or nothing can be paid.
   * From here on the invoice is kept fresh, and every change is told to the listener, however soon it comes; before,
   * nothing is.
   */
  readonly startWatch: (invoiceId: string) => Effect.Effect<CurrentQuote | null>
}>()("tillwire/modules/quotes/QuoteRenewal") {}

const onEvents = ({ cells, checkRequested }: RenewalContext): EventHandler => (events) =>
  Effect.sync(() => {
    for (const { invoiceId, type } of events) {
      const cell = invoiceId === null ? undefined : cells.get(invoiceId)
      if (cell === undefined || !type.startsWith("invoice.")) continue
      cell.watch = afterInvoiceEvent(cell.watch)
      checkRequested.openUnsafe()
    }
  })

/** `before` is what the listeners have; null: nothing. */
const publish = Effect.fnUntraced(function*(
  { bus, sockets }: RenewalContext,
  row: QuoteRow,
  before: Quote | null,
  after: Quote
) {
  const previous = before === null ? {} : previousAttributes(before as WireObject, after as WireObject)
  // The countdown alone is no news.
  const hasChanges = Object.keys(previous).some((field) => field !== "quote_expires_in_seconds")
  if (before !== null && !hasChanges) return
  const position = yield* bus.nextPosition(row.merchantId)
  yield* sockets.send(row.invoiceId, (version) => quoteEventText(position, row.environment, after, previous, version))
})

const renew = Effect.fnUntraced(function*(
  context: RenewalContext,
  row: QuoteRow,
  cell: WatchCell,
  before: Quote | null
) {
  const { availability, catalog, clock, commit, invoices, quotes } = context
  const aggregate = yield* invoices.find(row.invoiceId)
  const token = catalog.get(row.tokenId)
  const now = yield* clock.nowSeconds(row.merchantId, row.environment)
  const payable = aggregate === null
    ? Result.fail(publicError("INVOICE_NOT_FOUND"))
    : yield* Effect.result(payableToken(aggregate, row.network, token, now))
  // It may be enabled again while the page is open.
  if (token !== undefined && Result.isSuccess(payable) && availability.objectionTo(token) !== null) {
    cell.watch = afterFailure(cell.watch, now)
    return
  }
  if (aggregate === null || Result.isFailure(payable)) {
    // A token is inactive for a moment after every start; of everything else an event of the invoice tells.
    const isTokenInactive = Result.isFailure(payable) && payable.failure.code === "TOKEN_NOT_ACCEPTED"
    cell.watch = isTokenInactive ? afterFailure(cell.watch, now) : afterEnd(cell.watch)
    return
  }
  const { environment, id: invoiceId, merchantId } = aggregate.invoice
  const { quote, row: newRow, write } = yield* quotes.issue({
    merchantId,
    invoiceId,
    environment,
    token: payable.success,
    amountRemaining: amountRemaining(aggregate.invoice),
    isShown: true
  })
  if (write !== null) {
    yield* commit.append({ merchantId, environment, cause: noCause, writes: [write], events: [] })
  }
  // The invoice has changed meanwhile: the next look, which is at once, tells what holds then, if anything does.
  if (cell.watch.hasChanged) return
  cell.watch = afterRenewal(cell.watch, row, newRow, quote, now)
  yield* publish(context, row, before, quote)
})

/** Given the row shown last: sends what another request or instance changed of it, and renews what is due. */
const check = Effect.fnUntraced(
  function*(context: RenewalContext, row: QuoteRow, cell: WatchCell, now: number) {
    const { watch } = cell
    const before = listenersQuote(watch, now)
    if (needsRenewal(watch, row, now)) {
      cell.watch = beforeRenewal(watch, row)
      return yield* renew(context, row, cell, before)
    }
    cell.watch = afterFreshRow(watch, row)
    if (watch.last?.id !== row.id) yield* publish(context, row, before, quoteObject(row, now))
  },
  (self, _, row, cell, now) =>
    self.pipe(Effect.catchCause((cause) => {
      cell.watch = afterFailure(cell.watch, now)
      return Effect.logWarning("a quote could not be renewed", cause).pipe(
        Effect.annotateLogs({ invoice_id: row.invoiceId })
      )
    }))
)

const dropUnwatched = ({ cells, sockets }: RenewalContext): void => {
  const listenedIds = new Set(sockets.watchedInvoices())
  for (const id of cells.keys()) if (!listenedIds.has(id)) cells.delete(id)
}

/** Whether one more renewal may begin in this second; counts it then. */
const takeFromBudget = ({ budget }: RenewalContext, second: number): boolean => {
  if (budget.second !== second) Object.assign(budget, { second, count: 0 })
  if (budget.count >= maximumRenewals) return false
  budget.count += 1
  return true
}

/** One look at all invoices that are due. */
const look = Effect.fnUntraced(
  function*(context: RenewalContext) {
    const { cells, clock, repo } = context
    dropUnwatched(context)
    const systemNow = yield* nowSeconds
    const nowOf = (row: QuoteRow | undefined) =>
      row === undefined ? systemNow : systemNow + clock.aheadSeconds(row.merchantId, row.environment)
    const due = [...cells].filter(([, { watch }]) => watch.nextCheckAt <= nowOf(watch.last)).slice(0, maximumBatch)
    if (due.length === 0) return
    for (const [, cell] of due) cell.watch = beforeLook(cell.watch)
    const rows = new Map((yield* repo.newestShown(due.map(([id]) => id))).map((row) => [row.invoiceId as string, row]))
    const checks = due.flatMap(([id, cell]) => {
      const row = rows.get(id)
      if (row === undefined) {
        cell.watch = withNextCheck(cell.watch, systemNow + renewSeconds)
        return []
      }
      const now = nowOf(row)
      return needsRenewal(cell.watch, row, now) && !takeFromBudget(context, systemNow)
        ? []
        : [check(context, row, cell, now)]
    })
    yield* Effect.forEach(checks, (each) => each, { concurrency: renewalConcurrency, discard: true })
  },
  Effect.catchCause((cause) => Effect.logWarning("quotes could not be looked at", cause))
)

/** After each look until the next second begins, or until an event asks for another one. */
const lookAgain = (context: RenewalContext) =>
  Effect.suspend(() => {
    context.checkRequested.closeUnsafe()
    return Effect.andThen(look(context), Effect.timeoutOption(context.checkRequested.await, "1 second"))
  })

/** The row as a quote, while the invoice can be paid. */
const payableQuote = Effect.fnUntraced(function*({ clock, invoices }: RenewalContext, row: QuoteRow) {
  const aggregate = yield* invoices.find(row.invoiceId)
  const now = yield* clock.nowSeconds(row.merchantId, row.environment)
  return aggregate !== null && isPayable(aggregate.invoice, now) ? quoteObject(row, now) : null
})

const startWatch = Effect.fnUntraced(function*(context: RenewalContext, invoiceId: string) {
  const { cells, repo } = context
  const [row] = yield* repo.newestShown([invoiceId])
  const quote = row === undefined ? null : yield* payableQuote(context, row)
  const cell = cells.get(invoiceId)
  // Those who listened before may know an older one: the next look tells them.
  if (cell === undefined) cells.set(invoiceId, { watch: newWatch(quote === null ? undefined : row) })
  else cell.watch = afterWake(cell.watch)
  return row === undefined || quote === null ? null : { quote, environment: row.environment }
})

const makeRenewal = Effect.gen(function*() {
  const context: RenewalContext = {
    bus: yield* EventBus,
    availability: yield* Availability,
    catalog: yield* TokenCatalog,
    clock: yield* MerchantClock,
    commit: yield* Commit,
    invoices: yield* Invoices,
    quotes: yield* PaymentQuotes,
    sockets: yield* Sockets,
    repo: yield* makeRepo,
    cells: new Map(),
    checkRequested: Latch.makeUnsafe(false),
    budget: { second: 0, count: 0 }
  }
  yield* context.bus.subscribe("quotes", onEvents(context))
  yield* Effect.forkScoped(Effect.forever(lookAgain(context)))
  return QuoteRenewal.of({ startWatch: (invoiceId) => startWatch(context, invoiceId) })
})

export const renewal = Layer.effect(QuoteRenewal, makeRenewal)
