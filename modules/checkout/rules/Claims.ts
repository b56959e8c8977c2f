/** The claim page of a refund: which screen a payor sees, and what is wrong with an address. Pure. */
import { readAddress } from "../../../schemas/Address.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { Environment, type Network, networks } from "../../../schemas/Network.ts"
import type { Branding } from "../../../schemas/MerchantSettings.ts"
import { type ClaimedRefund, type RefundWallet, type RefusedAddress, refusedAddressOf } from "../../payments/plugin.ts"

/** What the page is about (`pages/ClaimScreens.ts`). */
export type ClaimScreen =
  | "address"
  | "check"
  | "approval"
  | "processing"
  | "paid"
  | "failed"
  | "expired"
  | "canceled"
  | "unaddressed"

/** Why an address or its memo is not taken; `unchecked`: nobody can say now whether it would be. */
export type ClaimProblem = RefusedAddress | "wrong_address" | "other_network" | "wrong_memo" | "unchecked"

/** What a form of the page asks for. */
export interface ClaimAction {
  /** `edit`: back from the second look. */
  readonly name: "open" | "check" | "edit" | "claim"
  readonly wallet: RefundWallet
}

/** Everything a screen is rendered from. */
export interface ClaimView {
  readonly screen: ClaimScreen
  readonly refund: ClaimedRefund
  readonly environment: Environment
  readonly merchant: string
  readonly branding: Pick<Branding, "accent" | "support_email"> & { readonly logo_uri: string | null }
  /** What the invoice says it is for; null: nothing. */
  readonly order: string | null
  readonly explorerUrl: string | null
  /** The address in the field, or under the second look. */
  readonly entered: RefundWallet
  readonly problem: ClaimProblem | null
  /** Whether another address stays than the one that was just confirmed. */
  readonly isOther: boolean
}

/** What a refund comes to whose destination cannot be said by the link. */
const closedScreens: Readonly<Record<ClaimedRefund["status"], ClaimScreen>> = {
  awaiting_destination: "unaddressed",
  pending_approval: "approval",
  processing: "processing",
  succeeded: "paid",
  failed: "failed",
  expired: "expired",
  canceled: "canceled"
}

/** The screen of a refund; `isChecked`: there is an address to look at a second time. */
export const claimScreenOf = (
  { canClaim, status }: Pick<ClaimedRefund, "canClaim" | "status">,
  isChecked: boolean
): ClaimScreen => canClaim ? isChecked ? "check" : "address" : closedScreens[status]

/** Whether a text is an address of any network but this one, on mainnet or devnet. */
const isOfOtherNetwork = (text: string): boolean =>
  networks.some((network) =>
    Environment.literals.some((environment) => readAddress(network, environment, text) !== null)
  )

/** What of an error the payor can put right in the form; null: nothing, the page cannot go on. */
export const claimProblemOf = (error: PublicError, address: string): ClaimProblem | null => {
  switch (error.code) {
    case "WALLET_ADDRESS_INVALID":
      return refusedAddressOf(error) ?? (isOfOtherNetwork(address) ? "other_network" : "wrong_address")
    case "VALIDATION_ERROR":
      return error.param === "memo" ? "wrong_memo" : null
    case "NETWORK_DEGRADED":
    case "SERVICE_UNAVAILABLE":
      return "unchecked"
    default:
      return null
  }
}

/** Whether a wallet, as somebody typed it, is the one that is kept. */
export const isSameWallet = (
  { address, memo }: RefundWallet,
  kept: RefundWallet | null,
  network: Network,
  environment: Environment
): boolean => kept !== null && readAddress(network, environment, address) === kept.address && memo === kept.memo
