/** Simulated payments: the transfer is put on the simulated chain and takes the road of every other. */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { Chains, type ReceiveTarget } from "../../runtime/Chains.ts"
import { noCause } from "../../runtime/Commit.ts"
import { EventBus } from "../../runtime/EventBus.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { EventId } from "../../schemas/Ids.ts"
import { type BaseUnits, parseUnits, readRate, tokenAmountUp, usdMillis } from "../../schemas/Money.ts"
import { familyOf, type Network } from "../../schemas/Network.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import { SimulatedChain } from "../chains/simulated.ts"
import {
  type Aggregate,
  type Command,
  Invoices,
  isPayable,
  lockedRoute,
  type PaymentState
} from "../invoices/plugin.ts"
import { Payments, SimulatedPayments } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import type { SimulateRequest } from "./api.ts"
import { simulatedUnits } from "./machine.ts"

/** How long a simulated transfer may take to be counted before the answer shows it as it is. */
const countedWithin = Duration.seconds(5)

/** Pause between two looks at the invoice while the transfer is on its way. */
const lookEvery = Duration.millis(10)

/** Events of one call, at most: far above those of one payment. */
const maximumEvents = 200

/** The token of a first payment when neither the caller nor an earlier address names one. */
const defaultSymbol = "USDC"

type Request = typeof SimulateRequest.Type

/** What a call has done. */
export interface Simulated {
  readonly aggregate: Aggregate
  /** Undefined where none was sent, or it is not there yet. */
  readonly payment: PaymentState | undefined
  readonly eventIds: ReadonlyArray<EventId>
}

/** Where a simulated transfer goes, and the quote its amount is worked out by. */
interface Destination {
  readonly token: Token
  readonly target: ReceiveTarget
  readonly quote: Quote
}

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
   * Does what is asked and waits until it is counted, for 5 s at most. Errors: those of a payment address,
   * `QUOTE_UNAVAILABLE`, and `INVOICE_NOT_PAYABLE` for what has ended already: only `late` can be paid then, to an
   * address that was given before.
   */
  readonly simulate: (current: Aggregate, asked: Request) => Effect.Effect<Simulated, PublicError>
}>()("tillwire/modules/simulator/Simulator") {
  static readonly layer = Layer.effect(Simulator, Effect.gen(function*() {
    const bus = yield* EventBus
    const catalog = yield* TokenCatalog
    const chain = yield* SimulatedChain
    const chains = yield* Chains
    const invoices = yield* Invoices
    const payments = yield* Payments
    const quotes = yield* PaymentQuotes
    const simulated = yield* SimulatedPayments

    /** The route asked for, else the locked one, else the one shown last, else the first stablecoin there is. */
    const chooseRoute = Effect.fnUntraced(function*(
      current: Aggregate,
      asked: Request
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
      const network = asked.network ?? chain.networks.find((one) => one === "base") ?? chain.networks[0]!
      const tokens = catalog.list("devnet").filter((token) => token.network === network && token.active)
      const token = tokens.find(({ symbol }) => symbol === defaultSymbol) ?? tokens[0]
      if (token === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
      return { network, tokenId: token.id }
    })

    const look = (invoiceId: string, txHash: string | null) =>
      Effect.map(invoices.find(invoiceId), (aggregate) => ({
        aggregate: aggregate!,
        payment: aggregate!.payments.find((one) => one.txHash === txHash)
      }))

    /** The invoice once the transfer is counted, or as it is after {@link countedWithin}. */
    const counted = (invoiceId: string, txHash: string) =>
      look(invoiceId, txHash).pipe(
        Effect.flatMap((seen) =>
          seen.payment === undefined || seen.payment.status === "pending" ? Effect.fail("on its way") : Effect.succeed(seen)
        ),
        Effect.tapError(() => Effect.sleep(lookEvery)),
        Effect.eventually,
        Effect.timeoutOption(countedWithin),
        Effect.flatMap(Option.match({ onNone: () => look(invoiceId, txHash), onSome: Effect.succeed }))
      )

    /** Ends the invoice now, by the machine's own rules. */
    const end = (current: Aggregate) => {
      const commands: ReadonlyArray<Command> = [{ _tag: "End" }, { _tag: "Tick", outage: false }]
      return invoices.change(current.invoice.id, noCause, () => Effect.succeed({ commands })).pipe(
        Effect.catchTag("Replayed", (bug) => Effect.die(bug)),
        Effect.map(({ aggregate }) => aggregate)
      )
    }

    /** What is seen in the second of the end is not late yet. */
    const pastEnd = ({ invoice }: Aggregate) =>
      Effect.flatMap(Clock.currentTimeMillis, (millis) =>
        Effect.sleep(Math.max(0, (invoice.expiresAt + 1) * 1_000 - millis)))

    const offered = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
      const { network, tokenId } = yield* chooseRoute(current, asked)
      if (!chain.networks.includes(network)) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
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

    const send = Effect.fnUntraced(function*({ target, token }: Destination, amount: BaseUnits) {
      const { txHash } = yield* chain.transfer({
        network: token.network,
        to: target.matchKey,
        tokenAddress: token.address,
        amount
      })
      return txHash
    })

    const late = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
      const { invoice } = current
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const payable = isPayable(invoice, now)
      if (!payable && invoice.status !== "expired") return yield* publicError("INVOICE_NOT_PAYABLE")
      const destination = yield* payable ? offered(current, asked) : given(current)
      const amount = yield* unitsFor(destination, asked)
      yield* pastEnd(payable ? yield* end(current) : current)
      return yield* send(destination, amount)
    })

    const act = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
      const { status } = current.invoice
      switch (asked.action) {
        case "expire":
          if (status !== "unpaid" && status !== "underpaid") return yield* publicError("INVOICE_NOT_PAYABLE")
          yield* end(current)
          return null
        case "late":
          return yield* late(current, asked)
        default: {
          const destination = yield* offered(current, asked)
          return yield* send(destination, yield* unitsFor(destination, asked))
        }
      }
    })

    const simulate = Effect.fnUntraced(function*(current: Aggregate, asked: Request) {
      const { id: invoiceId, merchantId } = current.invoice
      const position = yield* bus.nextPosition(merchantId)
      const txHash = yield* act(current, asked)
      const { aggregate, payment } = yield* txHash === null ? look(invoiceId, null) : counted(invoiceId, txHash)
      const events = yield* bus.after({ merchantId, invoiceId, position, limit: maximumEvents })
      return { aggregate, payment, eventIds: events.map(({ id }) => id) }
    })

    yield* simulated.register((current, action) => Effect.asVoid(simulate(current, { action })))

    return Simulator.of({ simulate })
  }))
}
