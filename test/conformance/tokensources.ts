/** What every token source promises, whoever wrote it. A driver's test calls {@link tokenSourceConformance}. */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { tokenSourceChecks, type TokenSourceSubject } from "../../runtime/plugintesting/TokenSources.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { layer as memory } from "../../runtime/tokencatalog/Memory.ts"
import { tokenKey } from "../../schemas/Token.ts"
import { connect, freshDatabase } from "../support/Database.ts"
import { until } from "../support/Service.ts"

export { listingsOf } from "../../runtime/plugintesting/TokenSources.ts"

/** A plugin's layer as far as a token source may need the runtime. */
export type SourceLayer = Layer.Layer<never, unknown, TokenCatalog | HttpClient.HttpClient>

/**
 * Runs the suite, which plugins from outside have as `tillwire/plugin/testing`; and looks at the ids of tokens in a
 * database. `start` makes the driver and whatever it talks to.
 */
export const tokenSourceConformance = (name: string, start: Effect.Effect<TokenSourceSubject, never, Scope.Scope>) => {
  describe(`token source ${name}`, () => {
    for (const check of tokenSourceChecks(start)) it.live(check.name, () => check.effect)

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
              Layer.provide(subject.layer as SourceLayer, [
                Layer.succeed(TokenCatalog, catalog),
                NodeHttpClient.layerUndici
              ])
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
