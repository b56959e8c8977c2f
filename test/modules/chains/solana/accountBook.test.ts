/** Goal: an account that has changed is asked until its node shows why, however far the node's index is behind. */
import { assert, describe, it } from "@effect/vitest"
import { makeAccountBook, maximumIndexLagSlots, overlapSlots } from "../../../../modules/chains/solana/AccountBook.ts"

const wallet = "wallet"

/** A book in which the wallet was looked at, and has changed at slot 1,000. */
const changedBook = () => {
  const book = makeAccountBook()
  book.add([wallet], 900n)
  book.observe(wallet, "1", 900n)
  book.onListed(wallet, 950n, true)
  book.onListed(wallet, 990n, false)
  book.observe(wallet, "2", 1_000n)
  return book
}

/** Looks every 5 slots that list nothing new. */
const listNothing = (book: ReturnType<typeof makeAccountBook>, from: bigint, to: bigint) => {
  for (let head = from; head < to; head += 5n) {
    book.due([wallet], head)
    book.onListed(wallet, head, false)
  }
}

describe("accounts of Solana to be asked", () => {
  it("are asked from where they changed until the transaction is shown, 400 slots later too", () => {
    const book = changedBook()
    listNothing(book, 1_000n, 1_400n)
    const [account] = book.due([wallet], 1_400n).accounts
    assert.isAtMost(Number(account!.from), 1_000)
    book.onListed(wallet, 1_400n, true)
    book.due([wallet], 1_405n)
    book.onListed(wallet, 1_405n, false)
    assert.deepStrictEqual(book.due([wallet], 1_410n).accounts, [])
  })

  it("are given up after an hour, and swept as any other", () => {
    const book = changedBook()
    const end = 1_000n + maximumIndexLagSlots
    listNothing(book, 1_000n, end + 10n)
    assert.deepStrictEqual(book.due([wallet], end + 10n).accounts, [])
    assert.isAtLeast(Number(book.due([wallet], end + 100n).accounts[0]!.from), Number(end - overlapSlots))
  })
})
