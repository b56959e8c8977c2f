/** What is worth collecting, and how it is divided among signatures. Pure. */
import { type BaseUnits, type UsdMillis, usdMillis, usdValueDown } from "../../../schemas/Money.ts"
import type { Token } from "../../../schemas/Token.ts"
import type { PlannedLine } from "./NewBatches.ts"

/** Addresses that one signature collects: 200 take 10.7 million gas, and a transaction has 16,777,216 (EIP-7825). */
export const addressesPerPart = 200

/** Lines of a batch that collects: several times those of one that pays, because nothing of it can go astray. */
export const maximumCollectLines = 1_000

/** By how much a balance must be worth more than its own gas, and the least in usd_millis that is worth a look. */
const gasMultiple = 3n
const leastUsdMillis = 1_000n

/** What lies on an address of a token. */
export interface AddressHolding {
  readonly token: Token
  /** In the one spelling of its family. */
  readonly tokenAddress: string | null
  readonly address: string
  readonly index: number
  readonly fingerprint: string
  /** Of a forwarder; null: whoever has the keys moves it. */
  readonly payee: string | null
  readonly salt: string | null
  readonly units: BaseUnits
  /** usd_millis; null: nobody can price it. */
  readonly value: UsdMillis | null
  /** Of the final block at which it was read. */
  readonly height: bigint
}

export const valueOf = usdValueDown

/** The least value that is collected where nobody named one; `gasValue`: of one address, null where it is not known. */
export const leastValue = (gasValue: UsdMillis | null): UsdMillis => {
  const least = (gasValue ?? 0n) * gasMultiple
  return usdMillis(least > leastUsdMillis ? least : leastUsdMillis)
}

/** What nobody can price is worth nothing, and collected only by who asks for everything. */
export const isWorthIt = ({ value }: AddressHolding, least: UsdMillis): boolean => (value ?? 0n) >= least

const lineOf = ({ address, height, payee, salt, token, tokenAddress, units, value }: AddressHolding): PlannedLine => ({
  tokenId: token.id,
  symbol: token.symbol,
  decimals: token.decimals,
  tokenAddress,
  units,
  amount: value ?? usdMillis(0n),
  destination: { address: payee!, memo: null },
  source: { address, salt: salt!, height },
  reference: "",
  refundId: null
})

/** Lines of at most so many addresses, none of which is divided. */
const partsOf = (holdings: ReadonlyArray<AddressHolding>): ReadonlyArray<ReadonlyArray<AddressHolding>> => {
  const byAddress = [...Map.groupBy(holdings, ({ address }) => address).values()]
  return Array.from(
    { length: Math.ceil(byAddress.length / addressesPerPart) },
    (_, place) => byAddress.slice(place * addressesPerPart, (place + 1) * addressesPerPart).flat()
  )
}

/**
 * The lines of a batch, those of one address together, and how many of them are in each part: at most {@link
 * addressesPerPart} addresses, all of one wallet. Beyond {@link maximumCollectLines} lines whole addresses are left for
 * another batch.
 */
export const collectParts = (
  holdings: ReadonlyArray<AddressHolding>
): { readonly lines: ReadonlyArray<PlannedLine>; readonly sizes: ReadonlyArray<number> } => {
  const taken: Array<AddressHolding> = []
  for (const those of Map.groupBy(holdings, ({ address }) => address).values()) {
    if (taken.length + those.length > maximumCollectLines) break
    taken.push(...those)
  }
  const parts = [...Map.groupBy(taken, ({ fingerprint }) => fingerprint).values()].flatMap(partsOf)
  return { lines: parts.flat().map(lineOf), sizes: parts.map((part) => part.length) }
}
