/** The trial of one network: which chain the nodes are on, what they show, a wallet's addresses, and a payment. */
import { Clock, Console, Effect, MutableRef, Stream } from "effect"
import { randomUUID } from "node:crypto"
import type {
  ChainDriver,
  DriverError,
  DriverErrorKind,
  LocatedTransfer,
  ObservedTransfer,
  ReceiveTarget,
  WalletRef,
  WatchSet
} from "../../runtime/Chains.ts"
import { TokenId } from "../../schemas/Ids.ts"
import { baseUnits, formatUnits } from "../../schemas/Money.ts"
import { descriptorOf } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import { shownAddresses, type WalletKind } from "../../schemas/Wallet.ts"
import { type DepthGoal, initialState, isDone, type SightingState, step } from "./Sightings.ts"
import { type CallTimes, SmokeFailure } from "./SoleDriver.ts"

export interface TrialOptions {
  readonly driver: ChainDriver
  readonly times: CallTimes
  readonly wallet: { readonly kind: WalletKind; readonly value: string } | null
  /** Addresses of tokens to look for beside the coin. */
  readonly tokens: ReadonlyArray<string>
  readonly faucet: string
  /** Minutes to wait for a payment. */
  readonly minutes: number
}

/** Looks that show how the nodes answer, where no payment is waited for. */
const looksWithoutWallet = 5

/** Failed looks in a row after which the trial ends: soon, where none was ever answered. */
const failuresToEnd = (looks: number) => looks === 0 ? 2 : 5

/** Seconds between two failed looks. */
const retrySeconds = 3

/** Seconds between two signs of life while a payment is waited for. */
const lifeSeconds = 30

const advice: Readonly<Partial<Record<DriverErrorKind, string>>> = {
  unanswered: "no answer came: check the URL, your network, and whether the node is up; or name another by --url",
  timeout: "the node is too slow: name another by --url",
  unavailable: "the node has an outage: try again later, or name another by --url",
  rate_limited: "the node wants fewer calls: give a key by --key, name another by --url, or look less often by " +
    "--options '{\"pollMillis\": 20000}'",
  too_large: "the node cuts its answers: name another by --url",
  refused:
    "the node does not serve what the driver needs, or refuses your key: name another by --url, or correct --key",
  contradiction: "the node's answers do not fit each other or the driver: keep this output, and report it",
  pruned: "the node has no history: name one with history by --url"
}

const adviceFor = ({ kind }: DriverError): string =>
  (kind === undefined ? undefined : advice[kind]) ?? "keep this output, and report it"

const failureOf = (error: DriverError) => new SmokeFailure({ reason: error.reason, advice: adviceFor(error) })

/** The coin, as the catalogue has it. */
const coinOf = ({ environment, network }: ChainDriver): Token => {
  const { coin } = descriptorOf(network)
  return {
    id: TokenId.make(1),
    network,
    environment,
    symbol: coin.symbol,
    name: coin.names[environment],
    address: null,
    decimals: coin.decimals,
    type: "native",
    requiresMemo: coin.requiresMemo,
    asset: coin.asset,
    stable: false,
    active: true,
    photoUri: ""
  }
}

/** The first targets of a wallet: addresses, or an address with a memo of this run alone. */
const targetsOf = (wallet: WalletRef): ReadonlyArray<ReceiveTarget> =>
  wallet._tag === "SharedWallet"
    ? [wallet.targetOf(`inv_${randomUUID()}`)]
    : Array.from(
      { length: Math.min(shownAddresses, wallet.size ?? shownAddresses) },
      (_, place) => wallet.derive(wallet.startIndex + place)
    )

const keysOf = (wallet: WalletRef, targets: ReadonlyArray<ReceiveTarget>): ReadonlyArray<string> => [
  ...targets.map(({ matchKey }) => matchKey),
  ...wallet._tag === "SharedWallet" ? [wallet.accountKey] : []
]

const watchSetOf = (
  wallet: WalletRef | null,
  keys: ReadonlyArray<string>,
  tokens: ReadonlyArray<string>,
  state: () => SightingState
): WatchSet => {
  const all = new Set(keys)
  const accounts = wallet === null
    ? []
    : (wallet._tag === "SharedWallet" ? [wallet.accountKey] : keys).map((key) => ({ key, isOpen: true }))
  return {
    has: (key) => all.has(key),
    accounts: () => accounts,
    tokens: () => tokens,
    transfersAbove: (height) =>
      Effect.sync(() =>
        [...state().sightings.values()]
          .filter(({ status, transfer }) => status !== "gone" && transfer.at.height > height)
          .map(({ transfer: { at, index, matchKey, txHash } }) => ({ index, matchKey, txHash, height: at.height }))
      ),
    refresh: Effect.void
  }
}

const readWallet = Effect.fnUntraced(function*(
  driver: ChainDriver,
  { kind, value }: NonNullable<TrialOptions["wallet"]>
) {
  const wallet = yield* driver.readWallet(kind, value)
  if (typeof wallet === "string") {
    return yield* new SmokeFailure({
      reason: `the wallet cannot be read: ${wallet}`,
      advice: "give what your wallet shows; --kind says what it is (xpub, address or pool)"
    })
  }
  if (driver.verifyWallet !== null) {
    const doubt = yield* Effect.mapError(driver.verifyWallet(wallet), failureOf)
    yield* Console.log(
      doubt === null ? "  the chain has nothing against this wallet" : `  the chain says of this wallet: ${doubt}`
    )
  }
  return wallet
})

const showTargets = Effect.fnUntraced(function*(driver: ChainDriver, targets: ReadonlyArray<ReceiveTarget>) {
  const coin = coinOf(driver)
  yield* Console.log("Addresses: compare them with what your own wallet shows")
  for (const target of targets) {
    yield* Console.log(`  ${target.address}${target.memo === null ? "" : `   memo ${target.memo}`}`)
  }
  const amount = baseUnits(10n ** BigInt(coin.decimals) / 100n)
  const link = driver.paymentUri(targets[0]!, coin, amount, { label: "Tillwire", message: "smoke" })
  yield* Console.log(`  link for 0.01 ${coin.symbol}: ${link ?? "this network has none"}`)
})

const ageOf = Effect.fnUntraced(function*(epochSeconds: number) {
  const nowMillis = yield* Clock.currentTimeMillis
  return Math.round(nowMillis / 1000 - epochSeconds)
})

const showHead = Effect.fnUntraced(function*(state: SightingState, firstLookMillis: number) {
  const head = state.recent[0]!
  const age = yield* ageOf(state.headTime!)
  yield* Console.log(`Head: ${head.height}, ${age} s old, hash ${head.hash}`)
  yield* Console.log(
    state.finalized === null
      ? "  the node has no mark of finality"
      : `  final up to ${state.finalized}, ${head.height - state.finalized} below the head`
  )
  yield* Console.log(`  the first look took ${Math.round(firstLookMillis)} ms`)
})

const showTimes = ({ failures, millis }: CallTimes, looks: number) => {
  const sorted = millis.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  return Console.log(
    `Calls: ${millis.length} answered and ${failures.count} not, in ${looks} look${
      looks === 1 ? "" : "s"
    }; half within ${at(0.5)} ms, ` +
      `the slowest ${at(1)} ms`
  )
}

/** Words for a transfer that is seen for the first time. */
const transferLines = (driver: ChainDriver, targets: ReadonlyArray<ReceiveTarget>) =>
(
  transfer: LocatedTransfer
): ReadonlyArray<string> => {
  const { amount, at, from, index, matchKey, tokenAddress, txHash } = transfer
  const { coin, transactionUrl } = descriptorOf(driver.network)
  const what = tokenAddress === null
    ? `${formatUnits(amount, coin.decimals)} ${coin.symbol}`
    : `${amount} base units of ${tokenAddress}`
  const target = targets.find((each) => each.matchKey === matchKey)
  const page = transactionUrl[driver.environment]?.(txHash)
  return [
    `Seen: ${what} in ${txHash} (index ${index}), at ${at.height}`,
    target === undefined
      ? "  it came to the wallet and names no memo of this trial: a payment like this cannot be matched to an invoice"
      : `  to ${target.address}${target.memo === null ? "" : ` with its memo ${target.memo}`}`,
    `  from ${from ?? "somebody the chain does not name"}`,
    ...page === undefined ? [] : [`  compare it with ${page}`]
  ]
}

/** Reads a transfer again as reports and rescans do: by its transaction or its block. */
const readAgain = Effect.fnUntraced(function*(
  driver: ChainDriver,
  transfer: LocatedTransfer,
  state: SightingState,
  watch: WatchSet
) {
  const { history } = driver
  const read: Effect.Effect<ReadonlyArray<ObservedTransfer>, DriverError> = history._tag === "AccountHistory"
    ? history.readTransaction(transfer.txHash, watch, transfer.at.height)
    : Effect.map(
      history.readBlock(transfer.at.height, state.recent[0]!, watch),
      ({ transfers }) => transfers.filter(({ txHash }) => txHash === transfer.txHash)
    )
  const found = yield* Effect.mapError(read, failureOf)
  const isSame = found.some(({ amount, index, matchKey }) =>
    amount === transfer.amount && index === transfer.index && matchKey === transfer.matchKey
  )
  if (isSame) return yield* Console.log(`  ${transfer.txHash}: its transaction, read again by itself, says the same`)
  return yield* new SmokeFailure({
    reason: `${transfer.txHash}: its transaction, read again by itself, is not what was seen`,
    advice: "keep this output, and report it: money may be lost or credited wrongly"
  })
})

/** Follows until `isEnough`; goes on after a failure where it was, as the service does. */
const followUntil = Effect.fnUntraced(function*(
  driver: ChainDriver,
  watch: WatchSet,
  state: MutableRef.MutableRef<SightingState>,
  goal: DepthGoal,
  show: (transfer: LocatedTransfer) => ReadonlyArray<string>,
  isEnough: (state: SightingState) => boolean
) {
  const failures = MutableRef.make(0)
  const once = Effect.suspend(() =>
    driver.follow(MutableRef.get(state).recent, watch).pipe(
      Stream.mapEffect((event) =>
        Effect.gen(function*() {
          MutableRef.set(failures, 0)
          const [next, lines] = step(MutableRef.get(state), event, goal, show)
          MutableRef.set(state, next)
          yield* Effect.forEach(lines, (line) => Console.log(line), { discard: true })
        })
      ),
      Stream.takeUntil(() => isEnough(MutableRef.get(state))),
      Stream.runDrain
    )
  )
  const again = (failure: DriverError): Effect.Effect<void, SmokeFailure> =>
    MutableRef.updateAndGet(failures, (before) => before + 1) >= failuresToEnd(MutableRef.get(state).looks) ||
      failure.condition !== undefined
      ? Effect.fail(failureOf(failure))
      : Effect.gen(function*() {
        yield* Console.log(`  a look failed: ${failure.reason}`)
        yield* Effect.sleep(retrySeconds * 1000)
        return yield* Effect.catch(once, again)
      })
  return yield* Effect.catch(once, again)
})

/** Runs the trial; answers whether a payment came, where one was waited for. */
export const trial = Effect.fnUntraced(function*(options: TrialOptions) {
  const { driver, faucet, minutes, times, tokens } = options
  const { finalBlocks, standardDepth } = descriptorOf(driver.network)
  const goal: DepthGoal = { standardBlocks: standardDepth.blocks, finalBlocks }
  const state = MutableRef.make(initialState)
  const wallet = options.wallet === null ? null : yield* readWallet(driver, options.wallet)
  const targets = wallet === null ? [] : targetsOf(wallet)
  const keys = wallet === null ? [] : keysOf(wallet, targets)
  const watch = watchSetOf(wallet, keys, tokens, () => MutableRef.get(state))
  const show = transferLines(driver, targets)
  const follow = (isEnough: (state: SightingState) => boolean) =>
    followUntil(driver, watch, state, goal, show, isEnough)

  const beganAt = performance.now()
  yield* follow(({ looks, recent }) => looks > 0 && recent.length > 0)
  yield* Console.log("Network: the nodes have proved that they are on it")
  yield* showHead(MutableRef.get(state), performance.now() - beganAt)
  for (const address of tokens) {
    const decimals = driver.tokenDecimals === null
      ? null
      : yield* Effect.mapError(driver.tokenDecimals(address), failureOf)
    yield* Console.log(
      decimals === null ? `Token ${address}: the chain knows no such token` : `Token ${address}: ${decimals} decimals`
    )
  }
  if (wallet === null) {
    yield* follow(({ looks }) => looks >= looksWithoutWallet)
    yield* showTimes(times, MutableRef.get(state).looks)
    yield* Console.log("No --wallet was given, so no payment was waited for.")
    return true
  }
  yield* showTargets(driver, targets)
  yield* Console.log(`Waiting ${minutes} min for a payment. Pay from a wallet of yours, or from ${faucet}`)
  const life = Effect.repeat(
    Effect.andThen(
      Effect.sleep(lifeSeconds * 1000),
      Effect.suspend(() => Console.log(`  head ${MutableRef.get(state).recent[0]!.height}`))
    ),
    { while: () => true }
  )
  yield* Effect.raceFirst(Effect.timeoutOption(follow(isDone), minutes * 60_000), Effect.andThen(life, Effect.never))
  const end = MutableRef.get(state)
  for (const { status, transfer } of end.sightings.values()) {
    if (status !== "gone") yield* readAgain(driver, transfer, end, watch)
  }
  yield* showTimes(times, end.looks)
  return isDone(end)
})
