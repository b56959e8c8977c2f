/** An account's transactions since a slot, page by page, without a gap. */
import { Effect } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { contradiction, type ListedTransaction, readSignatures, signaturesPerPage } from "./Node.ts"

/** Transactions of the first page: an account that was listed lately has few new ones. */
const firstPage = 20

/** Transactions of a page, at least: a provider that refuses so few has another reason than the length. */
const shortestPage = 5

/** Transactions listed of one account at once, at most: one in a second for 4 days, which no merchant's wallet has. */
const maximumListed = 400_000

/** A page, shorter where the node says that it would be too long; and how long it could be. */
const readPage = (
  node: JsonRpcClient,
  account: string,
  limit: number,
  before: string | null
): Effect.Effect<{ readonly page: ReadonlyArray<ListedTransaction>; readonly limit: number }, DriverError> =>
  readSignatures(node, account, limit, before).pipe(
    Effect.map((page) => ({ page, limit })),
    Effect.catch((error) =>
      error.kind === "too_large" && limit > shortestPage
        ? readPage(node, account, Math.max(shortestPage, Math.floor(limit / 4)), before)
        : Effect.fail(error)
    )
  )

const isNewestFirst = (page: ReadonlyArray<ListedTransaction>): boolean =>
  page.every(({ slot }, place) => place === 0 || slot <= page[place - 1]!.slot)

/**
 * Transactions that name an account, in slots from `from` on, newest first. A page begins with the last transaction of
 * the one before it: a node that does not know the signature it is asked to go on from answers with none, or with its
 * newest, and both would look like an end. So no page is asked for `until` a signature either
 * (solana.com/docs/rpc/http/getsignaturesforaddress).
 */
export const listSince = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  account: string,
  from: bigint
): Effect.fn.Return<ReadonlyArray<ListedTransaction>, DriverError> {
  const listed: Array<ListedTransaction> = []
  let limit = firstPage
  while (listed.length < maximumListed) {
    const before = listed.at(-2)?.signature ?? null
    const read = yield* readPage(node, account, limit, before)
    const { page } = read
    if (!isNewestFirst(page)) {
      return yield* contradiction(node, "getSignaturesForAddress", "the transactions are in no order")
    }
    if (before !== null && page[0]?.signature !== listed.at(-1)!.signature) {
      return yield* contradiction(node, "getSignaturesForAddress", "a page does not go on where the last one ended")
    }
    const older = before === null ? page : page.slice(1)
    listed.push(...older)
    const last = listed.at(-1)
    // Some providers give fewer than they were asked for: only where nothing older comes has a long page ended.
    const isEnd = older.length === 0 || (read.limit <= firstPage && page.length < read.limit)
    if (isEnd || last === undefined || last.slot < from) return listed.filter(({ slot }) => slot >= from)
    limit = read.limit < limit ? read.limit : signaturesPerPage
  }
  return yield* contradiction(node, "getSignaturesForAddress", `more than ${maximumListed} transactions of one account`)
})
