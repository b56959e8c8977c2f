/**
 * What the chain says of a coin. Anybody can make a coin and choose its words, so nothing of them is believed: a symbol
 * is cut and stripped of what does not show.
 */
import { Effect } from "effect"
import type { ChainDriver } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { canonicalCoinType } from "./Identifiers.ts"
import type { CoinInfo } from "./Messages.ts"
import type { SuiNode } from "./Nodes.ts"

/** Characters of a symbol that are kept. */
const maximumSymbolLength = 32

/** Controls, formats such as the marks of direction, lone surrogates, private and unassigned characters; white space. */
const invisible = /[\p{C}\p{Z}\s]+/gu

/** A symbol that can be shown; null where nothing of it shows. */
export const visibleSymbol = (symbol: string | null): string | null => {
  const visible = (symbol ?? "").slice(0, 8 * maximumSymbolLength).replace(invisible, " ").trim()
  const cut = [...visible].slice(0, maximumSymbolLength).join("")
  return cut === "" ? null : cut
}

const noCoin: CoinInfo = { symbol: null, decimals: null }

/** Asks the first endpoint that answers; what is no coin type is no coin. */
const readCoin = Effect.fnUntraced(function*({ withFailover }: Endpoints<SuiNode>, address: string) {
  const coinType = canonicalCoinType(address)
  return coinType === null ? noCoin : (yield* withFailover((node) => node.coinInfo(coinType))) ?? noCoin
})

export const tokenDecimals = (endpoints: Endpoints<SuiNode>): NonNullable<ChainDriver["tokenDecimals"]> => (address) =>
  Effect.map(readCoin(endpoints, address), ({ decimals }) => decimals)

export const readToken = (endpoints: Endpoints<SuiNode>): NonNullable<ChainDriver["readToken"]> => (address) =>
  Effect.map(readCoin(endpoints, address), ({ decimals, symbol }) => ({ decimals, symbol: visibleSymbol(symbol) }))
