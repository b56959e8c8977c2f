/** What the payment page shows: pure rules over the bodies that the payor's API answers. */
import type { Network } from "../../schemas/Network.ts"
import type { AvailableToken, PaymentAddress, SessionDetails } from "../payments/api.ts"

/** What the page is about at a moment; each has a heading and one main action (`pages/Screens.ts`). */
export type Screen =
  | "choose"
  | "waiting"
  | "quote_ended"
  | "no_price"
  | "confirming"
  | "partial"
  | "paid"
  | "overpaid"
  | "expired"
  | "late"
  | "expired_partial"
  | "canceled"
  | "reversed"
  | "rejected"

/** What a form of the page asks for. */
export type SimulatedPayment = "pay" | "partial" | "overpay" | "late"

/** Everything a page is drawn from: bodies of the payor's API, and what the merchant and the payor chose. */
export interface View {
  readonly screen: Screen
  readonly details: typeof SessionDetails.Type
  /** The ways to pay, for the list; empty where the screen has none. */
  readonly tokens: ReadonlyArray<typeof AvailableToken.Type>
  /** What `available-tokens` would cost each: decimal token amounts by token id, where there is a price. */
  readonly estimates: ReadonlyMap<number, string>
  /** Whether it can be paid now; while it can, an address may be shown. */
  readonly payable: boolean
  /** The route the payor chose, with the amount that remains; null before, and when the invoice is not payable. */
  readonly address: typeof PaymentAddress.Type | null
  /** The chosen route's token, also for a screen without `tokens`. */
  readonly token: { readonly id: number; readonly symbol: string; readonly network: Network; readonly decimals: number } | null
  /** The token preselected in the list: chosen before, here or at this merchant. */
  readonly preselected: number | null
  /** Whether several ways are left to choose from, so that "use another currency" leads somewhere. */
  readonly canChange: boolean
  readonly allowRestart: boolean
  /** Where "return" leads: the merchant's address with `invoice_id` and `status`; null: nowhere. */
  readonly returnUrl: string | null
  /** Networks of the invoice that have trouble now. */
  readonly degraded: boolean
  /** Whether the drawer that pays with play money is there. */
  readonly simulator: boolean
  /** What became of the refund address that was just sent. */
  readonly refund: "saved" | "refused" | null
  readonly tab: "link" | "address"
  /** Epoch seconds. */
  readonly now: number
  /** `{base}/pay/<invoice id>`, with the path of the public URL. */
  readonly path: string
  /** `?session_token=…&signature=…` where the cookie did not come back, else empty. */
  readonly query: string
  /** `wss://…/ws/payment?format=event_v1&token=…`; null: nothing to follow any more. */
  readonly socketUrl: string | null
}
