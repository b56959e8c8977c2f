/** Messages of a Sui node, written by the protobuf types of Sui's own SDK. */
import { GrpcTypes } from "@mysten/sui/grpc"
import type { Ledger, LedgerTransaction } from "./Ledger.ts"
import { suiCoin } from "./Ledger.ts"

/** A call as it came. */
export interface NodeCall {
  readonly method: string
  /** The message, as the SDK's type of the method reads it. */
  readonly request: any
}

/** What a node answers: messages, and how it ends. */
export interface NodeReply {
  readonly messages: ReadonlyArray<Uint8Array>
  /** A status of gRPC; absent: 0. */
  readonly status?: { readonly code: number; readonly text: string; readonly inHeaders?: boolean }
}

/** Answers with the status alone. */
export const failWith = (code: number, text: string, inHeaders = false): NodeReply => ({
  messages: [],
  status: { code, text, inHeaders }
})

/** An answer of one message of the SDK's type. */
export const messageOf = (type: keyof typeof GrpcTypes, fields: object): Uint8Array => {
  const encoder = GrpcTypes[type] as any
  return encoder.toBinary(encoder.create(fields))
}

export const reply = (type: keyof typeof GrpcTypes, fields: object): NodeReply => ({
  messages: [messageOf(type, fields)]
})

/** Nodes write types of coins in full or short. */
export const spelling = (coinType: string, isShort: boolean): string =>
  isShort ? coinType.replace(/0x0+(?=[0-9a-f])/g, "0x") : coinType

export const timestamp = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 250_000_000 })

/** A transaction with the fields that Sui's nodes give under the mask the driver asks with. */
export const executed = (
  ledger: Ledger,
  { changes, digest, gas, height, isSuccess, place, sender, spent = [] }: LedgerTransaction
) => ({
  digest,
  transaction: { sender },
  effects: {
    status: { success: isSuccess },
    ...gas === undefined ? {} : {
      gasUsed: {
        computationCost: gas.computation,
        storageCost: gas.storage,
        storageRebate: gas.rebate,
        nonRefundableStorageFee: 0n
      },
      changedObjects: spent.map(({ id, version }) =>
        GrpcTypes.ChangedObject.create({ objectId: id, inputVersion: version } as never)
      )
    }
  },
  checkpoint: height,
  timestamp: timestamp(ledger.at(height)!.time),
  balanceChanges: changes.map(({ address, amount, coinType }) => ({
    address,
    coinType: coinType === suiCoin ? spelling(coinType, place % 2 === 0) : coinType,
    amount: amount.toString()
  }))
})
