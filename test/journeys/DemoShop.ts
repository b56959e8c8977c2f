/** A service of its own with simulated chains, and the keys of its demo merchant. */
import { Context, Effect, Layer } from "effect"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, type DemoKeys, type Service, startService, temporaryDirectory } from "../support/Service.ts"

export class DemoShop extends Context.Service<DemoShop, {
  readonly service: Service
  readonly keys: DemoKeys
}>()("test/journeys/DemoShop") {
  static readonly layer = Layer.effect(
    DemoShop,
    Effect.gen(function*() {
      const { url } = yield* migratedDatabase
      const directory = yield* temporaryDirectory
      const service = yield* startService({
        directory,
        config: configOf({ database: url, chains: [{ use: "simulated" }] })
      })
      return DemoShop.of({ service, keys: yield* service.keys })
    })
  )
}
