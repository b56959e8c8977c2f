/** {@link ChainsRpc} over {@link Chains}: `rpc.serve(ChainsRpc, handlers)` with `Chains` provided. */
import { Effect } from "effect"
import { baseUnits } from "../../schemas/Money.ts"
import { publicError } from "../../schemas/Errors.ts"
import { Chains } from "../Chains.ts"
import { ChainsRpc } from "./ChainsRpc.ts"

export const handlers = ChainsRpc.toLayer(Effect.gen(function*() {
  const chains = yield* Chains
  return ChainsRpc.of({
    "chains.report": (told) =>
      BigInt(told.amount) === 0n
        ? Effect.fail(publicError("VALIDATION_ERROR", { param: "amount", message: "The amount must be above zero" }))
        : Effect.map(chains.report({
          network: told.network,
          environment: told.environment,
          txHash: told.tx_hash,
          index: told.index,
          kind: "direct",
          matchKey: told.match_key,
          tokenAddress: told.token_address,
          amount: baseUnits(BigInt(told.amount)),
          from: told.from,
          point: { height: BigInt(told.height), hash: told.block_hash },
          time: told.block_time
        }), (status) => ({ status })),
    "chains.status": ({ environment }) =>
      Effect.sync(() =>
        chains.status(environment).map((each) => ({
          network: each.network,
          environment: each.environment,
          healthy: each.healthy,
          condition: each.condition,
          head: each.head === null ? null : each.head.toString(),
          head_time: each.headTime,
          cursor_time: each.cursorTime
        }))
      )
  })
}))
