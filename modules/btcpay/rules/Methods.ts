/** Payment methods as shops name them: `USDC-BASE` for a token of a network. Pure. */

const clean = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/gu, "")

/** The id of a token by its symbol. Null, or a symbol without letters and digits, gives `TOKEN`. */
export const methodIdOf = (symbol: string | null, network: string): string =>
  `${clean(symbol ?? "") || "TOKEN"}-${clean(network)}`

/** Plugins take an id that ends with `-LN` for the Lightning Network, and would handle the token differently. */
const looksLikeLightning = (id: string): boolean => id.endsWith("-LN")

/**
 * The id of each token. Where two tokens would have the same id, the later one gets its number in the catalogue as a
 * suffix, so that no id ever changes.
 *
 * @example
 * methodIds([{ id: 7, symbol: "USDC.e", network: "arbitrum" }]).get(7) // => "USDCE-ARBITRUM"
 */
export const methodIds = (
  tokens: ReadonlyArray<{ readonly id: number; readonly network: string; readonly symbol: string }>
): ReadonlyMap<number, string> => {
  const ids = new Map<number, string>()
  const taken = new Set<string>()
  for (const { id, network, symbol } of tokens.toSorted((a, b) => a.id - b.id)) {
    const plain = methodIdOf(symbol, network)
    const own = taken.has(plain) || looksLikeLightning(plain) ? `${plain}-${id}` : plain
    taken.add(own)
    ids.set(id, own)
  }
  return ids
}

/** The canonical form of an id. WooCommerce makes PHP class names of ids, and sends `_` for `-`. */
export const readMethodId = (text: string): string => text.toUpperCase().replaceAll("_", "-")

/** The tokens of payment methods. An id whose token is no longer in the catalogue is left out. */
export const tokensNamedBy = (
  methodIds: ReadonlyArray<string>,
  idByToken: ReadonlyMap<number, string>
): ReadonlySet<number> => {
  const named = new Set(methodIds)
  return new Set([...idByToken].flatMap(([tokenId, methodId]) => named.has(methodId) ? [tokenId] : []))
}
