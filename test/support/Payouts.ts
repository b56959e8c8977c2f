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
  more: { readonly spentInputs?: ReadonlyArray<string>; readonly validUntil?: number; readonly format?: PayoutFormat } =
    {}
) =>
  payouts.build({
    part,
    format: more.format ?? payouts.formats[0]!,
    validUntil: more.validUntil ?? inAnHour(),
    spentInputs: new Set(more.spentInputs)
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
