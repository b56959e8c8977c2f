/** What payouts ask one endpoint of Sui. */
import { Effect } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { type CallLimits, smallCall } from "../../../runtime/nodes/NodeHttp.ts"
import { isNotOffered, type SuiNode } from "./Nodes.ts"
import {
  balanceRequest,
  epochRequest,
  type ExecutionOutcome,
  executionRequest,
  ownedCoinsRequest,
  readAddressBalance,
  readEpoch,
  readExecution,
  readOwnedCoins,
  readReportedExecution,
  readSimulation,
  reportedExecutionRequest,
  simulateRequest
} from "./PayoutMessages.ts"
import type { Coin } from "./PayoutTransaction.ts"

/** Pages of coins that are read: a transaction spends a few hundred of a type. */
const maximumPages = 5

/** A node takes longer to simulate a transaction of 200 lines than to answer a read. */
const simulationCall: CallLimits = { ...smallCall, timeoutMillis: 15_000 }

/** The coins of a type that an address owns, as far as 5 pages show them. */
export const readCoins = Effect.fnUntraced(function*(
  node: SuiNode,
  owner: string,
  coinType: string
): Effect.fn.Return<ReadonlyArray<Coin>, DriverError> {
  const coins: Array<Coin> = []
  let token: Uint8Array | null = null
  for (let page = 0; page < maximumPages; page++) {
    const request = ownedCoinsRequest(owner, coinType, token)
    const found = yield* node.ask("StateService", "ListOwnedObjects", request, readOwnedCoins)
    coins.push(...found.coins)
    token = found.next
    if (token === null) break
  }
  return coins
})

export const readCurrentEpoch = (node: SuiNode) => node.ask("LedgerService", "GetEpoch", epochRequest, readEpoch)

/** The balance of an address that lies in no coin object; 0 where the node does not answer that method. */
export const readHiddenBalance = (node: SuiNode, owner: string, coinType: string): Effect.Effect<bigint, DriverError> =>
  Effect.catchIf(
    node.ask(
      "StateService",
      "GetBalance",
      balanceRequest(owner, coinType),
      (bytes) => readAddressBalance(bytes, coinType)
    ),
    isNotOffered,
    () => Effect.succeed(0n)
  )

/** What a transaction would do; null: the node cannot be asked. */
export const simulate = (node: SuiNode, bytes: Uint8Array): Effect.Effect<ExecutionOutcome | null, DriverError> =>
  Effect.catchIf(
    node.ask(
      "TransactionExecutionService",
      "SimulateTransaction",
      simulateRequest(bytes),
      readSimulation,
      simulationCall
    ),
    isNotOffered,
    () => Effect.succeed(null)
  )

/** The outcome of the exported transaction. Its digest proves its content, so the content is not read. */
export const readExported = (node: SuiNode, digest: string) =>
  node.ask(
    "LedgerService",
    "BatchGetTransactions",
    executionRequest(digest),
    (bytes) => readExecution(bytes, digest)
  )

/** Another transaction than the exported one, with its content, because nothing is known of what it pays. */
export const readReported = (node: SuiNode, digest: string) =>
  node.ask(
    "LedgerService",
    "BatchGetTransactions",
    reportedExecutionRequest(digest),
    (bytes) => readReportedExecution(bytes, digest)
  )
