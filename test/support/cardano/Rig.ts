/** A Cardano chain, its API and a driver on it, for tests of the driver. */
import { NodeHttpClient } from "@effect/platform-node"
import { bech32 } from "@scure/base"
import { Effect, Layer, Redacted } from "effect"
import { type CardanoOptions, makeDriver } from "../../../modules/chains/cardano.ts"
import type { PoolLimits } from "../../../runtime/nodes/EndpointPool.ts"
import { type Blockfrost, projectId } from "./Blockfrost.ts"
import { accountOf } from "./Keys.ts"

/** The account that funds arrive at: m/1852'/1815'/0' of the phrase of CIP-1852's vectors. */
export const rigAccount = Effect.promise(() => accountOf(Buffer.from("df9ed25ed146bf43336a5d7cf7395994", "hex")))

/** As wallets show it. */
export const rigXpub = Effect.map(
  rigAccount,
  ({ publicBytes }) => bech32.encode("acct_xvk", bech32.toWords(publicBytes), 1_000)
)

/** The client lives as long as the test: a layer provided to `makeDriver` alone would close under the driver. */
export const driverOn = (
  servers: ReadonlyArray<Pick<Blockfrost, "url">>,
  more: Partial<CardanoOptions> = {},
  absence: Pick<PoolLimits, "absenceMillis"> = {}
) =>
  Effect.gen(function*() {
    const client = yield* Layer.build(NodeHttpClient.layerUndici)
    const [first, ...rest] = servers.map(({ url }) => ({
      url: Redacted.make(url),
      projectId: Redacted.make(projectId)
    }))
    const options: CardanoOptions = {
      environment: "devnet",
      api: [first!, ...rest],
      xpub: Redacted.make(yield* rigXpub),
      pollMillis: 20,
      blocksPerSecond: 1_000,
      ...more
    }
    return yield* Effect.provide(makeDriver(options, absence), client)
  })
