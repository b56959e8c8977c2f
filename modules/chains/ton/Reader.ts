/** Reading what came to accounts: a wallet's own transactions and those of its jetton wallets, batch by batch. */
import { Clock, Effect } from "effect"
import type { DriverError, LocatedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Jetton, jettonsOf, type JettonWallets } from "./JettonWallets.ts"
import {
  accountAt,
  accountsPerCall,
  readJettonWallets,
  readTransactions,
  runGetMethod,
  type Toncenter
} from "./Toncenter.ts"
import { type Receiver, transferOf } from "./Transactions.ts"

/** Calls under way at once to one endpoint. */
const concurrency = 4

export interface Reader {
  readonly environment: Environment
  readonly jettonWallets: JettonWallets
}

/** Accounts to read and whose money they hold, by key. */
export type Receivers = ReadonlyMap<string, Receiver>

/** A stretch of time in epoch seconds, both ends included. */
export interface Stretch {
  readonly from: number
  readonly until: number
}

/** Parts of a list, each of `size` but the last. */
export const batchesOf = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, place) => all.slice(place * size, (place + 1) * size))

/** Transfers to receivers that fit into one call, in a stretch of time. */
export const readBatch = Effect.fnUntraced(function*(
  { environment }: Reader,
  client: Toncenter,
  receivers: Receivers,
  stretch: Stretch,
  watch: WatchSet
): Effect.fn.Return<ReadonlyArray<LocatedTransfer>, DriverError> {
  const accounts = [...receivers.keys()]
  const found: Array<LocatedTransfer> = []
  for (let from = stretch.from; from <= stretch.until;) {
    const { transactions, until } = yield* readTransactions(client, accounts, from, stretch.until)
    for (const transaction of transactions) {
      const receiver = receivers.get(transaction.account)
      const transfer = receiver === undefined
        ? null
        : transferOf(transaction, receiver, watch, environment)
      if (transfer !== null) found.push(transfer)
    }
    from = until + 1
  }
  return found
})

/** Asks for the jetton wallets of owners that are not known yet. What was answered is kept, also where one fails. */
export const resolveAll = (
  { jettonWallets }: Reader,
  client: Toncenter,
  pairs: ReadonlyArray<readonly [owner: string, jetton: Jetton]>,
  readFrom: number
) =>
  Effect.forEach(pairs, ([owner, jetton]) => jettonWallets.resolve(client, owner, jetton, readFrom), {
    concurrency,
    discard: true
  })

/** Owners' accounts and those of their jettons that are known. */
export const receiversOf = (
  { jettonWallets }: Reader,
  place: number,
  owners: ReadonlyArray<string>,
  jettons: ReadonlyArray<Jetton>,
  nowMillis: number
): Receivers => {
  const receivers = new Map<string, Receiver>()
  for (const owner of owners) {
    receivers.set(owner, { owner, token: null })
    for (const jetton of jettons) {
      const wallet = jettonWallets.known(place, owner, jetton, nowMillis)
      if (wallet !== null && wallet !== undefined) receivers.set(wallet, { owner, token: jetton.token })
    }
  }
  return receivers
}

/** An owner, and whether it may get the first of a jetton: then its wallets are asked of the masters. */
export interface Owner {
  readonly key: string
  readonly isOpen: boolean
}

/**
 * Transfers to at most {@link accountsPerCall} owners in a stretch of time. Of an owner that is not open only those
 * jetton wallets are asked for that exist: whoever pays it later makes one that is found the next time.
 */
export const readOwners = Effect.fnUntraced(function*(
  reader: Reader,
  client: Toncenter,
  owners: ReadonlyArray<Owner>,
  stretch: Stretch,
  watch: WatchSet
) {
  const jettons = jettonsOf(watch.tokens())
  const open = owners.filter(({ isOpen }) => isOpen).map(({ key }) => key)
  const closed = owners.filter(({ isOpen }) => !isOpen).map(({ key }) => key)
  const masters = new Map(jettons.map((jetton) => [jetton.master, jetton]))
  const listed = closed.length === 0 || jettons.length === 0
    ? []
    : yield* readJettonWallets(client, closed, [...masters.keys()])
  yield* resolveAll(reader, client, [
    ...open.flatMap((owner) => jettons.map((jetton) => [owner, jetton] as const)),
    ...listed.flatMap(({ jetton, owner }) => masters.has(jetton) ? [[owner, masters.get(jetton)!] as const] : [])
  ], stretch.from)
  const nowMillis = yield* Clock.currentTimeMillis
  const receivers = receiversOf(reader, client.place, [...open, ...closed], jettons, nowMillis)
  const found: Array<LocatedTransfer> = []
  for (const batch of batchesOf([...receivers], accountsPerCall)) {
    found.push(...yield* readBatch(reader, client, new Map(batch), stretch, watch))
  }
  return found
})

/**
 * Whose money an account's transactions move; null: none of ours. Of an account that was never asked for, what it says
 * itself leads to the jetton's master, and only the master's word counts.
 */
export const findReceiver = Effect.fnUntraced(function*(
  { jettonWallets }: Reader,
  client: Toncenter,
  account: string,
  watch: WatchSet
): Effect.fn.Return<Receiver | null, DriverError> {
  if (watch.has(account)) return { owner: account, token: null }
  const nowMillis = yield* Clock.currentTimeMillis
  const known = jettonWallets.receiverOf(client.place, account, nowMillis)
  if (known !== undefined) return watch.has(known.owner) ? known : null
  const stack = yield* runGetMethod(client, account, "get_wallet_data")
  const owner = stack === null ? null : accountAt(stack, 1)
  const master = stack === null ? null : accountAt(stack, 2)
  const jetton = jettonsOf(watch.tokens()).find((each) => each.master === master)
  if (owner === null || jetton === undefined || !watch.has(owner)) return null
  const wallet = yield* jettonWallets.resolve(client, owner, jetton, Math.floor(nowMillis / 1000))
  return wallet === account ? { owner, token: jetton.token } : null
})
