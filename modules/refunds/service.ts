/** Refunds: load, decide, commit with the invoice; what a payout costs, what it comes to, where it may go. */
import { Context, Effect, Layer } from "effect"
import { Chains } from "../../runtime/Chains.ts"
import { type CommitCause, type IdempotentReplay, noCause, type Write } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { Timers } from "../../runtime/Timers.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidV7Ahead } from "../../runtime/Uuid.ts"
import { readAddress } from "../../schemas/Address.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { tokenAmountDown, type UsdMillis } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { RefundQuote, RefundReason } from "../../schemas/Refund.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  type Aggregate,
  bySeenAt,
  type Command,
  type HookInput,
  type HookResult,
  type InvoiceFact,
  InvoiceHooks,
  Invoices,
  type PaymentState
} from "../invoices/plugin.ts"
import { isMemo, PayorDetails, receiveAddressMessage, type RefundAddressFact } from "../payments/plugin.ts"
import {
  decide,
  type Destination,
  type Fees,
  isConfirmed,
  isReceived,
  net,
  newRefund,
  type Payout,
  quoteOf,
  reduceRefunds,
  refundableAmount,
  type RefundCommand,
  type RefundContext,
  type RefundState,
  retrySeconds,
  sortDestinations
} from "./machine.ts"
import { makeRepo, refundWrite, type Repo } from "./repo.ts"

/** For the hooks of an invoice: this is how a refund of it will be. */
export interface RefundFact extends InvoiceFact {
  readonly _tag: "Refund"
  readonly refund: RefundState
}

const refundFact = (refund: RefundState): RefundFact => ({ _tag: "Refund", refund })

/** A refund to be quoted. */
export interface RefundQuoteRequest {
  readonly amount: UsdMillis | "remaining"
  readonly network: Network
  readonly feeFree: boolean
}

/** A refund to be opened. */
export interface RefundRequest {
  readonly amount: UsdMillis | "remaining"
  readonly reason: RefundReason
  /** Null: where the payor said, or nowhere yet. */
  readonly destination: Destination | null
  readonly feeFree: boolean
  /** Only what came too late to count. */
  readonly payments?: "late"
  /** What the payor was told it would cost; the fee of one that has not ended is honoured. */
  readonly quote?: RefundQuote | null
}

/** A refund as it will be, and what must land in the commit that makes it so. */
export interface RefundStep {
  readonly refund: RefundState
  readonly writes: ReadonlyArray<Write>
  readonly commands: ReadonlyArray<Command>
  readonly facts: ReadonlyArray<RefundFact>
}

export interface RefundOptions {
  readonly fees: Fees
  /** Whether a refund may be paid out as soon as it has a destination, or waits for an operator. */
  readonly autoApprove: boolean
}

export class Refunds extends Context.Service<Refunds, {
  /** What a refund would come to; null where nothing is left, the fee takes all of it, or the network has no token. */
  readonly quote: (current: Aggregate, request: RefundQuoteRequest, now: number) => Effect.Effect<RefundQuote | null>
  /**
   * Opens a refund, to be put into a change of this invoice; null where nothing remains. `facts` are those of the same
   * change by then: refunds among them count. Where the destination cannot be paid to, as its fee takes all, it waits
   * for another one. Errors: `REFUND_EXCEEDS_RECEIVED`, `WALLET_ADDRESS_INVALID`.
   */
  readonly open: (
    current: Aggregate,
    request: RefundRequest,
    now: number,
    facts?: ReadonlyArray<InvoiceFact>
  ) => Effect.Effect<RefundStep | null, PublicError>
  /** Oldest first. With `facts`: as they will be after a change with these facts. */
  readonly ofInvoice: (
    merchantId: number,
    invoiceId: string,
    facts?: ReadonlyArray<InvoiceFact>
  ) => Effect.Effect<ReadonlyArray<RefundState>>
  /**
   * One step of a refund, to be put into a change of its invoice, and at most one in a change; where it changes nothing
   * there is nothing to write. Errors: those of `decide` in machine.ts; for a destination those of {@link check}.
   */
  readonly decideOn: (
    refund: RefundState,
    command: RefundCommand,
    current: Aggregate,
    now: number,
    facts?: ReadonlyArray<InvoiceFact>
  ) => Effect.Effect<RefundStep, PublicError>
  /** The same as a commit. Errors: those, `REFUND_NOT_FOUND`, `SERVICE_UNAVAILABLE`. */
  readonly change: (
    refundId: string,
    command: RefundCommand,
    cause: CommitCause
  ) => Effect.Effect<RefundState, PublicError | IdempotentReplay>
  /**
   * A destination in the form it is kept in. Errors: `WALLET_ADDRESS_INVALID`, also for a token's own contract and an
   * address that payments are received at; `UNSUPPORTED_NETWORK` where it has no token to pay out; `VALIDATION_ERROR`
   * for a memo where the network has none.
   */
  readonly check: (destination: Destination, environment: Environment) => Effect.Effect<Destination, PublicError>
  readonly find: Repo["find"]
  readonly list: Repo["list"]
}>()("tillwire/modules/refunds/Refunds") {
  static readonly layer = (options: RefundOptions) => Layer.effect(Refunds, make(options))
}

/** Refunds the clock looks at in one run. */
export const dueBatch = 100

/**
 * Of the dollar stablecoins of a network, the first of these is paid out: the one in which most dollars are held there
 * (modules/docs/reference/refunds.md#what-is-paid-out).
 */
const preferredStablecoins: Readonly<Partial<Record<Network, ReadonlyArray<string>>>> = {
  bsc: ["USDT", "USDC"],
  ton: ["USDT"]
}
const defaultStablecoins = ["USDC", "USDT"]

const make = Effect.fnUntraced(function*({ autoApprove, fees }: RefundOptions) {
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const clock = yield* MerchantClock
  const hooks = yield* InvoiceHooks
  const invoices = yield* Invoices
  const payors = yield* PayorDetails
  const prices = yield* Prices
  const timers = yield* Timers
  const repo = yield* makeRepo

  const isPriced = ({ active, asset, stable }: Token) => active && (asset !== null || stable)

  /**
   * What is paid out on a network: the token that was paid with where it was paid there, else a dollar stablecoin, else
   * the network's own coin.
   */
  const payoutToken = ({ invoice, payments }: Aggregate, network: Network): Token | null => {
    const [paidWith] = payments
      .filter((payment) => isReceived(payment) && payment.network === network)
      .toSorted(bySeenAt)
      .flatMap(({ tokenId }) => {
        const token = tokenId === null ? undefined : catalog.get(tokenId)
        return token !== undefined && isPriced(token) ? [token] : []
      })
    return paidWith ?? defaultToken(network, invoice.environment)
  }

  const defaultToken = (network: Network, environment: Environment): Token | null => {
    const tokens = catalog.list(environment).filter((token) => token.network === network && isPriced(token))
    const stables = tokens.filter(({ stable }) => stable)
    const [first] = (preferredStablecoins[network] ?? defaultStablecoins).flatMap((symbol) =>
      stables.filter((token) => token.symbol === symbol)
    )
    return first ?? stables[0] ?? tokens.find(({ address }) => address === null) ?? null
  }

  /** At the price now, rounded down; null where there is none, or it comes to nothing. */
  const payoutOf = Effect.fnUntraced(
    function*(refund: RefundState, current: Aggregate): Effect.fn.Return<Payout | null> {
      const token = refund.destination === null ? null : payoutToken(current, refund.destination.network)
      if (token === null) return null
      const spot = yield* prices.spot(token).pipe(Effect.catchTag("PriceUnavailable", () => Effect.succeed(null)))
      if (spot === null) return null
      const units = tokenAmountDown(net(refund), spot.rate, token.decimals)
      const { decimals, id, symbol } = token
      return units === 0n ? null : { token: { id, symbol, decimals }, units }
    }
  )

  const ofInvoice: Refunds["Service"]["ofInvoice"] = Effect.fnUntraced(function*(merchantId, invoiceId, facts = []) {
    const stored = yield* repo.ofInvoice(merchantId, invoiceId)
    const newest = new Map(stored.map((refund) => [refund.id, refund]))
    for (const each of facts) {
      if (each._tag !== "Refund") continue
      const { refund } = each as RefundFact
      if (refund.invoiceId === invoiceId) newest.set(refund.id, refund)
    }
    return [...newest.values()]
  })

  const loadContext = Effect.fnUntraced(function*(
    invoice: Aggregate,
    now: number,
    facts: ReadonlyArray<InvoiceFact>
  ): Effect.fn.Return<RefundContext> {
    const refunds = yield* ofInvoice(invoice.invoice.merchantId, invoice.invoice.id, facts)
    return { now, invoice, refunds, fees }
  })

  const addressOf = ({ address, network }: Destination, environment: Environment) => {
    const parsed = readAddress(network, environment, address)
    return parsed === null
      ? Effect.fail(publicError("WALLET_ADDRESS_INVALID", { param: "address" }))
      : Effect.succeed(parsed)
  }

  const check: Refunds["Service"]["check"] = Effect.fnUntraced(function*(destination, environment) {
    const { memo, network } = destination
    const address = yield* addressOf(destination, environment)
    if (catalog.find(network, environment, address) !== undefined) {
      return yield* publicError("WALLET_ADDRESS_INVALID", { param: "address" })
    }
    if (yield* chains.isReceiveAddress(network, environment, address)) {
      return yield* publicError("WALLET_ADDRESS_INVALID", { message: receiveAddressMessage, param: "address" })
    }
    if (memo !== null && !isMemo(network, memo)) {
      return yield* publicError("VALIDATION_ERROR", { message: "memo: not a memo of this network", param: "memo" })
    }
    if (defaultToken(network, environment) === null) {
      return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    }
    return { network, address, memo }
  })

  const quote: Refunds["Service"]["quote"] = Effect.fnUntraced(function*(current, { amount, feeFree, network }, now) {
    const { refunds } = yield* loadContext(current, now, [])
    const token = payoutToken(current, network)
    return token === null ? null : quoteOf({
      amount: amount === "remaining" ? refundableAmount(current, refunds) : amount,
      feeFree,
      fees,
      network,
      symbol: token.symbol
    }, now)
  })

  /** Approved where that is wanted and can be; else it waits, and the clock tries again. */
  const approveIfPossible = Effect.fnUntraced(function*(refund: RefundState, context: RefundContext) {
    if (refund.status !== "pending_approval") return refund
    if (!autoApprove) return { ...refund, dueAt: null }
    const decision = decide(refund, { _tag: "Approve" }, context, yield* payoutOf(refund, context.invoice))
    return isPublicError(decision)
      ? { ...refund, dueAt: context.now + retrySeconds(refund, context.now) }
      : { ...decision.next, version: refund.version }
  })

  /**
   * Where the payor wants it, if that was said: on a network that was paid on before others, then where it costs least.
   */
  const payorDestinations = Effect.fnUntraced(function*({ invoice, payments }: Aggregate) {
    const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
    const all = yield* payors.refundDestinations(owner)
    return sortDestinations(
      all.map(({ address, memo, network }): Destination => ({ network, address, memo })),
      payments,
      fees
    )
  })

  /** The refund with the first of these destinations that can be paid to; as it is where none can. */
  const withPayableDestination = (
    refund: RefundState,
    destinations: ReadonlyArray<Destination>,
    context: RefundContext,
    quote: RefundQuote | null
  ): RefundState => {
    for (const destination of destinations) {
      if (payoutToken(context.invoice, destination.network) === null) continue
      const decision = decide(refund, { _tag: "SetDestination", destination, quote }, context, null)
      if (!isPublicError(decision)) return { ...decision.next, version: refund.version }
    }
    return refund
  }

  const step = (refund: RefundState, commands: ReadonlyArray<Command> = []): RefundStep => ({
    refund,
    writes: [refundWrite(refund)],
    commands,
    facts: [refundFact(refund)]
  })

  const open: Refunds["Service"]["open"] = Effect.fnUntraced(function*(current, request, now, facts = []) {
    const context = yield* loadContext(current, now, facts)
    const { environment, merchantId } = current.invoice
    const refund = newRefund(`re_${yield* uuidV7Ahead(clock.aheadSeconds(merchantId, environment))}`, {
      amount: request.amount,
      reason: request.reason,
      feeFree: request.feeFree,
      source: request.payments ?? "all",
      quote: request.quote ?? null
    }, context)
    if (refund === null) return null
    if (isPublicError(refund)) return yield* refund
    const destinations = request.destination === null
      ? yield* payorDestinations(current)
      : [{ ...request.destination, address: yield* addressOf(request.destination, environment) }]
    return step(
      yield* approveIfPossible(withPayableDestination(refund, destinations, context, request.quote ?? null), context)
    )
  })

  const decideOn: Refunds["Service"]["decideOn"] = Effect.fnUntraced(
    function*(refund, command, current, now, facts = []) {
      const context = yield* loadContext(current, now, facts)
      const checkedCommand: RefundCommand = command._tag === "SetDestination"
        ? { ...command, destination: yield* check(command.destination, refund.environment) }
        : command
      const needsPrice = command._tag === "Approve" || command._tag === "Retry"
      const decision = decide(refund, checkedCommand, context, needsPrice ? yield* payoutOf(refund, current) : null)
      if (isPublicError(decision)) return yield* decision
      if (decision.next === refund) return { refund, writes: [], commands: [], facts: [] }
      return step(
        command._tag === "SetDestination" ? yield* approveIfPossible(decision.next, context) : decision.next,
        decision.commands
      )
    }
  )

  const change: Refunds["Service"]["change"] = Effect.fn("Refunds.change")(function*(refundId, command, cause) {
    const before = yield* repo.find(refundId)
    if (before === null) return yield* publicError("REFUND_NOT_FOUND")
    const { facts } = yield* invoices.change(
      before.invoiceId,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const refund = yield* repo.find(refundId)
        if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
        const { commands, facts, writes } = yield* decideOn(refund, command, current, now)
        return facts.length === 0 ? { commands: [] } : { commands, writes, facts }
      })
    )
    const after = facts.findLast((each) => each._tag === "Refund" && (each as RefundFact).refund.id === refundId)
    return (after as RefundFact | undefined)?.refund ?? before
  })

  /**
   * What a change of the invoice means for its open refunds: money that is gone is not given back, what the payor said
   * is where it goes, and what has become deep may be paid out.
   */
  const onInvoiceChange = Effect.fnUntraced(function*(
    { before, decision, now, facts }: HookInput
  ): Effect.fn.Return<HookResult, PublicError> {
    const addresses = facts.flatMap((each) =>
      each._tag === "RefundAddress" ? [(each as RefundAddressFact).destination] : []
    )
    const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
    const wasReceived = ({ id }: PaymentState) => previousById.has(id) && isReceived(previousById.get(id)!)
    const isReverted = decision.changedPayments.some((payment) => payment.status === "reverted" && wasReceived(payment))
    const isNowConfirmed = decision.changedPayments.some((payment) =>
      isConfirmed(payment) && wasReceived(payment) && !isConfirmed(previousById.get(payment.id)!)
    )
    if (addresses.length === 0 && !isReverted && !isNowConfirmed) return {}
    const context = yield* loadContext(decision.next, now, facts)
    const movedIds = new Set(facts.flatMap((each) => each._tag === "Refund" ? [(each as RefundFact).refund.id] : []))
    const reduced = isReverted ? reduceRefunds(context.refunds, decision.next, now) : []
    const changed = new Map(reduced.map((refund) => [refund.id, refund]))
    const open = context.refunds.filter(({ id, status }) =>
      !changed.has(id) && (status === "pending_approval" || status === "awaiting_destination")
    )
    const destinations = addresses.map(({ address, memo, network }): Destination => ({ network, address, memo }))
    for (const refund of open) {
      const next = { ...refund, version: refund.version + 1, updatedAt: now }
      const withDestination = refund.status === "awaiting_destination"
        ? withPayableDestination(next, destinations, context, null)
        : next
      const approved = yield* approveIfPossible(withDestination, {
        ...context,
        refunds: context.refunds.map((each) => changed.get(each.id) ?? each)
      })
      if (approved.status !== refund.status) changed.set(refund.id, approved)
    }
    const steps = [...changed.values()].filter(({ id }) => !movedIds.has(id)).map((refund) => step(refund))
    return { writes: steps.flatMap(({ writes }) => writes), facts: steps.flatMap(({ facts }) => facts) }
  })

  /** What the clock does: it ends what has no destination for too long, and approves what had no price. */
  const processDue = ({ id, invoiceId }: RefundState) =>
    invoices.change(
      invoiceId,
      noCause,
      Effect.fnUntraced(function*(current, now) {
        const refund = yield* repo.find(id)
        if (refund?.status === "awaiting_destination") return yield* decideOn(refund, { _tag: "Expire" }, current, now)
        if (refund?.status !== "pending_approval") return { commands: [] }
        const context = yield* loadContext(current, now, [])
        return step(yield* approveIfPossible({ ...refund, version: refund.version + 1, updatedAt: now }, context))
      })
    ).pipe(
      Effect.catch((error) => Effect.logWarning("a refund that is due could not be moved", { refund: id, error }))
    )

  const run = Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const due = yield* repo.due(Math.floor(nowMillis / 1000), limit)
    yield* Effect.forEach(due, processDue, { concurrency: "unbounded", discard: true })
    return due.length
  })

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  yield* hooks.register({ name: "refunds", run: onInvoiceChange })
  yield* timers.register({ name: "refunds", batchSize: dueBatch, run, nextDueMillis })

  return Refunds.of({ quote, open, ofInvoice, decideOn, change, check, find: repo.find, list: repo.list })
})
