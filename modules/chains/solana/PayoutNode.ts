/** What payouts ask a node of Solana for, beside the methods of `Node.ts`. */
import { Effect, Schema } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import type { Commitment } from "./Node.ts"
import { Key, Slot } from "./Transactions.ts"

/** A slot, and how many blocks there are up to it: a slot may have none. */
export interface ChainHeight {
  readonly slot: bigint
  readonly blockHeight: bigint
}

/** The newest slot of a commitment. */
export const readHeight = (
  node: JsonRpcClient,
  commitment: Commitment
): Effect.Effect<ChainHeight, DriverError> =>
  Effect.map(
    node.call("getEpochInfo", [{ commitment }], Schema.Struct({ absoluteSlot: Slot, blockHeight: Slot })),
    ({ absoluteSlot, blockHeight }) => ({ slot: BigInt(absoluteSlot), blockHeight: BigInt(blockHeight) })
  )

/** A blockhash, the slot of the block that a node had then, and the height of the last block that takes it. */
export interface Blockhash {
  readonly slot: bigint
  readonly blockhash: string
  readonly lastValidBlockHeight: bigint
}

/** A blockhash that a transaction can be signed for. */
export const readBlockhash = (node: JsonRpcClient): Effect.Effect<Blockhash, DriverError> =>
  Effect.map(
    node.call(
      "getLatestBlockhash",
      [{ commitment: "confirmed" }],
      Schema.Struct({
        context: Schema.Struct({ slot: Slot }),
        value: Schema.Struct({ blockhash: Key, lastValidBlockHeight: Slot })
      })
    ),
    ({ context, value }) => ({
      slot: BigInt(context.slot),
      blockhash: value.blockhash,
      lastValidBlockHeight: BigInt(value.lastValidBlockHeight)
    })
  )

/** Lamports that an account with so many bytes of data must have. */
export const readRent = (node: JsonRpcClient, length: number): Effect.Effect<bigint, DriverError> =>
  Effect.map(
    node.call("getMinimumBalanceForRentExemption", [length], Schema.Union([Schema.Int, Schema.BigInt])),
    BigInt
  )

const Simulation = Schema.Struct({ value: Schema.Struct({ err: Schema.Unknown }) })

/** Why a transaction fails: the place of the instruction, and what the program says; the rest by its name. */
export type SimulatedFailure =
  | { readonly _tag: "Instruction"; readonly instruction: number; readonly reason: unknown }
  | { readonly _tag: "Rent"; readonly account: number }
  | { readonly _tag: "Transaction"; readonly reason: string }

const InstructionFailure = Schema.Struct({ InstructionError: Schema.Tuple([Schema.Int, Schema.Unknown]) })
const RentFailure = Schema.Struct({ InsufficientFundsForRent: Schema.Struct({ account_index: Schema.Int }) })
const isInstructionFailure = Schema.is(InstructionFailure)
const isRentFailure = Schema.is(RentFailure)

/** `TransactionError` of Agave, as JSON. */
const failureOf = (err: unknown): SimulatedFailure =>
  isInstructionFailure(err)
    ? { _tag: "Instruction", instruction: err.InstructionError[0], reason: err.InstructionError[1] }
    : isRentFailure(err)
    ? { _tag: "Rent", account: err.InsufficientFundsForRent.account_index }
    : { _tag: "Transaction", reason: typeof err === "string" ? err : JSON.stringify(err) }

/** Executes a transaction that nobody has signed, and undoes it. Null: it succeeds. */
export const simulate = (
  node: JsonRpcClient,
  transaction: Uint8Array
): Effect.Effect<SimulatedFailure | null, DriverError> =>
  Effect.map(
    node.call(
      "simulateTransaction",
      [
        Buffer.from(transaction).toString("base64"),
        { encoding: "base64", commitment: "confirmed", sigVerify: false, replaceRecentBlockhash: false }
      ],
      Simulation
    ),
    ({ value: { err } }) => err === null || err === undefined ? null : failureOf(err)
  )
