/** Coins that the contract of a forwarder sent to its payee: `ChainDriver.coinsForwarded`. */
import { Effect, Schema } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import { collector, topics } from "./Contracts.ts"
import { forwarderCode } from "./Forwarder.ts"
import { Data, type Endpoint, Quantity } from "./JsonRpc.ts"

/** Blocks whose logs are asked for at once: providers that limit a call allow as many. */
const blocksPerCall = 1_000n

const Log = Schema.Struct({ data: Data, blockNumber: Quantity })

const hex = (height: bigint): string => `0x${height.toString(16)}`

/** See `ChainDriver.coinsForwarded`, as one endpoint says it. */
export const readCoinsForwarded = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  address: string,
  from: bigint,
  to: bigint
): Effect.fn.Return<BaseUnits | null, DriverError> {
  const code = yield* endpoint.call("eth_getCode", [address, hex(to)], Data)
  if (code.toLowerCase() !== forwarderCode) return null
  const sender = `0x${address.slice(2).toLowerCase().padStart(64, "0")}`
  let sum = 0n
  for (let start = from + 1n; start <= to; start += blocksPerCall) {
    const end = start + blocksPerCall - 1n < to ? start + blocksPerCall - 1n : to
    const logs = yield* endpoint.call(
      "eth_getLogs",
      [{
        address: collector.address,
        topics: [topics.nativeCollected, sender],
        fromBlock: hex(start),
        toBlock: hex(end)
      }],
      Schema.Array(Log)
    )
    sum += logs.reduce((total, { data }) => total + BigInt(data), 0n)
  }
  return baseUnits(sum)
})
