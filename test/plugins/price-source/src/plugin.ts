/**
 * Prices of Acme Markets. `GET <baseUrl>/v1/prices?ids=a,b` answers `[{"id": "a", "usd": "1.5", "at": 1766320496}]`,
 * and leaves out what it does not know.
 */
import { Effect, Layer, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { Environment, make, Prices, PriceSourceError } from "tillwire/plugin"

const sourceName = "acme-price"

const Options = Schema.Struct({
  baseUrl: Schema.String,
  /** Environments whose prices it gives; default: both. */
  environments: Schema.optionalKey(Schema.NonEmptyArray(Environment))
})

const Answer = Schema.Array(Schema.Struct({ id: Schema.String, usd: Schema.String, at: Schema.Int }))

const start = ({ baseUrl, environments = ["devnet", "mainnet"] }: typeof Options.Type) =>
  Effect.gen(function*() {
    const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
    const prices = yield* Prices
    yield* prices.register({
      name: sourceName,
      environments,
      prices: (assets) =>
        assets.length === 0
          ? Effect.succeed([])
          : client.execute(HttpClientRequest.get(`${baseUrl}/v1/prices`, { urlParams: { ids: assets.join(",") } }))
            .pipe(
              Effect.flatMap(HttpClientResponse.schemaBodyJson(Answer)),
              Effect.map((found) => found.map(({ at, id, usd }) => ({ asset: id, rate: usd, at }))),
              Effect.mapError((error) => new PriceSourceError({ source: sourceName, reason: error.message }))
            )
    })
  })

export const plugin = make({
  api: 1,
  name: "acme-price",
  slot: "prices",
  options: Options,
  layer: (options) => Layer.effectDiscard(start(options))
})
