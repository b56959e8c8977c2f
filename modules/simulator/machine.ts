/**
 * What play money does to an invoice: how much a simulated transfer carries, and what its chain tells of it. Pure. A
 * simulated transfer is an entry of the journal like every other, but in no block that a chain has: no follower of the
 * network finds it, confirms it or takes it back, so it stays as the simulator left it.
 */
import type { JournalEntry, ReceiveTarget } from "../../runtime/Chains.ts"
import { type BaseUnits, baseUnits } from "../../schemas/Money.ts"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import type { InvoiceState } from "../invoices/plugin.ts"
import type { SimulateRequest } from "./api.ts"

export type InvoiceAction = (typeof SimulateRequest.Type)["action"]

/**
 * Base units of a simulated transfer where the caller names no amount; `asked` pays what remains. A part is half of it,
 * too much is a tenth more; both rounded up, so that one base unit is a payment too.
 *
 * @example
 * simulatedUnits("partial", baseUnits(5n)) // => 3n
 * simulatedUnits("overpay", baseUnits(5n)) // => 6n
 */
export const simulatedUnits = (action: InvoiceAction, asked: BaseUnits): BaseUnits => {
  switch (action) {
    case "partial":
      return baseUnits((asked + 1n) / 2n)
    case "overpay":
      return baseUnits(asked + (asked + 9n) / 10n)
    default:
      return asked
  }
}

/** Below every block that a follower looks at, and told as the payment's `block_number`. */
const noBlock = 0n

/** The wallet that simulated transfers come from: that of `chains/simulated`. */
const payor = `0x${"51".repeat(20)}`

/** A contract that no catalogue lists. */
export const unknownContract = `0x${"de".repeat(20)}`

/** 64 hex digits, as the transactions and blocks of the EVM networks and TON have; `random` holds at least 32 bytes. */
const hashOf = (network: Network, random: string): string => {
  const digits = random.replaceAll("-", "").slice(0, 64)
  return familyOf(network) === "evm" ? `0x${digits}` : digits
}

/** A simulated transfer, before anybody has seen it. */
export interface Sent {
  readonly network: Network
  readonly tokenAddress: string | null
  readonly units: BaseUnits
  readonly target: ReceiveTarget
  /** Two UUIDs of their own: the transaction and the block are named by them. The first sorts by time. */
  readonly transaction: string
  readonly block: string
}

/** Its entry of the journal: seen, and `now` is its block's time too. */
export const seen = (
  { id: invoiceId, merchantId }: Pick<InvoiceState, "id" | "merchantId">,
  environment: Environment,
  sent: Sent,
  now: number
): JournalEntry => {
  const txHash = hashOf(sent.network, sent.transaction)
  const index = sent.tokenAddress === null ? 0 : 1
  return {
    id: `${sent.network}:${environment}:${txHash}:${index}`,
    network: sent.network,
    environment,
    txHash,
    index,
    kind: "direct",
    merchantId,
    invoiceId,
    matchKey: sent.target.matchKey,
    tokenAddress: sent.tokenAddress,
    amount: sent.units,
    from: payor,
    height: noBlock,
    blockHash: hashOf(sent.network, sent.block),
    blockTime: now,
    observedAt: now,
    status: "seen",
    handled: "none",
    required: null,
    confirmations: 0,
    attempts: 0,
    version: 0
  }
}

/** The same transaction in another block: what it was in is no part of the chain any more. */
export const moved = (entry: JournalEntry, block: string, now: number): JournalEntry => ({
  ...entry,
  blockHash: hashOf(entry.network, block),
  blockTime: now,
  status: "seen",
  confirmations: 0
})

/** Its block has as many on top of it. */
export const deep = (entry: JournalEntry, confirmations: number): JournalEntry => ({
  ...entry,
  status: "confirmed",
  confirmations
})

/** It is on the chain no more. */
export const gone = (entry: JournalEntry): JournalEntry => ({ ...entry, status: "reverted" })

/** The newest simulated transfer that `fits`; hashes of transactions sort by the time they were sent. */
export const newest = (
  journal: ReadonlyArray<JournalEntry>,
  fits: (entry: JournalEntry) => boolean
): JournalEntry | undefined =>
  journal.filter((entry) => entry.height === noBlock && fits(entry))
    .toSorted((a, b) => (a.txHash < b.txHash ? -1 : 1))
    .at(-1)
