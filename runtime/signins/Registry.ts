/** The sign-in drivers of this deployment, in memory. */
import { Effect, Layer } from "effect"
import type { Family } from "../../schemas/Network.ts"
import { type SignInDriver, SignIns } from "../SignIns.ts"

export const layer: Layer.Layer<SignIns> = Layer.sync(SignIns, () => {
  const drivers = new Map<Family, SignInDriver>()
  return SignIns.of({
    register: (driver) =>
      Effect.acquireRelease(
        drivers.has(driver.family)
          ? Effect.die(new Error(`two sign-in drivers for ${driver.family}: remove one of them from the config`))
          : Effect.sync(() => void drivers.set(driver.family, driver)),
        () => Effect.sync(() => void drivers.delete(driver.family))
      ),
    driver: (family) => drivers.get(family)
  })
})
