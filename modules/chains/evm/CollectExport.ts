/** A part that collects as a wallet is given it, and what it would cost. */
import { Clock, Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { CollectCost, CollectPart, PayoutExport, PayoutFormat } from "../../../runtime/Payouts.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { evmDescriptorOf } from "../../../schemas/Network.ts"
import { collector, contractErrors, maximumAddressesPerCall } from "./Contracts.ts"
import { noOpStackFees, readOpStackFees } from "./OpStackFees.ts"
import { type CallOutcome, type Endpoint, Quantity } from "./JsonRpc.ts"
import { addressCount, type Call, collectCall, partReference } from "./PayoutCalls.ts"
import { hasBuild, readNewestHeight } from "./PayoutExport.ts"
import { isCallFormat, payloadOf } from "./PayoutPayload.ts"
import type { PayoutTrace, SearchContext } from "./PayoutSearch.ts"

/** What the call answers at an endpoint, as `method` asks for it, or why it cannot be sent. */
const tryCollect = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  method: "eth_call" | "eth_estimateGas",
  { from }: CollectPart,
  { data, to }: Call
): Effect.fn.Return<bigint | PublicError, DriverError> {
  if (!(yield* hasBuild(endpoint, collector))) {
    return publicError("COLLECTOR_MISSING", { details: { contract: collector.address } })
  }
  const outcome: CallOutcome = yield* endpoint.tryCall(method, { ...(from === null ? {} : { from }), to, data })
  if (!outcome.isReverted) return BigInt(outcome.data)
  if (outcome.data.toLowerCase().startsWith(contractErrors.NothingCollected)) return publicError("NOTHING_TO_COLLECT")
  return yield* new DriverError({
    network: endpoint.network,
    reason: outcome.data.toLowerCase().startsWith(contractErrors.GasTooLow)
      ? `${endpoint.name} gives calls too little gas to collect so many addresses at once`
      : `${endpoint.name}: collecting would fail with ${outcome.data.slice(0, 74)}`,
    kind: "refused"
  })
})

const tooLarge = publicError("BATCH_TOO_LARGE", { details: { maximum: maximumAddressesPerCall } })

interface BuildRequest {
  readonly part: CollectPart
  readonly format: PayoutFormat
}

/** See `PayoutDriver.build`. Anybody may send the call, and again: what was collected before is not there any more. */
export const buildCollect = Effect.fnUntraced(function*(
  { chainId, network, rpc }: SearchContext,
  { format, part }: BuildRequest
): Effect.fn.Return<PayoutExport, PublicError | DriverError> {
  if (!isCallFormat(format)) return yield* new DriverError({ network, reason: `no ${format} collects here` })
  if (addressCount(part) > maximumAddressesPerCall) return yield* tooLarge
  const call = collectCall(part)
  const builtAt = yield* readNewestHeight(rpc)
  const moved = yield* rpc.withFailover((endpoint) => tryCollect(endpoint, "eth_call", part, call))
  if (isPublicError(moved)) return yield* moved
  const expected = BigInt(part.lines.length)
  const trace: PayoutTrace = { ref: partReference(part), contentHash: null, chainId }
  const createdAt = yield* Clock.currentTimeMillis
  return {
    format,
    payload: payloadOf(format, { part, calls: [call], chainId, createdAt }),
    validUntil: null,
    trace,
    builtAt,
    inputs: [],
    isSimulated: true,
    notices: moved >= expected ? [] : [
      `${moved} of ${expected} balances would be collected: the others are empty by now, or their tokens refuse.`
    ]
  }
})

/** See `PayoutDriver.estimateCollect`. */
export const estimateCollect = Effect.fnUntraced(function*(
  { chainId, network, rpc }: SearchContext,
  part: CollectPart
): Effect.fn.Return<CollectCost, PublicError | DriverError> {
  if (addressCount(part) > maximumAddressesPerCall) return yield* tooLarge
  const call = collectCall(part)
  const gas = yield* rpc.withFailover((endpoint) => tryCollect(endpoint, "eth_estimateGas", part, call))
  if (isPublicError(gas)) return yield* gas
  const gasPrice = BigInt(yield* rpc.withFailover((endpoint) => endpoint.call("eth_gasPrice", [], Quantity)))
  const oracle = evmDescriptorOf(network).dataFeeOracle
  const fees = oracle === undefined
    ? noOpStackFees
    : yield* rpc.withFailover((endpoint) => readOpStackFees(endpoint, oracle, call, { chainId, gas, gasPrice }))
  return { gas, gasPrice: baseUnits(gasPrice), ...fees }
})
