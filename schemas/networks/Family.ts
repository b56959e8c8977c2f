/** Families of networks, and what all networks of one family have in common. */
import { Schema } from "effect"

/** The families, in the order in which tables and documents name them. */
export const families = ["evm", "solana", "ton", "sui", "cardano"] as const

/** Networks whose addresses are the same thing: one receive target per invoice serves a whole family. */
export const Family = Schema.Literals(families)
export type Family = typeof Family.Type

/** What every network of a family has in common. */
export interface FamilyFacts {
  /** Scheme of the links that wallets open (modules/docs/reference/payor-sessions.md#payment-links), without `:`. */
  readonly paymentUriScheme: string
  /** Whether a transfer carries a text for the receiver, in which exchanges expect an account's number. */
  readonly hasMemo: boolean
}

export const familyFacts: Readonly<Record<Family, FamilyFacts>> = {
  // EIP-681. An ERC-20 transfer has no field for a text.
  evm: { paymentUriScheme: "ethereum", hasMemo: false },
  // Solana Pay 1.1; the memo program (SPL).
  solana: { paymentUriScheme: "solana", hasMemo: true },
  // TON documentation, "Deep links"; the comment of a transfer.
  ton: { paymentUriScheme: "ton", hasMemo: true },
  // No settled standard; see `suiPaymentUri`.
  sui: { paymentUriScheme: "sui", hasMemo: false },
  // CIP-13. Metadata of a transaction is no field that exchanges ask for.
  cardano: { paymentUriScheme: "web+cardano", hasMemo: false }
}
