/** Parts of batches for tests of drivers, and what a driver makes of them. */
import { Effect } from "effect"
import type { ChainDriver } from "../../runtime/Chains.ts"
import type {
  PayoutDriver,
  PayoutExport,
  PayoutFormat,
  PayoutLine,
  PayoutPart,
  PayoutSearchRequest
} from "../../runtime/Payouts.ts"
import { baseUnits } from "../../schemas/Money.ts"

export const payoutLine = (
  destination: string,
  amount: bigint,
  more: Partial<PayoutLine> = {}
): PayoutLine => ({
  destination,
  memo: null,
  tokenAddress: null,
  symbol: "COIN",
  decimals: 6,
  amount: baseUnits(amount),
  reference: "re_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  ...more
})

export const payoutPart = (from: string, lines: ReadonlyArray<PayoutLine>, part = 1): PayoutPart => ({
  _tag: "Payout",
  batchId: "bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
  part,
  from,
  lines
})

/** How a driver pays out; dies for one that cannot. */
export const payoutsOf = ({ network, payouts }: Pick<ChainDriver, "network" | "payouts">): PayoutDriver => {
  if (payouts === null) throw new Error(`${network} pays nothing out`)
  return payouts
}

export const inAnHour = (): number => Math.floor(Date.now() / 1000) + 3_600

/** Builds a part in the driver's first format, for an hour. */
export const buildPart = (
  payouts: PayoutDriver,
  part: PayoutPart,
  more: {
    readonly spentInputs?: ReadonlyArray<string>
    readonly validUntil?: number
    readonly format?: PayoutFormat
    readonly walletAddresses?: ReadonlyArray<string>
  } = {}
) =>
  payouts.build({
    part,
    format: more.format ?? payouts.formats[0]!,
    validUntil: more.validUntil ?? inAnHour(),
    spentInputs: new Set(more.spentInputs),
    walletAddresses: more.walletAddresses ?? []
  })

/** Looks for a part from the block in which it was built. */
export const searchPart = (
  payouts: PayoutDriver,
  part: PayoutPart,
  made: PayoutExport,
  more: Partial<PayoutSearchRequest> = {}
) => payouts.search({ part, export: made, from: made.builtAt, hint: null, ...more })

/** The code of an error that a build ends with. */
export const refusalCode = <A, E extends { readonly _tag: string }>(build: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(build), (error) => "code" in error ? error.code : error._tag)

/** What may happen to a part on a chain, in any order. */
export interface PayoutChain {
  readonly payouts: PayoutDriver
  readonly part: PayoutPart
  /** The wallet signs an export and sends it; the network may refuse it. */
  readonly submit: (made: PayoutExport) => Effect.Effect<unknown>
  /** Blocks come, leave, or come after the end of every export. */
  readonly events: ReadonlyArray<() => void>
  /** What the part's receivers have got, in all. */
  readonly received: () => bigint
}

/** Numbers from 0 to 1 that are the same for the same seed. */
const randomNumbers = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/**
 * Gives a part out whenever nothing of it can be executed any more, has wallets sign any export that was ever given
 * out, and lets things happen, in an order that the seed decides. Answers the most that the receivers ever got, and
 * what was said of the part at last.
 */
export const walkPart = Effect.fnUntraced(function*(chain: PayoutChain, seed: number, steps: number) {
  const { events, part, payouts, received, submit } = chain
  const random = randomNumbers(seed)
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)]!
  const given: Array<PayoutExport> = []
  let live: PayoutExport | null = null
  let status: "waits" | "lapsed" | "paid" = "waits"
  let most = 0n
  let exports = 0
  for (let step = 0; step < steps; step++) {
    const dice = random()
    if (live === null && status !== "paid") {
      live = yield* buildPart(payouts, part)
      given.push(live)
      exports += 1
    } else if (dice < 0.2) {
      if (given.length > 0) yield* submit(pick(given))
    } else if (dice < 0.6) {
      pick(events)()
    } else if (live !== null) {
      const found = yield* searchPart(payouts, part, live)
      if (found.isOver) {
        status = found.executions.length > 0 ? "paid" : "lapsed"
        live = null
      }
    }
    most = received() > most ? received() : most
  }
  return { most, status, exports }
})
