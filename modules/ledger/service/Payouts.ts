/** Books money that wallets have sent, in the commit of whoever saw that they did. */
import { Effect } from "effect"
import type { BookEntries, Bookkeeper } from "../../../runtime/Books.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import type { UnmatchedChange } from "../../invoices/plugin.ts"
import type { Repo } from "../repo.ts"
import {
  assetOf,
  type BookOwner,
  bookPayout,
  bookSentByException,
  type NameTransaction,
  payoutTransaction,
  type Postings,
  sentByException,
  type SentMoney,
  sentValue,
  takenFromHeld
} from "../rules.ts"

export interface SentServices {
  readonly clock: MerchantClock["Service"]
  readonly repo: Repo
  readonly nameTransaction: NameTransaction
  /** What a booking adds to a commit. */
  readonly book: (owner: BookOwner, nowMillis: number, booking: Postings) => BookEntries
}

const nothing: BookEntries = { writes: [], balances: [], events: [] }

/** What money is worth in the books as it leaves. */
const valueOf = ({ repo }: { readonly repo: Repo }, owner: BookOwner, sent: SentMoney) =>
  Effect.map(
    repo.balances(owner),
    (balances) => sentValue(sent, balances.filter(({ asset }) => asset === sent.asset))
  )

/** The {@link Bookkeeper} that the ledger registers. */
export const payoutBooks = (services: SentServices): Bookkeeper => ({
  payout: Effect.fnUntraced(function*({ environment, id, merchantId, network, tokenAddress, units, wallet }) {
    const { book, clock, nameTransaction, repo } = services
    const owner = { merchantId, environment }
    if (units === 0n || (yield* repo.find(owner, payoutTransaction(id, nameTransaction))) !== null) return nothing
    const sent = { asset: assetOf(network, { address: tokenAddress }, null), wallet, units }
    const value = yield* valueOf(services, owner, sent)
    const nowMillis = yield* clock.nowMillis(merchantId, environment)
    const now = Math.floor(nowMillis / 1_000)
    const entries = book(owner, nowMillis, bookPayout(id, sent, value, now, nameTransaction))
    return { ...entries, balances: takenFromHeld(entries.balances, { units: false }) }
  })
})

/** What a change of an exception about money that was sent adds to its commit. */
export const bookSentMoney = Effect.fnUntraced(function*(
  services: SentServices,
  { after, now, nowMillis }: UnmatchedChange
) {
  const { book, nameTransaction, repo } = services
  const { exception, merchantId } = after
  const sent = sentByException(exception)
  if (sent === null) return nothing
  const stored = yield* repo.ofSource(merchantId, exception.id)
  const usdMillis = yield* valueOf(services, after, sent)
  return book(
    after,
    nowMillis,
    bookSentByException(exception, { stored, usdMillis, now, nameTransaction })
  )
})
