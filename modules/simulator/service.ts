/**
 * Play money: every action puts facts, as a chain or a settlement would tell them, into changes of the invoice, and the
 * rules that mainnet runs decide what becomes of it.
 */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Chains, type JournalEntry, type ReceiveTarget } from "../../runtime/Chains.ts"
import { type CommitCause, type CommitResult, noCause } from "../../runtime/Commit.ts"
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
  amountRemaining,
  type ChangePlan,
  type ChangeResult,
  type Command,
  type InvoiceFact,
  Invoices,
  type InvoiceState,
  isPayable,
  lockedRoute,
  nothingToScan,
  type PaymentState
} from "../invoices/plugin.ts"
import { type Destination as RefundDestination, type OrderFact, Orders, type OrderState } from "../commerce/plugin.ts"
import { paymentIdOf, Payments, SimulatedPayments } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { isOpen, type RefundFact, Refunds, type RefundState, type RefundStep } from "../refunds/plugin.ts"
import { isSettled, type SettlementReport, Settlements } from "../settlement/plugin.ts"
import type { SimulateRequest } from "./api.ts"
import {
  allowedTransitions,
  confirmedEntry,
  isAwaitingSettlement,
  newestEntry,
  type OrderTransition,
  payoutStep,
  payoutTxHash,
  pendingEntries,
  providerOrderIdOf,
  reincludedEntry,
  revertedEntry,
  seenEntry,
  shipmentOf,
  type SimulatedTransfer,
  simulatedUnits,
  waitingDestination,
  withRefundedAmounts
} from "./rules.ts"

/** The token of a first payment when neither the caller nor an earlier address names one. */
const defaultSymbol = "USDC"

const environment: Environment = "devnet"

type Request = typeof SimulateRequest.Type

/** What a call has done. */
export interface SimulationResult {
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
interface SimulationTold extends InvoiceFact {
  readonly _tag: "Simulation"
  readonly paymentId: string
}

/** The payment that the last of these changes was about. */
const simulatedPayment = (changes: ReadonlyArray<ChangeResult>): string | undefined =>
  changes.flatMap(({ facts }) => facts).findLast((told): told is SimulationTold => told._tag === "Simulation")
    ?.paymentId

/** Enough for the name of a block or a transaction. */
const twoUuids = (uuid: Effect.Effect<string>) => Effect.zipWith(uuid, uuid, (first, second) => `${first}${second}`)

const refuse = (message: string) => publicError("INVALID_TRANSITION", { message })

/** What a request sends: its own amount of usd_millis at the quote, else what the action makes of the quoted amount. */
const unitsFor = (
  { quote, token }: Destination,
  { action, amount }: Request
): Effect.Effect<BaseUnits, PublicError> => {
  const rate = quote.exchange_rate === null ? undefined : readRate(quote.exchange_rate)
  const remainingAmount = quote.estimated_token_amount_remaining
  const quotedUnits = remainingAmount === null ? undefined : parseUnits(remainingAmount, token.decimals)
  if (quotedUnits === undefined || rate === undefined) {
    return Effect.fail(publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: 15 }))
  }
  return Effect.succeed(
    amount === undefined
      ? simulatedUnits(action, quotedUnits)
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
  static readonly layer = Layer.effect(
    NetworkFaults,
    Effect.gen(function*() {
      const chains = yield* Chains
      const faults = new Map<string, NetworkMode>()
      const mode = (merchantId: number, network: Network) => faults.get(`${merchantId} ${network}`) ?? "ok"
      yield* chains.registerOutages((merchantId, network) => mode(merchantId, network) === "down")
      return NetworkFaults.of({
        mode,
        set: Effect.fnUntraced(function*(merchantId, name, next) {
          const network = chains.status(environment).find((one) => one.network === name)?.network
          if (network === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
          if (next === "ok") faults.delete(`${merchantId} ${network}`)
          else faults.set(`${merchantId} ${network}`, next)
          return network
        })
      })
    })
  )
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
    request: Pick<Request, "network" | "token_id">
  ): Effect.fn.Return<{ readonly network: Network; readonly tokenId: number }, PublicError> {
    if (request.token_id !== undefined) {
      const network = request.network ?? catalog.get(request.token_id)?.network
      if (network === undefined) return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      return { network, tokenId: request.token_id }
    }
    const routeLock = lockedRoute(current)
    const lastQuote = yield* quotes.current(current.invoice.id)
    const knownRoute = routeLock ??
      (lastQuote?.supported_token_id == null
        ? null
        : { network: lastQuote.network, tokenId: lastQuote.supported_token_id })
    if (knownRoute !== null && (request.network ?? knownRoute.network) === knownRoute.network) return knownRoute
    const { acceptedNetworks } = current.invoice.policy
    const offeredNetworks = networks().filter((one) => acceptedNetworks === null || acceptedNetworks.includes(one))
    const network = request.network ?? offeredNetworks.find((one) => one === "base") ?? offeredNetworks[0]
    const token = network === undefined ? undefined : defaultToken(network)
    if (token === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    return { network: token.network, tokenId: token.id }
  })

  const openDestination = Effect.fnUntraced(
    function*(current: Aggregate, request: Pick<Request, "network" | "token_id">) {
      const { network, tokenId } = yield* chooseRoute(current, request)
      return yield* payments.route(current, network, tokenId)
    }
  )

  /** The route shown last, of an invoice that gets no address any more. */
  const lastDestination = Effect.fnUntraced(function*({ invoice }: Aggregate) {
    const quote = yield* quotes.current(invoice.id)
    const token = quote?.supported_token_id == null ? undefined : catalog.get(quote.supported_token_id)
    const target = token === undefined ? null : yield* chains.target(invoice.id, familyOf(token.network))
    if (quote === null || token === undefined || target === null) return yield* publicError("INVOICE_NOT_PAYABLE")
    return { token, target, quote }
  })

  /** A transfer to the invoice, whether it still takes payments or not. */
  const destinationFor = Effect.fnUntraced(function*(
    current: Aggregate,
    request: Pick<Request, "network" | "token_id">
  ): Effect.fn.Return<Destination, PublicError> {
    const now = Math.floor((yield* nowOf(current.invoice)) / 1000)
    return yield* isPayable(current.invoice, now) ? openDestination(current, request) : lastDestination(current)
  })

  const requiredFor = ({ amount, policy }: InvoiceState, network: Network) =>
    requiredDepth(network, environment, policy.confirmations, amount).blocks

  /** That of the block after the last one that was read of the network. */
  const nextHeight = (network: Network): bigint =>
    (chains.status(environment).find((one) => one.network === network)?.head ?? 0n) + 1n

  /** The time of blocks and of first sights: that of the followers. */
  const chainSeconds = nowSeconds

  /**
   * A transfer that comes in a block. Undefined `confirmations`: the block is as deep as it must be, where the network
   * does not lag. Errors: `NETWORK_DEGRADED`.
   */
  const makeEntry = Effect.fnUntraced(function*(
    { invoice }: Aggregate,
    transfer: Omit<SimulatedTransfer, "transaction" | "block" | "height">,
    confirmations?: number
  ) {
    const simulatedTransfer: SimulatedTransfer = {
      ...transfer,
      transaction: yield* twoUuids(uuidV7),
      block: yield* twoUuids(uuidV4),
      height: nextHeight(transfer.network)
    }
    const mode = faults.mode(invoice.merchantId, transfer.network)
    if (mode === "down") return yield* publicError("NETWORK_DEGRADED", { retryAfterSeconds: 15 })
    const entry = seenEntry(invoice, environment, simulatedTransfer, yield* chainSeconds)
    const required = requiredFor(invoice, transfer.network)
    const depth = confirmations ?? (mode === "lagging" ? 0 : required)
    return depth < required ? entry : confirmedEntry(entry, depth)
  })

  /** What is asked for, or what remains, on the route asked for or shown last. */
  const payment = Effect.fnUntraced(function*(current: Aggregate, request: Request) {
    const destination = yield* openDestination(current, request)
    return yield* makeEntry(
      current,
      transferTo(destination, yield* unitsFor(destination, request)),
      request.confirmations
    )
  })

  return { chainSeconds, defaultToken, networks, nowOf, payment, destinationFor, requiredFor, makeEntry }
})

const isWaiting = ({ status }: JournalEntry) => status === "seen"
const isOnChain = ({ status }: JournalEntry) => status !== "reverted"

const noWaitingPayment = "No simulated payment waits for its depth: pay with confirmations 0 first"
const noStandingPayment = "No simulated payment stands: pay first"

/** Payments whose money is on its way to the merchant. */
const unsettledPayments = ({ payments }: Aggregate) =>
  payments.filter((payment) => isCounted(payment.status) && !isSettled(payment))

/** All of it arrived. */
const settledReport = ({ id, network }: PaymentState): SettlementReport => ({
  _tag: "Settled",
  txHash: payoutTxHash(id),
  network,
  amount: null
})

/** Reports of payments for a change of their invoice. */
const reportSettlements = (
  settlements: Settlements["Service"],
  current: Aggregate,
  payments: ReadonlyArray<PaymentState>,
  reportOf: (payment: PaymentState) => SettlementReport,
  now: number
): Effect.Effect<ChangePlan, PublicError> => {
  const reports = payments.map((payment) => ({ paymentId: payment.id, report: reportOf(payment) }))
  const plan = settlements.reports(current, reports, now)
  return isPublicError(plan) ? Effect.fail(plan) : Effect.succeed(plan)
}

const eventIdsOf = (committed: CommitResult | null) => committed?.events.map(({ id }) => id) ?? []

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
  readonly simulate: (
    current: Aggregate,
    request: Request,
    cause: CommitCause
  ) => Effect.Effect<SimulationResult, PublicError>
}>()("tillwire/modules/simulator/Simulator") {
  static readonly layer = Layer.effect(Simulator, Effect.suspend(() => makeSimulator))
}

const makeSimulator = Effect.gen(function*() {
  const chains = yield* Chains
  const invoices = yield* Invoices
  const payments = yield* Payments
  const settlements = yield* Settlements
  const simulatedPayments = yield* SimulatedPayments
  const transfers = yield* makeTransfers
  const { chainSeconds, nowOf, destinationFor, requiredFor } = transfers

  const change = (
    { invoice }: Aggregate,
    cause: CommitCause,
    plan: (current: Aggregate, now: number) => Effect.Effect<ChangePlan, PublicError>
  ) => invoices.change(invoice.id, cause, plan).pipe(Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)))

  /**
   * What a chain tells of one transfer, as its journal would hand it over, and what the contract of a token that nobody
   * lists says of itself.
   */
  const planCredit = (entry: JournalEntry, latest: Aggregate): Effect.Effect<ChangePlan, PublicError> =>
    Effect.map(payments.credit(entry, latest), ({ commands, writes }) => {
      const { decimals, symbol } = unlistedPlayToken
      const paymentId = paymentIdOf(entry)
      const naming: ReadonlyArray<Command> = entry.tokenAddress === unlistedPlayToken.address
        ? [{ _tag: "NameToken", paymentId, symbol, decimals }]
        : []
      const creditTransfer: SimulationTold = { _tag: "Simulation", paymentId }
      return { commands: [...commands, ...naming], writes, facts: [creditTransfer] }
    })

  /**
   * Sends the transfer that `plan` makes of the invoice as this change finds it: what is asked for twice at once is
   * answered as what is asked for twice in turn.
   */
  const send = (
    current: Aggregate,
    cause: CommitCause,
    plan: (latest: Aggregate) => Effect.Effect<JournalEntry, PublicError>
  ) => change(current, cause, (latest) => Effect.flatMap(plan(latest), (entry) => planCredit(entry, latest)))

  /** The newest simulated transfer that fits. Errors: `INVALID_TRANSITION` with `message`. */
  const chooseTransfer = Effect.fnUntraced(function*(
    { invoice }: Aggregate,
    fits: (entry: JournalEntry) => boolean,
    message: string
  ) {
    const entry = newestEntry(yield* chains.transfers(invoice.id), fits)
    return entry ?? (yield* refuse(message))
  })

  const pay = (current: Aggregate, request: Request, cause: CommitCause) =>
    send(current, cause, (latest) => transfers.payment(latest, request))

  /** Ends the invoice now, by the machine's own rules. */
  const ending: ChangePlan = { commands: [{ _tag: "End" }, { _tag: "Tick", progress: nothingToScan }] }

  const expire = (current: Aggregate, cause: CommitCause) =>
    change(
      current,
      cause,
      Effect.fnUntraced(function*({ invoice: { expiresAt, status } }, now) {
        if (status !== "unpaid" && status !== "underpaid") return yield* publicError("INVOICE_NOT_PAYABLE")
        if (status === "unpaid" || now < expiresAt) return ending
        return yield* refuse(
          "This invoice has ended and waits underpaid_grace_seconds for the rest: pay it, or move your clock past that with " +
            "POST /api/v1/devnet/clock/advance {\"seconds\": …}"
        )
      })
    )

  /** What is seen in the second of the end is not late yet. */
  const pastEnd = ({ invoice }: Aggregate) =>
    Effect.flatMap(nowOf(invoice), (millis) => Effect.sleep(Math.max(0, (invoice.expiresAt + 1) * 1_000 - millis)))

  const late = Effect.fnUntraced(function*(current: Aggregate, request: Request, cause: CommitCause) {
    const { invoice } = current
    const payable = isPayable(invoice, Math.floor((yield* nowOf(invoice)) / 1000))
    if (!payable && invoice.status !== "expired") return yield* publicError("INVOICE_NOT_PAYABLE")
    const destination = yield* destinationFor(current, request)
    const units = yield* unitsFor(destination, request)
    const endChanges = payable ? [yield* change(current, cause, () => Effect.succeed(ending))] : []
    yield* pastEnd(endChanges[0]?.aggregate ?? current)
    const sent = yield* send(
      current,
      cause,
      Effect.fnUntraced(function*(latest) {
        const { status } = latest.invoice
        if (status === "paid" || status === "canceled") return yield* publicError("INVOICE_NOT_PAYABLE")
        return yield* transfers.makeEntry(latest, transferTo(destination, units), request.confirmations)
      })
    )
    return [...endChanges, sent]
  })

  const wrongToken = (current: Aggregate, request: Request, cause: CommitCause) =>
    send(
      current,
      cause,
      Effect.fnUntraced(function*(latest) {
        const { quote, target, token } = yield* destinationFor(latest, request)
        const { address, decimals } = unlistedPlayToken
        const units = yield* unitsFor({ quote, target, token: { ...token, decimals } }, request)
        return yield* transfers.makeEntry(
          latest,
          { network: token.network, tokenAddress: address, units, target },
          request.confirmations
        )
      })
    )

  /** The network asked for, else the first one of the address's family that the invoice does not take. */
  const wrongNetwork = (current: Aggregate, request: Request, cause: CommitCause) =>
    send(
      current,
      cause,
      Effect.fnUntraced(function*(latest) {
        const accepted = latest.invoice.policy.acceptedNetworks
        if (accepted === null) {
          return yield* refuse("This invoice takes every network: create one with accepted_networks")
        }
        const destination = yield* destinationFor(latest, {})
        const wrong = transfers.networks().find((network) =>
          familyOf(network) === familyOf(destination.token.network) && !accepted.includes(network) &&
          (request.network ?? network) === network
        )
        const token = wrong === undefined ? undefined : transfers.defaultToken(wrong)
        if (token === undefined) {
          return yield* refuse("This invoice takes every network that its address is good on, or the one asked for")
        }
        const units = yield* unitsFor(destination, request)
        const transfer = { network: token.network, tokenAddress: token.address, units, target: destination.target }
        return yield* transfers.makeEntry(latest, transfer, request.confirmations)
      })
    )

  /** A transfer without its memo reaches nobody's address, so there is nothing to tell. */
  const missingMemo = Effect.fnUntraced(function*(current: Aggregate, request: Request) {
    const { target, token } = yield* destinationFor(current, request)
    if (target.memo !== null) return []
    return yield* publicError("VALIDATION_ERROR", {
      param: "action",
      message: `missing_memo: a payment on ${token.network} needs no memo`
    })
  })

  const duplicate = (current: Aggregate, request: Request, cause: CommitCause) =>
    send(
      current,
      cause,
      Effect.fnUntraced(function*(latest) {
        const first = yield* chooseTransfer(latest, isOnChain, "Nothing was sent that could be sent twice: pay first")
        const target = yield* chains.target(latest.invoice.id, familyOf(first.network))
        const transfer = {
          network: first.network,
          tokenAddress: first.tokenAddress,
          units: first.amount,
          target: target!
        }
        return yield* transfers.makeEntry(latest, transfer, request.confirmations)
      })
    )

  const confirm = (current: Aggregate, request: Request, cause: CommitCause) =>
    send(
      current,
      cause,
      (latest) =>
        Effect.map(chooseTransfer(latest, isWaiting, noWaitingPayment), (entry) =>
          confirmedEntry(entry, Math.max(request.confirmations ?? 0, requiredFor(latest.invoice, entry.network))))
    )

  const drop = (current: Aggregate, cause: CommitCause) =>
    send(current, cause, (latest) => Effect.map(chooseTransfer(latest, isOnChain, noStandingPayment), revertedEntry))

  /** Its block leaves the chain, and then another one has the transaction, as deep as is asked. */
  const reorg = Effect.fnUntraced(function*(current: Aggregate, request: Request, cause: CommitCause) {
    const dropChange = yield* drop(current, cause)
    const block = yield* twoUuids(uuidV4)
    const at = yield* chainSeconds
    const reinclude = yield* send(
      current,
      cause,
      Effect.fnUntraced(function*(latest) {
        const journal = yield* chains.transfers(latest.invoice.id)
        const entry = journal.find((each) => paymentIdOf(each) === simulatedPayment([dropChange]))!
        const nextEntry = reincludedEntry(entry, block, at)
        const required = requiredFor(latest.invoice, entry.network)
        const depth = request.confirmations ?? required
        return depth < required ? nextEntry : confirmedEntry(nextEntry, depth)
      })
    )
    return [dropChange, reinclude]
  })

  /** Of every payment that counts and is not settled; the newest of them is answered. */
  const report = Effect.fnUntraced(function*(
    current: Aggregate,
    cause: CommitCause,
    reportOf: (payment: PaymentState) => SettlementReport
  ) {
    return yield* change(
      current,
      cause,
      Effect.fnUntraced(function*(latest, seconds) {
        const open = unsettledPayments(latest)
        const last = open.at(-1)
        if (last === undefined) return yield* refuse("No payment waits for its settlement")
        const result = yield* reportSettlements(settlements, latest, open, reportOf, seconds)
        const told: SimulationTold = { _tag: "Simulation", paymentId: last.id }
        return { ...result, facts: [...result.facts ?? [], told] }
      })
    )
  })

  const act = (
    current: Aggregate,
    request: Request,
    cause: CommitCause
  ): Effect.Effect<ChangeResult | ReadonlyArray<ChangeResult>, PublicError> => {
    switch (request.action) {
      case "pay":
      case "partial":
      case "overpay":
        return pay(current, request, cause)
      case "late":
        return late(current, request, cause)
      case "expire":
        return expire(current, cause)
      case "wrong_token":
        return wrongToken(current, request, cause)
      case "wrong_network":
        return wrongNetwork(current, request, cause)
      case "missing_memo":
        return missingMemo(current, request)
      case "duplicate":
        return duplicate(current, request, cause)
      case "confirm":
        return confirm(current, request, cause)
      case "reorg":
        return reorg(current, request, cause)
      case "drop":
        return drop(current, cause)
      case "settle":
        return report(current, cause, settledReport)
      case "fail_settlement":
        return report(current, cause, () => ({ _tag: "Failed", reason: "The simulator says so" }))
    }
  }

  const simulate = Effect.fnUntraced(function*(current: Aggregate, request: Request, cause: CommitCause) {
    const changes = [yield* act(current, request, cause)].flat()
    const aggregate = changes.at(-1)?.aggregate ?? current
    const paymentId = simulatedPayment(changes)
    return {
      aggregate,
      payment: aggregate.payments.find(({ id }) => id === paymentId),
      eventIds: changes.flatMap(({ committed }) => eventIdsOf(committed))
    }
  })

  yield* simulatedPayments.register((current, action) => Effect.asVoid(simulate(current, { action }, noCause)))

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
export interface OrderStepResult {
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
    request: OrderStep,
    cause: CommitCause
  ) => Effect.Effect<OrderStepResult, PublicError>
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
  const payRemainder = Effect.fnUntraced(function*(current: Aggregate): Effect.fn.Return<ChangePlan, PublicError> {
    const knownEntries = pendingEntries(yield* chains.transfers(current.invoice.id))
    const pendingAmount = current.payments.filter(({ status }) => status === "pending")
      .reduce((sum, { amount }) => sum + amount, 0n)
    const rest = amountRemaining(current.invoice) - pendingAmount
    const newEntries = rest <= 0n ? [] : [
      yield* transfers.payment(current, {
        action: "pay",
        ...(pendingAmount === 0n ? {} : { amount: usdWire(usdMillis(rest)) })
      })
    ]
    const entries = [...knownEntries, ...newEntries].map((entry) =>
      confirmedEntry(entry, transfers.requiredFor(current.invoice, entry.network))
    )
    const credits = yield* Effect.forEach(entries, (entry) => payments.credit(entry, current))
    return {
      commands: credits.flatMap(({ commands }) => commands),
      writes: credits.flatMap(({ writes }) => writes)
    }
  })

  /** Pays one refund out, by one step after the other; they are one change of it. */
  const payOutRefund = Effect.fnUntraced(
    function*(
      refund: RefundState,
      destination: RefundDestination | null,
      current: Aggregate,
      now: number,
      refundFacts: ReadonlyArray<RefundFact>
    ): Effect.fn.Return<RefundStep, PublicError> {
      let step: RefundStep = { refund, writes: [], commands: [], facts: [] }
      for (let next = payoutStep(refund, destination); next !== null; next = payoutStep(step.refund, null)) {
        const at = { ...step.refund, version: refund.version }
        step = yield* refunds.decideOn(at, next, current, now, [...refundFacts, ...step.facts])
      }
      return step.refund.status === "succeeded" ? step : yield* publicError("REFUND_DESTINATION_REQUIRED")
    },
    Effect.catchIf(
      ({ code }) => code === "WALLET_ADDRESS_INVALID" || code === "UNSUPPORTED_NETWORK",
      ({ message }) => Effect.fail(publicError("REFUND_DESTINATION_REQUIRED", { message }))
    )
  )

  /** Every refund under way is paid out; where none is, one of all that is left. */
  const payOutRefunds = Effect.fnUntraced(function*(
    order: OrderState,
    destination: RefundDestination | null,
    current: Aggregate,
    now: number
  ): Effect.fn.Return<ChangePlan, PublicError> {
    const openRefunds = (yield* refunds.ofInvoice(order.merchantId, order.invoiceId)).filter(isOpen)
    const isFailed = order.status === "failed"
    const newRefund = openRefunds.length > 0 ? null : yield* refunds.open(current, {
      amount: "remaining",
      reason: isFailed ? "order_failed" : "order_cancelled",
      destination: order.refundDestination,
      feeFree: isFailed
    }, now)
    const open = newRefund === null ? openRefunds : [{ ...newRefund.refund, version: 0 }]
    let progress: { readonly at: Aggregate; readonly steps: ReadonlyArray<RefundStep> } = { at: current, steps: [] }
    for (const refund of open) {
      const refundFacts = progress.steps.flatMap((each) => each.facts)
      const step = yield* payOutRefund(
        refund,
        destination ?? waitingDestination(refund, order),
        progress.at,
        now,
        refundFacts
      )
      progress = { at: withRefundedAmounts(progress.at, step.commands), steps: [...progress.steps, step] }
    }
    return {
      commands: progress.steps.flatMap(({ commands }) => commands),
      writes: progress.steps.flatMap(({ writes }) => writes),
      facts: progress.steps.flatMap(({ facts }) => facts)
    }
  })

  const changeWith = (orderFacts: ReadonlyArray<OrderFact>): Effect.Effect<ChangePlan> =>
    Effect.succeed({ commands: [], facts: [orders.asInvoiceFact(orderFacts)] })

  /** What has happened, as whoever it happens to would tell it. */
  const changeFor = (
    order: OrderState,
    request: OrderStep,
    current: Aggregate,
    now: number
  ): Effect.Effect<ChangePlan, PublicError> => {
    const open = () => unsettledPayments(current).filter(({ id }) => order.paidBy.includes(id))
    switch (request.transition) {
      case "payment_confirmed":
        return payRemainder(current)
      case "payment_settled":
        return reportSettlements(settlements, current, open(), settledReport, now)
      case "placed":
        return changeWith([{ _tag: "Placed", providerOrderId: providerOrderIdOf(order.id) }])
      case "shipped":
        return changeWith([{ _tag: "Shipped", shipment: shipmentOf(order, request.tracking, now) }])
      case "delivery_confirmed":
        return changeWith([{ _tag: "Delivered", isConfirmed: true }])
      case "failed":
        return isAwaitingSettlement(order)
          ? reportSettlements(
            settlements,
            current,
            open(),
            () => ({ _tag: "GiveUp", reason: "The simulator says so" }),
            now
          )
          : changeWith([{ _tag: "PlacementFailed", reason: "The simulator says so" }])
      case "cancelled": {
        const cancelFacts: ReadonlyArray<OrderFact> = order.substatus === "CANCELLATION_REQUESTED"
          ? []
          : [{ _tag: "CancelRequested", reason: null, destination: request.destination }]
        return changeWith([...cancelFacts, { _tag: "CancellationAccepted" }])
      }
      case "cancellation_rejected":
        return changeWith([{ _tag: "CancellationRejected", reason: "The simulator says so" }])
      case "refunded":
        return payOutRefunds(order, request.destination, current, now)
    }
  }

  const step = Effect.fn("OrderSimulator.step")(function*(
    merchantId: number,
    orderId: string,
    request: OrderStep,
    cause: CommitCause
  ) {
    const orderBefore = yield* orderOf(merchantId, orderId)
    yield* admit(orderBefore, request)
    const { committed, facts: all } = yield* invoices.change(
      orderBefore.invoiceId,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const order = yield* orderOf(merchantId, orderId)
        yield* admit(order, request)
        const change = yield* changeFor(order, request, current, now)
        const destination: ReadonlyArray<OrderFact> = request.destination === null || request.transition === "refunded"
          ? []
          : [{ _tag: "RefundDestinationSet", destination: request.destination }]
        return destination.length === 0
          ? change
          : { ...change, facts: [orders.asInvoiceFact(destination), ...change.facts ?? []] }
      })
    ).pipe(Effect.catchTag("IdempotentReplay", (bug) => Effect.die(bug)))
    return { order: orders.orderAfter(all) ?? orderBefore, eventIds: eventIdsOf(committed) }
  })

  return OrderSimulator.of({ step })
})
