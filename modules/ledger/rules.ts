/** The rules of the books: accounts, where money is, what a move of it books, and how that is shown. Pure. */
export { type BookOwner, readAsset } from "./rules/Accounts.ts"
export {
  assignedIn,
  bookChange,
  bookUnmatched,
  type NameTransaction,
  openingFact,
  transactionOfException
} from "./rules/InvoiceBookings.ts"
export { deltasOf, type Group, nothingBooked, type Postings, type Source } from "./rules/Moves.ts"
export {
  type AccountBalance,
  type AssetToken,
  balanceObject,
  type StoredEntry,
  type StoredTransaction,
  transactionObject
} from "./rules/Wire.ts"
