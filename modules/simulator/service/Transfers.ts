/** Transfers of play money: where they go, how much they carry, and the entries of the journal that they are. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { JournalEntry, ReceiveTarget } from "../../../runtime/Chains.ts"
import { uuidV4, uuidV7 } from "../../../runtime/Uuid.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { BaseUnits } from "../../../schemas/Money.ts"
import { familyOf, type Network, requiredDepth } from "../../../schemas/Network.ts"
import type { Quote } from "../../../schemas/Quote.ts"
import { type Token, tokenAddress } from "../../../schemas/Token.ts"
import { type Aggregate, amountRemaining, type InvoiceState, isPayable, lockedRoute } from "../../invoices/plugin.ts"
import {
  depthFor,
  entryAtDepth,
  environment,
  quoteOfRest,
  seenEntry,
  type SimulatedTransfer,
  unitsFor
} from "../rules.ts"
import { merchantMillis, type Request, type SimulatorContext } from "./SimulatorContext.ts"

/** The token of a first payment when neither the caller nor an earlier address names one. */
const defaultSymbol = "USDC"

/** Where a simulated transfer goes, and the quote its amount is worked out by. */
export interface Destination {
  readonly token: Token
  readonly target: ReceiveTarget
  readonly quote: Quote
}

/** The route that a request names, as far as it does. */
type RouteRequest = Pick<Request, "network" | "token_id">

/** Enough for the name of a block or a transaction. */
export const twoUuids = (uuid: Effect.Effect<string>) =>
  Effect.zipWith(uuid, uuid, (first, second) => `${first}${second}`)

export const networksOf = ({ chains }: SimulatorContext): ReadonlyArray<Network> =>
  chains.status(environment).map(({ network }) => network)

/** The token to pay with on a network where nobody names one: a stablecoin that has a price, else the coin. */
export const defaultToken = ({ catalog }: SimulatorContext, network: Network): Token | undefined => {
  const tokens = catalog.list(environment).filter((token) => token.network === network && token.active)
  return tokens.find(({ symbol }) => symbol === defaultSymbol) ??
    tokens.find(({ asset, stable }) => stable && asset !== null) ??
    tokens.find(({ address }) => address === null)
}

/** The route asked for, else the locked one, else the one shown last, else the first stablecoin there is. */
const chooseRoute = Effect.fnUntraced(function*(
  context: SimulatorContext,
  current: Aggregate,
  request: RouteRequest
): Effect.fn.Return<{ readonly network: Network; readonly tokenId: number }, PublicError> {
  if (request.token_id !== undefined) {
    const network = request.network ?? context.catalog.get(request.token_id)?.network
    if (network === undefined) return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
    return { network, tokenId: request.token_id }
  }
  const routeLock = lockedRoute(current)
  const lastQuote = yield* context.quotes.current(current.invoice.id)
  const knownRoute = routeLock ??
    (lastQuote?.supported_token_id == null
      ? null
      : { network: lastQuote.network, tokenId: lastQuote.supported_token_id })
  if (knownRoute !== null && (request.network ?? knownRoute.network) === knownRoute.network) return knownRoute
  const { acceptedNetworks } = current.invoice.policy
  const offeredNetworks = networksOf(context).filter((one) =>
    acceptedNetworks === null || acceptedNetworks.includes(one)
  )
  const network = request.network ?? offeredNetworks.find((one) => one === "base") ?? offeredNetworks[0]
  const token = network === undefined ? undefined : defaultToken(context, network)
  if (token === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
  return { network: token.network, tokenId: token.id }
})

/** The route shown last, of an invoice that gets no address any more, or none there. */
const lastDestination = Effect.fnUntraced(function*(
  { catalog, chains, quotes }: SimulatorContext,
  { invoice }: Aggregate
) {
  const quote = yield* quotes.current(invoice.id)
  const token = quote?.supported_token_id == null ? undefined : catalog.get(quote.supported_token_id)
  const target = token === undefined ? null : yield* chains.target(invoice.id, familyOf(token.network))
  if (quote === null || token === undefined || target === null) return yield* publicError("INVOICE_NOT_PAYABLE")
  return { token, target, quote }
})

const openDestination = Effect.fnUntraced(
  function*(context: SimulatorContext, current: Aggregate, request: RouteRequest) {
    const { network, tokenId } = yield* chooseRoute(context, current, request)
    const token = context.catalog.get(tokenId)
    // Nobody is stopped from sending to an address that was given out before its token was disabled.
    if (token !== undefined && context.availability.objectionTo(token) !== null) {
      const quote = yield* context.quotes.current(current.invoice.id)
      if (quote?.supported_token_id === tokenId) {
        const shown = yield* lastDestination(context, current)
        return { ...shown, quote: quoteOfRest(shown.quote, amountRemaining(current.invoice), token.decimals) }
      }
    }
    return yield* context.payments.route(current, network, tokenId)
  }
)

/** A transfer to the invoice, whether it still takes payments or not. */
export const destinationFor = Effect.fnUntraced(function*(
  context: SimulatorContext,
  current: Aggregate,
  request: RouteRequest
): Effect.fn.Return<Destination, PublicError> {
  const now = Math.floor((yield* merchantMillis(context, current.invoice)) / 1000)
  return yield* isPayable(current.invoice, now)
    ? openDestination(context, current, request)
    : lastDestination(context, current)
})

export const requiredBlocks = ({ amount, policy }: InvoiceState, network: Network): number =>
  requiredDepth(network, environment, policy.confirmations, amount).blocks

/** That of the block after the last one that was read of the network. */
const nextHeight = ({ chains }: SimulatorContext, network: Network): bigint =>
  (chains.status(environment).find((one) => one.network === network)?.head ?? 0n) + 1n

/** What a request sends to a destination; `decimals` are those of the token that is sent. */
export const requestedUnits = (
  { quote }: Destination,
  decimals: number,
  request: Request
): Effect.Effect<BaseUnits, PublicError> => {
  const units = unitsFor(quote, decimals, request)
  return isPublicError(units) ? Effect.fail(units) : Effect.succeed(units)
}

export const transferTo = ({ target, token }: Destination, units: BaseUnits) => ({
  network: token.network,
  // As the drivers tell of it.
  tokenAddress: token.address === null ? null : tokenAddress(token.network, token.address),
  units,
  target
})

/**
 * A transfer that comes in a block. Undefined `confirmations`: the block is as deep as it must be, where the network
 * does not lag. Its times are those of the followers, not the merchant's. Errors: `NETWORK_DEGRADED`.
 */
export const makeEntry = Effect.fnUntraced(function*(
  context: SimulatorContext,
  { invoice }: Aggregate,
  transfer: Omit<SimulatedTransfer, "transaction" | "block" | "height">,
  confirmations?: number
): Effect.fn.Return<JournalEntry, PublicError> {
  const simulatedTransfer: SimulatedTransfer = {
    ...transfer,
    transaction: yield* twoUuids(uuidV7),
    block: yield* twoUuids(uuidV4),
    height: nextHeight(context, transfer.network)
  }
  const mode = context.faults.mode(invoice.merchantId, transfer.network)
  if (mode === "down") return yield* publicError("NETWORK_DEGRADED", { retryAfterSeconds: 15 })
  const entry = seenEntry(invoice, environment, simulatedTransfer, yield* nowSeconds)
  const required = requiredBlocks(invoice, transfer.network)
  return entryAtDepth(entry, depthFor(confirmations, required, mode), required)
})

/** What is asked for, or what remains, on the route asked for or shown last. */
export const paymentEntry = Effect.fnUntraced(
  function*(context: SimulatorContext, current: Aggregate, request: Request) {
    const destination = yield* openDestination(context, current, request)
    const units = yield* requestedUnits(destination, destination.token.decimals, request)
    return yield* makeEntry(context, current, transferTo(destination, units), request.confirmations)
  }
)
