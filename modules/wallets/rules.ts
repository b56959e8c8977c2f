/** Receiving wallets: how one is shown, and what a new one must say. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import type { AddressConflict, WalletRef, WalletUse } from "../../runtime/Chains.ts"
import type { Environment, Family } from "../../schemas/Network.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { allowedFrom, pendingChangeObject, type Proposal } from "../../schemas/Proposals.ts"
import { type ReceivingWallet, shownAddresses, type WalletKind } from "../../schemas/Wallet.ts"

/** A merchant's wallet as it is kept. */
export interface WalletState {
  readonly id: string
  readonly kind: WalletKind
  /** As its owner gave it. Public parts only, and yet it tells every address: shown as a preview only. */
  readonly value: string
  /** Of a forwarder, 32 random bytes in hex: with the payee, which is its value, they make its addresses. */
  readonly seed: string | null
  /** The first address index to use: the wallet's counter never stands below it. */
  readonly startIndex: number
  /** Epoch seconds. */
  readonly createdAt: number
}

/** A wallet that waits to take the place of the one that receives. */
export type WalletProposal = Proposal<WalletState>

export const dueAt = (proposal: WalletProposal | null): number | null =>
  proposal === null ? null : allowedFrom(proposal)

/** A wallet and whose it is. */
export interface OwnedWallet {
  readonly merchantId: number
  readonly environment: Environment
  readonly family: Family
  readonly wallet: WalletState
}

/** Characters of a value that its preview shows at its start and at its end. */
const previewStart = 12
const previewEnd = 5

/**
 * Enough of a value to recognise it, never enough to use it.
 *
 * @example
 * preview("xpub6Ce9NcJvTk36xtLSrJLZ…snxqP") // => "xpub6Ce9NcJv…snxqP"
 */
export const preview = (value: string): string => {
  const text = value.trim()
  return text.length <= previewStart + previewEnd ? "…" : `${text.slice(0, previewStart)}…${text.slice(-previewEnd)}`
}

/**
 * The index a wallet's counter starts at, unless the deployment knows the wallet. Mainnet has to be told: nothing on
 * one chain proves that an address was never given to someone, and an address is never given to two invoices
 * (modules/docs/reference/wallets.md#the-first-index).
 */
export const startIndexOf = (
  environment: Environment,
  kind: WalletKind,
  startIndex: number | undefined,
  isKnown: boolean
): number | PublicError => {
  if (kind === "forwarder" && startIndex !== undefined) {
    return publicError("VALIDATION_ERROR", {
      message: "start_index: leave it out: the addresses of a forwarder are new with it, and it begins at 0",
      param: "start_index"
    })
  }
  return startIndex !== undefined || isKnown || environment === "devnet" || kind !== "xpub"
    ? startIndex ?? 0
    : publicError("VALIDATION_ERROR", {
      message:
        "start_index: on mainnet say 0 for an account never used, else one past the highest index your wallet shows",
      param: "start_index"
    })
}

/** What to do about an address of a wallet that cannot be its owner's. */
const remedies: Readonly<Record<WalletKind, string>> = {
  xpub: "give the key of another account",
  address: "give another address of yours",
  pool: "take it out of the list, or put a new address of yours in its place",
  forwarder: "set the wallet again, and it gets other addresses"
}

/**
 * Why a wallet is refused for one of its addresses, and what to do. It says which, never whose it is: that a merchant
 * could learn of another.
 *
 * @example
 * conflictMessage("pool", { reason: "in_use", index: 2, address: "0xf39F…" })
 * // => "entry 3 (0xf39F…) is already in use in this deployment: take it out of the list, or …"
 */
export const conflictMessage = (kind: WalletKind, conflict: AddressConflict): string => {
  if (conflict.reason === "too_many") {
    return `a merchant may name ${conflict.limit} addresses in all its lists together, and these would be more: give the ` +
      "public key of an account where the family has one, or go on with a list you gave before"
  }
  const { address, index, reason } = conflict
  const name = kind === "pool"
    ? `entry ${index + 1}`
    : kind === "xpub" || kind === "forwarder"
    ? `address ${index} of this ${kind === "xpub" ? "key" : "wallet"}`
    : "this address"
  const faults = {
    in_use: "is already in use in this deployment",
    given_out: "was given to an invoice of yours, so a payment without a memo would pay that one",
    shared: "is one that invoices of yours share, so a payment without a memo would pay the invoice that is given it"
  } as const
  return `${name} (${address}) ${faults[reason]}: ${remedies[kind]}`
}

/** The addresses shown of a wallet: of its first indices, fewer where it has fewer; its own where all share it. */
export const firstAddresses = (wallet: WalletRef): ReadonlyArray<string> =>
  wallet._tag === "SharedWallet"
    ? [wallet.address]
    : Array.from({ length: Math.min(shownAddresses, wallet.size ?? shownAddresses) }, (_, index) =>
      wallet.derive(index).address)

/** A wallet whose counter starts at `startIndex`, where it has one. */
export const startingAt = (wallet: WalletRef, startIndex: number): WalletRef =>
  wallet._tag === "SharedWallet" ? wallet : { ...wallet, startIndex }

/** The wallet on the wire. */
export const walletObject = (
  { environment, family, wallet }: OwnedWallet,
  addresses: ReadonlyArray<string>,
  use: WalletUse & { readonly addressesLeft: number | null },
  proposal: WalletProposal | null
): ReceivingWallet => ({
  id: wallet.id,
  family,
  kind: wallet.kind,
  environment,
  value_preview: preview(wallet.value),
  first_addresses: addresses,
  payee: wallet.kind === "forwarder" ? wallet.value : null,
  next_index: Math.max(use.nextIndex ?? 0, wallet.startIndex),
  highest_used_index: use.highestUsedIndex,
  addresses_left: use.addressesLeft,
  created_at: wallet.createdAt,
  pending_change: proposal === null ? null : pendingChangeObject(proposal)
})

/** What is kept of it in the audit log: enough to find out whether it was a certain one, not to use it. */
const auditedWallet = (wallet: WalletState | null, hashOf: (text: string) => string) =>
  wallet === null ? {} : {
    id: wallet.id,
    kind: wallet.kind,
    value_preview: preview(wallet.value),
    value_sha256: hashOf(wallet.value),
    start_index: wallet.startIndex
  }

/** What a change of an owner's wallet is, as the log keeps it. */
export interface WalletChange {
  readonly wallet: WalletState | null
  readonly proposal: WalletProposal | null
}

const auditedProposal = (proposal: WalletProposal | null, hashOf: (text: string) => string) =>
  proposal === null ? {} : {
    ...auditedWallet(proposal.change, hashOf),
    change_id: proposal.id,
    approved_by: proposal.approver
  }

const proposalVerb = (before: WalletProposal | null, after: WalletProposal | null): string => {
  if (after === null) return "cancel"
  if (after.id !== before?.id) return "propose"
  return after.approver !== null && after.approver !== before.approver ? "approve" : "update"
}

/**
 * The entries of a change: a wallet that was set or removed, and one that begins to wait, is approved or ends.
 * `hashOf`: SHA-256, hex.
 */
export const walletActsOf = (
  { environment, family, merchantId }: Omit<OwnedWallet, "wallet">,
  before: WalletChange,
  after: WalletChange,
  hashOf: (text: string) => string,
  actor: string,
  requestId: string | null
): ReadonlyArray<AuditAct> => {
  const common = { merchantId, environment, actor, subject: { object: "receiving_wallet", id: family }, requestId }
  const isSet = before.wallet !== after.wallet
  const waits = before.proposal
  const isInForce = waits !== null && after.proposal === null && after.wallet === waits.change
  const verb = proposalVerb(waits, after.proposal)
  return [
    ...(isSet
      ? [{
        ...common,
        action: after.wallet === null ? "wallet.remove" : "wallet.set",
        before: auditedWallet(before.wallet, hashOf),
        after: auditedWallet(after.wallet, hashOf)
      }]
      : []),
    ...(waits === after.proposal || isInForce
      ? []
      : [{
        ...common,
        action: `wallet.${verb}_change`,
        before: auditedProposal(waits, hashOf),
        after: auditedProposal(after.proposal, hashOf)
      }])
  ]
}
