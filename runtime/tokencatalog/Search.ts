/**
 * Search in the token catalogue, in memory: postings of every run of one, two and three characters, so that a short
 * text is found without reading a single token and a longer one reads few.
 */
import { Effect, Semaphore } from "effect"
import type { Environment, Network } from "../../schemas/Network.ts"
import { descriptorOf, networkFamilies, networks } from "../../schemas/Network.ts"
import { nativeAddress, type Token, TokenType } from "../../schemas/Token.ts"
import { TokenCatalog } from "../TokenCatalog.ts"

/** What to look for; null: not asked for. */
export interface TokenQuery {
  /** Literal characters in symbol, name or address, in either case, or an address in any spelling; no NUL. */
  readonly text: string | null
  readonly network: Network | null
  readonly type: TokenType | null
  readonly active: boolean | null
  readonly stable: boolean | null
  /** Asked last, of the few that fit everything else. */
  readonly accepts: ((tokenId: number) => boolean) | null
  readonly offset: number
  readonly limit: number
}

/** What was found, in the catalogue's order. */
export interface TokenPage {
  /** All that fit, whatever `offset` and `limit` show of them. */
  readonly total: number
  readonly tokens: ReadonlyArray<Token>
}

/** Characters of the longest run with postings: a text of up to this length is found by its posting alone. */
const maximumNgram = 3

/** Tokens indexed before other work gets its turn: a few milliseconds. */
const tokensPerSlice = 50

/** Between the fields of a token; no text holds it, so no match spans two fields. */
const separator = "\u0000"

/** Eight bits each for the network and the type: 256 of them have room. */
const networkMask = 0xff
const typeBit = 8
const typeMask = 0xff << typeBit
const activeBit = 1 << 16
const stableBit = 1 << 17

/** What filters ask of a token, as bits: network, type, active, stable. */
const factsOf = (token: Token): number =>
  networks.indexOf(token.network) | (TokenType.literals.indexOf(token.type) << typeBit) |
  (token.active ? activeBit : 0) | (token.stable ? stableBit : 0)

const flag = (required: boolean | null, bit: number) =>
  required === null ? { mask: 0, value: 0 } : { mask: bit, value: required ? bit : 0 }

/** A token fits where `(facts & mask) === value`. */
const filterOf = ({ active, network, stable, type }: TokenQuery) => {
  const bits = [
    network === null ? flag(null, 0) : { mask: networkMask, value: networks.indexOf(network) },
    type === null ? flag(null, 0) : { mask: typeMask, value: TokenType.literals.indexOf(type) << typeBit },
    flag(active, activeBit),
    flag(stable, stableBit)
  ]
  return bits.reduce((all, one) => ({ mask: all.mask | one.mask, value: all.value | one.value }))
}

/** The catalogue of one environment, ready to be searched. */
export interface TokenIndex {
  readonly tokens: ReadonlyArray<Token>
  /** Searched text of each token, lower-cased. */
  readonly texts: ReadonlyArray<string>
  readonly facts: Uint32Array
  /** Places of tokens that hold a run of one to three characters, ascending. */
  readonly postings: ReadonlyMap<string, ReadonlyArray<number>>
}

/** An address that has several spellings is found by the one it is listed with, and by the one all of them share. */
const fieldsOf = ({ address, name, network, symbol }: Token): ReadonlyArray<string> => {
  const key = address === null ? nativeAddress : descriptorOf(network).family.tokenKey(address)
  return [...new Set([symbol, name, address ?? nativeAddress, key].map((field) => field.toLowerCase()))]
}

/** A whole address in the spelling that all spellings of it share; any other text as it is. */
const searchText = (text: string): string => {
  for (const { tokenAddress, tokenKey } of networkFamilies) {
    if (tokenAddress(text) !== null) return tokenKey(text).toLowerCase()
  }
  return text.toLowerCase()
}

const addNgrams = (postings: Map<string, Array<number>>, field: string, place: number): void => {
  for (let from = 0; from < field.length; from++) {
    const last = Math.min(maximumNgram, field.length - from)
    for (let length = 1; length <= last; length++) {
      const ngram = field.slice(from, from + length)
      const places = postings.get(ngram)
      if (places === undefined) postings.set(ngram, [place])
      else if (places[places.length - 1] !== place) places.push(place)
    }
  }
}

/** Indexes `tokens` in their order, giving way to other work every {@link tokensPerSlice} tokens. */
export const buildIndex = Effect.fnUntraced(function*(tokens: ReadonlyArray<Token>): Effect.fn.Return<TokenIndex> {
  const postings = new Map<string, Array<number>>()
  const texts: Array<string> = []
  for (const [place, token] of tokens.entries()) {
    const fields = fieldsOf(token)
    for (const field of fields) addNgrams(postings, field, place)
    texts.push(fields.join(separator))
    if (place % tokensPerSlice === tokensPerSlice - 1) yield* Effect.yieldNow
  }
  return { tokens, texts, facts: Uint32Array.from(tokens, factsOf), postings }
})

/** The shortest posting among the runs of `text`; undefined: no token holds one of them. */
const rarestPosting = ({ postings }: TokenIndex, text: string): ReadonlyArray<number> | undefined => {
  if (text.length <= maximumNgram) return postings.get(text)
  let shortest = postings.get(text.slice(0, maximumNgram))
  for (let from = 1; shortest !== undefined && from <= text.length - maximumNgram; from++) {
    const posting = postings.get(text.slice(from, from + maximumNgram))
    if (posting === undefined || posting.length < shortest.length) shortest = posting
  }
  return shortest
}

/** The tokens of `query`. Costs what the rarest run of its text costs, and nothing per token that lacks it. */
export const search = (index: TokenIndex, query: TokenQuery): TokenPage => {
  const text = query.text === null ? "" : searchText(query.text)
  const places = text === "" ? null : rarestPosting(index, text) ?? []
  const mustCompareText = text.length > maximumNgram
  const { mask, value } = filterOf(query)
  const { accepts, limit, offset } = query
  const tokens: Array<Token> = []
  let total = 0
  const candidates = places === null ? index.tokens.length : places.length
  for (let at = 0; at < candidates; at++) {
    const place = places === null ? at : places[at]!
    if ((index.facts[place]! & mask) !== value) continue
    if (mustCompareText && !index.texts[place]!.includes(text)) continue
    if (accepts !== null && !accepts(index.tokens[place]!.id)) continue
    if (total >= offset && tokens.length < limit) tokens.push(index.tokens[place]!)
    total++
  }
  return { total, tokens }
}

/** Searches the catalogue as it is now: a changed list is indexed once, by the first search after the change. */
export const make = Effect.gen(function*() {
  const catalog = yield* TokenCatalog
  const indexes = new Map<Environment, TokenIndex>()
  const buildLock = yield* Semaphore.make(1)

  const current = (environment: Environment): Effect.Effect<TokenIndex> =>
    Effect.suspend(() => {
      const tokens = catalog.list(environment)
      const found = indexes.get(environment)
      if (found?.tokens === tokens) return Effect.succeed(found)
      return Effect.tap(buildIndex(tokens), (newIndex) => Effect.sync(() => indexes.set(environment, newIndex)))
    })

  return (environment: Environment, query: TokenQuery): Effect.Effect<TokenPage> =>
    Effect.suspend(() => {
      const found = indexes.get(environment)
      const ready = found?.tokens === catalog.list(environment)
        ? Effect.succeed(found)
        : buildLock.withPermit(current(environment))
      return Effect.map(ready, (index) => search(index, query))
    })
})
