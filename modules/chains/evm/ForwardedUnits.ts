/** What contracts of a forwarder wallet sent to its payee: `ChainDriver.unitsForwarded`. */
import { Effect, Schema } from "effect"
import type { ChainDriver, DriverError } from "../../../runtime/Chains.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import { word } from "./AbiWords.ts"
import { transferTopic } from "./Blocks.ts"
import { collector, topics } from "./Contracts.ts"
import { Data, type Endpoint } from "./JsonRpc.ts"
import { locatedLog, readLogs } from "./LogSearch.ts"

/** Whom it left is the first of what is searched by, in a token's log and in the collector's. */
const Log = Schema.Struct({ ...locatedLog, topics: Schema.Array(Data), data: Data })

type Request = Parameters<NonNullable<ChainDriver["unitsForwarded"]>>[0]

const topicOf = (address: string): string => `0x${word(address)}`

/** As one endpoint says it: all that came to the payee of the token is asked for, and what others sent is left out. */
export const readUnitsForwarded = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  { addresses, from, payee, to, token }: Request
): Effect.fn.Return<BaseUnits, DriverError> {
  const senders = new Set(addresses.map(topicOf))
  const [contract, event] = token === null ? [collector.address, topics.nativeCollected] : [token, transferTopic]
  const filter = { address: contract, topics: [event, null, topicOf(payee)] }
  const logs = yield* readLogs(endpoint, filter, Log, from + 1n, to)
  return baseUnits(
    logs.filter(({ topics: [, sender] }) => senders.has(sender?.toLowerCase() ?? ""))
      .reduce((sum, { data }) => sum + BigInt(data), 0n)
  )
})
