/** The networks of the chains inside the process, as rigs of the conformance suite. */
import { Effect, type Scope, Stream } from "effect"
import { make } from "../../modules/chains/simulated.ts"
import { traitsOf } from "../../modules/chains/simulated/Families.ts"
import { type ChainDriver, type ChainEvent, DriverError, type ReceiveTarget } from "../../runtime/Chains.ts"
import { baseUnits } from "../../schemas/Money.ts"
import { familyOf } from "../../schemas/Network.ts"
import { type Disturbance, disturbancesOf } from "../conformance/chains/Disturbances.ts"
import type { TestedChain } from "../conformance/chains.ts"
import { evmTarget } from "./Drivers.ts"

/** One network of each family, with a token that its driver reports. */
export const tokens = {
  base: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  solana: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
  ton: "0:f418a04cf196ebc959366844a6cdf53a6fd6fff1eadafc892f05210bba31593e",
  sui: "0xa1ec7fc00a6f40db9693ad1415d0c193ad3906494428cf252621037bd7117e29::usdc::USDC",
  cardano: null
} as const

export type TriedNetwork = keyof typeof tokens
export const triedNetworks = Object.keys(tokens) as ReadonlyArray<TriedNetwork>

/** Newest blocks of Solana whose transactions can leave it: fewer than its finality mark is behind, 32 slots. */
const droppableBlocks = 3

/** The id of an invoice, 0 to 9. */
export const invoiceOf = (invoice: number): string => `0198c0de-0000-7000-8000-00000000000${invoice}`

/** Where an invoice, 0 to 9, is paid. */
export const targetOf = ({ network, wallet }: ChainDriver, invoice: number): ReceiveTarget =>
  familyOf(network) === "evm"
    ? evmTarget(invoice)
    : wallet!._tag === "SharedWallet"
    ? wallet!.targetOf(invoiceOf(invoice))
    : wallet!.derive(invoice)

type Transfers = Extract<ChainEvent, { readonly _tag: "Forward" }>["transfers"]

/** How long events are held back where the chain lags, at a time. */
const lagPause = "5 millis"

/** Each transfer once, as one event tells of it. */
const distinct = (transfers: Transfers): Transfers => [
  ...new Map(transfers.map((each) => [`${each.txHash} ${each.index} ${each.matchKey}`, each])).values()
]

/** Its driver as one on a node that goes wrong: a simulated chain has no node. */
const onFaultyNode = (driver: ChainDriver) => {
  const { network } = driver
  const isByAccount = driver.history._tag === "AccountHistory"
  let fault: Disturbance["name"] | null = null
  /** What is told again: all that the index did not show at first, and what was shown last. */
  let late: Transfers = []
  let last: Transfers = []

  const change = (event: ChainEvent): ChainEvent => {
    if (event._tag === "Gone") {
      const isOnChain = ({ txHash }: { readonly txHash: string }) =>
        event.transfers.every((gone) => gone.txHash !== txHash)
      late = late.filter(isOnChain)
      last = last.filter(isOnChain)
    }
    if (event._tag !== "Forward" || !isByAccount) return event
    const isHiding = fault === "index_lag" || fault === "holes"
    const hidden = isHiding ? event.transfers.filter((_, place) => fault === "index_lag" || place % 2 === 0) : []
    const shown = event.transfers.filter((each) => !hidden.includes(each))
    const again = isHiding ? [] : fault === "duplicates" ? [...late, ...last] : late
    late = distinct([...late, ...hidden])
    last = shown
    return { ...event, transfers: distinct([...shown, ...again]) }
  }

  const pass = (event: ChainEvent): Effect.Effect<ChainEvent, DriverError> => {
    if (fault === "lag") return Effect.andThen(Effect.sleep(lagPause), Effect.suspend(() => pass(event)))
    if (fault !== "cut") return Effect.sync(() => change(event))
    // The connection is made anew, and holds.
    fault = null
    return new DriverError({ network, reason: "the connection has ended" })
  }

  const set = (name: Disturbance["name"] | null) => {
    fault = name
  }
  const faults = {
    lag: () => "lag",
    cut: () => "cut",
    ...isByAccount ? { index_lag: () => "index_lag", holes: () => "holes", duplicates: () => "duplicates" } : {}
  } satisfies Partial<Record<Disturbance["name"], () => Disturbance["name"]>>
  return {
    driver: {
      ...driver,
      follow: (...given: Parameters<ChainDriver["follow"]>) => Stream.mapEffect(driver.follow(...given), pass)
    },
    disturbances: disturbancesOf<Disturbance["name"]>(set, faults)
  }
}

/** `indexLagBlocks`: as in the options of the plugin. */
export const simulatedChain = (
  network: TriedNetwork,
  indexLagBlocks = 0
): Effect.Effect<TestedChain, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { drivers, service } = yield* make({ networks: [network], blockMillis: 3_600_000, indexLagBlocks })
    const { disturbances, driver } = onFaultyNode(drivers[0]!)
    const { wallet } = driver
    const token = tokens[network]
    const { hasDrops, hasRollbacks } = traitsOf(network)
    const transfer = (to: string, tokenAddress: string | null, amount: bigint) => ({
      network,
      to,
      tokenAddress,
      amount: baseUnits(amount)
    })
    const rig: TestedChain = {
      driver,
      // It is in the process: another one has another chain.
      openDriver: Effect.succeed(driver),
      target: (invoice) => targetOf(driver, invoice),
      unit: 1n,
      token,
      pay: ({ matchKey }, tokenAddress, amount) =>
        Effect.tap(service.transfer(transfer(matchKey, tokenAddress, amount)), service.mine(network, indexLagBlocks)),
      payMany: (to, amount) =>
        service.transaction(network, to.map(({ matchKey }) => transfer(matchKey, token, amount))),
      mine: (blocks) => service.mine(network, blocks),
      rollback: hasRollbacks
        ? {
          drop: (depth) => service.reorg(network, depth, { drop: "all" }),
          reinclude: (depth) => service.reorg(network, depth, { shift: 1 })
        }
        : null,
      dropTransaction: hasDrops ? (txHash) => service.drop(network, [txHash]) : null,
      droppableBlocks,
      disturbances,
      shared: wallet?._tag === "SharedWallet"
        ? {
          accountKey: wallet.accountKey,
          payWithoutMemo: (tokenAddress, amount) => service.transfer(transfer(wallet.accountKey, tokenAddress, amount))
        }
        : null,
      payWithFee: null,
      payInVain: null
    }
    return rig
  })
