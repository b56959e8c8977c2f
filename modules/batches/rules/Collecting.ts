/** What is worth collecting, and how it is divided among signatures. Pure. */
import { type BaseUnits, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { Token } from "../../../schemas/Token.ts"
import type { PlannedLine } from "./NewBatches.ts"

/** Addresses that one signature collects: 200 take 10.7 million gas, and a transaction has 16,777,216 (EIP-7825). */
export const addressesPerPart = 200

/** Lines of a `collect` batch, at most. It may have more than a batch that pays, because it can pay only the payee. */
export const maximumCollectLines = 1_000

/** A balance is worth collecting from so many times the cost of its own gas, and from so many usd_millis. */
const gasMultiple = 3n
const minimumUsdMillis = 1_000n

/** The balance of one token on one address. */
export interface AddressHolding {
  readonly token: Token
  /** In the one spelling of its family. */
  readonly tokenAddress: string | null
  readonly address: string
  readonly index: number
  readonly fingerprint: string
  /** The payee of the forwarder at the address; null: it is no forwarder, so the owner of its keys moves the money. */
  readonly payee: string | null
  readonly salt: string | null
  readonly units: BaseUnits
  /** usd_millis; null: the token has no price. */
  readonly value: UsdMillis | null
  /** Height of the final block at which the balance was read. */
  readonly height: bigint
}

/** The minimum value where the request names none. `gasValue`: the gas of one address in usd_millis; null: unknown. */
export const defaultMinimumValue = (gasValue: UsdMillis | null): UsdMillis => {
  const minimum = (gasValue ?? 0n) * gasMultiple
  return usdMillis(minimum > minimumUsdMillis ? minimum : minimumUsdMillis)
}

/** A token without a price counts as worth 0, so it is collected only where the minimum is 0. */
export const isWorthCollecting = ({ value }: AddressHolding, minimum: UsdMillis): boolean => (value ?? 0n) >= minimum

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

/** Parts of at most {@link addressesPerPart} addresses. One call empties an address, so its lines are in one part. */
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
  for (const addressHoldings of Map.groupBy(holdings, ({ address }) => address).values()) {
    if (taken.length + addressHoldings.length > maximumCollectLines) break
    taken.push(...addressHoldings)
  }
  const parts = [...Map.groupBy(taken, ({ fingerprint }) => fingerprint).values()].flatMap(partsOf)
  return { lines: parts.flat().map(lineOf), sizes: parts.map((part) => part.length) }
}
