/** What an honest node of Sui answers about coins, epochs and transactions that were not executed yet. */
import { GrpcTypes } from "@mysten/sui/grpc"
import type { Coins, ExecutionFailure } from "./Coins.ts"
import type { GasUsed } from "./Ledger.ts"
import { failWith, type NodeCall, type NodeReply, reply, spelling, timestamp } from "./Replies.ts"

const coinType = (objectType: string): string => /<(.*)>$/.exec(objectType)![1]!

/** Effects as far as money goes. */
const effectsOf = (gas: GasUsed, failure: ExecutionFailure | null) => ({
  status: failure === null ? { success: true } : {
    success: false,
    error: GrpcTypes.ExecutionError.create({
      description: failure.description,
      kind: failure.kind,
      ...failure.command === undefined ? {} : { command: BigInt(failure.command) },
      ...failure.denied === undefined
        ? {}
        : { errorDetails: { oneofKind: "coinDenyListError", coinDenyListError: failure.denied } }
    } as never)
  },
  gasUsed: {
    computationCost: gas.computation,
    storageCost: gas.storage,
    storageRebate: gas.rebate,
    nonRefundableStorageFee: 0n
  }
})

/** Null: a call of another kind. */
export const coinAnswerOf = (coins: Coins, { method, request }: NodeCall): NodeReply | null => {
  const { ledger } = coins
  switch (method) {
    case "ListOwnedObjects": {
      const all = coins.of(request.owner, coinType(request.objectType))
      const start = request.pageToken === undefined ? 0 : Buffer.from(request.pageToken).readUInt32BE()
      const end = start + Math.min(request.pageSize ?? 50, 1_000)
      const token = Buffer.alloc(4)
      token.writeUInt32BE(end)
      return reply("ListOwnedObjectsResponse", {
        objects: all.slice(start, end).map(({ balance, digest, id, version }) =>
          GrpcTypes.Object.create({ objectId: id, version, digest, balance } as never)
        ),
        ...end < all.length ? { nextPageToken: token } : {}
      })
    }
    case "GetBalance": {
      const addressBalance = coins.addressBalances.get(`${request.owner} ${request.coinType}`) ?? 0n
      const coinBalance = coins.of(request.owner, request.coinType).reduce((sum, { balance }) => sum + balance, 0n)
      return reply("GetBalanceResponse", {
        balance: {
          coinType: spelling(request.coinType, true),
          balance: addressBalance + coinBalance,
          addressBalance,
          coinBalance
        }
      })
    }
    case "GetEpoch":
      return reply("GetEpochResponse", {
        epoch: GrpcTypes.Epoch.create({
          epoch: ledger.epoch,
          start: timestamp(ledger.epochStart),
          referenceGasPrice: coins.referenceGasPrice,
          systemState: { parameters: { epochDurationMs: 86_400_000n } }
        } as never)
      })
    case "SimulateTransaction": {
      const result = coins.simulate(request.transaction.bcs.value)
      return typeof result === "string" ? failWith(3, result) : reply("SimulateTransactionResponse", {
        transaction: GrpcTypes.ExecutedTransaction.create(
          { effects: effectsOf(result.gas, result.failure) } as never
        ),
        commandOutputs: []
      })
    }
    default:
      return null
  }
}
