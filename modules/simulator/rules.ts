/**
 * What play money does to an invoice and to its order: how much a simulated transfer carries, and what its chain tells
 * of it. Pure. A simulated transfer is an entry of the journal like every other, but in no block that a chain has: no
 * follower of the network finds it, confirms it or takes it back, so it stays as the simulator left it.
 */
import type { JournalEntry, ReceiveTarget } from "../../runtime/Chains.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import {
  type BaseUnits,
  baseUnits,
  formatUnits,
  parseUnits,
  readRate,
  tokenAmountUp,
  type UsdMillis,
  usdMillis
} from "../../schemas/Money.ts"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import { playMoneyHash, playMoneySender } from "../../schemas/PlayMoney.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Shipment } from "../../schemas/Order.ts"
import type { OrderState } from "../commerce/plugin.ts"
import type { Aggregate, Command, InvoiceState } from "../invoices/plugin.ts"
import type { Destination, RefundCommand, RefundState } from "../refunds/plugin.ts"

/** Play money is on devnet only. */
export const environment: Environment = "devnet"

/** What the simulator can do to an invoice: modules/docs/reference/simulator.md. */
export const invoiceActions = [
  "pay",
  "partial",
  "overpay",
  "late",
  "confirm",
  "reorg",
  "drop",
  "wrong_token",
  "wrong_network",
  "missing_memo",
  "unmatched",
  "duplicate",
  "dust",
  "expire",
  "settle",
  "fail_settlement"
] as const
export type InvoiceAction = (typeof invoiceActions)[number]

/**
 * Base units of a simulated transfer where the caller names no amount; `quotedUnits` pays what remains. A part is half
 * of it, too much is a tenth more; both rounded up, so that one base unit is a payment too.
 *
 * @example
 * simulatedUnits("partial", baseUnits(5n)) // => 3n
 * simulatedUnits("overpay", baseUnits(5n)) // => 6n
 */
export const simulatedUnits = (action: InvoiceAction, quotedUnits: BaseUnits): BaseUnits => {
  switch (action) {
    case "partial":
      return baseUnits((quotedUnits + 1n) / 2n)
    case "overpay":
      return baseUnits(quotedUnits + (quotedUnits + 9n) / 10n)
    default:
      return quotedUnits
  }
}

/**
 * Base units that a request sends: its own amount of usd_millis at the quote, else what the action makes of the quoted
 * amount. Errors: `QUOTE_UNAVAILABLE`.
 */
export const unitsFor = (
  quote: Quote,
  decimals: number,
  { action, amount }: { readonly action: InvoiceAction; readonly amount?: number | undefined }
): BaseUnits | PublicError => {
  const rate = quote.exchange_rate === null ? undefined : readRate(quote.exchange_rate)
  const remainingAmount = quote.estimated_token_amount_remaining
  const quotedUnits = remainingAmount === null ? undefined : parseUnits(remainingAmount, decimals)
  if (quotedUnits === undefined || rate === undefined) {
    return publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: 15 })
  }
  return amount === undefined
    ? simulatedUnits(action, quotedUnits)
    : tokenAmountUp(usdMillis(BigInt(amount)), rate, decimals)
}

/**
 * The quote of an invoice whose token gets no new one, for what remains by now: since it was made, a part may have been
 * paid. The amount is rounded up, as in every quote.
 */
export const quoteOfRest = (quote: Quote, amountRemaining: UsdMillis, decimals: number): Quote => {
  const rate = quote.exchange_rate === null ? undefined : readRate(quote.exchange_rate)
  return rate === undefined ? quote : {
    ...quote,
    estimated_token_amount_remaining: formatUnits(tokenAmountUp(amountRemaining, rate, decimals), decimals)
  }
}

/** How a network is to one merchant: it gives no answer, its blocks come late, or as it is. */
export type NetworkMode = "down" | "lagging" | "ok"

/** How deep a transfer's block is: as is asked for; else as deep as it must be, where the network does not lag. */
export const depthFor = (requested: number | undefined, required: number, mode: NetworkMode): number =>
  requested ?? (mode === "lagging" ? 0 : required)

/**
 * A network that the invoice does not take although its address is good there: the one asked for, else the first.
 * `networks` are all that are followed.
 */
export const networkNotAccepted = (
  networks: ReadonlyArray<Network>,
  accepted: ReadonlyArray<Network>,
  addressNetwork: Network,
  requested: Network | undefined
): Network | undefined =>
  networks.find((network) =>
    familyOf(network) === familyOf(addressNetwork) && !accepted.includes(network) && (requested ?? network) === network
  )

/**
 * The height of a simulated block in the journal. It is negative, so below every block that a follower looks at;
 * without its sign it is the height that the payment shows.
 */
const simulatedHeight = (displayedHeight: bigint): bigint => -displayedHeight

const isSimulated = ({ height }: Pick<JournalEntry, "height">): boolean => height < 0n

/** As the network's family names transactions; `random` holds at least 32 bytes in hex. */
const hashOf = (network: Network, random: string): string =>
  playMoneyHash(network, random.replaceAll("-", "").slice(0, 64))

/** A simulated transfer, before anybody has seen it. */
export interface SimulatedTransfer {
  readonly network: Network
  readonly tokenAddress: string | null
  readonly units: BaseUnits
  readonly target: ReceiveTarget
  /** Two UUIDs of their own: the transaction and the block are named by them. The first sorts by time. */
  readonly transaction: string
  readonly block: string
  /** The height of that block as the payment shows it, at least 1. */
  readonly height: bigint
}

/** Its entry of the journal: seen, and `now` is its block's time too. */
export const seenEntry = (
  { id: invoiceId, merchantId }: Pick<InvoiceState, "id" | "merchantId">,
  environment: Environment,
  transfer: SimulatedTransfer,
  now: number
): JournalEntry => {
  const txHash = hashOf(transfer.network, transfer.transaction)
  const index = transfer.tokenAddress === null ? 0 : 1
  return {
    id: `${transfer.network}:${environment}:${txHash}:${index}`,
    network: transfer.network,
    environment,
    txHash,
    index,
    kind: "direct",
    merchantId,
    invoiceId,
    matchKey: transfer.target.matchKey,
    tokenAddress: transfer.tokenAddress,
    amount: transfer.units,
    from: playMoneySender(transfer.network),
    height: simulatedHeight(transfer.height),
    blockHash: hashOf(transfer.network, transfer.block),
    blockTime: now,
    observedAt: now,
    status: "seen",
    handledStatus: "none",
    requiredDepth: null,
    confirmations: 0,
    attempts: 0,
    version: 0
  }
}

/** The same transfer where no invoice is meant: the merchant of its wallet is concerned, and it is deep enough. */
export const unmatchedEntry = (
  entry: JournalEntry,
  { matchKey, merchantId }: Pick<JournalEntry, "matchKey" | "merchantId">,
  required: number
): JournalEntry => confirmedEntry({ ...entry, invoiceId: null, matchKey, merchantId }, required)

/** The same transaction in another block, one higher: what it was in is no part of the chain any more. */
export const reincludedEntry = (entry: JournalEntry, block: string, now: number): JournalEntry => ({
  ...entry,
  height: entry.height - 1n,
  blockHash: hashOf(entry.network, block),
  blockTime: now,
  status: "seen",
  confirmations: 0
})

/** Its block has as many on top of it. */
export const confirmedEntry = (entry: JournalEntry, confirmations: number): JournalEntry => ({
  ...entry,
  status: "confirmed",
  confirmations
})

/** The entry at this depth: confirmed from the required depth on, else as it was seen. */
export const entryAtDepth = (entry: JournalEntry, depth: number, required: number): JournalEntry =>
  depth < required ? entry : confirmedEntry(entry, depth)

/** It is on the chain no more. */
export const revertedEntry = (entry: JournalEntry): JournalEntry => ({ ...entry, status: "reverted" })

/** Names of transactions by the time they were sent, which their digits begin with. */
const compareHashes = (one: string, other: string): number =>
  one.length === other.length ? (one < other ? -1 : 1) : one.length - other.length

/** The newest simulated transfer that `fits`. */
export const newestEntry = (
  journal: ReadonlyArray<JournalEntry>,
  fits: (entry: JournalEntry) => boolean
): JournalEntry | undefined =>
  journal.filter((entry) => isSimulated(entry) && fits(entry))
    .toSorted((one, other) => compareHashes(one.txHash, other.txHash))
    .at(-1)

/** The simulated transfers that are seen and not deep enough. */
export const pendingEntries = (journal: ReadonlyArray<JournalEntry>): ReadonlyArray<JournalEntry> =>
  journal.filter((entry) => isSimulated(entry) && entry.status === "seen")

/** Steps of an order (modules/docs/reference/simulator.md#order-transitions). */
export const orderTransitions = [
  "payment_confirmed",
  "payment_settled",
  "placed",
  "shipped",
  "delivery_confirmed",
  "failed",
  "cancelled",
  "cancellation_rejected",
  "refunded"
] as const
export type OrderTransition = (typeof orderTransitions)[number]

/** What steps are asked about. */
export type OrderProgress = Pick<OrderState, "status" | "substatus" | "received" | "refunded">

/** Waits for its payments to be settled, or for an operator who settles them. */
export const isAwaitingSettlement = ({ substatus }: Pick<OrderState, "substatus">): boolean =>
  substatus === "AWAITING_SETTLEMENT" || substatus === "SETTLEMENT_REVIEW"

/**
 * Steps that an order can take now (modules/docs/reference/simulator.md#order-transitions).
 *
 *   payment_confirmed      pending_payment
 *   payment_settled        processing, AWAITING_SETTLEMENT
 *   placed                 processing, PROVIDER_PLACEMENT_SUBMITTED
 *   shipped                placed
 *   delivery_confirmed     shipped
 *   failed                 processing
 *   cancelled              placed
 *   cancellation_rejected  placed, CANCELLATION_REQUESTED
 *   refunded               cancelled and failed, while something of what was paid is to be given back
 */
export const allowedTransitions = (order: OrderProgress): ReadonlyArray<OrderTransition> => {
  switch (order.status) {
    case "pending_payment":
      return ["payment_confirmed"]
    case "processing":
      if (order.substatus === "AWAITING_SETTLEMENT") return ["payment_settled", "failed"]
      return order.substatus === "PROVIDER_PLACEMENT_SUBMITTED" ? ["placed", "failed"] : ["failed"]
    case "placed":
      return order.substatus === "CANCELLATION_REQUESTED"
        ? ["shipped", "cancelled", "cancellation_rejected"]
        : ["shipped", "cancelled"]
    case "shipped":
      return ["delivery_confirmed"]
    case "delivered":
      return []
    case "cancelled":
    case "failed":
      return order.received > order.refunded ? ["refunded"] : []
  }
}

/** What the simulated retailer calls an order. */
export const providerOrderIdOf = (orderId: string): string => `sim_${orderId}`

/** What brought a payment's money to the merchant, or a refund's to the payor: 64 hex digits that only this one has. */
export const payoutTxHash = (id: string): string => `0x${id.replace(/^.*_/, "").replaceAll("-", "").repeat(2)}`

/** Everything in one parcel, on its way since `now`; known by the id the simulated retailer gives it. */
export const shipmentOf = (
  { id, items }: Pick<OrderState, "id" | "items">,
  tracking: { readonly carrier: string | null; readonly number: string | null } | null,
  now: number
): Shipment => ({
  shipment_id: `ship_${id}`,
  carrier: tracking?.carrier ?? "Simulated Parcel",
  tracking_number: tracking?.number ?? `SIM${id.replaceAll("-", "").slice(0, 16).toUpperCase()}`,
  carrier_tracking_url: null,
  delivery_status: "in_transit",
  retailer_tracking_number: null,
  retailer_tracking_url: null,
  obtained_at: now,
  line_item_ids: items.map(({ lineItemId }) => lineItemId)
})

/** Where the order wants its refunds, for one that waits to be told. */
export const waitingDestination = (
  { status }: Pick<RefundState, "status">,
  { refundDestination }: Pick<OrderState, "refundDestination">
): Destination | null => status === "awaiting_destination" ? refundDestination : null

/** The next step of a refund towards its payout; `destination` null: it goes where it went. Null: there is none. */
export const payoutStep = (refund: RefundState, destination: Destination | null): RefundCommand | null => {
  const isSending = refund.status === "processing"
  if (destination !== null && !isSending && refund.status !== "succeeded") {
    return { _tag: "SetDestination", destination }
  }
  switch (refund.status) {
    case "pending_approval":
      return { _tag: "Approve" }
    case "failed":
      return { _tag: "Retry" }
    case "processing":
      return { _tag: "Succeed", txHash: refund.txHash ?? payoutTxHash(refund.id) }
    default:
      return null
  }
}

/** The payments once a payout has given so much of each back: what the next payout is made of. */
export const withRefundedAmounts = (current: Aggregate, commands: ReadonlyArray<Command>): Aggregate => ({
  ...current,
  payments: current.payments.map((payment) =>
    commands.reduce((each, command) =>
      command._tag === "Refund" && command.paymentId === each.id
        ? { ...each, refunded: usdMillis(each.refunded + command.amount) }
        : each, payment)
  )
})
