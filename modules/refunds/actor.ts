/** Refunds: load, decide, commit with the invoice; what a payout costs, what it comes to, where it may go. */
import { Context, Effect, Layer } from "effect"
import { Chains } from "../../runtime/Chains.ts"
import { type CommitCause, noCause, type Replayed, type Write } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Quotes } from "../../runtime/Quotes.ts"
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
  type Followed,
  type Following,
  InvoiceCompanions,
  Invoices,
  type PaymentState,
  type Told
} from "../invoices/plugin.ts"
import { isMemo, PayorDetails, receiveAddressMessage, type RefundAddressTold } from "../payments/plugin.ts"
import {
  type Circumstances,
  cut,
  decide,
  type Destination,
  type Fees,
  inOrderOfUse,
  isDeep,
  isReceived,
  net,
  opened,
  type Payout,
  retrySeconds,
  quoteOf,
  refundable,
  type RefundCommand,
  type RefundState
} from "./machine.ts"
import { makeRepo, type Repo, refundWrite } from "./repo.ts"

/** Told to the companions of an invoice: this is how a refund of it will be. */
export interface RefundTold extends Told {
  readonly _tag: "Refund"
  readonly refund: RefundState
}

const tell = (refund: RefundState): RefundTold => ({ _tag: "Refund", refund })

/** A refund to be quoted. */
export interface QuoteAsk {
  readonly amount: UsdMillis | "remaining"
  readonly network: Network
  readonly feeFree: boolean
}

/** A refund to be opened. */
export interface OpenAsk {
  readonly amount: UsdMillis | "remaining"
  readonly reason: RefundReason
  /** Null: where the payor said, or nowhere yet. */
  readonly destination: Destination | null
  readonly feeFree: boolean
  /** Only what came too late to count. */
  readonly payments?: "late"
  /** What was told it would cost; the fee of one that has not ended is honoured. */
  readonly quote?: RefundQuote | null
}

/** A refund as it will be, and what must land in the commit that makes it so. */
export interface RefundStep {
  readonly refund: RefundState
  readonly writes: ReadonlyArray<Write>
  readonly commands: ReadonlyArray<Command>
  readonly told: ReadonlyArray<RefundTold>
}

export interface RefundOptions {
  readonly fees: Fees
  /** Whether a refund may be paid out as soon as it has a destination, or waits for an operator. */
  readonly autoApprove: boolean
}

export class Refunds extends Context.Service<Refunds, {
  /** What a refund would come to; null where nothing is left, the fee takes all of it, or the network has no token. */
  readonly quote: (current: Aggregate, ask: QuoteAsk, now: number) => Effect.Effect<RefundQuote | null>
  /**
   * Opens a refund, to be put into a change of this invoice; null where nothing remains. `told` is what the same change
   * was told by then: refunds of it count. Where the destination cannot be paid to, as its fee takes all, it waits for
   * another one. Errors: `REFUND_EXCEEDS_RECEIVED`, `WALLET_ADDRESS_INVALID`.
   */
  readonly open: (
    current: Aggregate,
    ask: OpenAsk,
    now: number,
    told?: ReadonlyArray<Told>
  ) => Effect.Effect<RefundStep | null, PublicError>
  /** Oldest first. With `told`: as they will be after a change that was told this. */
  readonly ofInvoice: (
    merchantId: number,
    invoiceId: string,
    told?: ReadonlyArray<Told>
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
    told?: ReadonlyArray<Told>
  ) => Effect.Effect<RefundStep, PublicError>
  /** The same as a commit. Errors: those, `REFUND_NOT_FOUND`, `SERVICE_UNAVAILABLE`. */
  readonly change: (
    refundId: string,
    command: RefundCommand,
    cause: CommitCause
  ) => Effect.Effect<RefundState, PublicError | Replayed>
  /**
   * A destination in the form it is kept in. Errors: `WALLET_ADDRESS_INVALID`, also for a token's own contract and an
   * address that payments are received at; `UNSUPPORTED_NETWORK` where it has no token to pay out; `VALIDATION_ERROR` for a memo where the network has none.
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
const stableOrder: Readonly<Partial<Record<Network, ReadonlyArray<string>>>> = {
  bsc: ["USDT", "USDC"],
  ton: ["USDT"]
}
const usualStables = ["USDC", "USDT"]

const make = Effect.fnUntraced(function*({ autoApprove, fees }: RefundOptions) {
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const clock = yield* MerchantClock
  const companions = yield* InvoiceCompanions
  const invoices = yield* Invoices
  const payors = yield* PayorDetails
  const prices = yield* Quotes
  const timers = yield* Timers
  const repo = yield* makeRepo

  const isPriced = ({ active, asset, stable }: Token) => active && (asset !== null || stable)

  /**
   * What is paid out on a network: the token that was paid with where it was paid there, else a dollar stablecoin, else
   * the network's own coin.
   */
  const tokenOn = ({ invoice, payments }: Aggregate, network: Network): Token | null => {
    const [paidWith] = payments
      .filter((payment) => isReceived(payment) && payment.network === network)
      .toSorted(bySeenAt)
      .flatMap(({ tokenId }) => {
        const token = tokenId === null ? undefined : catalog.get(tokenId)
        return token !== undefined && isPriced(token) ? [token] : []
      })
    return paidWith ?? usualToken(network, invoice.environment)
  }

  const usualToken = (network: Network, environment: Environment): Token | null => {
    const tokens = catalog.list(environment).filter((token) => token.network === network && isPriced(token))
    const stables = tokens.filter(({ stable }) => stable)
    const [first] = (stableOrder[network] ?? usualStables).flatMap((symbol) =>
      stables.filter((token) => token.symbol === symbol))
    return first ?? stables[0] ?? tokens.find(({ address }) => address === null) ?? null
  }

  /** At the price now, rounded down; null where there is none, or it comes to nothing. */
  const payoutOf = Effect.fnUntraced(function*(refund: RefundState, current: Aggregate): Effect.fn.Return<Payout | null> {
    const token = refund.destination === null ? null : tokenOn(current, refund.destination.network)
    if (token === null) return null
    const spot = yield* prices.spot(token).pipe(Effect.catchTag("PriceUnavailable", () => Effect.succeed(null)))
    if (spot === null) return null
    const units = tokenAmountDown(net(refund), spot.rate, token.decimals)
    const { decimals, id, symbol } = token
    return units === 0n ? null : { token: { id, symbol, decimals }, units }
  })

  const ofInvoice: Refunds["Service"]["ofInvoice"] = Effect.fnUntraced(function*(merchantId, invoiceId, told = []) {
    const known = yield* repo.ofInvoice(merchantId, invoiceId)
    const newest = new Map(known.map((refund) => [refund.id, refund]))
    for (const each of told) {
      if (each._tag !== "Refund") continue
      const { refund } = each as RefundTold
      if (refund.invoiceId === invoiceId) newest.set(refund.id, refund)
    }
    return [...newest.values()]
  })

  const circumstances = Effect.fnUntraced(function*(
    invoice: Aggregate,
    now: number,
    told: ReadonlyArray<Told>
  ): Effect.fn.Return<Circumstances> {
    const refunds = yield* ofInvoice(invoice.invoice.merchantId, invoice.invoice.id, told)
    return { now, invoice, refunds, fees }
  })

  const addressOf = ({ address, network }: Destination, environment: Environment) => {
    const read = readAddress(network, environment, address)
    return read === null ? Effect.fail(publicError("WALLET_ADDRESS_INVALID", { param: "address" })) : Effect.succeed(read)
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
    if (usualToken(network, environment) === null) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    return { network, address, memo }
  })

  const quote: Refunds["Service"]["quote"] = Effect.fnUntraced(function*(current, { amount, feeFree, network }, now) {
    const { refunds } = yield* circumstances(current, now, [])
    const token = tokenOn(current, network)
    return token === null ? null : quoteOf({
      amount: amount === "remaining" ? refundable(current, refunds) : amount,
      feeFree,
      fees,
      network,
      symbol: token.symbol
    }, now)
  })

  /** Approved where that is wanted and can be; else it waits, and the clock tries again. */
  const approved = Effect.fnUntraced(function*(refund: RefundState, about: Circumstances) {
    if (refund.status !== "pending_approval") return refund
    if (!autoApprove) return { ...refund, dueAt: null }
    const done = decide(refund, { _tag: "Approve" }, about, yield* payoutOf(refund, about.invoice))
    return isPublicError(done)
      ? { ...refund, dueAt: about.now + retrySeconds(refund, about.now) }
      : { ...done.next, version: refund.version }
  })

  /** Where the payor wants it, if that was said: on a network that was paid on before others, then where it costs least. */
  const leftByPayor = Effect.fnUntraced(function*({ invoice, payments }: Aggregate) {
    const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
    const all = yield* payors.refundDestinations(owner)
    return inOrderOfUse(all.map(({ address, memo, network }): Destination => ({ network, address, memo })), payments, fees)
  })

  /** The refund with the first of these destinations that can be paid to; as it is where none can. */
  const towards = (
    refund: RefundState,
    destinations: ReadonlyArray<Destination>,
    about: Circumstances,
    fresh: RefundQuote | null
  ): RefundState => {
    for (const destination of destinations) {
      if (tokenOn(about.invoice, destination.network) === null) continue
      const done = decide(refund, { _tag: "SetDestination", destination, quote: fresh }, about, null)
      if (!isPublicError(done)) return { ...done.next, version: refund.version }
    }
    return refund
  }

  const step = (refund: RefundState, commands: ReadonlyArray<Command> = []): RefundStep => ({
    refund,
    writes: [refundWrite(refund)],
    commands,
    told: [tell(refund)]
  })

  const open: Refunds["Service"]["open"] = Effect.fnUntraced(function*(current, ask, now, told = []) {
    const about = yield* circumstances(current, now, told)
    const { environment, merchantId } = current.invoice
    const fresh = opened(`re_${yield* uuidV7Ahead(clock.aheadSeconds(merchantId, environment))}`, {
      amount: ask.amount,
      reason: ask.reason,
      feeFree: ask.feeFree,
      source: ask.payments ?? "all",
      quote: ask.quote ?? null
    }, about)
    if (fresh === null) return null
    if (isPublicError(fresh)) return yield* fresh
    const given = ask.destination === null
      ? yield* leftByPayor(current)
      : [{ ...ask.destination, address: yield* addressOf(ask.destination, environment) }]
    return step(yield* approved(towards(fresh, given, about, ask.quote ?? null), about))
  })

  const decideOn: Refunds["Service"]["decideOn"] = Effect.fnUntraced(function*(refund, command, current, now, told = []) {
    const about = yield* circumstances(current, now, told)
    const checked: RefundCommand = command._tag === "SetDestination"
      ? { ...command, destination: yield* check(command.destination, refund.environment) }
      : command
    const needsPrice = command._tag === "Approve" || command._tag === "Retry"
    const done = decide(refund, checked, about, needsPrice ? yield* payoutOf(refund, current) : null)
    if (isPublicError(done)) return yield* done
    if (done.next === refund) return { refund, writes: [], commands: [], told: [] }
    return step(command._tag === "SetDestination" ? yield* approved(done.next, about) : done.next, done.commands)
  })

  const change: Refunds["Service"]["change"] = Effect.fn("Refunds.change")(function*(refundId, command, cause) {
    const known = yield* repo.find(refundId)
    if (known === null) return yield* publicError("REFUND_NOT_FOUND")
    const { told } = yield* invoices.change(known.invoiceId, cause, Effect.fnUntraced(function*(current, now) {
      const refund = yield* repo.find(refundId)
      if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
      const { commands, told, writes } = yield* decideOn(refund, command, current, now)
      return told.length === 0 ? { commands: [] } : { commands, writes, told }
    }))
    const after = told.findLast((each) => each._tag === "Refund" && (each as RefundTold).refund.id === refundId)
    return (after as RefundTold | undefined)?.refund ?? known
  })

  /**
   * What a change of the invoice means for its open refunds: money that is gone is not given back, what the payor said is
   * where it goes, and what has become deep may be paid out.
   */
  const follow = Effect.fnUntraced(function*(
    { before, decision, now, told }: Following
  ): Effect.fn.Return<Followed, PublicError> {
    const addresses = told.flatMap((each) => each._tag === "RefundAddress" ? [(each as RefundAddressTold).destination] : [])
    const known = new Map(before.payments.map((payment) => [payment.id, payment]))
    const wasReceived = ({ id }: PaymentState) => known.has(id) && isReceived(known.get(id)!)
    const isGone = decision.changed.some((payment) => payment.status === "reverted" && wasReceived(payment))
    const isDeeper = decision.changed.some((payment) => isDeep(payment) && wasReceived(payment) && !isDeep(known.get(payment.id)!))
    if (addresses.length === 0 && !isGone && !isDeeper) return {}
    const about = yield* circumstances(decision.next, now, told)
    const moved = new Set(told.flatMap((each) => each._tag === "Refund" ? [(each as RefundTold).refund.id] : []))
    const left = isGone ? cut(about.refunds, decision.next, now) : []
    const after = new Map(left.map((refund) => [refund.id, refund]))
    const open = about.refunds.filter(({ id, status }) =>
      !after.has(id) && (status === "pending_approval" || status === "awaiting_destination"))
    const destinations = addresses.map(({ address, memo, network }): Destination => ({ network, address, memo }))
    for (const refund of open) {
      const next = { ...refund, version: refund.version + 1, updatedAt: now }
      const directed = refund.status === "awaiting_destination" ? towards(next, destinations, about, null) : next
      const done = yield* approved(directed, { ...about, refunds: about.refunds.map((each) => after.get(each.id) ?? each) })
      if (done.status !== refund.status) after.set(refund.id, done)
    }
    const steps = [...after.values()].filter(({ id }) => !moved.has(id)).map((refund) => step(refund))
    return { writes: steps.flatMap(({ writes }) => writes), told: steps.flatMap(({ told }) => told) }
  })

  /** What the clock does: it ends what has no destination for too long, and approves what had no price. */
  const look = ({ id, invoiceId }: RefundState) =>
    invoices.change(invoiceId, noCause, Effect.fnUntraced(function*(current, now) {
      const refund = yield* repo.find(id)
      if (refund?.status === "awaiting_destination") return yield* decideOn(refund, { _tag: "Expire" }, current, now)
      if (refund?.status !== "pending_approval") return { commands: [] }
      const about = yield* circumstances(current, now, [])
      return step(yield* approved({ ...refund, version: refund.version + 1, updatedAt: now }, about))
    })).pipe(
      Effect.catch((error) => Effect.logWarning("a refund that is due could not be moved", { refund: id, error }))
    )

  const run = Effect.fnUntraced(function*(nowMillis: number, limit: number) {
    const due = yield* repo.due(Math.floor(nowMillis / 1000), limit)
    yield* Effect.forEach(due, look, { concurrency: "unbounded", discard: true })
    return due.length
  })

  const nextDueMillis = Effect.map(repo.nextDue, (seconds) => (seconds === null ? null : seconds * 1000))
  yield* companions.register({ name: "refunds", follow })
  yield* timers.register({ name: "refunds", batchSize: dueBatch, run, nextDueMillis })

  return Refunds.of({ quote, open, ofInvoice, decideOn, change, check, find: repo.find, list: repo.list })
})
