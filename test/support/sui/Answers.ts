/** What an honest node of Sui answers to each method. */
import { GrpcTypes } from "@mysten/sui/grpc"
import { coinAnswerOf } from "./CoinAnswers.ts"
import type { Coins } from "./Coins.ts"
import type { Ledger } from "./Ledger.ts"
import { listTransactions, type NodeLimits } from "./ListTransactions.ts"
import { executed, failWith, type NodeCall, type NodeReply, reply, spelling, timestamp } from "./Replies.ts"

const decimals: Readonly<Record<string, readonly [symbol: string, decimals: number]>> = {
  "sui::SUI": ["SUI", 9],
  "usdc::USDC": ["USDC", 6],
  "odd::ODD": ["O\u202eDD", 3]
}

/** An honest node's answer. */
export const answerOf = (
  ledger: Ledger,
  coins: Coins,
  { method, request }: NodeCall,
  node: { readonly head: bigint; readonly tip: bigint; readonly lowest: bigint; readonly limits: NodeLimits }
): NodeReply => {
  switch (method) {
    case "GetServiceInfo":
      return reply("GetServiceInfoResponse", {
        chainId: ledger.chainId,
        chain: "rig",
        epoch: ledger.at(node.head)!.epoch,
        checkpointHeight: node.head,
        timestamp: timestamp(ledger.at(node.head)!.time),
        lowestAvailableCheckpoint: node.lowest,
        server: "sui-rig/1"
      })
    case "ListTransactions":
      return listTransactions(ledger, request, node.tip, node.lowest, node.limits)
    case "BatchGetTransactions":
      return reply("BatchGetTransactionsResponse", {
        transactions: request.digests.map((digest: string) => {
          const found = ledger.byDigest.get(digest)
          return {
            result: found === undefined || found.height > node.head || found.height < node.lowest
              ? { oneofKind: "error", error: { code: 5, message: "transaction not found", details: [] } }
              : {
                oneofKind: "transaction",
                transaction: GrpcTypes.ExecutedTransaction.create(executed(ledger, found) as never)
              }
          }
        })
      })
    case "GetCheckpoint": {
      const height: bigint = request.checkpointId.sequenceNumber
      const found = height > node.head || height < node.lowest ? undefined : ledger.at(height) ?? ledger.checkpoints[0]
      return found === undefined ? failWith(5, `checkpoint ${height} not found`) : reply("GetCheckpointResponse", {
        checkpoint: { sequenceNumber: height, summary: { timestamp: timestamp(found.time) } }
      })
    }
    case "GetCoinInfo": {
      const known = decimals[request.coinType.replace(/^0x[0-9a-f]+::/, "")]
      return known === undefined ? failWith(5, "coin type not found") : reply("GetCoinInfoResponse", {
        coinType: spelling(request.coinType, true),
        metadata: { symbol: known[0], decimals: known[1] }
      })
    }
    default:
      return coinAnswerOf(coins, { method, request }) ?? failWith(12, "unimplemented")
  }
}
