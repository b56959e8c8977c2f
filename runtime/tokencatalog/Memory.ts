/**
 * The token catalogue in memory over the table `tokens`: read back after every change, and every
 * {@link followMillis} when another instance changed it.
 */
import { Effect, Layer, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { TokenId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { type Token, tokenKey, TokenType } from "../../schemas/Token.ts"
import { TokenCatalog, type TokenListing } from "../TokenCatalog.ts"

/**
 * Milliseconds between looks for changes of other instances. Short, because a transfer of a token that this instance
 * does not know yet would be refused as a wrong token.
 */
export const followMillis = 2_000

/** Tokens one source may list. All of them live in memory, at about 1 KiB each. */
export const maximumListings = 20_000

const Row = Schema.Struct({
  id: TokenId,
  key: Schema.String,
  network: Network,
  environment: Environment,
  symbol: Schema.String,
  name: Schema.String,
  address: Schema.NullOr(Schema.String),
  decimals: Schema.Int,
  type: TokenType,
  requires_memo: Schema.Boolean,
  asset: Schema.NullOr(Schema.String),
  stable: Schema.Boolean,
  active: Schema.Boolean,
  photo_uri: Schema.String
})

const tokenOf = (row: typeof Row.Type): Token => ({
  id: row.id,
  network: row.network,
  environment: row.environment,
  symbol: row.symbol,
  name: row.name,
  address: row.address,
  decimals: row.decimals,
  type: row.type,
  requiresMemo: row.requires_memo,
  asset: row.asset,
  stable: row.stable,
  active: row.active,
  photoUri: row.photo_uri
})

/** A listing with its key, which is read from the address once. */
interface KeyedListing {
  readonly key: string
  readonly listing: TokenListing
}

const rowOf = (source: string, { key, listing: { requiresMemo, photoUri, ...same } }: KeyedListing) => ({
  ...same,
  key,
  source,
  requires_memo: requiresMemo,
  photo_uri: photoUri
})

/** The catalogue at one moment. */
interface Snapshot {
  readonly byId: ReadonlyMap<number, Token>
  readonly lists: Readonly<Record<Environment, ReadonlyArray<Token>>>
  /** As the sources list them, before any contract was asked. */
  readonly listedTokens: ReadonlyArray<Token>
  /** Ids of tokens by key. */
  readonly idsByKey: ReadonlyMap<string, number>
  /** Changes with every insert and update of the table. */
  readonly mark: string
}

/** Code unit order: the same on every machine, whatever its locale. */
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Sorted as every list of tokens is (modules/docs/reference/tokens.md#the-list). */
const byNetworkSymbolId = (a: Token, b: Token): number =>
  compareText(a.network, b.network) || compareText(a.symbol, b.symbol) || a.id - b.id

const networkKey = ({ environment, network }: Pick<Token, "environment" | "network">): string =>
  `${network}:${environment}`

/** What contracts said of the decimals of tokens, and the networks on which that counts. */
class VerifiedDecimals {
  readonly requiredNetworks = new Set<string>()
  readonly decimals = new Map<number, number | null>()

  /** A token whose contract was not asked yet, or says something else, takes no payments. */
  applyTo(token: Token): Token {
    const isTrusted = token.address === null || !this.requiredNetworks.has(networkKey(token)) ||
      this.decimals.get(token.id) === token.decimals
    return isTrusted || !token.active ? token : { ...token, active: false }
  }
}

const snapshotOf = (
  { idsByKey, listedTokens, mark }: Pick<Snapshot, "idsByKey" | "listedTokens" | "mark">,
  verifiedDecimals: VerifiedDecimals
): Snapshot => {
  const tokens = listedTokens.map((token) => verifiedDecimals.applyTo(token))
  const sortedTokens = tokens.toSorted(byNetworkSymbolId)
  return {
    byId: new Map(tokens.map((token) => [token.id, token])),
    idsByKey,
    lists: {
      devnet: sortedTokens.filter(({ environment }) => environment === "devnet"),
      mainnet: sortedTokens.filter(({ environment }) => environment === "mainnet")
    },
    listedTokens,
    mark
  }
}

/**
 * Lists each token once, in the source's order; of two listings of one token the last one holds.
 * The order decides the ids of tokens seen for the first time.
 */
const distinct = (source: string, listings: ReadonlyArray<KeyedListing>) => [
  ...new Map(listings.map((listing) => [listing.key, rowOf(source, listing)])).values()
]

// oxlint-disable-next-line max-lines-per-function -- sources and indexes are replaced together
const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const writeLock = yield* Semaphore.make(1)
  /** What each source lists, in order of precedence; undefined: declared, and not heard of yet. */
  const sources = new Map<string, ReadonlyArray<KeyedListing> | undefined>()
  const verifiedDecimals = new VerifiedDecimals()
  let latest = snapshotOf({ idsByKey: new Map(), listedTokens: [], mark: "" }, verifiedDecimals)
  let isOutdated = false
  /** Decimals are recorded by the thousand after a start: they are applied together, at the next read. */
  const current = (): Snapshot => {
    if (isOutdated) {
      latest = snapshotOf(latest, verifiedDecimals)
      isOutdated = false
    }
    return latest
  }

  // Every write gives a row the writer's transaction id, so the sum changes with it and no column is needed.
  const readMark = sql<{ readonly mark: string }>`
    SELECT count(*)::text || ':' || coalesce(sum(xmin::text::numeric), 0)::text AS mark FROM tokens`.pipe(
    Effect.map(([row]) => row?.mark ?? "")
  )

  const readRows = sql`
    SELECT id, key, network, environment, symbol, name, address, decimals, type, requires_memo, asset, stable, active,
      photo_uri
    FROM tokens`.pipe(Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(Row))))

  /**
   * Keys that an earlier version wrote for an address which has several spellings become today's, so that the token
   * keeps its id. Of two rows that were one token all along the first keeps it; the other is found no more.
   */
  const renewKeys = Effect.gen(function*() {
    const outdatedRows = (yield* readRows).filter((row) => row.key !== tokenKey(row))
    if (outdatedRows.length === 0) return
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE`
      for (const row of outdatedRows.toSorted((a, b) => a.id - b.id)) {
        yield* sql`UPDATE tokens SET key = ${tokenKey(row)}
          WHERE id = ${row.id} AND NOT EXISTS (SELECT FROM tokens WHERE key = ${tokenKey(row)})`
      }
    }))
  })

  const reload = Effect.gen(function*() {
    // The mark first: a change between the two reads is then seen at the next look, not lost.
    const mark = yield* readMark
    const rows = yield* readRows
    const idsByKey = new Map(rows.map(({ id, key }) => [key, id]))
    latest = snapshotOf({ idsByKey, listedTokens: rows.map(tokenOf), mark }, verifiedDecimals)
    isOutdated = false
  })

  const requireVerifiedDecimals: TokenCatalog["Service"]["requireVerifiedDecimals"] = (network, environment) => {
    const key = networkKey({ network, environment })
    const setTo = (isRequired: boolean) =>
      Effect.sync(() => {
        if (isRequired) verifiedDecimals.requiredNetworks.add(key)
        else verifiedDecimals.requiredNetworks.delete(key)
        isOutdated = true
      })
    return Effect.acquireRelease(setTo(true), () => setTo(false))
  }

  const unverifiedTokens: TokenCatalog["Service"]["unverifiedTokens"] = (network, environment) =>
    latest.listedTokens.filter((token) =>
      token.network === network && token.environment === environment && token.active && token.address !== null &&
      typeof verifiedDecimals.decimals.get(token.id) !== "number"
    )

  const recordDecimals: TokenCatalog["Service"]["recordDecimals"] = Effect.fnUntraced(
    function*(id: number, decimals: number | null) {
      if (verifiedDecimals.decimals.get(id) === decimals) return
      verifiedDecimals.decimals.set(id, decimals)
      isOutdated = true
      const token = latest.listedTokens.find((each) => each.id === id)
      if (token === undefined || token.decimals === decimals) return
      const reason = decimals === null
        ? "there is no token contract at its address"
        : `its contract says ${decimals} decimals, the list says ${token.decimals}`
      yield* Effect.logError(`a token is not accepted: ${reason}. Correct the token list`).pipe(
        Effect.annotateLogs({ token_id: id, symbol: token.symbol, network: token.network, address: token.address })
      )
    }
  )

  /** Writes one source; leaves alone what `pendingSources`, which come before it, had listed before this start. */
  const write = (source: string, listings: ReadonlyArray<KeyedListing>, pendingSources: ReadonlyArray<string>) =>
    sql.withTransaction(Effect.gen(function*() {
      const rows = JSON.stringify(distinct(source, listings))
      // One writer at a time, so that no id is taken in vain and the listing order is the id order; readers go on.
      yield* sql`LOCK TABLE tokens IN SHARE ROW EXCLUSIVE MODE`
      yield* sql`
        INSERT INTO tokens (key, source, network, environment, symbol, name, address, decimals, type, requires_memo,
          asset, stable, active, photo_uri)
        SELECT listed.key, source, network, environment, symbol, name, address, decimals, type, requires_memo, asset,
          stable, active, photo_uri
        FROM (SELECT (json_populate_record(null::tokens, item)).*, place
              FROM json_array_elements(${rows}::json) WITH ORDINALITY AS items (item, place)) AS listed
        WHERE NOT EXISTS (SELECT FROM tokens WHERE tokens.key = listed.key)
        ORDER BY place`
      yield* sql`
        UPDATE tokens SET (source, symbol, name, address, decimals, type, requires_memo, asset, stable, active,
            photo_uri)
          = (listed.source, listed.symbol, listed.name, listed.address, listed.decimals, listed.type,
            listed.requires_memo, listed.asset, listed.stable, listed.active, listed.photo_uri)
        FROM json_populate_recordset(null::tokens, ${rows}::json) AS listed
        WHERE tokens.key = listed.key AND tokens.source <> ALL (${pendingSources}::text[]) AND
          (tokens.source, tokens.symbol, tokens.name, tokens.address, tokens.decimals, tokens.type,
            tokens.requires_memo, tokens.asset, tokens.stable, tokens.active, tokens.photo_uri)
          IS DISTINCT FROM
          (listed.source, listed.symbol, listed.name, listed.address, listed.decimals, listed.type,
            listed.requires_memo, listed.asset, listed.stable, listed.active, listed.photo_uri)`
      yield* sql`
        UPDATE tokens SET active = false
        WHERE source = ${source} AND active AND NOT EXISTS (
          SELECT FROM json_populate_recordset(null::tokens, ${rows}::json) AS listed WHERE listed.key = tokens.key)`
    }))

  const declare = (source: string) =>
    Effect.sync(() => {
      if (!sources.has(source)) sources.set(source, undefined)
    })

  /** Writes `changedSource` and the sources after it, each without what the ones before it list. */
  const writeFrom = Effect.fnUntraced(function*(changedSource: string) {
    const takenKeys = new Set<string>()
    const pendingSources: Array<string> = []
    let isReached = false
    for (const [source, listings] of sources) {
      isReached ||= source === changedSource
      if (listings === undefined) {
        pendingSources.push(source)
        continue
      }
      if (isReached) {
        yield* write(
          source,
          listings.filter(({ key }) => !takenKeys.has(key)),
          pendingSources
        )
      }
      for (const { key } of listings) takenKeys.add(key)
    }
  })

  const sync = Effect.fn("TokenCatalog.sync")(function*(source: string, listings: ReadonlyArray<TokenListing>) {
    if (listings.length > maximumListings) {
      return yield* Effect.die(new Error(`Token source ${source} lists more than ${maximumListings} tokens`))
    }
    const change = Effect.suspend(() => {
      sources.set(source, listings.map((listing) => ({ key: tokenKey(listing), listing })))
      return Effect.andThen(writeFrom(source), reload)
    })
    yield* writeLock.withPermit(change).pipe(Effect.orDie)
  })

  const follow = Effect.gen(function*() {
    yield* Effect.sleep(followMillis)
    if ((yield* readMark) !== latest.mark) yield* writeLock.withPermit(reload)
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("The token catalogue could not be read again", cause)),
    Effect.forever
  )

  yield* Effect.orDie(Effect.andThen(renewKeys, reload))
  yield* Effect.forkScoped(follow)

  return TokenCatalog.of({
    declare,
    sync,
    requireVerifiedDecimals,
    unverifiedTokens,
    recordDecimals,
    get: (id) => current().byId.get(id),
    find: (network, environment, address) => {
      const { byId, idsByKey } = current()
      const id = idsByKey.get(tokenKey({ network, environment, address }))
      return id === undefined ? undefined : byId.get(id)
    },
    list: (environment) => current().lists[environment]
  })
})

/** Follows the table for as long as the layer lives. */
export const layer: Layer.Layer<TokenCatalog, never, SqlClient.SqlClient> = Layer.effect(TokenCatalog, make)
