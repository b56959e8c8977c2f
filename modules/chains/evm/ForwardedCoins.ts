/** Coins that the contract of a forwarder sent to its payee: `ChainDriver.coinsForwarded`. */
import { Effect, Schema } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import { word } from "./AbiWords.ts"
import { hex } from "./Blocks.ts"
import { collector, topics } from "./Contracts.ts"
import { forwarderCode } from "./Forwarder.ts"
import { Data, type Endpoint } from "./JsonRpc.ts"
import { locatedLog, readLogs } from "./LogSearch.ts"

const Log = Schema.Struct({ ...locatedLog, data: Data })

/** See `ChainDriver.coinsForwarded`, as one endpoint says it. */
export const readCoinsForwarded = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  address: string,
  from: bigint,
  to: bigint
): Effect.fn.Return<BaseUnits | null, DriverError> {
  const code = yield* endpoint.call("eth_getCode", [address, hex(to)], Data)
  if (code.toLowerCase() !== forwarderCode) return null
  const filter = { address: collector.address, topics: [topics.nativeCollected, `0x${word(address)}`] }
  const logs = yield* readLogs(endpoint, filter, Log, from + 1n, to)
  return baseUnits(logs.reduce((sum, { data }) => sum + BigInt(data), 0n))
})
