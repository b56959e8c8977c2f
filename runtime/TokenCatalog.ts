/** The tokens this deployment knows, in memory, with ids that never change. */
import { Context, type Effect, type Scope } from "effect"
import type { Environment, Network } from "../schemas/Network.ts"
import type { Token } from "../schemas/Token.ts"

/** A token as a source lists it, before it has an id. */
export type TokenListing = Omit<Token, "id">

/** The tokens that this deployment knows. Token sources tell it what they list. */
export class TokenCatalog extends Context.Service<TokenCatalog, {
  /**
   * Declares a source. What two sources list is as the one declared first says, and the other's only once that one no
   * longer lists it: plugins declare themselves in the config's order. A source that syncs undeclared is declared by
   * it.
   */
  readonly declare: (source: string) => Effect.Effect<void>
  /**
   * Makes the catalogue hold what a source lists: new tokens get the next id, known ones are updated, tokens of this
   * source that are gone become inactive. Ids are kept in the database and never reused.
   */
  readonly sync: (source: string, listings: ReadonlyArray<TokenListing>) => Effect.Effect<void>
  /**
   * From now on, for as long as the scope lives, tokens of a network that have a contract are active only once {@link
   * recordDecimals} has found the decimals of the contract to be the listed ones: what a payment is worth hangs on
   * them.
   */
  readonly requireVerifiedDecimals: (
    network: Network,
    environment: Environment
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Tokens of a guarded network that are listed as active and whose contract has not said its decimals yet. */
  readonly unverifiedTokens: (network: Network, environment: Environment) => ReadonlyArray<Token>
  /** What a token's contract says its decimals are; null: there is none yet. A mismatch is logged as an error, once. */
  readonly recordDecimals: (id: number, decimals: number | null) => Effect.Effect<void>
  readonly get: (id: number) => Token | undefined
  /** By the address of a contract, mint, coin type or jetton master in any spelling; null finds the native coin. */
  readonly find: (network: Network, environment: Environment, address: string | null) => Token | undefined
  /** Sorted by network, symbol, id. Inactive ones included. */
  readonly list: (environment: Environment) => ReadonlyArray<Token>
}>()("tillwire/runtime/TokenCatalog") {}

/**
 * Whether `token` is inactive only because its contract was not asked yet, as after a start. It may be accepted in a
 * moment, so nothing is refused for good because of it.
 */
export const awaitsContractRead = (catalog: TokenCatalog["Service"], token: Token): boolean =>
  !token.active && catalog.unverifiedTokens(token.network, token.environment).some(({ id }) => id === token.id)
