/** Payouts of EVM networks: the Payer pays a part once, the Collector collects. */
import type { PayoutDriver, PayoutLine } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { buildCollect, estimateCollect } from "./CollectExport.ts"
import { buildPayout } from "./PayoutExport.ts"
import { callFormats } from "./PayoutPayload.ts"
import { type SearchContext, searchPayout } from "./PayoutSearch.ts"

/** Lines that one call pays: each costs about 36,000 gas, and a transaction may have 16,777,216 (EIP-7825). */
const maximumLines = 200

/** 7 days, as the longest that the API takes. */
const maximumValiditySeconds = 604_800

const partSizes = (lines: ReadonlyArray<PayoutLine>): ReadonlyArray<number> =>
  Array.from(
    { length: Math.ceil(lines.length / maximumLines) },
    (_, place) => Math.min(maximumLines, lines.length - place * maximumLines)
  )

export const payoutDriver = (context: SearchContext): PayoutDriver => ({
  formats: [...callFormats, "csv"],
  collectFormats: callFormats,
  maximumLines,
  maximumValiditySeconds,
  minimumAmount: () => baseUnits(1n),
  partSizes,
  build: ({ format, part, spentInputs, validUntil }) =>
    part._tag === "Collect"
      ? buildCollect(context, { part, format })
      : buildPayout(context, { part, format, validUntil, spentInputs }),
  estimateCollect: (part) => estimateCollect(context, part),
  search: searchPayout(context)
})
