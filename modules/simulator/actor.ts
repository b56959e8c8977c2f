/**
 * Play money: every action puts facts, as a chain or a settlement would tell them, into changes of the invoice, and the
 * rules that mainnet runs decide what becomes of it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Chains, type JournalEntry, type ReceiveTarget } from "../../runtime/Chains.ts"
import { type CommitCause, noCause } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidV4, uuidV7 } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { EventId } from "../../schemas/Ids.ts"
import { type BaseUnits, parseUnits, readRate, tokenAmountUp, usdMillis } from "../../schemas/Money.ts"
import { type Environment, familyOf, type Network, requiredDepth } from "../../schemas/Network.ts"
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
  type PaymentState
} from "../invoices/plugin.ts"
import { paymentIdOf, Payments, SimulatedPayments } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import type { SimulateRequest } from "./api.ts"
import { deep, gone, moved, newest, seen, type Sent, simulatedUnits, unknownContract } from "./machine.ts"

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

/** What was done to an invoice, and by which transfer. */
interface Done {
  readonly changes: ReadonlyArray<Changed>
  readonly entry?: JournalEntry
}

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

export class Simulator extends Context.Service<Simulator, {
  /**
   * Does what is asked. Errors: those of a payment address, `QUOTE_UNAVAILABLE`, `VALIDATION_ERROR` for a memo that the
   * network does not have, `INVOICE_NOT_PAYABLE` for what has ended already, and `INVALID_TRANSITION` where there is
   * nothing the action could be about.
   */
  readonly simulate: (current: Aggregate, asked: Request, cause: CommitCause) => Effect.Effect<Simulated, PublicError>
}>()("tillwire/modules/simulator/Simulator") {
  static readonly layer = Layer.effect(Simulator, Effect.gen(function*() {
    const catalog = yield* TokenCatalog
    const chains = yield* Chains
    const clock = yield* MerchantClock
    const invoices = yield* Invoices
    const payments = yield* Payments
    const quotes = yield* PaymentQuotes
    const simulated = yield* SimulatedPayments

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

    const change = (
      { invoice }: Aggregate,
      cause: CommitCause,
      plan: (current: Aggregate) => Effect.Effect<Change, PublicError>
    ) => invoices.change(invoice.id, cause, plan).pipe(Effect.catchTag("Replayed", (bug) => Effect.die(bug)))

    /** What a chain tells of one transfer, as its journal would hand it over. */
    const told = (current: Aggregate, cause: CommitCause, entry: JournalEntry) =>
      change(current, cause, (now) => payments.credit(entry, now))

    /** The same of a transfer that was sent before; `next` is asked again where another change was first. */
    const toldOf = (
      current: Aggregate,
      cause: CommitCause,
      id: string,
      next: (entry: JournalEntry) => Effect.Effect<JournalEntry, PublicError>
    ) =>
      change(current, cause, Effect.fnUntraced(function*(now) {
        const journal = yield* chains.transfers(now.invoice.id)
        return yield* payments.credit(yield* next(journal.find((entry) => entry.id === id)!), now)
      }))

    const requiredFor = ({ amount, policy }: InvoiceState, network: Network) =>
      requiredDepth(network, environment, policy.confirmations, amount).blocks

    /** The time of blocks and of first sights: that of the followers. */
    const chainSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

    /** A transfer comes in a block; where no more is asked for, the block is as deep as it must be. */
    const send = Effect.fnUntraced(function*(
      current: Aggregate,
      cause: CommitCause,
      transfer: Omit<Sent, "transaction" | "block">,
      confirmations: number | undefined
    ) {
      const { invoice } = current
      const sent: Sent = { ...transfer, transaction: yield* twoUuids(uuidV7), block: yield* twoUuids(uuidV4) }
      const entry = seen(invoice, environment, sent, yield* chainSeconds)
      const required = requiredFor(invoice, transfer.network)
      const depth = confirmations ?? required
      return { entry, changes: [yield* told(current, cause, depth < required ? entry : deep(entry, depth))] }
    })

    const pay = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause, to: Destination) {
      const units = yield* unitsFor(to, asked)
      const transfer = { network: to.token.network, tokenAddress: to.token.address, units, target: to.target }
      return yield* send(current, cause, transfer, asked.confirmations)
    })

    /** Ends the invoice now, by the machine's own rules. */
    const end = (current: Aggregate, cause: CommitCause) => {
      const commands: ReadonlyArray<Command> = [{ _tag: "End" }, { _tag: "Tick", outage: false }]
      return change(current, cause, () => Effect.succeed({ commands }))
    }

    const expire = Effect.fnUntraced(function*(current: Aggregate, cause: CommitCause) {
      const { status } = current.invoice
      if (status !== "unpaid" && status !== "underpaid") return yield* publicError("INVOICE_NOT_PAYABLE")
      return { changes: [yield* end(current, cause)] }
    })

    /** What is seen in the second of the end is not late yet. */
    const pastEnd = ({ invoice }: Aggregate) =>
      Effect.flatMap(nowOf(invoice), (millis) => Effect.sleep(Math.max(0, (invoice.expiresAt + 1) * 1_000 - millis)))

    const late = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const { invoice } = current
      const payable = isPayable(invoice, Math.floor((yield* nowOf(invoice)) / 1000))
      if (!payable && invoice.status !== "expired") return yield* publicError("INVOICE_NOT_PAYABLE")
      const destination = yield* reachable(current, asked)
      yield* unitsFor(destination, asked)
      const ended = payable ? [yield* end(current, cause)] : []
      yield* pastEnd(ended[0]?.aggregate ?? current)
      const { changes, entry } = yield* pay(current, asked, cause, destination)
      return { entry, changes: [...ended, ...changes] }
    })

    const wrongToken = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const destination = yield* reachable(current, asked)
      const units = yield* unitsFor(destination, asked)
      const { target, token: { network } } = destination
      return yield* send(current, cause, { network, tokenAddress: unknownContract, units, target }, asked.confirmations)
    })

    /** The network asked for, else the first one of the address's family that the invoice does not take. */
    const wrongNetwork = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const accepted = current.invoice.policy.acceptedNetworks
      if (accepted === null) return yield* refuse("This invoice takes every network: create one with accepted_networks")
      const destination = yield* reachable(current, {})
      const wrong = networks().find((network) =>
        familyOf(network) === familyOf(destination.token.network) && !accepted.includes(network) &&
        (asked.network ?? network) === network)
      const token = wrong === undefined ? undefined : defaultToken(wrong)
      if (token === undefined) {
        return yield* refuse("This invoice takes every network that its address is good on, or the one asked for")
      }
      const units = yield* unitsFor(destination, asked)
      const transfer = { network: token.network, tokenAddress: token.address, units, target: destination.target }
      return yield* send(current, cause, transfer, asked.confirmations)
    })

    /** A transfer without its memo reaches nobody's address, so there is nothing to tell. */
    const missingMemo = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
      const { target, token } = yield* reachable(current, asked)
      if (target.memo !== null) return { changes: [] }
      return yield* publicError("VALIDATION_ERROR", {
        param: "action",
        message: `missing_memo: a payment on ${token.network} needs no memo`
      })
    })

    const chosen = Effect.fnUntraced(function*(
      { invoice }: Aggregate,
      fits: (entry: JournalEntry) => boolean,
      otherwise: string
    ) {
      const entry = newest(yield* chains.transfers(invoice.id), fits)
      return entry ?? (yield* refuse(otherwise))
    })

    const stands = ({ status }: JournalEntry) => status !== "reverted"
    const waits = ({ status }: JournalEntry) => status === "seen"

    const duplicate = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const first = yield* chosen(current, stands, "Nothing was sent that could be sent twice: pay first")
      const target = yield* chains.target(current.invoice.id, familyOf(first.network))
      const transfer = { network: first.network, tokenAddress: first.tokenAddress, units: first.amount, target: target! }
      return yield* send(current, cause, transfer, asked.confirmations)
    })

    const nothingWaits = "No simulated payment waits for its depth: pay with confirmations 0 first"
    const nothingStands = "No simulated payment stands: pay first"

    const confirm = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const entry = yield* chosen(current, waits, nothingWaits)
      const depth = Math.max(asked.confirmations ?? 0, requiredFor(current.invoice, entry.network))
      const next = (now: JournalEntry) => waits(now) ? Effect.succeed(deep(now, depth)) : refuse(nothingWaits)
      return { entry, changes: [yield* toldOf(current, cause, entry.id, next)] }
    })

    const drop = Effect.fnUntraced(function*(current: Aggregate, cause: CommitCause) {
      const entry = yield* chosen(current, stands, nothingStands)
      const next = (now: JournalEntry) => stands(now) ? Effect.succeed(gone(now)) : refuse(nothingStands)
      return { entry, changes: [yield* toldOf(current, cause, entry.id, next)] }
    })

    /** The block is replaced by one that has the transaction too; it then becomes as deep as is asked. */
    const reorg = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const entry = yield* chosen(current, stands, nothingStands)
      const block = yield* twoUuids(uuidV4)
      const at = yield* chainSeconds
      const next = (now: JournalEntry) => stands(now) ? Effect.succeed(moved(now, block, at)) : refuse(nothingStands)
      const again = yield* toldOf(current, cause, entry.id, next)
      const required = requiredFor(current.invoice, entry.network)
      const depth = asked.confirmations ?? required
      if (depth < required) return { entry, changes: [again] }
      const deeper = (now: JournalEntry) => waits(now) ? Effect.succeed(deep(now, depth)) : refuse(nothingWaits)
      return { entry, changes: [again, yield* toldOf(current, cause, entry.id, deeper)] }
    })

    const act = (current: Aggregate, asked: Request, cause: CommitCause): Effect.Effect<Done, PublicError> => {
      switch (asked.action) {
        case "pay":
        case "partial":
        case "overpay":
          return Effect.flatMap(offered(current, asked), (destination) => pay(current, asked, cause, destination))
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
      }
    }

    const simulate = Effect.fnUntraced(function*(current: Aggregate, asked: Request, cause: CommitCause) {
      const { changes, entry } = yield* act(current, asked, cause)
      const aggregate = changes.at(-1)?.aggregate ?? current
      const paymentId = entry === undefined ? undefined : paymentIdOf(entry)
      return {
        aggregate,
        payment: aggregate.payments.find(({ id }) => id === paymentId),
        eventIds: changes.flatMap(({ committed }) => committed?.events.map(({ id }) => id) ?? [])
      }
    })

    yield* simulated.register((current, action) => Effect.asVoid(simulate(current, { action }, noCause)))

    return Simulator.of({ simulate })
  }))
}
