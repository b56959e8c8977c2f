/** What every token source promises, whoever wrote it. A driver's test calls {@link tokenSourceConformance}. */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { TokenCatalog, type TokenListing } from "../../runtime/TokenCatalog.ts"
import { layer as memory } from "../../runtime/tokencatalog/Memory.ts"
import { readAddress } from "../../schemas/Address.ts"
import { tokenKey } from "../../schemas/Token.ts"
import { connect, freshDatabase } from "../support/Database.ts"
import { until } from "../support/Service.ts"

/** A plugin's layer as far as a token source may need the runtime. */
export type SourceLayer = Layer.Layer<never, unknown, TokenCatalog | HttpClient.HttpClient>

/** A driver ready to be tried. */
export interface SourceSubject {
  readonly layer: SourceLayer
  /** What it lists, at least. */
  readonly known: ReadonlyArray<Pick<TokenListing, "network" | "environment" | "address" | "decimals">>
}

/** What a source told the catalogue, newest last. */
export const listingsOf = (source: SourceLayer): Effect.Effect<
  () => ReadonlyArray<readonly [string, ReadonlyArray<TokenListing>]>,
  unknown,
  Scope.Scope
> =>
  Effect.gen(function*() {
    const heard: Array<readonly [string, ReadonlyArray<TokenListing>]> = []
    const catalog = Layer.mock(TokenCatalog, {
      unverifiedTokens: () => [],
      get: () => undefined,
      find: () => undefined,
      list: () => [],
      declare: () => Effect.void,
      sync: (name, listings) => Effect.sync(() => void heard.push([name, listings]))
    })
    yield* Layer.build(Layer.provide(source, [catalog, NodeHttpClient.layerUndici]))
    return () => heard
  })

/** No control, format or bidirectional character, and no line or paragraph end. */
const plain = /^[^\p{C}\p{Zl}\p{Zp}]+$/u

/** Runs the suite. `start` makes the driver and whatever it talks to. */
export const tokenSourceConformance = (name: string, start: Effect.Effect<SourceSubject, never, Scope.Scope>) => {
  describe(`token source ${name}`, () => {
    it.live("lists what it knows, each token once, under one name, with facts the catalogue can hold", () =>
      Effect.gen(function*() {
        const subject = yield* start
        const heard = yield* listingsOf(subject.layer)
        const [told] = yield* until("the first list", Effect.sync(heard), (all) => all.length > 0)
        const [, listings] = told!
        for (const { decimals, ...token } of subject.known) {
          const found = listings.find((each) => tokenKey(each) === tokenKey(token))
          assert.strictEqual(found?.decimals, decimals, tokenKey(token))
        }
        assert.strictEqual(new Set(listings.map(tokenKey)).size, listings.length)
        for (const listing of listings) {
          assert.match(listing.symbol, /^[\w.$+-]{1,32}$/)
          assert.match(listing.name, plain)
          assert.isTrue(Number.isInteger(listing.decimals) && listing.decimals >= 0 && listing.decimals <= 36)
          assert.match(listing.photoUri, /^\/assets\/tokens\/[^/]+\.svg$/, "pictures are never linked from elsewhere")
          if (listing.address === null) assert.strictEqual(listing.type, "native")
          if (listing.type === "erc20") {
            assert.strictEqual(readAddress(listing.network, listing.environment, listing.address!), listing.address)
          }
        }
      }))

    it.live("gives its tokens the same ids at every start", () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const subject = yield* start
        const wanted = subject.known.map(tokenKey)
        const idsOnce = Effect.scoped(Effect.gen(function*() {
          const services = yield* Layer.build(Layer.fresh(memory))
          const catalog = Context.get(services, TokenCatalog)
          yield* Layer.build(
            Layer.fresh(
              Layer.provide(subject.layer, [Layer.succeed(TokenCatalog, catalog), NodeHttpClient.layerUndici])
            )
          )
          const ids = Effect.sync(() =>
            new Map(
              [...catalog.list("devnet"), ...catalog.list("mainnet")].map((each) => [tokenKey(each), Number(each.id)])
            )
          )
          const all = yield* until("the catalogue", ids, (found) => wanted.every((key) => found.has(key)))
          return wanted.map((key) => all.get(key))
        })).pipe(Effect.provide(Layer.fresh(connect(database))))
        assert.deepStrictEqual(yield* idsOnce, yield* idsOnce)
      }))
  })
}
