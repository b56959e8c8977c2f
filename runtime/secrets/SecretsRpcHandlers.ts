/** {@link SecretsRpc} over {@link Rotation}. */
import { Effect } from "effect"
import { firstPosition } from "./Reseal.ts"
import { type KeyStatus, Rotation } from "./Rotation.ts"
import { type NamedKey, SecretsRpc } from "./SecretsRpc.ts"

const onWire = ({ isConfigured, keptIn, name, processes, retired, since }: KeyStatus): NamedKey => ({
  name,
  kept_in: keptIn,
  since,
  retired,
  is_configured: isConfigured,
  processes
})

export const handlers = SecretsRpc.toLayer(Effect.gen(function*() {
  const { finish, keys, page, unattended } = yield* Rotation
  const withUnattended = <E>(found: Effect.Effect<ReadonlyArray<KeyStatus>, E>) =>
    Effect.zipWith(found, unattended, (all, columns) => ({ keys: all.map(onWire), unattended: columns }))
  return SecretsRpc.of({
    "secrets.keys": () => withUnattended(keys),
    "secrets.reseal": ({ only_count: onlyCounts = false, position = firstPosition }) =>
      Effect.map(page(position, !onlyCounts), ({ column, counts, next }) => ({ column, ...counts, next })),
    "secrets.finish": ({ is_compromised: isCompromised = false }) => withUnattended(finish(isCompromised))
  })
}))
