/** What wallets hold in the newest finalized slot: their coins, and what is in their token accounts. */
import { base58 } from "@scure/base"
import { Effect } from "effect"
import { type DriverError, DriverError as Failure, type FinalBalances } from "../../../runtime/Chains.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { associatedTokenAccount, clockSysvar, tokenPrograms } from "./Addresses.ts"
import { type AccountSnapshot, accountsPerCall, headOf, readAccounts, readSignatures, readTransaction } from "./Node.ts"
import { hasSpent, Key } from "./Transactions.ts"
import { Schema } from "effect"

/** Layout of a token account, `spl_token::state::Account`: 32 bytes of the mint and of the owner, then 8 of the amount. */
const ownerAt = 32
const amountAt = 64
const amountEnd = 72

/** Token accounts derived in one turn of the event loop: one takes some 0.3 ms. */
const derivationsPerTurn = 16

/**
 * How far back something sent is looked for, in all accounts together: transactions listed and read. A month's reading
 * asks for it once for each wallet and asset.
 */
const maximumListed = 200

const isKey = Schema.is(Key)

/** An account in which a wallet keeps a token; `token` null: the wallet itself, with its coins. */
interface Holding {
  readonly key: string
  readonly wallet: string
  readonly token: string | null
}

/** The accounts of the wallets; none for a token that has no mint. */
const holdingsOf = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  addresses: ReadonlyArray<string>,
  tokens: ReadonlyArray<string | null>
): Effect.fn.Return<ReadonlyArray<Holding>, DriverError> {
  const holdings: Array<Holding> = []
  for (const token of tokens) {
    if (token === null) {
      holdings.push(...addresses.map((wallet) => ({ key: wallet, wallet, token })))
      continue
    }
    const mint = isKey(token) ? (yield* readAccounts(node, [token])).accounts[0] : null
    if (mint == null || !tokenPrograms.has(mint.owner)) continue
    for (const [place, wallet] of addresses.entries()) {
      if (place % derivationsPerTurn === 0) yield* Effect.yieldNow
      holdings.push({ key: associatedTokenAccount(wallet, token, mint.owner), wallet, token })
    }
  }
  return holdings
})

/** What an account keeps for its wallet: nothing where the wallet does not own it any more. */
const amountIn = ({ token, wallet }: Holding, account: AccountSnapshot["accounts"][number] | undefined): bigint => {
  if (account == null) return 0n
  if (token === null) return account.lamports
  const { data, owner } = account
  if (!tokenPrograms.has(owner) || data.length < amountEnd) return 0n
  const [mint, holder] = [data.subarray(0, ownerAt), data.subarray(ownerAt, amountAt)].map((each) =>
    base58.encode(each)
  )
  return mint === token && holder === wallet
    ? new DataView(data.buffer, data.byteOffset).getBigUint64(amountAt, true)
    : 0n
}

/** The amounts of a call's accounts with the slot in which they stood; the clock of the chain comes with them. */
const readPart = Effect.fnUntraced(function*(node: JsonRpcClient, holdings: ReadonlyArray<Holding>) {
  const snapshot = yield* readAccounts(node, [clockSysvar, ...holdings.map(({ key }) => key)], amountEnd, "finalized")
  const { hash, height, time } = yield* headOf(node, snapshot)
  return {
    point: { hash, height, time },
    amounts: holdings.map((holding, place) => amountIn(holding, snapshot.accounts[place + 1]))
  }
})

type Part = Effect.Success<ReturnType<typeof readPart>>

const partsOf = (holdings: ReadonlyArray<Holding>): ReadonlyArray<ReadonlyArray<Holding>> => {
  const size = accountsPerCall - 1
  return Array.from(
    { length: Math.max(1, Math.ceil(holdings.length / size)) },
    (_, place) => holdings.slice(place * size, (place + 1) * size)
  )
}

/**
 * One call is of one slot. Several are read twice: what is the same both times was so in the slot of the last of the
 * first ones, which every account was read before and after.
 */
const readAll = Effect.fnUntraced(function*(node: JsonRpcClient, holdings: ReadonlyArray<Holding>) {
  const parts = partsOf(holdings)
  const readParts = Effect.forEach(parts, (part) => readPart(node, part))
  const first = yield* readParts
  const { point } = first.at(-1)!
  const amounts = first.flatMap((part: Part) => part.amounts)
  if (parts.length === 1) return { point, amounts }
  const again = (yield* readParts).flatMap((part: Part) => part.amounts)
  if (amounts.every((amount, place) => amount === again[place])) return { point, amounts }
  const reason = `${node.name}: what wallets hold changed while their accounts were read`
  return yield* new Failure({ network: node.network, reason, kind: "unavailable" })
})

/** Whether one of the newest transactions of the accounts took something from its wallet. */
const findSpending = Effect.fnUntraced(function*(node: JsonRpcClient, holdings: ReadonlyArray<Holding>) {
  let left = maximumListed
  for (const { key, token, wallet } of holdings) {
    if (left <= 0) return false
    const listed = yield* readSignatures(node, key, left, null)
    // An account without any costs a call as well.
    left -= Math.max(1, listed.length)
    for (const { hasFailed, signature } of listed) {
      if (hasFailed) continue
      const transaction = yield* readTransaction(node, signature)
      if (transaction !== null && hasSpent(transaction, wallet, token)) return true
    }
  }
  return false
})

/** `ChainDriver.finalBalances`, by one node. */
export const readBalances = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  addresses: ReadonlyArray<string>,
  tokens: ReadonlyArray<string | null>
): Effect.fn.Return<FinalBalances, DriverError> {
  const holdings = yield* holdingsOf(node, addresses, tokens)
  const { amounts, point } = yield* readAll(node, holdings)
  const sumOf = (token: string | null) =>
    amounts.reduce((sum, amount, place) => holdings[place]!.token === token ? sum + amount : sum, 0n)
  return {
    point,
    balances: tokens.map((token) => baseUnits(sumOf(token))),
    hasSent: yield* findSpending(node, holdings)
  }
})
