/**
 * Payouts: money that leaves a wallet whose keys are not here. A network's driver builds a part of a batch for that
 * wallet to sign elsewhere, and finds on the chain what became of it. Whether a line is paid, and what a merchant is
 * told, the module `batches` decides (modules/docs/reference/batches.md).
 */
import { type Effect, Schema } from "effect"
import type { BlockPoint } from "./chains/Points.ts"
import type { DriverError } from "./chains/DriverError.ts"
import type { PublicError } from "../schemas/Errors.ts"
import type { BaseUnits } from "../schemas/Money.ts"

/**
 * What a wallet is given to sign. `eip5792`: the parameters of `wallet_sendCalls`; `transactions`: one EVM transaction
 * after the other; `safe`: a file for Safe's Transaction Builder; `solana`, `ton`, `sui`, `cardano`: what the wallets
 * of the family sign; `csv`: a list for people, which nothing on the chain keeps from being paid twice.
 */
export const PayoutFormat = Schema.Literals([
  "eip5792",
  "transactions",
  "safe",
  "solana",
  "ton",
  "sui",
  "cardano",
  "csv"
])
export type PayoutFormat = typeof PayoutFormat.Type

/** An amount of a token that is to arrive at an address. */
export interface PayoutLine {
  /** In the form `readAddress` gives. */
  readonly destination: string
  /** What the receiver needs beside the address; null: nothing. */
  readonly memo: string | null
  /** In the one spelling of its family; null: the network's own coin. */
  readonly tokenAddress: string | null
  readonly symbol: string
  readonly decimals: number
  readonly amount: BaseUnits
  /**
   * Names the line for people and on chains whose transfers carry a text: a refund's id, or the merchant's own words.
   */
  readonly reference: string
}

/** What one signature pays: all of its lines leave one wallet. */
export interface PayoutPart {
  readonly _tag: "Payout"
  /** `bat_<uuid>`, and the part's place in it, 1 or more: together they name the part for ever. */
  readonly batchId: string
  readonly part: number
  /** The wallet that pays, in the form `readAddress` gives. */
  readonly from: string
  readonly lines: ReadonlyArray<PayoutLine>
}

/** What lies on an address of a `forwarder` wallet. */
export interface CollectLine {
  readonly address: string
  /** {@link Forwarder.saltOf} its index. */
  readonly salt: string
  /** Null: the network's own coin. */
  readonly tokenAddress: string | null
  readonly symbol: string
  readonly decimals: number
  readonly amount: BaseUnits
}

/** What one signature of anybody moves to the payee of a `forwarder` wallet. */
export interface CollectPart {
  readonly _tag: "Collect"
  readonly batchId: string
  readonly part: number
  readonly payee: string
  /** Who signs, where that is known: some formats need it. */
  readonly from: string | null
  readonly lines: ReadonlyArray<CollectLine>
}

export type BatchPart = PayoutPart | CollectPart

/** A part as a wallet is given it. */
export interface PayoutExport {
  readonly format: PayoutFormat
  /** JSON text of what the wallet takes, or the text of a file. */
  readonly payload: string
  /**
   * Epoch seconds by the chain's clock after which nobody can execute it any more. Null: the chain does not prevent it
   * at any time, so it may be executed late and twice.
   */
  readonly validUntil: number | null
  /** What the driver needs to find its execution later. Stored with the part, and read by no one else. */
  readonly trace: Schema.Json
  /**
   * No block below this height can hold an execution of it. It is the height of the newest block when the export was
   * built, or less where a reorganisation may move an execution into a lower block.
   */
  readonly builtAt: bigint
  /**
   * Coins or outputs that it spends, each by the chain's own name for it: no other part may while this one can be
   * executed. Empty where the chain has no such things.
   */
  readonly inputs: ReadonlyArray<string>
  /** Whether the chain was asked what would happen; false where it cannot be. */
  readonly isSimulated: boolean
  /** Sentences for whoever signs, such as what new accounts cost. */
  readonly notices: ReadonlyArray<string>
}

/** A transfer that a transaction made. */
export interface PayoutTransfer {
  /** Tells the transfers of one transaction apart; as {@link ObservedTransfer.index} where the receiver is followed. */
  readonly index: number
  /** The line that it is meant for, counted from 0; null: none. Another amount may have arrived than the line says. */
  readonly line: number | null
  readonly destination: string
  readonly tokenAddress: string | null
  readonly amount: BaseUnits
  readonly from: string
}

/** A transaction that executes a part, or something of it; one that failed is none. */
export interface PayoutExecution {
  /** As `readTransactionHash` of the family gives it. */
  readonly txHash: string
  readonly block: BlockPoint
  readonly isFinal: boolean
  /** Those from the part's wallet that are in its lines, or should not be there. */
  readonly transfers: ReadonlyArray<PayoutTransfer>
  /** What the network took for it, in base units of its own coin; null: it is not known. */
  readonly fee: BaseUnits | null
}

/** What a chain shows of a part, from the height of the request on. */
export interface PayoutSearch {
  /** Oldest first. */
  readonly executions: ReadonlyArray<PayoutExecution>
  /** Every block up to this one was searched and is final: the next search begins behind it. */
  readonly searchedTo: bigint
  /**
   * Its validity ended in a block that is final, and every block up to there was searched: what was not executed by
   * then never will be.
   */
  readonly isOver: boolean
}

/** The input of a search. */
export interface PayoutSearchRequest {
  readonly part: BatchPart
  readonly export: Pick<PayoutExport, "builtAt" | "format" | "trace" | "validUntil">
  /** The first block to search. Those below were searched before. */
  readonly from: bigint
  /** A transaction that somebody says has executed it: where to look, and no proof. Null: nobody has said one. */
  readonly hint: string | null
}

/** What a call that collects would cost whoever signs it. */
export interface CollectCost {
  readonly gas: bigint
  /** Base units of the network's own coin for one unit of gas, now. */
  readonly gasPrice: BaseUnits
  /** The same for the bytes of the call, which rollups take beside the gas; 0 where nothing is. */
  readonly dataFee: BaseUnits
  /** What a rollup's operator takes for the gas beside its price; 0 where nothing is. */
  readonly operatorFee: BaseUnits
}

/** What the runtime asks of a network whose wallets can pay a batch. No function of it signs or sends anything. */
export interface PayoutDriver {
  /** Formats that it builds, the one that most wallets take first. */
  readonly formats: ReadonlyArray<PayoutFormat>
  /** Formats of a {@link CollectPart}; empty: the family's wallets need no collecting. */
  readonly collectFormats: ReadonlyArray<PayoutFormat>
  /** Lines of a batch, at most. */
  readonly maximumLines: number
  /** The most seconds that an export can be valid. */
  readonly maximumValiditySeconds: number
  /** Least base units that a line of the token can carry; a smaller one cannot be paid. */
  readonly minimumAmount: (tokenAddress: string | null) => BaseUnits
  /**
   * How many of the lines, in their order, go into each part; pure. `capacity`: what {@link PayoutDriver.capacityOf}
   * says of the wallet that pays; absent: what every wallet can sign.
   */
  readonly partSizes: (lines: ReadonlyArray<PayoutLine>, capacity?: number) => ReadonlyArray<number>
  /**
   * Lines that one signature of a wallet pays, at most; where the network does not say it, what every wallet can sign.
   * Absent where it does not depend on the wallet.
   */
  readonly capacityOf?: (from: string) => Effect.Effect<number>
  /**
   * Builds a part, from the chain as it is now, and asks the chain what would happen where it can be asked.
   * `validUntil`: epoch seconds asked for, which the chain may not allow. `spentInputs`: {@link PayoutExport.inputs}
   * of parts that may still be executed. `walletAddresses`: others of the merchant's wallet that the part's address is
   * one of, which one signature may spend from as well. Errors, each with what to do: `INSUFFICIENT_FUNDS`,
   * `WALLET_NOT_SPENDABLE`, `PAYER_MISSING`, `COLLECTOR_MISSING`, `AMOUNT_BELOW_MINIMUM`, `PAYOUT_LINE_REFUSED` with
   * `details.line` (counted from 1) where the chain says which line it is, `BATCH_PAID` where the chain has executed it
   * before, `NOTHING_TO_COLLECT`.
   */
  readonly build: (request: {
    readonly part: BatchPart
    readonly format: PayoutFormat
    readonly validUntil: number
    readonly spentInputs: ReadonlySet<string>
    readonly walletAddresses?: ReadonlyArray<string>
  }) => Effect.Effect<PayoutExport, PublicError | DriverError>
  /** Whether {@link PayoutDriver.build} asks for `walletAddresses`. Absent: it does not. */
  readonly spendsWallets?: boolean
  /**
   * Errors: `COLLECTOR_MISSING`, `NOTHING_TO_COLLECT`. Null: the family's wallets need no collecting, or nothing is
   * taken for it.
   */
  readonly estimateCollect: ((part: CollectPart) => Effect.Effect<CollectCost, PublicError | DriverError>) | null
  /**
   * What became of an exported part, read from every endpoint: what more than half of those that are configured show is
   * there, and what they cannot agree about is a failure, because money that is believed to be unsent is sent again.
   */
  readonly search: (request: PayoutSearchRequest) => Effect.Effect<PayoutSearch, DriverError>
}
