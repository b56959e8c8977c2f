/** Coins that the contract of a forwarder sent to its payee: `ChainDriver.coinsForwarded`. */
import { Effect, Schema } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import { word } from "./AbiWords.ts"
import { hex } from "./Blocks.ts"
import { collector, topics } from "./Contracts.ts"
import { forwarderCode } from "./Forwarder.ts"
import { Data, type Endpoint, Quantity } from "./JsonRpc.ts"

/** Blocks whose logs are asked for at once, where the node allows it. */
const blocksPerCall = 1_000n

/** Blocks of a call that is divided no further: the search for transfers asks every node for as many. */
const smallestRange = 8n

const Log = Schema.Struct({ data: Data, blockNumber: Quantity })

/** A node may refuse a range that is too long, each by a code and words of its own. */
const isRangeRefused = ({ kind }: DriverError): boolean => kind === "refused" || kind === "too_large"

/** What `NativeCollected` logs of one forwarder come to, in blocks from `from` to `to`, both included. */
const sumLogs = (
  endpoint: Endpoint,
  address: string,
  from: bigint,
  to: bigint
): Effect.Effect<bigint, DriverError> =>
  endpoint.call(
    "eth_getLogs",
    [{
      address: collector.address,
      topics: [topics.nativeCollected, `0x${word(address)}`],
      fromBlock: hex(from),
      toBlock: hex(to)
    }],
    Schema.Array(Log)
  ).pipe(
    Effect.map((logs) =>
      logs.filter(({ blockNumber }) => BigInt(blockNumber) >= from && BigInt(blockNumber) <= to)
        .reduce((sum, { data }) => sum + BigInt(data), 0n)
    ),
    Effect.catch((error) => {
      if (!isRangeRefused(error) || to - from < smallestRange) return Effect.fail(error)
      const middle = from + (to - from) / 2n
      return Effect.zipWith(
        sumLogs(endpoint, address, from, middle),
        sumLogs(endpoint, address, middle + 1n, to),
        (earlier, later) => earlier + later
      )
    })
  )

/** See `ChainDriver.coinsForwarded`, as one endpoint says it. */
export const readCoinsForwarded = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  address: string,
  from: bigint,
  to: bigint
): Effect.fn.Return<BaseUnits | null, DriverError> {
  const code = yield* endpoint.call("eth_getCode", [address, hex(to)], Data)
  if (code.toLowerCase() !== forwarderCode) return null
  let sum = 0n
  for (let start = from + 1n; start <= to; start += blocksPerCall) {
    const end = start + blocksPerCall - 1n
    sum += yield* sumLogs(endpoint, address, start, end < to ? end : to)
  }
  return baseUnits(sum)
})
