/** What all networks of one family have in common. A family's own facts are in `families/`, or with its only network. */
import type { Environment } from "./Environment.ts"

/** Networks whose addresses are the same thing: one receive target per invoice serves a whole family. Pure. */
export interface NetworkFamily<Name extends string = string, TokenType extends string = string> {
  /** What calls, events and the database call it. Never changed once it is released. */
  readonly name: Name
  /** Scheme of the links that wallets open (modules/docs/reference/payor-sessions.md#payment-links), without `:`. */
  readonly paymentUriScheme: string
  /** Whether a transfer carries a text for the receiver, in which exchanges expect an account's number. */
  readonly hasMemo: boolean
  /** What the API calls the type of its tokens beside the coin; null: only the coins are taken. */
  readonly tokenType: TokenType | null
  /**
   * An address of a wallet, of at most 128 characters, in the one form it is kept in; null when it is none, is of the
   * other environment where the form tells, or is one that nobody can own.
   */
  readonly readAddress: (text: string, environment: Environment) => string | null
  /** The match key of payments to an address, in the form of `readAddress`, that are told apart by no memo. */
  readonly accountKey: (address: string) => string
  /**
   * Texts beside the match key of a target that are among the {@link addressKeys} of every other form in which its
   * owner has the address: none where every form gives the match key.
   */
  readonly ownerKeys: (target: { readonly address: string; readonly memo: string | null }) => ReadonlyArray<string>
  /** What an address, in the form of `readAddress`, is looked up by among match keys and {@link ownerKeys}. */
  readonly addressKeys: (address: string) => ReadonlyArray<string>
  /**
   * Whether somebody's key can sign for an address, in the form of `readAddress`; true where the address does not tell.
   * What is sent to a token account, or to another account of a program, as if it were a wallet is lost.
   */
  readonly isWallet: (address: string) => boolean
  /** Addresses for which nobody has a key, in the form of `accountKey`; absent: none that is told apart. */
  readonly burnAddresses?: ReadonlyArray<string>
  /** Contracts that this service pays and collects with, in the form of `accountKey`; absent: it has none there. */
  readonly ownContracts?: ReadonlyArray<string>
  /** The account that a token's address names, in the form of `accountKey`; null: it names none. */
  readonly contractKey: (tokenAddress: string) => string | null
  /**
   * A token's address in the one spelling in which drivers tell of it and the journal keeps it; null when it is none.
   * Every spelling of one address gives the same. No case of letters is taken for a checksum: chains tell bytes.
   */
  readonly tokenAddress: (text: string) => string | null
  /**
   * A text that all spellings of one token's address share, and no two tokens; of what is no address, any text. It is
   * in the database: a change of it renumbers tokens. The catalogue asks for thousands at once, so it must be cheap.
   */
  readonly tokenKey: (text: string) => string
  /** Whether hashes and match keys that differ only in the case of letters are two. Not so where they are hex. */
  readonly isCaseSensitive: boolean
  /** A transaction's hash in the one spelling in which drivers tell of it; null when no transaction can have it. */
  readonly readTransactionHash: (text: string) => string | null
  /** How such a hash is written, for messages: what follows "write". */
  readonly transactionHashForm: string
  /** What stands before the digits of a hash that is written in hex. */
  readonly hashPrefix: string
}
