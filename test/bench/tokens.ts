/** Search over 10,000 tokens, total and first 50, beside bare trigram postings over the same texts. */
import { Effect } from "effect"
import { buildIndex, search, type TokenQuery } from "../../runtime/tokencatalog/Search.ts"
import { TokenId } from "../../schemas/Ids.ts"
import { networks } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import type { Bench } from "./Bench.ts"
import { median, type ReportLine } from "./Report.ts"

const catalogue = 10_000
const page = 50
/** Each query is run this often in a round. */
const repeats = 300

/** One to seven characters: short ones dominate what people type first. */
const queries = ["u", "us", "usd", "dai", "wrap", "0xab", "bridge", "e", "pe 1", "coin 42"]
const words = ["usd", "coin", "token", "wrapped", "ether", "dai", "pepe", "inu", "bridge", "gold", "moon", "safe"]

/** A small generator, so that a seed gives one catalogue. */
const randomOf = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const tokensOf = (seed: number): ReadonlyArray<Token> => {
  const random = randomOf(seed)
  const word = () => words[Math.floor(random() * words.length)]!
  const hex = () => Math.floor(random() * 16).toString(16)
  return Array.from({ length: catalogue }, (_, at) => ({
    id: TokenId.make(at + 1),
    network: networks[Math.floor(random() * networks.length)]!,
    environment: "mainnet",
    symbol: `${word().toUpperCase()}${Math.floor(random() * 100)}`,
    name: `${word()} ${word()} ${at}`,
    address: `0x${Array.from({ length: 40 }, hex).join("")}`,
    decimals: 18,
    type: "erc20",
    requiresMemo: false,
    asset: null,
    stable: random() < 0.1,
    active: random() < 0.8,
    photoUri: "/assets/tokens/x.svg"
  }))
}

const nothing = {
  network: null,
  type: null,
  active: null,
  stable: null,
  accepts: null,
  offset: 0,
  limit: page
} as const

/** The least anybody could do: postings of three characters, verified; a scan of lower-cased texts below three. */
const bareSearch = (tokens: ReadonlyArray<Token>) => {
  const texts = tokens.map(({ address, name, symbol }) => `${symbol}\n${name}\n${address}`.toLowerCase())
  const postings = new Map<string, Array<number>>()
  texts.forEach((text, place) => {
    for (let from = 0; from + 3 <= text.length; from++) {
      const run = text.slice(from, from + 3)
      const known = postings.get(run)
      if (known === undefined) postings.set(run, [place])
      else if (known[known.length - 1] !== place) known.push(place)
    }
  })
  return (query: string) => {
    const runs = Array.from(
      { length: Math.max(0, query.length - 2) },
      (_, from) => postings.get(query.slice(from, from + 3)) ?? []
    )
    const places = runs.length === 0 ? texts.keys() : runs.reduce((a, b) => b.length < a.length ? b : a)
    const found: Array<Token> = []
    let total = 0
    for (const place of places) {
      if (!texts[place]!.includes(query)) continue
      if (total < page) found.push(tokens[place]!)
      total++
    }
    return { total, tokens: found }
  }
}

type Found = { readonly total: number; readonly tokens: ReadonlyArray<Token> }

/** Queries for which the bare search has postings too. */
const longQueries = queries.filter(({ length }) => length >= 3)

/** Microseconds of one query, over all of `asked`. */
const timed = (run: (query: string) => Found, asked: ReadonlyArray<string> = queries): number => {
  const start = performance.now()
  for (let turn = 0; turn < repeats; turn++) {
    for (const query of asked) run(query)
  }
  return (performance.now() - start) * 1_000 / (repeats * asked.length)
}

export const tokens = ({ progress, rounds, seed }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const all = tokensOf(seed)
    const start = performance.now()
    const made = yield* buildIndex(all)
    const indexing = performance.now() - start
    const asked = new Map(queries.map((text): [string, TokenQuery] => [text, { ...nothing, text }]))
    const blocked = new Set(all.filter((_, at) => at % 7 === 0).map(({ id }) => Number(id)))
    const filtered = new Map(queries.map((text): [string, TokenQuery] => [
      text,
      { ...nothing, text, active: true, accepts: (id) => !blocked.has(id) }
    ]))
    const ours = (query: string) => search(made, asked.get(query)!)
    const bare = bareSearch(all)
    for (const query of queries) {
      const same = JSON.stringify(ours(query)) === JSON.stringify(bare(query))
      if (!same) return yield* Effect.die(new Error(`"${query}" finds something else than the bare search`))
    }
    const measure = () => ({
      ours: timed(ours),
      filtered: timed((query) => search(made, filtered.get(query)!)),
      bare: timed(bare),
      oursLong: timed(ours, longQueries),
      bareLong: timed(bare, longQueries)
    })
    const seen: Array<ReturnType<typeof measure>> = []
    for (let round = 0; round <= rounds; round++) {
      const figures = measure()
      // The first round warms both up.
      if (round > 0) {
        seen.push(figures)
        progress(`tokens ${round}/${rounds}: ${figures.ours.toFixed(1)} us, bare ${figures.bare.toFixed(1)} us`)
      }
      yield* Effect.yieldNow
    }
    const of = (pick: (figures: typeof seen[number]) => number) => median(seen.map(pick))
    return [
      {
        section: "tokens",
        what: "search of 10,000 tokens, beside bare trigram postings",
        value: of(({ bare, ours }) => ours / bare),
        unit: "times",
        goal: { atMost: 2 },
        note: `${of(({ ours }) => ours).toFixed(1)} us a query, bare ${of(({ bare }) => bare).toFixed(1)} us`
      },
      {
        section: "tokens",
        what: "the same, queries of three characters and more only",
        value: of(({ bareLong, oursLong }) => oursLong / bareLong),
        unit: "times",
        goal: { atMost: 2 },
        note: `${of(({ oursLong }) => oursLong).toFixed(1)} us a query, bare ${
          of(({ bareLong }) => bareLong).toFixed(1)
        } us`
      },
      {
        section: "tokens",
        what: "the same with a status filter and a blocked list",
        value: of(({ bare, filtered }) => filtered / bare),
        unit: "times",
        goal: { atMost: 2 },
        note: `${of(({ filtered }) => filtered).toFixed(1)} us a query; indexing once ${
          indexing.toFixed(0)
        } ms in slices`
      }
    ]
  })
