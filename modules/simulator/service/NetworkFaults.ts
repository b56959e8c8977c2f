/** Outages that a merchant plays on devnet, for its own invoices only. */
import { Context, Effect, Layer } from "effect"
import { Chains } from "../../../runtime/Chains.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Network } from "../../../schemas/Network.ts"
import { environment, type NetworkMode } from "../rules.ts"

/**
 * Networks that are not as they are to a merchant, in the memory of this process: they end with it. A network that is
 * down gives no address and no quote, takes no simulated transfer, and holds back the end of invoices that have an
 * address there; on one that lags, transfers are seen and wait for `confirm`.
 */
export class NetworkFaults extends Context.Service<NetworkFaults, {
  readonly mode: (merchantId: number, network: Network) => NetworkMode
  /** Errors: `UNSUPPORTED_NETWORK` for one that nobody follows here. */
  readonly set: (merchantId: number, network: string, mode: NetworkMode) => Effect.Effect<Network, PublicError>
}>()("tillwire/modules/simulator/NetworkFaults") {
  static readonly layer = Layer.effect(
    NetworkFaults,
    Effect.gen(function*() {
      const chains = yield* Chains
      const faults = new Map<string, NetworkMode>()
      const mode = (merchantId: number, network: Network) => faults.get(`${merchantId} ${network}`) ?? "ok"
      yield* chains.registerOutages((merchantId, network) => mode(merchantId, network) === "down")
      return NetworkFaults.of({
        mode,
        set: Effect.fnUntraced(function*(merchantId, name, next) {
          const network = chains.status(environment).find((one) => one.network === name)?.network
          if (network === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
          if (next === "ok") faults.delete(`${merchantId} ${network}`)
          else faults.set(`${merchantId} ${network}`, next)
          return network
        })
      })
    })
  )
}
