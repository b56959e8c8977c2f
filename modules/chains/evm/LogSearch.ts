/** Logs of a range of blocks, by the node's index of logs. */
import { Effect, Schema } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { hex } from "./Blocks.ts"
import { type Endpoint, Quantity } from "./JsonRpc.ts"

/** Blocks whose logs are asked for at once, where the node allows it. */
const blocksPerCall = 1_000n

/** Blocks of a call that is divided no further: the search for transfers asks every node for as many. */
const smallestRange = 8n

/** What logs are asked for: of which contracts, with which topics; a list means any of them, and null any at all. */
export interface LogFilter {
  readonly address: string | ReadonlyArray<string>
  readonly topics: ReadonlyArray<string | ReadonlyArray<string> | null>
}

/** Fields that every log is asked for. */
export const locatedLog = { blockNumber: Quantity }

/** A node may refuse a range that is too long, each by a code and words of its own. */
const isRangeRefused = ({ kind }: DriverError): boolean => kind === "refused" || kind === "too_large"

const readRange = <Log extends { readonly blockNumber: string }>(
  endpoint: Endpoint,
  filter: LogFilter,
  log: Schema.Codec<Log, any>,
  from: bigint,
  to: bigint
): Effect.Effect<ReadonlyArray<Log>, DriverError> =>
  endpoint.call("eth_getLogs", [{ ...filter, fromBlock: hex(from), toBlock: hex(to) }], Schema.Array(log)).pipe(
    Effect.map((logs) => logs.filter(({ blockNumber }) => BigInt(blockNumber) >= from && BigInt(blockNumber) <= to)),
    Effect.catch((error) => {
      if (!isRangeRefused(error) || to - from < smallestRange) return Effect.fail(error)
      const middle = from + (to - from) / 2n
      return Effect.zipWith(
        readRange(endpoint, filter, log, from, middle),
        readRange(endpoint, filter, log, middle + 1n, to),
        (earlier, later) => [...earlier, ...later]
      )
    })
  )

/** The logs of blocks `from` to `to`, both included, oldest first. */
export const readLogs = Effect.fnUntraced(function*<Log extends { readonly blockNumber: string }>(
  endpoint: Endpoint,
  filter: LogFilter,
  log: Schema.Codec<Log, any>,
  from: bigint,
  to: bigint
): Effect.fn.Return<ReadonlyArray<Log>, DriverError> {
  const found: Array<Log> = []
  for (let start = from; start <= to; start += blocksPerCall) {
    const end = start + blocksPerCall - 1n
    found.push(...yield* readRange(endpoint, filter, log, start, end < to ? end : to))
  }
  return found
})
