/**
 * What the tests of a plugin from outside use: `tillwire/plugin/testing`. The promises of a port are a list of checks,
 * to be run by any test runner; built-in drivers pass the same ones. A running service does not have it.
 *
 * @example
 * import { test } from "node:test" // or "vitest"
 * import { priceSourceChecks } from "tillwire/plugin/testing"
 *
 * for (const { name, run } of priceSourceChecks(start, broken)) test(name, run)
 */
export { type PortCheck, PromiseBroken } from "./plugintesting/PortCheck.ts"
export {
  devnetPriceOf,
  priceSourceChecks,
  priceSourceOf,
  type PriceSourceSubject,
  type TestedPriceSource
} from "./plugintesting/PriceSources.ts"
export { listingsOf, tokenSourceChecks, type TokenSourceSubject } from "./plugintesting/TokenSources.ts"
export {
  type DeliveredRequest,
  deliverySecret,
  deliveryTo,
  transportChecks,
  transportOf,
  type TransportSubject
} from "./plugintesting/Transports.ts"
