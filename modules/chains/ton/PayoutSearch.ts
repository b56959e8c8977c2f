/**
 * Searches one endpoint, and all, for what a part has paid: `PayoutDriver.search`. The wallet's outgoing messages name
 * the receivers to read. Each line is decided alone, by what arrived, because a wallet may drop single messages.
 */
import { Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { agreeOnSearch, askEach, type EndpointSearch } from "../../../runtime/payouts/Agreement.ts"
import type {
  PayoutExecution,
  PayoutPart,
  PayoutSearch,
  PayoutSearchRequest,
  PayoutTransfer
} from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { readAccountKey, walletAddressOfKey } from "./Account.ts"
import type { JettonWallets } from "./JettonWallets.ts"
import {
  arrivedPayout,
  type JettonAccounts,
  type SentPayout,
  sentPayout,
  type WantedLine,
  wantedLines
} from "./PayoutMessages.ts"
import { batchesOf } from "./Reader.ts"
import {
  accountsPerCall,
  readBlockAt,
  readBlockBefore,
  readMasterchain,
  readTransactions,
  type Toncenter
} from "./Toncenter.ts"
import type { Transaction } from "./Transactions.ts"

/**
 * Seconds by which a transaction may be older than the block of the masterchain that made it final, and later in an API
 * than that block: blocks so young are searched again.
 */
export const lateSeconds = 900

/** Seconds after the end of its validity until which a wallet's transaction may still become final. */
export const graceSeconds = 60

/** Seconds that a sent message may take to arrive: it goes through several shards, each with a queue. */
export const travelSeconds = 3_600

/** One search. */
interface SearchContext {
  readonly environment: Environment
  readonly jettonWallets: JettonWallets
  readonly part: PayoutPart
  readonly wallet: string
  readonly lines: ReadonlyArray<WantedLine>
  readonly isList: boolean
  readonly from: bigint
  /** Nothing of the part is in this block or below. */
  readonly builtAt: bigint
  readonly validUntil: number | null
}

/** All transactions of accounts in a stretch of time, by whatever number of readings. */
export const readAll = Effect.fnUntraced(function*(
  client: Toncenter,
  accounts: ReadonlyArray<string>,
  from: number,
  until: number
) {
  const found: Array<Transaction> = []
  for (const batch of batchesOf(accounts, accountsPerCall)) {
    for (let start = from; start <= until;) {
      const read = yield* readTransactions(client, batch, start, until)
      found.push(...read.transactions)
      start = read.until + 1
    }
  }
  return found
})

/** The accounts in which the wallet, or the receivers, keep the jettons of the lines. */
const jettonAccountsOf = Effect.fnUntraced(function*(
  { jettonWallets, lines }: SearchContext,
  client: Toncenter,
  ownerOf: (line: WantedLine) => string,
  readFrom: number
): Effect.fn.Return<JettonAccounts, DriverError> {
  const accounts = new Map<string, { readonly token: string; readonly owner: string }>()
  for (const line of lines) {
    const token = line.line.tokenAddress
    const master = token === null ? null : readAccountKey(token)
    if (token === null || master === null) continue
    const owner = ownerOf(line)
    const account = yield* jettonWallets.resolve(client, owner, { token, master }, readFrom)
    if (account !== null) accounts.set(account, { token, owner })
  }
  return accounts
})

/** What the wallet sent of the part, with the transaction that sent it. */
interface Sent extends SentPayout {
  readonly by: Transaction
  /** Its place among the messages of the transaction. */
  readonly index: number
  /** Whether it goes to the receiver of a line. False: the message names a line, and pays somebody else. */
  readonly isToReceiver: boolean
}

const sentOf = (
  { isList, lines }: SearchContext,
  transactions: ReadonlyArray<Transaction>,
  jettonAccounts: JettonAccounts
): ReadonlyArray<Sent> =>
  transactions.flatMap((by) =>
    by.sent.flatMap((message, index) => {
      const sent = sentPayout(lines, message, jettonAccounts, isList)
      if (sent === null) return []
      const isToReceiver = sent.places.some((place) => lines[place]!.destination === sent.destination)
      return [{ ...sent, by, index, isToReceiver }]
    })
  )

const blockOf = ({ block, height, time }: Transaction) => ({ height, hash: block, time })

/** Executions by which the wallet paid another receiver than the line has. */
const wrongReceiverExecutions = (
  { environment, part }: SearchContext,
  sent: ReadonlyArray<Sent>
): ReadonlyArray<PayoutExecution> =>
  [...Map.groupBy(sent.filter(({ isToReceiver }) => !isToReceiver), ({ by }) => by.hash).values()].map((all) => ({
    txHash: all[0]!.by.hash,
    block: blockOf(all[0]!.by),
    isFinal: true,
    transfers: all.map(({ amount, destination, index, tokenAddress }): PayoutTransfer => ({
      index,
      line: null,
      destination: walletAddressOfKey(destination, environment) ?? destination,
      tokenAddress,
      amount: baseUnits(amount),
      from: part.from
    })),
    fee: null
  }))

/** Executions by what arrived. Of identical lines each gets one transfer before any gets a second. */
const arrivedExecutions = (
  { isList, lines, part, wallet }: SearchContext,
  transactions: ReadonlyArray<Transaction>,
  jettonAccounts: JettonAccounts
): ReadonlyArray<PayoutExecution> => {
  const counts = new Map<string, number>()
  return transactions.flatMap((transaction) => {
    const arrived = arrivedPayout(wallet, lines, transaction, jettonAccounts, isList)
    if (arrived === null) return []
    const key = arrived.places.join()
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    const line = arrived.places[count % arrived.places.length]!
    const { destination, tokenAddress } = lines[line]!.line
    const amount = baseUnits(arrived.amount)
    return [{
      txHash: transaction.hash,
      block: blockOf(transaction),
      isFinal: true,
      transfers: [{ index: 0, line, destination, tokenAddress, amount, from: part.from }],
      fee: null
    }]
  })
}

/** What was sent and has not arrived yet: of identical lines, the newest ones. */
const inTransit = (
  sent: ReadonlyArray<Sent>,
  arrived: ReadonlyArray<PayoutExecution>
): ReadonlyArray<Sent> =>
  [...Map.groupBy(sent.filter(({ isToReceiver }) => isToReceiver), ({ places }) => places.join()).values()]
    .flatMap((alike) => {
      const count = arrived.filter(({ transfers }) =>
        transfers.some(({ line }) =>
          line !== null && alike[0]!.places.includes(line)
        )
      ).length
      return alike.toSorted((one, other) => one.by.time - other.by.time).slice(count)
    })

const searchEndpoint = (context: SearchContext) =>
  Effect.fnUntraced(function*(client: Toncenter): Effect.fn.Return<EndpointSearch, DriverError> {
    const { builtAt, from, lines, validUntil, wallet } = context
    const { network } = client
    const { last: head } = yield* readMasterchain(client)
    const first = head.height < from ? null : yield* readBlockAt(client, from)
    if (first === null) {
      const isBehind = head.height < from
      const reason = `${client.name} ${isBehind ? "has not come to" : "does not have"} block ${from}`
      return yield* new DriverError({ network, reason, kind: isBehind ? "unavailable" : "pruned" })
    }
    const start = first.time - lateSeconds
    const isSearched = ({ height }: Transaction) => height >= from && height > builtAt && height <= head.height
    const own = yield* jettonAccountsOf(context, client, () => wallet, start)
    const outgoing = (yield* readAll(client, [wallet], start, head.time)).filter(isSearched)
    const sent = sentOf(context, outgoing, own)
    const sentLines = new Set(sent.flatMap(({ isToReceiver, places }) => isToReceiver ? places : []))
    const receiving = { ...context, lines: lines.filter((_, place) => sentLines.has(place)) }
    const theirs = yield* jettonAccountsOf(receiving, client, ({ destination }) => destination, start)
    const accounts = new Set([
      ...receiving.lines.flatMap(({ destination, line }) => line.tokenAddress === null ? [destination] : []),
      ...theirs.keys()
    ])
    const earliest = Math.min(...sent.map(({ by }) => by.time))
    const incoming = accounts.size === 0
      ? []
      : (yield* readAll(client, [...accounts], earliest, head.time)).filter(isSearched)
    const arrived = arrivedExecutions(context, incoming, theirs)
    const unarrived = inTransit(sent, arrived).filter(({ by }) => head.time - by.time < travelSeconds)
    const searched = yield* readBlockBefore(client, head.time - lateSeconds)
    const searchedTo = searched === null || searched.height < from ? from - 1n : searched.height
    return {
      executions: [...arrived, ...wrongReceiverExecutions(context, sent)],
      searchedTo: unarrived.reduce((least, { by }) => by.height <= least ? by.height - 1n : least, searchedTo),
      isOver: validUntil !== null && head.time > validUntil + graceSeconds && unarrived.length === 0
    }
  })

/** `PayoutDriver.search`. */
export const searchPayout = Effect.fnUntraced(function*(
  endpoints: Endpoints<Toncenter>,
  environment: Environment,
  jettonWallets: JettonWallets,
  { export: { builtAt, format, validUntil }, from, part }: PayoutSearchRequest
): Effect.fn.Return<PayoutSearch, DriverError> {
  const { network } = endpoints.endpoints[0]!
  const wallet = part._tag === "Collect" ? null : readAccountKey(part.from)
  if (part._tag === "Collect" || wallet === null) {
    return yield* new DriverError({ network, reason: "this is no part that a wallet here pays", kind: "refused" })
  }
  const start = from > builtAt ? from : builtAt
  const context: SearchContext = {
    environment,
    jettonWallets,
    part,
    wallet,
    lines: wantedLines(part),
    isList: format === "csv",
    from: start,
    builtAt,
    validUntil
  }
  return yield* Effect.fromResult(agreeOnSearch(network, start, yield* askEach(endpoints, searchEndpoint(context))))
})
