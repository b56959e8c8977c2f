/**
 * `tillwire/client/commerce`: carts, checkout and orders for programs on Effect, as `tillwire/client` is for the rest.
 *
 * @example
 * const shop = yield* make({ baseUrl: "https://pay.example", apiKey: Redacted.make(commerceKey) })
 */
import { HttpApi } from "effect/http-api"
import { type ClientOptions, makeClient } from "../clients/client.ts"
import { CommerceApi } from "../commerce/api.ts"
import { StorefrontApi } from "./api.ts"

/** Every call of a merchant's shop. */
export const ShopApi = HttpApi.make("tillwire-commerce").addHttpApi(StorefrontApi).addHttpApi(CommerceApi)

/** A client of one deployment's shop. */
export const make = (options: ClientOptions) => makeClient(ShopApi, options)
