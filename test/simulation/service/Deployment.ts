/** The deployment that a world runs: its config, and models in the place of nodes, price sources and receivers. */
import { Effect, Layer, Schema } from "effect"
import type { HttpRouter } from "effect/http"
import type { SelectedPlugin } from "../../../runtime/Config.ts"
import * as Plugin from "../../../runtime/Plugin.ts"
import { Prices, PriceSourceError } from "../../../runtime/Prices.ts"
import { type DeliveryRequest, TransportFailed, Webhooks } from "../../../runtime/Webhooks.ts"
import { generousLimits } from "../../support/Limits.ts"
import { type Draws, drawsOf } from "../Draws.ts"
import type { SimulatedDatabase } from "../SimulatedDatabase.ts"
import { epochMillis, type Instance, type World } from "../World.ts"
import { ModelChain } from "./Chain.ts"
import { loadConfig, serviceLayer } from "./Instances.ts"
import { clientOf, ModelNode } from "./Node.ts"

export const environment = "mainnet"
export const network = "base"

/** 32 bytes in hexadecimal: the same for each instance. */
export const masterKey = "6a".repeat(32)

/** Of the account m/44'/60'/0' of a seed that is only here. */
const xpub =
  "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP"

/** Three, so that one that says what is not true never has the majority. */
const nodeUrls = ["https://one.example", "https://two.example", "https://three.example"]

const modules = [
  "auth",
  "settings",
  "events",
  "tokens",
  "networks",
  "wallets",
  "invoices",
  "quotes",
  "payments",
  "audit",
  "ledger",
  "refunds",
  "exceptions",
  "webhooks"
]

/** Dollars per whole token. */
export const rates: Readonly<Record<string, string>> = { ethereum: "3500", "usd-coin": "1" }

let loaded: ReturnType<typeof loadConfig> | undefined

/** Loaded once for all runs. Every payment waits for a second node. */
const config = () =>
  loaded ??= loadConfig({
    environments: [environment],
    http: { publicUrl: "https://pay.example" },
    rpc: { token: "${env:RPC_TOKEN}" },
    secrets: { master: ["${env:MASTER}"] },
    store: { use: "postgres", options: { url: "${env:DATABASE}" } },
    chains: [{
      use: "evm",
      options: {
        network,
        environment,
        rpc: nodeUrls.map((_, place) => `\${env:NODE_${place}}`),
        xpub: "${env:XPUB}",
        startIndex: 0,
        agreementAboveUsd: 0
      }
    }],
    tokenSources: [{ use: "bundled", options: { networks: [network] } }],
    webhooks: { retryBaseSeconds: 1, retryFactor: 2 },
    limits: generousLimits,
    telemetry: { logs: "json", level: "warn", requests: "none", payments: false },
    modules: modules.map((use) => ({ use }))
  }, {
    RPC_TOKEN: "rpc-token-of-the-simulation",
    MASTER: masterKey,
    XPUB: xpub,
    DATABASE: "postgresql://nobody@nowhere.example/none",
    ...Object.fromEntries(nodeUrls.map((url, place) => [`NODE_${place}`, url]))
  })

/** What arrived at a receiver, and what was answered: null, nothing. */
export interface Arrival {
  readonly url: string
  readonly eventId: string
  readonly body: string
  readonly atMillis: number
  status: number | null
}

/** Everything outside of the instances. */
export interface Surroundings {
  readonly chain: ModelChain
  readonly nodes: ReadonlyArray<ModelNode>
  readonly arrivals: Array<Arrival>
  /** Nothing goes wrong any more, at nodes, at receivers and on the way to them. */
  isHealthy: boolean
  /** By the world's time: no price source answers before. */
  pricesAwayUntil: number
  readonly layer: (instance: Instance) => Layer.Layer<HttpRouter.HttpRouter, unknown>
}

const noOptions = Schema.Struct({})

const priceSources = (surroundings: Surroundings, world: World) =>
  Plugin.make({
    name: "model-prices",
    slot: "prices",
    options: noOptions,
    layer: () =>
      Layer.effectDiscard(Effect.gen(function*() {
        const oracle = yield* Prices
        for (const name of ["first", "second"]) {
          yield* oracle.register({
            name,
            environments: [environment],
            prices: (assets) =>
              Effect.clockWith((clock) => {
                if (surroundings.pricesAwayUntil > world.now) {
                  return Effect.fail(new PriceSourceError({ source: name, reason: "away" }))
                }
                const at = Math.floor(clock.currentTimeMillisUnsafe() / 1000)
                return Effect.succeed(assets.flatMap((asset) => {
                  const rate = rates[asset]
                  return rate === undefined ? [] : [{ asset, rate, at }]
                }))
              })
          })
        }
      }))
  })

const transport = (surroundings: Surroundings, world: World, draws: Draws) => {
  const send = ({ body, eventId, url }: DeliveryRequest) =>
    Effect.gen(function*() {
      yield* Effect.sleep(draws.below(200))
      const arrival: Arrival = { url, eventId, body, atMillis: world.now, status: null }
      const fate = surroundings.isHealthy ? 1 : draws.fraction()
      arrival.status = fate < 0.1 ? 500 : 200
      surroundings.arrivals.push(arrival)
      yield* Effect.sleep(draws.below(200))
      if (fate >= 0.1 && fate < 0.2) {
        return yield* new TransportFailed({ reason: "no answer", isOurFault: false, timedOut: true })
      }
      return { status: arrival.status, retryAfter: null, body: "" }
    })
  return Plugin.make({
    name: "model-transport",
    slot: "transports",
    options: noOptions,
    layer: () =>
      Layer.effectDiscard(Effect.flatMap(
        Webhooks,
        (webhooks) => webhooks.register({ name: "model", schemes: ["https:"], check: () => Effect.void, send })
      ))
  })
}

const driverOf = (slot: SelectedPlugin["slot"], plugin: Plugin.Plugin<typeof noOptions>): SelectedPlugin => ({
  slot,
  use: plugin.name,
  path: [],
  plugin: plugin as unknown as SelectedPlugin["plugin"],
  options: {}
})

/** The surroundings of a world that begins now. */
export const surround = async (world: World, database: SimulatedDatabase): Promise<Surroundings> => {
  const { seed } = world.plan
  const ways = drawsOf(seed, "network")
  const oldBlocks = 40
  const chain = new ModelChain(seed, Math.floor(epochMillis / 1000) - 2 * oldBlocks, oldBlocks)
  const nodes = nodeUrls.map((url) => new ModelNode(url, chain, () => world.now))
  const options = { config: await config() }
  const surroundings: Surroundings = {
    chain,
    nodes,
    arrivals: [],
    isHealthy: false,
    pricesAwayUntil: 0,
    layer: (instance) => serviceLayer(world, database, instance, { ...options, drivers, httpClient })
  }
  const httpClient = clientOf(nodes, ways, () => world.now, () => surroundings.isHealthy)
  const drivers = [
    driverOf("prices", priceSources(surroundings, world)),
    driverOf("transports", transport(surroundings, world, drawsOf(seed, "receivers")))
  ]
  return surroundings
}
