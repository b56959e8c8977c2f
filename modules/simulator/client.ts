/**
 * `tillwire/client/devnet`: play money for programs on Effect, as `tillwire/client` is for the rest.
 *
 * @example
 * const simulator = yield* make({ baseUrl: "http://127.0.0.1:8080", apiKey: Redacted.make(key) })
 */
import { HttpApi } from "effect/http-api"
import { type ClientOptions, makeClient } from "../clients/client.ts"
import { SimulatorApi } from "./api.ts"

/** Every call that no mainnet has. */
export const DevnetApi = HttpApi.make("tillwire-devnet").addHttpApi(SimulatorApi)

/** A client of one deployment's simulator. */
export const make = (options: ClientOptions) => makeClient(DevnetApi, options)
