/** What a network knows of the contracts that a `forwarder` wallet needs: `ChainDriver.readForwarderFacts`. */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import type { ChainDriver, DriverError, ForwarderFacts } from "../../../runtime/Chains.ts"
import { collector } from "./Contracts.ts"
import { Data, type Endpoint, type JsonRpc } from "./JsonRpc.ts"

/** An account that lent itself code (EIP-7702): its key moves its money on every network. */
const isDelegation = (code: string): boolean => /^0xef0100[0-9a-f]{40}$/i.test(code)

/** An account that nobody has, with one unit of the coin for the length of the question. */
const sender = "0x00000000000000000000000000000000c01aB07e"

const hasCoinTaken = (endpoint: Endpoint, payee: string): Effect.Effect<boolean, DriverError> =>
  endpoint.canSend({ from: sender, to: payee, value: "0x1" })

const read = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  payee: string
): Effect.fn.Return<ForwarderFacts, DriverError> {
  const collectorCode = yield* endpoint.call("eth_getCode", [collector.address, "latest"], Data)
  const code = yield* endpoint.call("eth_getCode", [payee, "latest"], Data)
  const isPayeeContract = code !== "0x" && !isDelegation(code)
  return {
    hasCollector: bytesToHex(keccak_256(hexToBytes(collectorCode.slice(2)))) === collector.codeHash.slice(2),
    isPayeeContract,
    takesCoin: code === "0x" || (yield* hasCoinTaken(endpoint, payee))
  }
})

export const readForwarderFacts = (rpc: JsonRpc): NonNullable<ChainDriver["readForwarderFacts"]> => (payee) =>
  rpc.withFailover((endpoint) => read(endpoint, payee))
