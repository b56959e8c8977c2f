/** What the addresses of a wallet hold at a final block, to compare the books with the chain. */
import { Effect } from "effect"
import { type BaseUnits, baseUnits } from "../../schemas/Money.ts"
import type { Network } from "../../schemas/Network.ts"
import {
  type ChainDriver,
  type ChainPoint,
  type Chains,
  DriverError,
  type WalletBalances,
  type WatchSet
} from "../Chains.ts"
import { maximumWalletAddresses } from "../Chains.ts"
import { finalHeight } from "./Confirmations.ts"
import { driverOf, type JournalContext } from "./JournalContext.ts"

/** Addresses asked for at once: nodes that bill or limit by the call are left room for what is followed. */
const concurrency = 4

/** No address: only the block itself is wanted. */
const nobody: WatchSet = {
  has: () => false,
  accounts: () => [],
  tokens: () => [],
  transfersAbove: () => Effect.succeed([]),
  refresh: Effect.void
}

/** The block at a height, with its time. */
const readPoint = Effect.fnUntraced(function*({ history }: ChainDriver, height: bigint, head: ChainPoint) {
  if (history._tag === "AccountHistory") return null
  const { point, time } = yield* history.readBlock(height, head, nobody)
  return { ...point, time }
})

const readBalance = Effect.fnUntraced(function*(
  balanceAt: NonNullable<ChainDriver["balanceAt"]>,
  addresses: ReadonlyArray<string>,
  token: string | null,
  height: bigint
): Effect.fn.Return<{ readonly balance: BaseUnits; readonly sender: string | null }, DriverError> {
  const found = yield* Effect.forEach(addresses, (address) => balanceAt(address, token, height), { concurrency })
  return {
    balance: baseUnits(found.reduce((sum, { balance }) => sum + balance, 0n)),
    sender: addresses.find((_, place) => found[place]!.hasSent) ?? null
  }
})

/** Whether an address that has sent is the contract of a forwarder: all addresses of a wallet are of one kind. */
const isForwarder = ({ coinsForwarded }: ChainDriver, sender: string, height: bigint) =>
  coinsForwarded === null
    ? Effect.succeed(false)
    : Effect.map(coinsForwarded(sender, height, height), (forwarded) => forwarded !== null)

type BalancesRequest = Parameters<Chains["Service"]["walletBalances"]>[0]

/**
 * What contracts of a forwarder wallet sent to its payee up to a height, of each token; null: nobody can say. Searched
 * from the block on in which its first address was given out.
 */
const readForwarded = Effect.fnUntraced(function*(
  { merchantWallets, repo }: JournalContext,
  { unitsForwarded }: ChainDriver,
  { environment, fingerprint, forwardedBefore, network, tokens }: BalancesRequest,
  addresses: ReadonlyArray<string>,
  height: bigint
): Effect.fn.Return<ReadonlyArray<BaseUnits> | null, DriverError> {
  const record = yield* merchantWallets.current()?.withFingerprint(fingerprint) ?? Effect.succeed(null)
  const forwarder = record?.wallet._tag === "IndexedWallet" ? record.wallet.forwarder : undefined
  if (unitsForwarded === undefined || forwarder === undefined) return null
  const first = (yield* repo.firstHeight(fingerprint, network, environment)) ?? height
  return yield* Effect.forEach(tokens, (token, place) => {
    const before = forwardedBefore?.[place] ?? { units: 0n, height: first }
    if (before.height >= height) return Effect.succeed(baseUnits(before.units))
    const { payee } = forwarder
    return Effect.map(
      unitsForwarded({ payee, addresses, token, from: before.height, to: height }),
      (units) => baseUnits(before.units + units)
    )
  })
})

/** A balance at the height that the follower takes for final. */
const readAtHeight = Effect.fnUntraced(function*(
  journal: JournalContext,
  driver: ChainDriver,
  balanceAt: NonNullable<ChainDriver["balanceAt"]>,
  request: BalancesRequest,
  addresses: ReadonlyArray<string>,
  { finalized, head }: { readonly head: ChainPoint; readonly finalized: bigint | null }
): Effect.fn.Return<WalletBalances, DriverError> {
  const height = finalHeight(driver.network, driver.environment, { head: head.height, finalized })
  const point = yield* readPoint(driver, height, head)
  if (point === null) return { _tag: "Unreadable", reason: "not_offered" }
  const found = yield* Effect.forEach(request.tokens, (token) => readBalance(balanceAt, addresses, token, height))
  const sender = found.find(({ sender }) => sender !== null)?.sender ?? null
  // Its contract has sent something, and its owner spent nothing.
  const isCollected = sender !== null && (yield* isForwarder(driver, sender, height))
  const forwarded = isCollected
    ? yield* readForwarded(journal, driver, request, addresses, height)
    : request.tokens.map(() => baseUnits(0n))
  return forwarded === null ? { _tag: "Unreadable", reason: "collected" } : {
    _tag: "Balances",
    point,
    balances: found.map(({ balance }, place) => baseUnits(balance + forwarded[place]!)),
    forwarded,
    hasSent: sender !== null && !isCollected
  }
})

/** A balance of now, where transfers are known up to its block: what came after the month's end is taken off by them. */
const readNow = Effect.fnUntraced(function*(
  finalBalances: NonNullable<ChainDriver["finalBalances"]>,
  addresses: ReadonlyArray<string>,
  tokens: ReadonlyArray<string | null>,
  network: Network,
  head: ChainPoint
): Effect.fn.Return<WalletBalances, DriverError> {
  const found = yield* finalBalances(addresses, tokens)
  if (found === null) return { _tag: "Unreadable", reason: "not_offered" }
  if (found.point.height <= head.height) {
    return { _tag: "Balances", ...found, forwarded: tokens.map(() => baseUnits(0n)) }
  }
  const reason = `balances are those at ${found.point.height}, and transfers are read up to ${head.height}`
  return yield* new DriverError({ network, reason, kind: "unavailable" })
})

/** `Chains.walletBalances`. */
export const walletBalances = (journal: JournalContext): Chains["Service"]["walletBalances"] => (request) =>
  Effect.gen(function*(): Effect.fn.Return<WalletBalances, DriverError> {
    const { environment, fingerprint, network, tokens } = request
    const driver = driverOf(journal, network, environment)
    if (driver === undefined) return { _tag: "Unreadable", reason: "not_followed" }
    const { balanceAt, finalBalances } = driver
    if (balanceAt === null && finalBalances === null) return { _tag: "Unreadable", reason: "not_offered" }
    const cursor = yield* journal.repo.cursor(network, environment)
    const head = cursor?.recent[0]
    if (cursor === null || head === undefined) return { _tag: "Unreadable", reason: "not_followed" }
    const addresses = yield* journal.repo.addressesOfWallet(fingerprint, maximumWalletAddresses + 1)
    if (addresses.length > maximumWalletAddresses) return { _tag: "Unreadable", reason: "too_many_addresses" }
    return finalBalances === null
      ? yield* readAtHeight(journal, driver, balanceAt!, request, addresses, { head, finalized: cursor.finalized })
      : yield* readNow(finalBalances, addresses, tokens, network, head)
  })
