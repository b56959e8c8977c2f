/**
 * What a person signs by approving that money goes out (modules/docs/reference/approvals.md#what-is-signed): one text,
 * made of the object as it is, so that a signature is of nothing else. Pure.
 */
import type { ApprovedObject } from "../../../schemas/Approval.ts"
import { formatUnits, usdDecimal } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { isoTime } from "../../../schemas/Time.ts"
import { sentUnits } from "./PaymentRefunds.ts"
import type { RefundState } from "./State.ts"

/** What is approved: whose it is, and what it says in words, a line each. */
export interface ApprovedContent {
  readonly object: ApprovedObject
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly lines: ReadonlyArray<readonly [name: string, value: string]>
}

/** Who approves, where, and by which challenge. */
export interface ApprovalTerms {
  readonly publicUrl: string
  readonly person: string
  readonly challenge: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** Seconds for which a challenge may be answered. */
export const approvalSeconds = 300

/**
 * A value on one line, of characters that look like nothing else: everything but printable ASCII is written as its
 * number, because names of tokens and memos are words of strangers.
 */
const plainly = (value: string): string =>
  value.replace(/[^\x20-\x7e]|\\/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)

/** The text to be signed: every line ends by a line feed, and nothing else is one. */
export const approvalText = (
  { environment, id, lines, merchantId, object }: ApprovedContent,
  { challenge, expiresAt, person, publicUrl }: ApprovalTerms
): string =>
  [
    "Approval that money goes out",
    "",
    ...[
      ["Service", publicUrl],
      ["Merchant", String(merchantId)],
      ["Environment", environment],
      [object === "refund" ? "Refund" : "Batch", id],
      ...lines,
      ["Approved by", person],
      ["Challenge", challenge],
      ["To be signed before", isoTime(expiresAt)]
    ].map(([name, value]) => `${name}: ${plainly(value!)}`),
    ""
  ].join("\n")

/** What of a refund is approved; null: it says not yet what is paid, or to where. */
export const approvedRefund = (
  { amount, destination, environment, id, merchantId, terms, token }: RefundState
): ApprovedContent | null => {
  if (terms === null || token === null || destination === null) return null
  const units = sentUnits(terms)
  return {
    object: "refund",
    id,
    merchantId,
    environment,
    lines: [
      ["Pays", `${formatUnits(units, token.decimals)} ${token.symbol}`],
      ["Token", terms.tokenAddress ?? "the network's own coin"],
      ["Units", units.toString()],
      ["Network", destination.network],
      ["To", destination.address],
      ["Memo", destination.memo ?? ""],
      ["Amount", `${usdDecimal(amount)} USD`]
    ]
  }
}
