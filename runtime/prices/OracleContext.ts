/** What the parts of the oracle share: the book of prices, the catalogue's assets, and the settings. */
import { type Deferred, MutableRef, type Scope } from "effect"
import { Environment } from "../../schemas/Network.ts"
import type { TokenCatalog } from "../TokenCatalog.ts"
import type { PriceBook } from "./PriceBook.ts"
import { defaultQuorum } from "./PriceRules.ts"

/** What the config says of prices; see `pricing` of the settings. */
export interface Pricing {
  readonly quorum?: number
  readonly depeg: "market" | "block"
}

/** A round of asking all sources that is under way. */
export interface Round {
  readonly assets: ReadonlySet<string>
  readonly done: Deferred.Deferred<void>
}

export interface OracleContext {
  readonly catalog: TokenCatalog["Service"]
  readonly pricing: Pricing
  /** Of the oracle: rounds end with it, not with those who wait for them. */
  readonly scope: Scope.Scope
  readonly book: MutableRef.MutableRef<PriceBook>
  readonly round: MutableRef.MutableRef<Round | null>
  /** Epoch seconds of the start. */
  readonly startedAt: number
}

export const environments: ReadonlyArray<Environment> = Environment.literals

export const quorumOf = ({ quorum }: Pricing, environment: Environment): number => quorum ?? defaultQuorum[environment]

/** What the tokens that are offered in an environment are priced by; an asset of two tokens twice. */
export const tokenAssets = ({ catalog }: OracleContext, environment: Environment): ReadonlyArray<string> =>
  catalog.list(environment).flatMap(({ active, asset }) => (active && asset !== null ? [asset] : []))

/** What tokens are priced by, and what a source of the same environment works its prices out from. */
export const assetsInUse = (
  oracle: OracleContext,
  servedEnvironments: ReadonlyArray<Environment>
): ReadonlyArray<string> => {
  const assets = servedEnvironments.flatMap((environment) => tokenAssets(oracle, environment))
  if (assets.length === 0) return assets
  const { sources } = MutableRef.get(oracle.book)
  return assets.concat(
    [...sources.values()].filter(({ source }) => source.environments.some((one) => servedEnvironments.includes(one)))
      .flatMap(({ source }) => source.requiredAssets ?? [])
  )
}

/** Replaces the book by what a rule of `PriceBook.ts` makes of it, and answers what the rule says beside it. */
export const updateBook = <A>({ book }: OracleContext, rule: (book: PriceBook) => readonly [PriceBook, A]): A => {
  const [next, result] = rule(MutableRef.get(book))
  MutableRef.set(book, next)
  return result
}
