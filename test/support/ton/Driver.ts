/** The TON driver in tests: devnet, endpoints of a rig, and looks as often as may be. */
import { Effect, Schema } from "effect"
import { TonOptions } from "../../../modules/chains/ton.ts"
import type { ChainDriver } from "../../../runtime/Chains.ts"

const read = Schema.decodeUnknownSync(TonOptions)

export const tonOptions = (urls: ReadonlyArray<string>, more: object = {}): TonOptions =>
  read({ environment: "devnet", api: urls.map((url) => ({ url })), pollMillis: 10, ...more })

/** A merchant's wallet that nobody has put on the chain. */
export const sharedWalletKey = `0:${"a7".repeat(32)}`

/** The wallets that a driver makes of an address and of a list; dies where it refuses one. */
export const walletsOf = Effect.fnUntraced(function*(driver: ChainDriver, address: string, list: string) {
  const shared = yield* driver.readWallet("address", address)
  const pool = yield* driver.readWallet("pool", list)
  if (typeof shared === "string" || shared._tag !== "SharedWallet") return yield* Effect.die(shared)
  if (typeof pool === "string" || pool._tag !== "IndexedWallet") return yield* Effect.die(pool)
  return { shared, pool }
})
