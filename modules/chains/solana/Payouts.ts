/**
 * Payouts on Solana: `ChainDriver.payouts`. A part is one transaction whose memo names it. The blockhash limits for how
 * long it can be executed, so that one export at a time can be (modules/docs/reference/batches.md#exports).
 */
import { Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import type { PayoutDriver } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { buildPayout, validitySeconds } from "./PayoutBuild.ts"
import { makeUnrelatedTransactions, searchPayout } from "./PayoutSearch.ts"
import { partSizes } from "./PayoutTransaction.ts"

export const makePayouts = (nodes: Endpoints<JsonRpcClient>, environment: Environment): PayoutDriver => {
  const unrelated = makeUnrelatedTransactions()
  return {
    formats: ["solana", "csv"],
    collectFormats: [],
    estimateCollect: null,
    maximumLines: 100,
    maximumValiditySeconds: validitySeconds,
    minimumAmount: () => baseUnits(1n),
    partSizes,
    build: ({ format, part, spentInputs }) =>
      part._tag === "Collect" || (format !== "solana" && format !== "csv")
        ? Effect.fail(
          new DriverError({ network: "solana", reason: `${format} is no format of this network`, kind: "refused" })
        )
        : buildPayout(nodes, environment, { part, isList: format === "csv", spentInputs }),
    search: (request) => searchPayout(nodes, unrelated, request)
  }
}
