/**
 * Screening: whether an address is one that the operator does not deal with. Payments and refunds ask here; who knows
 * such addresses registers here. Where nobody does, every address passes.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { PublicError } from "../schemas/Errors.ts"
import type { Environment, Network } from "../schemas/Network.ts"
import { single } from "./Registry.ts"

/** Whether one of some addresses of a network is listed; none of them is null or empty. */
export type ScreenAddresses = (
  network: Network,
  environment: Environment,
  addresses: ReadonlyArray<string>
) => Effect.Effect<boolean, PublicError>

export class Screening extends Context.Service<Screening, {
  /** For as long as the scope lives. One per deployment. */
  readonly register: (screen: ScreenAddresses) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Whether one of the addresses is listed. Errors: `SERVICE_UNAVAILABLE` where that cannot be known now. A caller must
   * then try again later, and never go on as if the answer were no.
   */
  readonly isListed: ScreenAddresses
}>()("tillwire/runtime/Screening") {}

export const layer: Layer.Layer<Screening> = Layer.sync(Screening, () => {
  const slot = single<ScreenAddresses>("two drivers of screening: remove one of them from the config")
  return Screening.of({
    register: slot.register,
    isListed: (network, environment, addresses) => {
      const screen = slot.current()
      return screen === undefined || addresses.length === 0
        ? Effect.succeed(false)
        : screen(network, environment, addresses)
    }
  })
})
