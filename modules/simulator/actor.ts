/**
 * Play money: every action puts facts, as a chain or a settlement would tell them, into changes of the invoice, and the
 * rules that mainnet runs decide what becomes of it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Chains, type JournalEntry, type ReceiveTarget } from "../../runtime/Chains.ts"
import { type CommitCause, type Committed, noCause } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidV4, uuidV7 } from "../../runtime/Uuid.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { type EventId, isUuid } from "../../schemas/Ids.ts"
import { type BaseUnits, parseUnits, readRate, tokenAmountUp, usdMillis, usdWire } from "../../schemas/Money.ts"
import { type Environment, familyOf, type Network, requiredDepth } from "../../schemas/Network.ts"
import { isCounted, unlistedPlayToken } from "../../schemas/Payment.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  type Aggregate,
  type Change,
  type Changed,
  type Command,
  Invoices,
  type InvoiceState,
  isPayable,
  lockedRoute,
  nothingToSee,
  type PaymentState,
  remaining,
  type Told
} from "../invoices/plugin.ts"
import { type Destination as RefundDestination, type OrderFact, Orders, type OrderState } from "../commerce/plugin.ts"
import { paymentIdOf, Payments, SimulatedPayments } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { isOpen, Refunds, type RefundState, type RefundStep, type RefundTold } from "../refunds/plugin.ts"
import { isSettled, type SettlementReport, Settlements } from "../settlement/plugin.ts"
import type { SimulateRequest } from "./api.ts"
import {
  allowedTransitions,
  deep,
  givenBack,
  gone,
  isForSettlement,
  moved,
  newest,
  type OrderTransition,
  providerOrderOf,
  seen,
  type Sent,
  payoutOf,
  payoutStep,
  shipmentOf,
  simulatedUnits,
  waiting,
  waitingDestination
} from "./machine.ts"

/** The token of a first payment when neither the caller nor an earlier address names one. */
const defaultSymbol = "USDC"

const environment: Environment = "devnet"

type Request = typeof SimulateRequest.Type

/** What a call has done. */
export interface Simulated {
  readonly aggregate: Aggregate
  /** The payment it was about. */
  readonly payment: PaymentState | undefined
  readonly eventIds: ReadonlyArray<EventId>
}

/** Where a simulated transfer goes, and the quote its amount is worked out by. */
interface Destination {
  readonly token: Token
  readonly target: ReceiveTarget
  readonly quote: Quote
}

/** Added to a change by a call of the simulator: the payment it is about. */
interface SimulationTold extends Told {
  readonly _tag: "Simulation"
  readonly paymentId: string
}

/** The payment that the last of these changes was about. */
const simulatedPayment = (changes: ReadonlyArray<Changed>): string | undefined =>
  changes.flatMap(({ told }) => told).findLast((told): told is SimulationTold => told._tag === "Simulation")?.paymentId

/** Enough for the name of a block or a transaction. */
const twoUuids = (uuid: Effect.Effect<string>) => Effect.zipWith(uuid, uuid, (first, second) => `${first}${second}`)

const refuse = (message: string) => publicError("INVALID_TRANSITION", { message })

/** What a request sends: its own amount of usd_millis at the quote, else what the action makes of the quoted amount. */
const unitsFor = (
  { quote, token }: Destination,
  { action, amount }: Request
): Effect.Effect<BaseUnits, PublicError> => {
  const rate = quote.exchange_rate === null ? undefined : readRate(quote.exchange_rate)
  const asked = quote.estimated_token_amount_remaining
  const quoted = asked === null ? undefined : parseUnits(asked, token.decimals)
  if (quoted === undefined || rate === undefined) {
    return Effect.fail(publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: 15 }))
  }
  return Effect.succeed(
    amount === undefined
      ? simulatedUnits(action, quoted)
      : tokenAmountUp(usdMillis(BigInt(amount)), rate, token.decimals)
  )
}

/** How a network is to one merchant: it gives no answer, its blocks come late, or as it is. */
export type NetworkMode = "down" | "lagging" | "ok"

/**
 * Networks that are not as they are to a merchant, in the memory of this process: they end with it. A network that is
 * down gives no address and no quote, takes no simulated transfer, and holds back the end of invoices that have an
 * address there; on one that lags, transfers are seen and wait for `confirm`.
 */
export class NetworkFaults extends Context.Service<NetworkFaults, {
  readonly mode: (merchantId: number, network: Network) => NetworkMode
  /** Errors: `UNSUPPORTED_NETWORK` for one that nobody follows here. */
  readonly set: (merchantId: number, network: string, mode: NetworkMode) => Effect.Effect<Network, PublicError>
}>()("tillwire/modules/simulator/NetworkFaults") {
  static readonly layer = Layer.effect(NetworkFaults, Effect.gen(function*() {
    const chains = yield* Chains
    const faults = new Map<string, NetworkMode>()
    const mode = (merchantId: number, network: Network) => faults.get(`${merchantId} ${network}`) ?? "ok"
    yield* chains.registerOutages((merchantId, network) => mode(merchantId, network) === "down")
    return NetworkFaults.of({
      mode,
      set: Effect.fnUntraced(function*(merchantId, asked, next) {
        const network = chains.status(environment).find((one) => one.network === asked)?.network
        if (network === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
        if (next === "ok") faults.delete(`${merchantId} ${network}`)
        else faults.set(`${merchantId} ${network}`, next)
        return network
      })
    })
  }))
}

/** Transfers of play money: where they go, how much they carry, and the entries of the journal that they are. */
const makeTransfers = Effect.gen(function*() {
  const faults = yield* NetworkFaults
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const clock = yield* MerchantClock
  const payments = yield* Payments
  const quotes = yield* PaymentQuotes

  const nowOf = ({ merchantId }: InvoiceState) => clock.nowMillis(merchantId, environment)

  const networks = () => chains.status(environment).map(({ network }) => network)

  /** The token to pay with on a network where nobody names one. */
  const defaultToken = (network: Network) => {
    const tokens = catalog.list(environment).filter((token) => token.network === network && token.active)
    return tokens.find(({ symbol }) => symbol === defaultSymbol) ?? tokens[0]
  }

  /** The route asked for, else the locked one, else the one shown last, else the first stablecoin there is. */
  const chooseRoute = Effect.fnUntraced(function*(
    current: Aggregate,
    asked: Pick<Request, "network" | "token_id">
  ): Effect.fn.Return<{ readonly network: Network; readonly tokenId: number }, PublicError> {
    if (asked.token_id !== undefined) {
      const network = asked.network ?? catalog.get(asked.token_id)?.network
      if (network === undefined) return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      return { network, tokenId: asked.token_id }
    }
    const locked = lockedRoute(current)
    const shown = yield* quotes.current(current.invoice.id)
    const known = locked ??
      (shown?.supported_token_id == null ? null : { network: shown.network, tokenId: shown.supported_token_id })
    if (known !== null && (asked.network ?? known.network) === known.network) return known
    const { acceptedNetworks } = current.invoice.policy
    const offered = networks().filter((one) => acceptedNetworks === null || acceptedNetworks.includes(one))
    const network = asked.network ?? offered.find((one) => one === "base") ?? offered[0]
    const token = network === undefined ? undefined : defaultToken(network)
    if (token === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    return { network: token.network, tokenId: token.id }
  })

  const offered = Effect.fnUntraced(function*(current: Aggregate, asked: Pick<Request, "network" | "token_id">) {
    const { network, tokenId } = yield* chooseRoute(current, asked)
    return yield* payments.route(current, network, tokenId)
  })

  /** The route shown last, of an invoice that gets no address any more. */
  const given = Effect.fnUntraced(function*({ invoice }: Aggregate) {
    const quote = yield* quotes.current(invoice.id)
    const token = quote?.supported_token_id == null ? undefined : catalog.get(quote.supported_token_id)
    const target = token === undefined ? null : yield* chains.target(invoice.id, familyOf(token.network))
    if (quote === null || token === undefined || target === null) return yield* publicError("INVOICE_NOT_PAYABLE")
    return { token, target, quote }
  })

  /** A transfer to the invoice, whether it still takes payments or not. */
  const reachable = Effect.fnUntraced(function*(
    current: Aggregate,
    asked: Pick<Request, "network" | "token_id">
  ): Effect.fn.Return<Destination, PublicError> {
    const now = Math.floor((yield* nowOf(current.invoice)) / 1000)
    return yield* isPayable(current.invoice, now) ? offered(current, asked) : given(current)
  })

  const requiredFor = ({ amount, policy }: InvoiceState, network: Network) =>
    requiredDepth(network, environment, policy.confirmations, amount).blocks

  /** That of the block after the last one that was read of the network. */
  const nextHeight = (network: Network): bigint =>
    (chains.status(environment).find((one) => one.network === network)?.head ?? 0n) + 1n

  /** The time of blocks and of first sights: that of the followers. */
  const chainSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

  /**
   * A transfer that comes in a block. Undefined `confirmations`: the block is as deep as it must be, where the network
   * does not lag. Errors: `NETWORK_DEGRADED`.
   */
  const sent = Effect.fnUntraced(function*(
    { invoice }: Aggregate,
    transfer: Omit<Sent, "transaction" | "block" | "height">,
    confirmations?: number
  ) {
    const named: Sent = {
      ...transfer,
      transaction: yield* twoUuids(uuidV7),
      block: yield* twoUuids(uuidV4),
      height: nextHeight(transfer.network)
    }
    const mode = faults.mode(invoice.merchantId, transfer.network)
    if (mode === "down") return yield* publicError("NETWORK_DEGRADED", { retryAfterSeconds: 15 })
    const entry = seen(invoice, environment, named, yield* chainSeconds)
    const required = requiredFor(invoice, transfer.network)
    const depth = confirmations ?? (mode === "lagging" ? 0 : required)
    return depth < required ? entry : deep(entry, depth)
  })

  /** What is asked for, or what remains, on the route asked for or shown last. */
  const payment = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
    const to = yield* offered(current, asked)
    return yield* sent(current, transferTo(to, yield* unitsFor(to, asked)), asked.confirmations)
  })

  return { chainSeconds, defaultToken, networks, nowOf, payment, reachable, requiredFor, sent }
})

const waits = ({ status }: JournalEntry) => status === "seen"
const stands = ({ status }: JournalEntry) => status !== "reverted"

const nothingWaits = "No simulated payment waits for its depth: pay with confirmations 0 first"
const nothingStands = "No simulated payment stands: pay first"

/** Payments whose money is on its way to the merchant. */
const unsettled = ({ payments }: Aggregate) => payments.filter((payment) => isCounted(payment.status) && !isSettled(payment))

/** All of it arrived. */
const settled = ({ id, network }: PaymentState): SettlementReport => ({
  _tag: "Settled",
  txHash: payoutOf(id),
  network,
  amount: null
})

/** Reports of payments for a change of their invoice. */
const reported = (
  settlements: Settlements["Service"],
  current: Aggregate,
  payments: ReadonlyArray<PaymentState>,
  reportOf: (payment: PaymentState) => SettlementReport,
  now: number
): Effect.Effect<Change, PublicError> => {
  const reports = payments.map((payment) => ({ paymentId: payment.id, report: reportOf(payment) }))
  const taken = settlements.reports(current, reports, now)
  return isPublicError(taken) ? Effect.fail(taken) : Effect.succeed(taken)
}

const eventIdsOf = (committed: Committed | null) => committed?.events.map(({ id }) => id) ?? []

const transferTo = ({ target, token }: Destination, units: BaseUnits) => ({
  network: token.network,
  tokenAddress: token.address,
  units,
  target
})

export class Simulator extends Context.Service<Simulator, {
  /**
   * Does what is asked. Errors: those of a payment address, `QUOTE_UNAVAILABLE`, `VALIDATION_ERROR` for a memo that the
   * network does not have, `INVOICE_NOT_PAYABLE` for what has ended already, and `INVALID_TRANSITION` where there is
   * nothing the action could be about.
   */
  readonly simulate: (current: Aggregate, asked: Request, cause: CommitCause) => Effect.Effect<Simulated, PublicError>
}>()("tillwire/modules/simulator/Simulator") {
  static readonly layer = Layer.effect(Simulator, Effect.suspend(() => makeSimulator))
}

const makeSimulator = Effect.gen(function*() {
  const chains = yield* Chains
  const invoices = yield* Invoices
  const payments = yield* Payments
  const settlements = yield* Settlements
  const simulated = yield* SimulatedPayments
  const transfers = yield* makeTransfers
  const { chainSeconds, nowOf, reachable, requiredFor } = transfers

  const change = (
    { invoice }: Aggregate,
    cause: CommitCause,
    plan: (current: Aggregate, now: number) => Effect.Effect<Change, PublicError>
  ) => invoices.change(invoice.id, cause, plan).pipe(Effect.catchTag("Replayed", (bug) => Effect.die(bug)))

  /**
   * What a chain tells of one transfer, as its journal would hand it over, and what the contract of a token that nobody
   * lists says of itself.
   */
  const credited = (entry: JournalEntry, now: Aggregate): Effect.Effect<Change, PublicError> =>
    Effect.map(payments.credit(entry, now), ({ commands, writes }) => {
      const { decimals, symbol } = unlistedPlayToken
      const paymentId = paymentIdOf(entry)
      const naming: ReadonlyArray<Command> = entry.tokenAddress === unlistedPlayToken.address
        ? [{ _tag: "NameToken", paymentId, symbol, decimals }]
        : []
      const told: SimulationTold = { _tag: "Simulation", paymentId }
      return { commands: [...commands, ...naming], writes, told: [told] }
    })

  /**
   * Sends the transfer that `plan` makes of the invoice as this change finds it: what is asked for twice at once is
   * answered as what is asked for twice in turn.
   */
  const send = (
    current: Aggregate,
    cause: CommitCause,
    plan: (now: Aggregate) => Effect.Effect<JournalEntry, PublicError>
  ) => change(current, cause, (now) => Effect.flatMap(plan(now), (entry) => credited(entry, now)))

  /** The newest simulated transfer that fits. Errors: `INVALID_TRANSITION` with `otherwise`. */
  const chosen = Effect.fnUntraced(function*(
    { invoice }: Aggregate,
    fits: (entry: JournalEntry) => boolean,
    otherwise: string
  ) {
    const entry = newest(yield* chains.transfers(invoice.id), fits)
    return entry ?? (yield* refuse(otherwise))
  })

  const pay = (current: Aggregate, asked: Request, cause: CommitCause) =>
    send(current, cause, (now) => transfers.payment(now, asked))

  /** Ends the invoice now, by the machine's own rules. */
  const ending: Change = { commands: [{ _tag: "End" }, { _tag: "Tick", sight: nothingToSee }] }

  const expire = (current: Aggregate, cause: CommitCause) =>
    change(current, cause, Effect.fnUntraced(function*({ invoice: { expiresAt, status } }, now) {
      if (status !== "unpaid" && status !== "underpaid") return yield* publicError("INVOICE_NOT_PAYABLE")
      if (status === "unpaid" || now < expiresAt) return ending
      return yield* refuse(
        "This invoice has ended and waits underpaid_grace_seconds for the rest: pay it, or move your clock past that with " +
          "POST /api/v1/devnet/clock/advance {\"seconds\": …}"
      )
    }))

  /** What is seen in the second of the end is not late yet. */
  const pastEnd = ({ invoice }: Aggregate) =>
    Effect.flatMap(nowOf(invoice), (millis) => Effect.sleep(Math.max(0, (invoice.expiresAt + 1) * 1_000 - millis)))

  const late = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
    const { invoice } = current
    const payable = isPayable(invoice, Math.floor((yield* nowOf(invoice)) / 1000))
    if (!payable && invoice.status !== "expired") return yield* publicError("INVOICE_NOT_PAYABLE")
    const destination = yield* reachable(current, asked)
    const units = yield* unitsFor(destination, asked)
    const ended = payable ? [yield* change(current, cause, () => Effect.succeed(ending))] : []
    yield* pastEnd(ended[0]?.aggregate ?? current)
    const sent = yield* send(current, cause, Effect.fnUntraced(function*(now) {
      const { status } = now.invoice
      if (status === "paid" || status === "canceled") return yield* publicError("INVOICE_NOT_PAYABLE")
      return yield* transfers.sent(now, transferTo(destination, units), asked.confirmations)
    }))
    return [...ended, sent]
  })

  const wrongToken = (current: Aggregate, asked: Request, cause: CommitCause) =>
    send(current, cause, Effect.fnUntraced(function*(now) {
      const { quote, target, token } = yield* reachable(now, asked)
      const { address, decimals } = unlistedPlayToken
      const units = yield* unitsFor({ quote, target, token: { ...token, decimals } }, asked)
      return yield* transfers.sent(now, { network: token.network, tokenAddress: address, units, target }, asked.confirmations)
    }))

  /** The network asked for, else the first one of the address's family that the invoice does not take. */
  const wrongNetwork = (current: Aggregate, asked: Request, cause: CommitCause) =>
    send(current, cause, Effect.fnUntraced(function*(now) {
      const accepted = now.invoice.policy.acceptedNetworks
      if (accepted === null) return yield* refuse("This invoice takes every network: create one with accepted_networks")
      const destination = yield* reachable(now, {})
      const wrong = transfers.networks().find((network) =>
        familyOf(network) === familyOf(destination.token.network) && !accepted.includes(network) &&
        (asked.network ?? network) === network)
      const token = wrong === undefined ? undefined : transfers.defaultToken(wrong)
      if (token === undefined) {
        return yield* refuse("This invoice takes every network that its address is good on, or the one asked for")
      }
      const units = yield* unitsFor(destination, asked)
      const transfer = { network: token.network, tokenAddress: token.address, units, target: destination.target }
      return yield* transfers.sent(now, transfer, asked.confirmations)
    }))

  /** A transfer without its memo reaches nobody's address, so there is nothing to tell. */
  const missingMemo = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
    const { target, token } = yield* reachable(current, asked)
    if (target.memo !== null) return []
    return yield* publicError("VALIDATION_ERROR", {
      param: "action",
      message: `missing_memo: a payment on ${token.network} needs no memo`
    })
  })

  const duplicate = (current: Aggregate, asked: Request, cause: CommitCause) =>
    send(current, cause, Effect.fnUntraced(function*(now) {
      const first = yield* chosen(now, stands, "Nothing was sent that could be sent twice: pay first")
      const target = yield* chains.target(now.invoice.id, familyOf(first.network))
      const transfer = { network: first.network, tokenAddress: first.tokenAddress, units: first.amount, target: target! }
      return yield* transfers.sent(now, transfer, asked.confirmations)
    }))

  const confirm = (current: Aggregate, asked: Request, cause: CommitCause) =>
    send(current, cause, (now) =>
      Effect.map(chosen(now, waits, nothingWaits), (entry) =>
        deep(entry, Math.max(asked.confirmations ?? 0, requiredFor(now.invoice, entry.network)))))

  const drop = (current: Aggregate, cause: CommitCause) =>
    send(current, cause, (now) => Effect.map(chosen(now, stands, nothingStands), gone))

  /** Its block leaves the chain, and then another one has the transaction, as deep as is asked. */
  const reorg = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
    const undone = yield* drop(current, cause)
    const block = yield* twoUuids(uuidV4)
    const at = yield* chainSeconds
    const again = yield* send(current, cause, Effect.fnUntraced(function*(now) {
      const journal = yield* chains.transfers(now.invoice.id)
      const entry = journal.find((each) => paymentIdOf(each) === simulatedPayment([undone]))!
      const included = moved(entry, block, at)
      const required = requiredFor(now.invoice, entry.network)
      const depth = asked.confirmations ?? required
      return depth < required ? included : deep(included, depth)
    }))
    return [undone, again]
  })

  /** Of every payment that counts and is not settled; the newest of them is answered. */
  const report = Effect.fnUntraced(function*(
    current: Aggregate,
    cause: CommitCause,
    reportOf: (payment: PaymentState) => SettlementReport
  ) {
    return yield* change(current, cause, Effect.fnUntraced(function*(now, seconds) {
      const open = unsettled(now)
      const last = open.at(-1)
      if (last === undefined) return yield* refuse("No payment waits for its settlement")
      const done = yield* reported(settlements, now, open, reportOf, seconds)
      const told: SimulationTold = { _tag: "Simulation", paymentId: last.id }
      return { ...done, told: [...done.told ?? [], told] }
    }))
  })

  const act = (
    current: Aggregate,
    asked: Request,
    cause: CommitCause
  ): Effect.Effect<Changed | ReadonlyArray<Changed>, PublicError> => {
    switch (asked.action) {
      case "pay":
      case "partial":
      case "overpay":
        return pay(current, asked, cause)
      case "late":
        return late(current, asked, cause)
      case "expire":
        return expire(current, cause)
      case "wrong_token":
        return wrongToken(current, asked, cause)
      case "wrong_network":
        return wrongNetwork(current, asked, cause)
      case "missing_memo":
        return missingMemo(current, asked)
      case "duplicate":
        return duplicate(current, asked, cause)
      case "confirm":
        return confirm(current, asked, cause)
      case "reorg":
        return reorg(current, asked, cause)
      case "drop":
        return drop(current, cause)
      case "settle":
        return report(current, cause, settled)
      case "fail_settlement":
        return report(current, cause, () => ({ _tag: "Failed", reason: "The simulator says so" }))
    }
  }

  const simulate = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
    const changes = [yield* act(current, asked, cause)].flat()
    const aggregate = changes.at(-1)?.aggregate ?? current
    const paymentId = simulatedPayment(changes)
    return {
      aggregate,
      payment: aggregate.payments.find(({ id }) => id === paymentId),
      eventIds: changes.flatMap(({ committed }) => eventIdsOf(committed))
    }
  })

  yield* simulated.register((current, action) => Effect.asVoid(simulate(current, { action }, noCause)))

  return Simulator.of({ simulate })
})

/** A step of an order that a call asks for. */
export interface OrderStep {
  readonly transition: OrderTransition
  readonly tracking: { readonly carrier: string | null; readonly number: string | null } | null
  /** Where a refund goes from now on; null: where it went. */
  readonly destination: RefundDestination | null
}

/** What a step has done. */
export interface SteppedOrder {
  readonly order: OrderState
  readonly eventIds: ReadonlyArray<EventId>
}

export class OrderSimulator extends Context.Service<OrderSimulator, {
  /**
   * Takes a merchant's devnet order a step further, in one commit with its invoice. Errors: `ORDER_NOT_FOUND`;
   * `INVALID_TRANSITION` with `allowed_transitions`; for a payment those of its address, and `QUOTE_UNAVAILABLE`.
   */
  readonly step: (
    merchantId: number,
    orderId: string,
    asked: OrderStep,
    cause: CommitCause
  ) => Effect.Effect<SteppedOrder, PublicError>
}>()("tillwire/modules/simulator/OrderSimulator") {
  static readonly layer = Layer.effect(OrderSimulator, Effect.suspend(() => makeOrderSimulator))
}

const makeOrderSimulator = Effect.gen(function*() {
  const chains = yield* Chains
  const invoices = yield* Invoices
  const orders = yield* Orders
  const payments = yield* Payments
  const refunds = yield* Refunds
  const settlements = yield* Settlements
  const transfers = yield* makeTransfers

  const orderOf = Effect.fnUntraced(function*(merchantId: number, orderId: string) {
    const order = isUuid(orderId) ? yield* orders.get(merchantId, orderId) : null
    return order?.environment === environment ? order : yield* publicError("ORDER_NOT_FOUND")
  })

  const admit = (order: OrderState, { transition }: OrderStep) => {
    const allowed = allowedTransitions(order)
    return allowed.includes(transition) ? Effect.void : Effect.fail(publicError("INVALID_TRANSITION", {
      message: `An order that is ${order.status}, ${order.substatus}, cannot become ${transition}`,
      details: { allowed_transitions: allowed }
    }))
  }

  /** What was seen is deep now; a transfer of its own pays what is left then, if anything is. */
  const paid = Effect.fnUntraced(function*(current: Aggregate): Effect.fn.Return<Change, PublicError> {
    const known = waiting(yield* chains.transfers(current.invoice.id))
    const coming = current.payments.filter(({ status }) => status === "pending")
      .reduce((sum, { amount }) => sum + amount, 0n)
    const rest = remaining(current.invoice) - coming
    const added = rest <= 0n ? [] : [yield* transfers.payment(current, {
      action: "pay",
      ...(coming === 0n ? {} : { amount: usdWire(usdMillis(rest)) })
    })]
    const paying = [...known, ...added].map((entry) => deep(entry, transfers.requiredFor(current.invoice, entry.network)))
    const credits = yield* Effect.forEach(paying, (entry) => payments.credit(entry, current))
    return {
      commands: credits.flatMap(({ commands }) => commands),
      writes: credits.flatMap(({ writes }) => writes)
    }
  })

  /** Pays one refund out, by one step after the other; they are one change of it. */
  const paidOut = Effect.fnUntraced(function*(
    refund: RefundState,
    destination: RefundDestination | null,
    current: Aggregate,
    now: number,
    told: ReadonlyArray<RefundTold>
  ): Effect.fn.Return<RefundStep, PublicError> {
    let done: RefundStep = { refund, writes: [], commands: [], told: [] }
    for (let next = payoutStep(refund, destination); next !== null; next = payoutStep(done.refund, null)) {
      const at = { ...done.refund, version: refund.version }
      done = yield* refunds.decideOn(at, next, current, now, [...told, ...done.told])
    }
    return done.refund.status === "succeeded" ? done : yield* publicError("REFUND_DESTINATION_REQUIRED")
  }, Effect.catchIf(
    ({ code }) => code === "WALLET_ADDRESS_INVALID" || code === "UNSUPPORTED_NETWORK",
    ({ message }) => Effect.fail(publicError("REFUND_DESTINATION_REQUIRED", { message }))
  ))

  /** Every refund under way is paid out; where none is, one of all that is left. */
  const refunded = Effect.fnUntraced(function*(
    order: OrderState,
    destination: RefundDestination | null,
    current: Aggregate,
    now: number
  ): Effect.fn.Return<Change, PublicError> {
    const known = (yield* refunds.ofInvoice(order.merchantId, order.invoiceId)).filter(isOpen)
    const isFailed = order.status === "failed"
    const opened = known.length > 0 ? null : yield* refunds.open(current, {
      amount: "remaining",
      reason: isFailed ? "order_failed" : "order_cancelled",
      destination: order.refundDestination,
      feeFree: isFailed
    }, now)
    const open = opened === null ? known : [{ ...opened.refund, version: 0 }]
    let done: { readonly at: Aggregate; readonly steps: ReadonlyArray<RefundStep> } = { at: current, steps: [] }
    for (const refund of open) {
      const told = done.steps.flatMap((each) => each.told)
      const step = yield* paidOut(refund, destination ?? waitingDestination(refund, order), done.at, now, told)
      done = { at: givenBack(done.at, step.commands), steps: [...done.steps, step] }
    }
    return {
      commands: done.steps.flatMap(({ commands }) => commands),
      writes: done.steps.flatMap(({ writes }) => writes),
      told: done.steps.flatMap(({ told }) => told)
    }
  })

  const told = (facts: ReadonlyArray<OrderFact>): Effect.Effect<Change> =>
    Effect.succeed({ commands: [], told: [orders.told(facts)] })

  /** What has happened, as whoever it happens to would tell it. */
  const facts = (order: OrderState, asked: OrderStep, current: Aggregate, now: number): Effect.Effect<Change, PublicError> => {
    const open = () => unsettled(current).filter(({ id }) => order.paidBy.includes(id))
    switch (asked.transition) {
      case "payment_confirmed":
        return paid(current)
      case "payment_settled":
        return reported(settlements, current, open(), settled, now)
      case "placed":
        return told([{ _tag: "Placed", providerOrderId: providerOrderOf(order.id) }])
      case "shipped":
        return told([{ _tag: "Shipped", shipment: shipmentOf(order, asked.tracking, now) }])
      case "delivery_confirmed":
        return told([{ _tag: "Delivered", isConfirmed: true }])
      case "failed":
        return isForSettlement(order)
          ? reported(settlements, current, open(), () => ({ _tag: "GiveUp", reason: "The simulator says so" }), now)
          : told([{ _tag: "PlacementFailed", reason: "The simulator says so" }])
      case "cancelled": {
        const wish: ReadonlyArray<OrderFact> = order.substatus === "CANCELLATION_REQUESTED"
          ? []
          : [{ _tag: "CancelRequested", reason: null, destination: asked.destination }]
        return told([...wish, { _tag: "CancellationAccepted" }])
      }
      case "cancellation_rejected":
        return told([{ _tag: "CancellationRejected", reason: "The simulator says so" }])
      case "refunded":
        return refunded(order, asked.destination, current, now)
    }
  }

  const step = Effect.fn("OrderSimulator.step")(function*(
    merchantId: number,
    orderId: string,
    asked: OrderStep,
    cause: CommitCause
  ) {
    const known = yield* orderOf(merchantId, orderId)
    yield* admit(known, asked)
    const { committed, told: all } = yield* invoices.change(known.invoiceId, cause, Effect.fnUntraced(function*(current, now) {
      const order = yield* orderOf(merchantId, orderId)
      yield* admit(order, asked)
      const change = yield* facts(order, asked, current, now)
      const destination: ReadonlyArray<OrderFact> = asked.destination === null || asked.transition === "refunded"
        ? []
        : [{ _tag: "RefundDestinationSet", destination: asked.destination }]
      return destination.length === 0 ? change : { ...change, told: [orders.told(destination), ...change.told ?? []] }
    })).pipe(Effect.catchTag("Replayed", (bug) => Effect.die(bug)))
    return { order: orders.changed(all) ?? known, eventIds: eventIdsOf(committed) }
  })

  return OrderSimulator.of({ step })
})
