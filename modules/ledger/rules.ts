/** The rules of the books: accounts, where money is, what a move of it books, and how that is shown. Pure. */
export {
  accounts,
  assetOf,
  type BookOwner,
  chainAccount,
  chainPrefix,
  isChainAccount,
  readAsset,
  takenFromHeld,
  unknownWallet
} from "./rules/Accounts.ts"
export { accountSums } from "./rules/AccountSums.ts"
export { type Adjustment, bookAdjustment, bookValue, hasIgnored } from "./rules/Adjustments.ts"
export { createdEvents } from "./rules/Events.ts"
export { assignedIn, bookChange, bookUnmatched, openingFact, transactionOfException } from "./rules/InvoiceBookings.ts"
export {
  combine,
  deltasOf,
  type Group,
  type NameTransaction,
  nothingBooked,
  type Postings,
  type Source
} from "./rules/Moves.ts"
export {
  bookPayout,
  bookSentByException,
  isAboutSentMoney,
  payoutTransaction,
  sentByException,
  type SentMoney,
  sentValue
} from "./rules/Payouts.ts"
export { beforeRefunds, bookRefund, bookUnmatchedRefund, refundsIn } from "./rules/RefundBookings.ts"
export { refundEntriesIn, type RefundEntry, takenOfPayments } from "./rules/RefundsTaken.ts"
export { settledAccount, settledEnd, settlementObject, settlementPrefix } from "./rules/Settlements.ts"
export {
  type AccountBalance,
  type AssetToken,
  balanceObject,
  type StoredEntry,
  type StoredTransaction,
  type TokenOfAsset,
  transactionObject
} from "./rules/Wire.ts"
