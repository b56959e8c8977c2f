/**
 * A ledger inside the test that is asked what came to an account: the smallest driver of that kind. Heights are slots
 * that skip numbers; what it tells is what the test has put into it.
 */
import { Deferred, Effect, MutableRef, Option, Stream } from "effect"
import {
  type ChainDriver,
  type ChainEvent,
  DriverError,
  type LocatedTransfer,
  type SharedWallet,
  type WatchSet
} from "../../runtime/Chains.ts"
import { isFarBelow } from "../../runtime/nodes/HeadSupport.ts"
import { baseUnits } from "../../schemas/Money.ts"

/** The wallet that all invoices are paid to, and the key of what names none of them. */
export const ledgerWallet: SharedWallet = {
  _tag: "SharedWallet",
  fingerprint: "ledger wallet",
  address: "LedgerWallet",
  accountKey: "LedgerWallet",
  targetOf: (invoiceId) => {
    const memo = `memo-${invoiceId.slice(-4)}`
    return { address: "LedgerWallet", matchKey: `LedgerWallet:${memo}`, memo }
  }
}

const pruned = (height: bigint) =>
  new DriverError({ network: "solana", reason: `${height} is too old`, condition: "block_pruned" })

/** Slots between two heads. */
const slotsPerHead = 7n

interface LedgerState {
  readonly slot: bigint
  readonly transfers: ReadonlyArray<LocatedTransfer>
  /** Transactions that have left the chain and were not told of yet. */
  readonly dropped: ReadonlyArray<LocatedTransfer>
  /** Told by `follow`, or found only by whoever reads again. */
  readonly hidden: ReadonlySet<string>
  /** Slots that it names too many in its heads; their time is a day too late then. */
  readonly excess: bigint
  /** It does not have what lies below any more. */
  readonly lowest: bigint
}

export interface AccountLedger {
  readonly driver: ChainDriver
  readonly pay: (
    to: string,
    amount: bigint,
    more?: { readonly txHash?: string; readonly isHidden?: boolean }
  ) => Effect.Effect<
    LocatedTransfer
  >
  readonly drop: (txHash: string) => Effect.Effect<void>
  readonly advance: Effect.Effect<void>
  /** Its heads lie so many slots above its newest one from now on, and a day after it. */
  readonly exceed: (slots: bigint) => Effect.Effect<void>
  /** Forgets what lies below a slot. */
  readonly prune: (lowest: bigint) => Effect.Effect<void>
  /** The watch set of the follower, once it follows. */
  readonly watch: Effect.Effect<WatchSet>
}

/** `lagSeconds`: by which its account index is behind its head. */
export const makeAccountLedger = Effect.fnUntraced(function*(options: { readonly lagSeconds?: number } = {}) {
  const state = MutableRef.make<LedgerState>({
    slot: 100n,
    transfers: [],
    dropped: [],
    hidden: new Set(),
    excess: 0n,
    lowest: 0n
  })
  const watched = yield* Deferred.make<WatchSet>()
  let serial = 0
  const update = (change: (before: LedgerState) => LedgerState) =>
    Effect.sync(() => void MutableRef.update(state, change))
  const now = () => Math.floor(Date.now() / 1000)
  const isWatched = (watch: WatchSet) => ({ matchKey }: LocatedTransfer) => watch.has(matchKey)

  const look = (watch: WatchSet, last: bigint): ReadonlyArray<ChainEvent> => {
    const { dropped, excess, hidden, slot: newest, transfers } = MutableRef.get(state)
    const slot = newest + excess
    MutableRef.update(state, (before) => ({ ...before, dropped: [] }))
    const gone: ReadonlyArray<ChainEvent> = dropped.length === 0 ? [] : [{ _tag: "Gone", transfers: dropped }]
    const finality: ChainEvent = { _tag: "Finality", finalized: slot - 14n }
    if (slot <= last) return [...gone, finality]
    const time = now() + (excess > 0n ? 86_400 : 0)
    const forward: ChainEvent = {
      _tag: "Forward",
      point: { height: slot, hash: `slot:${slot}` },
      time,
      isCatchingUp: false,
      seenUntil: time - (options.lagSeconds ?? 0),
      // Everything there is, each time: an overlap must be harmless.
      transfers: transfers.filter((each) => !hidden.has(each.txHash) && isWatched(watch)(each))
    }
    return [...gone, forward, finality]
  }

  const follow: ChainDriver["follow"] = (recent, watch) =>
    Stream.unwrap(Effect.gen(function*() {
      yield* Deferred.succeed(watched, watch)
      let last = recent[0]?.height ?? 0n
      return Stream.fromEffect(Effect.gen(function*() {
        yield* Effect.sleep(5)
        yield* watch.refresh
        const { excess, slot } = MutableRef.get(state)
        if (isFarBelow({ height: slot + excess }, last)) {
          const reason = "the newest slot lies far below what was followed"
          return yield* new DriverError({ network: "solana", reason, condition: "no_common_block" })
        }
        const events = look(watch, last)
        for (const event of events) if (event._tag === "Forward") last = event.point.height
        return events
      })).pipe(Stream.flatMap(Stream.fromIterable), Stream.forever)
    }))

  const driver: ChainDriver = {
    network: "solana",
    environment: "devnet",
    tokenTypes: ["native"],
    wallet: ledgerWallet,
    readWallet: () => Effect.succeed("this ledger has one wallet"),
    verifyWallet: null,
    readForwarderFacts: null,
    isTokenAccount: null,
    tokenDecimals: null,
    paymentUri: () => null,
    follow,
    history: {
      _tag: "AccountHistory",
      readTransaction: (txHash, watch) =>
        Effect.sync(() =>
          MutableRef.get(state).transfers.filter((each) => each.txHash === txHash).filter(isWatched(watch))
        ),
      readTransfers: (from, to, watch) =>
        from < MutableRef.get(state).lowest ?
          Effect.fail(pruned(from)) :
          Effect.sync(() =>
            MutableRef.get(state).transfers.filter(({ at }) => at.height >= from && at.height <= to)
              .filter(isWatched(watch))
          ),
      timeOf: (height) =>
        Effect.sync(() =>
          Option.getOrNull(Option.fromUndefinedOr(
            height < MutableRef.get(state).lowest
              ? undefined
              : MutableRef.get(state).transfers.findLast(({ at }) => at.height <= height)?.at.time
          ))
        )
    },
    coinsForwarded: null,
    balanceAt: null,
    finalBalances: null,
    readContract: null,
    readToken: null,
    corroborate: null,
    findTransfers: null,
    agreementAboveUsdMillis: null,
    payouts: null
  }
  const ledger: AccountLedger = {
    driver,
    watch: Deferred.await(watched),
    prune: (lowest) => update((before) => ({ ...before, lowest })),
    exceed: (excess) => update((before) => ({ ...before, excess })),
    advance: update((before) => ({ ...before, slot: before.slot + slotsPerHead })),
    pay: (to, amount, { isHidden = false, txHash = `tx${++serial}` } = {}) =>
      Effect.gen(function*() {
        const height = MutableRef.get(state).slot + 1n
        const transfer: LocatedTransfer = {
          txHash,
          index: 0,
          kind: "direct",
          matchKey: to,
          tokenAddress: null,
          amount: baseUnits(amount),
          from: "payor",
          at: { height: BigInt(height), hash: `slot:${height}`, time: now() }
        }
        yield* update((before) => ({
          ...before,
          slot: height + slotsPerHead,
          transfers: [...before.transfers, transfer],
          hidden: isHidden ? new Set([...before.hidden, txHash]) : before.hidden
        }))
        return transfer
      }),
    drop: (txHash) =>
      update((before) => ({
        ...before,
        transfers: before.transfers.filter((each) => each.txHash !== txHash),
        dropped: before.transfers.filter((each) => each.txHash === txHash)
      }))
  }
  return ledger
})
