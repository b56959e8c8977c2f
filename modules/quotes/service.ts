/** Quotes of invoices: load, decide, and hand the row to the caller, who commits it with its own; and their renewal. */
import { Context, Effect, Latch, Layer, Result } from "effect"
import type { SqlClient } from "effect/sql"
import { nowSeconds } from "../../runtime/Clock.ts"
import { type AllocatedTarget, Chains } from "../../runtime/Chains.ts"
import { Commit, noCause, type Write } from "../../runtime/Commit.ts"
import { EventBus } from "../../runtime/EventBus.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { Sockets } from "../../runtime/Sockets.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { previousAttributes } from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { type InvoiceId, QuoteId } from "../../schemas/Ids.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import { type Aggregate, amountRemaining, Invoices, isPayable, lockedRoute } from "../invoices/plugin.ts"
import { isBlocked, type PolicyState, TokenPolicies } from "../tokens/plugin.ts"
import {
  isReusable,
  networkDegraded,
  newQuote,
  noPrice,
  quoteEventText,
  quoteObject,
  type QuoteRow,
  renewSeconds,
  routeFault,
  showAgain,
  unavailableObject
} from "./rules.ts"
import { makeRepo, writeOf } from "./repo.ts"

/** A quote, and the row behind it: null while there is no quote. `write` is what is still to be committed. */
export interface IssuedQuote {
  readonly quote: Quote
  readonly row: QuoteRow | null
  readonly write: Write | null
}

export class PaymentQuotes extends Context.Service<PaymentQuotes, {
  /**
   * What `amountRemaining` costs in `token` now: a wire object of exactly the contract's fields, for 300 s.
   *
   * A quote of the same route and amount with more than 30 s left is given again, with `write: null`; only a quote that
   * the payor sees again, after one of another route, is written once more, so that {@link current} finds it. Otherwise
   * `write` is the new quote's row: it holds once the caller has committed it. Without a fresh price, or while the
   * network cannot be watched, the object says `unavailable`, and `row` and `write` are null. Errors: none.
   */
  readonly issue: (request: {
    readonly merchantId: number
    readonly invoiceId: InvoiceId
    readonly environment: Environment
    readonly token: Token
    readonly amountRemaining: UsdMillis
    /** Given to the payor together with an address, rather than asked for by the merchant. */
    readonly isShown: boolean
  }) => Effect.Effect<IssuedQuote>
  /**
   * Quotes of a route that hold for a transfer seen at `seenAt` (epoch seconds), grace included, newest first: what
   * `valuation` of rules.ts chooses from. `includeExpired`: where none holds any more, the last one that was given by
   * then.
   */
  readonly candidates: (
    invoiceId: string,
    network: Network,
    tokenId: number,
    seenAt: number,
    includeExpired?: boolean
  ) => Effect.Effect<ReadonlyArray<QuoteRow>>
  /**
   * The quote the payor was shown last, with the seconds it has left now; `expired` past its end; null when the payor
   * was shown none.
   */
  readonly current: (invoiceId: string) => Effect.Effect<Quote | null>
  /** A merchant's quote in one environment; null for every other id. */
  readonly get: (merchantId: number, environment: Environment, id: string) => Effect.Effect<QuoteRow | null>
}>()("tillwire/modules/quotes/PaymentQuotes") {}

/** Sorts by time, so that of two quotes of one second the later one is the newer. */
const newId = Effect.map(uuidV7, (uuid) => QuoteId.make(`quo_${uuid}`))

/**
 * The token of a route that the invoice can be paid by at `now`. Errors: `UNSUPPORTED_NETWORK`, `TOKEN_NOT_ACCEPTED`,
 * `TOKEN_NETWORK_MISMATCH`, `INVOICE_NOT_PAYABLE`, `ROUTE_LOCKED`.
 */
export const payableToken = Effect.fnUntraced(function*(
  current: Aggregate,
  network: string,
  token: Token | undefined,
  now: number
): Effect.fn.Return<Token, PublicError> {
  const { invoice } = current
  const { acceptedNetworks } = invoice.policy
  const fault = routeFault({ network, token, environment: invoice.environment, acceptedNetworks })
  if (fault !== null || token === undefined) {
    return yield* publicError(fault?.code ?? "TOKEN_NOT_ACCEPTED", { param: fault?.param ?? "token_id" })
  }
  if (!isPayable(invoice, now)) return yield* publicError("INVOICE_NOT_PAYABLE")
  const routeLock = lockedRoute(current)
  return routeLock === null || (routeLock.network === token.network && routeLock.tokenId === token.id)
    ? token
    : yield* publicError("ROUTE_LOCKED")
})

/**
 * Whether the merchant refuses `token`: as it did when the address was given out, and as it does now where there is
 * none yet (modules/docs/reference/tokens.md#acceptance-policy).
 */
export const isRefused = (token: Token, target: AllocatedTarget | null, policy: PolicyState): boolean =>
  target === null ? isBlocked(policy, token.id) : target.refusedTokens.includes(token.id)

/**
 * The token of a route a merchant may ask a price for: {@link payableToken}, on a network that is watched, and not one
 * the merchant refuses. Errors: those, `UNSUPPORTED_NETWORK`, `TOKEN_NOT_ACCEPTED`.
 */
export const makePriceableToken = Effect.gen(function*() {
  const clock = yield* MerchantClock
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const policies = yield* TokenPolicies

  return Effect.fnUntraced(function*(
    current: Aggregate,
    network: string,
    tokenId: number
  ): Effect.fn.Return<Token, PublicError> {
    const { environment, id, merchantId } = current.invoice
    const now = yield* clock.nowSeconds(merchantId, environment)
    const token = yield* payableToken(current, network, catalog.get(tokenId), now)
    if (chains.driver(token.network, environment) === undefined) {
      return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    }
    const allocated = yield* chains.target(id, familyOf(token.network))
    return isRefused(token, allocated, yield* policies.get(merchantId, environment))
      ? yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      : token
  })
})

const make = Effect.gen(function*() {
  const clock = yield* MerchantClock
  const prices = yield* Prices
  const chains = yield* Chains
  const repo = yield* makeRepo

  const isShownLast = (row: QuoteRow) =>
    Effect.map(repo.newestShown([row.invoiceId]), ([shown]) => shown?.id === row.id)

  const issue: PaymentQuotes["Service"]["issue"] = Effect.fn("PaymentQuotes.issue")(function*(request) {
    const { environment, invoiceId, merchantId, isShown, token } = request
    const issued = (row: QuoteRow, now: number) => ({ quote: quoteObject(row, now), row, write: writeOf(row) })
    const status = chains.status(environment, merchantId).find(({ network }) => network === token.network)
    if (status?.healthy === false) return { quote: unavailableObject(request, networkDegraded), row: null, write: null }
    const last = yield* repo.newest(invoiceId, token.network, token.id)
    const requestedAt = yield* clock.nowSeconds(merchantId, environment)
    if (last !== null && isReusable(last, request, requestedAt)) {
      return isShown && !(yield* isShownLast(last))
        ? issued(showAgain(yield* newId, last, requestedAt), requestedAt)
        : { quote: quoteObject(last, requestedAt), row: last, write: null }
    }
    return yield* prices.spot(token).pipe(
      Effect.flatMap(Effect.fnUntraced(function*(spot) {
        const now = yield* clock.nowSeconds(merchantId, environment)
        const at = spot.at + clock.aheadSeconds(merchantId, environment)
        return issued(newQuote(yield* newId, request, { ...spot, at }, now), now)
      })),
      Effect.catchTag("PriceUnavailable", ({ reason, retryAfterSeconds }) =>
        Effect.succeed({
          quote: unavailableObject(request, noPrice(reason, retryAfterSeconds)),
          row: null,
          write: null
        }))
    )
  })

  const current: PaymentQuotes["Service"]["current"] = Effect.fn("PaymentQuotes.current")(
    function*(invoiceId) {
      const [last] = yield* repo.newestShown([invoiceId])
      return last === undefined ? null : quoteObject(last, yield* clock.nowSeconds(last.merchantId, last.environment))
    }
  )

  const candidates: PaymentQuotes["Service"]["candidates"] = Effect.fn("PaymentQuotes.candidates")(
    function*(invoiceId, network, tokenId, seenAt, includeExpired = false) {
      const validQuotes = yield* repo.validAt(invoiceId, network, tokenId, seenAt)
      return validQuotes.length > 0 || !includeExpired
        ? validQuotes
        : yield* repo.lastIssuedBy(invoiceId, network, tokenId, seenAt)
    }
  )

  return PaymentQuotes.of({ issue, candidates, current, get: repo.get })
})

export const layer: Layer.Layer<PaymentQuotes, never, MerchantClock | Prices | Chains | SqlClient.SqlClient> = Layer
  .effect(PaymentQuotes, make)

/** Invoices looked at closely in one second, at most; what is left has its turn a second later. */
export const maximumRenewals = 500

/** Renewals under way at once. */
const renewalConcurrency = 8

/** Seconds until a renewal that failed is tried again. */
const retrySeconds = 5

/** Invoices whose quotes are read by one statement. */
const maximumBatch = 1_000

/** A payor's invoice as this instance keeps it fresh. */
interface WatchedInvoice {
  /**
   * Epoch seconds, of the merchant's time, of the next look; `Infinity`: only an event of the invoice changes anything.
   */
  nextCheckAt: number
  /** The quote its payors know; undefined while they were told of none, and from when nothing can be paid. */
  last: QuoteRow | undefined
  /** Set while they know that there is none. */
  unavailable: Quote | undefined
  /** The invoice has changed since it was read last, or was never read. */
  hasChanged: boolean
  /** A reason to look came after the rows of the look under way were read. */
  isWoken: boolean
}

/** Looks at the next chance. */
const wake = (watch: WatchedInvoice): void => {
  watch.isWoken = true
  watch.nextCheckAt = 0
}

/** Sets the next look, which is at once where there came a reason for it during this one. */
const scheduleCheck = (watch: WatchedInvoice, at: number): void => {
  watch.nextCheckAt = watch.isWoken ? 0 : at
}

const isDue = (row: QuoteRow, watch: WatchedInvoice, now: number): boolean =>
  watch.hasChanged || watch.last === undefined || watch.unavailable !== undefined ||
  row.validUntil - now <= renewSeconds

/** Renewals begun in one second of the system's clock. */
interface RenewalBudget {
  readonly second: number
  readonly count: number
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

const makeRenewal = Effect.gen(function*() {
  const bus = yield* EventBus
  const catalog = yield* TokenCatalog
  const clock = yield* MerchantClock
  const commit = yield* Commit
  const invoices = yield* Invoices
  const quotes = yield* PaymentQuotes
  const sockets = yield* Sockets
  const repo = yield* makeRepo
  const watchedInvoices = new Map<string, WatchedInvoice>()
  /** Open while an event asks for a look that has not begun. */
  const checkRequested = Latch.makeUnsafe(false)
  let budget: RenewalBudget = { second: 0, count: 0 }

  yield* bus.subscribe("quotes", (events) =>
    Effect.sync(() => {
      for (const { invoiceId, type } of events) {
        const watch = invoiceId === null ? undefined : watchedInvoices.get(invoiceId)
        if (watch === undefined || !type.startsWith("invoice.")) continue
        watch.hasChanged = true
        wake(watch)
        checkRequested.openUnsafe()
      }
    }))

  /** `before` is what the listeners know; null: nothing. */
  const publish = Effect.fnUntraced(function*(row: QuoteRow, before: Quote | null, after: Quote) {
    const previous = before === null ? {} : previousAttributes(before as WireObject, after as WireObject)
    // The countdown alone is no news.
    const hasChanges = Object.keys(previous).some((field) => field !== "quote_expires_in_seconds")
    if (before !== null && !hasChanges) return
    const position = yield* bus.nextPosition(row.merchantId)
    yield* sockets.send(row.invoiceId, (version) => quoteEventText(position, row.environment, after, previous, version))
  })

  const renew = Effect.fnUntraced(function*(row: QuoteRow, watch: WatchedInvoice, before: Quote | null) {
    const aggregate = yield* invoices.find(row.invoiceId)
    const token = catalog.get(row.tokenId)
    const now = yield* clock.nowSeconds(row.merchantId, row.environment)
    const payable = aggregate === null
      ? Result.fail(publicError("INVOICE_NOT_FOUND"))
      : yield* Effect.result(payableToken(aggregate, row.network, token, now))
    if (aggregate === null || Result.isFailure(payable)) {
      // A token is inactive for a moment after every start; of everything else an event of the invoice tells.
      if (Result.isFailure(payable) && payable.failure.code === "TOKEN_NOT_ACCEPTED") {
        watch.hasChanged = true
        scheduleCheck(watch, now + retrySeconds)
        return
      }
      watch.last = undefined
      watch.unavailable = undefined
      scheduleCheck(watch, Number.POSITIVE_INFINITY)
      return
    }
    const { invoice } = aggregate
    const { quote, row: newRow, write } = yield* quotes.issue({
      merchantId: invoice.merchantId,
      invoiceId: invoice.id,
      environment: invoice.environment,
      token: payable.success,
      amountRemaining: amountRemaining(invoice),
      isShown: true
    })
    if (write !== null) {
      yield* commit.append({
        merchantId: invoice.merchantId,
        environment: invoice.environment,
        cause: noCause,
        writes: [write],
        events: []
      })
    }
    // The invoice has changed meanwhile: the next look, which is at once, tells what holds then, if anything does.
    if (watch.hasChanged) return
    watch.unavailable = newRow === null ? quote : undefined
    watch.last = newRow ?? row
    scheduleCheck(
      watch,
      newRow === null ? now + (quote.retry_after_seconds ?? retrySeconds) : newRow.validUntil - renewSeconds
    )
    yield* publish(row, before, quote)
  })

  /** The row shown last is at hand: tells what another request or instance made of it, and renews what is due. */
  const check = Effect.fnUntraced(function*(row: QuoteRow, watch: WatchedInvoice, now: number) {
    const knownQuote = watch.unavailable ?? (watch.last === undefined ? null : quoteObject(watch.last, now))
    const isNew = watch.last?.id !== row.id
    const mustRenew = isDue(row, watch, now)
    watch.last = row
    if (mustRenew) {
      watch.hasChanged = false
      return yield* renew(row, watch, knownQuote)
    }
    scheduleCheck(watch, row.validUntil - renewSeconds)
    if (isNew) yield* publish(row, knownQuote, quoteObject(row, now))
  }, (self, row, watch, now) =>
    self.pipe(Effect.catchCause((cause) => {
      watch.hasChanged = true
      scheduleCheck(watch, now + retrySeconds)
      return Effect.logWarning("a quote could not be renewed", cause).pipe(
        Effect.annotateLogs({ invoice_id: row.invoiceId })
      )
    })))

  const dropUnwatched = () => {
    const listenedIds = new Set(sockets.watchedInvoices())
    for (const id of watchedInvoices.keys()) if (!listenedIds.has(id)) watchedInvoices.delete(id)
  }

  const tick = Effect.gen(function*() {
    dropUnwatched()
    const systemNow = yield* nowSeconds
    const nowOf = (row: QuoteRow | undefined) =>
      row === undefined ? systemNow : systemNow + clock.aheadSeconds(row.merchantId, row.environment)
    const due = [...watchedInvoices].filter(([, { last, nextCheckAt }]) => nextCheckAt <= nowOf(last)).slice(
      0,
      maximumBatch
    )
    if (due.length === 0) return
    for (const [, watch] of due) watch.isWoken = false
    const rows = new Map((yield* repo.newestShown(due.map(([id]) => id))).map((row) => [row.invoiceId as string, row]))
    if (budget.second !== systemNow) budget = { second: systemNow, count: 0 }
    const checks = due.flatMap(([id, watch]) => {
      const row = rows.get(id)
      if (row === undefined) {
        scheduleCheck(watch, systemNow + renewSeconds)
        return []
      }
      const now = nowOf(row)
      if (isDue(row, watch, now)) {
        if (budget.count >= maximumRenewals) return []
        budget = { ...budget, count: budget.count + 1 }
      }
      return [check(row, watch, now)]
    })
    yield* Effect.forEach(checks, (each) => each, { concurrency: renewalConcurrency, discard: true })
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("quotes could not be looked at", cause)))

  /** After each look until the next second begins, or until an event asks for another one. */
  const checkLoop = Effect.suspend(() => {
    checkRequested.closeUnsafe()
    return Effect.andThen(tick, Effect.timeoutOption(checkRequested.await, "1 second"))
  })
  yield* Effect.forkScoped(Effect.forever(checkLoop))

  /** The row as a quote, while the invoice can be paid. */
  const payableQuote = Effect.fnUntraced(function*(row: QuoteRow) {
    const aggregate = yield* invoices.find(row.invoiceId)
    const now = yield* clock.nowSeconds(row.merchantId, row.environment)
    return aggregate !== null && isPayable(aggregate.invoice, now) ? quoteObject(row, now) : null
  })

  const startWatch = Effect.fnUntraced(function*(invoiceId: string) {
    const [row] = yield* repo.newestShown([invoiceId])
    const quote = row === undefined ? null : yield* payableQuote(row)
    const watch = watchedInvoices.get(invoiceId)
    // Those who listened before may know an older one: the next look tells them.
    if (watch === undefined) {
      const last = quote === null ? undefined : row
      watchedInvoices.set(invoiceId, { nextCheckAt: 0, last, unavailable: undefined, hasChanged: true, isWoken: false })
    } else {
      wake(watch)
    }
    return row === undefined || quote === null ? null : { quote, environment: row.environment }
  })

  return QuoteRenewal.of({ startWatch })
})

export const renewal = Layer.effect(QuoteRenewal, makeRenewal)
