/** Builds a part of a batch from the current state of the chain, and simulates it: `PayoutDriver.build`. */
import { Effect, Result } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { answersOf, askEach, heightOfMost, majorityOf } from "../../../runtime/payouts/Agreement.ts"
import { refusalOfEqualLines } from "../../../runtime/payouts/EqualLines.ts"
import { listExport } from "../../../runtime/payouts/List.ts"
import type { PayoutExport, PayoutPart } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { messageKeys } from "./MessageEncoder.ts"
import { readAccounts, readSignatures, readTransaction } from "./Node.ts"
import {
  type Blockhash,
  type ChainHeight,
  readBlockhash,
  readHeight,
  readRent,
  simulate,
  type SimulatedFailure
} from "./PayoutNode.ts"
import {
  keysOfPlan,
  lengthsOfPlan,
  mintsOf,
  type PayoutPlan,
  planPayout,
  type ReadAccounts,
  refusalOfLines,
  refuseLine,
  solOf
} from "./PayoutPlan.ts"
import { instructionsOf, memoOf, type PlannedInstruction, transactionOf } from "./PayoutTransaction.ts"
import { transfersOfPart } from "./PayoutTransfers.ts"

const network = "solana"

/** Blocks for which a blockhash can be used (`MAX_PROCESSING_AGE` of Agave). */
export const blockhashBlocks = 150n

/** Shown to people: the seconds of {@link blockhashBlocks} blocks, as an estimate. Only the block height decides. */
export const validitySeconds = 80

/** Transactions of the wallet that are looked at for one that has executed the part already. */
const recentSignatures = 100

/** What one node has of a part's accounts. */
interface PayoutFacts {
  readonly mints: ReadAccounts
  readonly accounts: ReadAccounts
  readonly rents: ReadonlyMap<number, bigint>
  readonly blockhash: Blockhash
  readonly isExecuted: boolean
}

const readMap = Effect.fnUntraced(function*(node: JsonRpcClient, keys: ReadonlyArray<string>) {
  if (keys.length === 0) return new Map()
  const { accounts } = yield* readAccounts(node, keys)
  return new Map(keys.map((key, place) => [key, accounts[place] ?? null]))
})

/** Whether one of the wallet's newest transactions has executed the part. */
const isExecuted = Effect.fnUntraced(function*(node: JsonRpcClient, part: PayoutPart) {
  const listed = yield* readSignatures(node, part.from, recentSignatures, null)
  const named = listed.filter(({ hasFailed, memo }) => !hasFailed && memo?.includes(memoOf(part)) === true)
  for (const { signature } of named) {
    const transaction = yield* readTransaction(node, signature)
    if (transaction !== null && transfersOfPart(part, false, transaction).length > 0) return true
  }
  return false
})

const readFacts = (part: PayoutPart) =>
  Effect.fnUntraced(function*(node: JsonRpcClient): Effect.fn.Return<PayoutFacts, DriverError> {
    const mints: ReadAccounts = yield* readMap(node, mintsOf(part.lines))
    const accounts: ReadAccounts = yield* readMap(node, keysOfPlan(part, mints))
    const lengths = lengthsOfPlan(mints)
    const rents = yield* Effect.forEach(lengths, (length) => readRent(node, length))
    return {
      mints,
      accounts,
      rents: new Map(lengths.map((length, place) => [length, rents[place]!])),
      isExecuted: yield* isExecuted(node, part),
      // Read last, because its validity begins when the node answers.
      blockhash: yield* readBlockhash(node)
    }
  })

/** The first slot in which the part can be executed, and the last block height. */
export interface Validity {
  readonly builtAt: bigint
  readonly lastValidBlockHeight: bigint
}

/**
 * The validity of a blockhash, as most endpoints see it: where one endpoint named too early an end, the part would
 * count as over while it can still be executed. Endpoints that differ by less than the life of a blockhash agree: they
 * are only ahead or behind.
 */
export const validityOf = (
  blockhash: Blockhash,
  heights: ReadonlyArray<ChainHeight>,
  configured: number
): Result.Result<Validity, DriverError> => {
  const near = heights.filter(({ blockHeight }) =>
    blockhash.lastValidBlockHeight >= blockHeight &&
    blockhash.lastValidBlockHeight <= blockHeight + 2n * blockhashBlocks
  )
  if (near.length < majorityOf(configured)) {
    const reason = "endpoints do not agree how far the chain is, so nobody can say how long a payout could be executed"
    return Result.fail(new DriverError({ network, reason, kind: "contradiction" }))
  }
  const minimum = (one: bigint, other: bigint) => one < other ? one : other
  const maximum = (one: bigint, other: bigint) => one > other ? one : other
  return Result.succeed({
    builtAt: near.reduce((least, { slot }) => minimum(least, slot), blockhash.slot),
    lastValidBlockHeight: near.reduce(
      (most, { blockHeight }) => maximum(most, blockHeight + blockhashBlocks),
      blockhash.lastValidBlockHeight
    )
  })
}

/** `TokenError::InsufficientFunds` and `SystemError::ResultWithNegativeLamports`; `TokenError::AccountFrozen`. */
const insufficientFundsError = 1
const accountFrozenError = 17

const programError = (reason: unknown): string =>
  typeof reason === "object" && reason !== null && "Custom" in reason
    ? reason.Custom === accountFrozenError
      ? "the token's issuer has frozen the receiver"
      : `the program's error ${reason.Custom}`
    : JSON.stringify(reason)

/** Why a simulation failed, for whoever wants to sign; null: it says nothing about the part. */
export const refusalOfSimulation = (
  part: PayoutPart,
  planned: ReadonlyArray<PlannedInstruction>,
  failure: SimulatedFailure
): PublicError | null => {
  switch (failure._tag) {
    case "Instruction": {
      const line = planned[failure.instruction]?.line ?? null
      if (line === null) return null
      const { reason } = failure
      const isShort = typeof reason === "object" && reason !== null && "Custom" in reason &&
        reason.Custom === insufficientFundsError
      return isShort
        ? publicError("INSUFFICIENT_FUNDS", {
          message: `The wallet has not enough for line ${line + 1}`,
          details: null
        })
        : refuseLine(line, `the network refuses it (${programError(reason)})`)
    }
    case "Rent": {
      const key = messageKeys(part.from, planned.map(({ instruction }) => instruction))[failure.account]
      const line =
        planned.find(({ instruction, line: of }) =>
          of !== null && key !== part.from && instruction.accounts.some((each) => each.isWritable && each.key === key)
        )?.line ?? null
      return line === null
        ? publicError("INSUFFICIENT_FUNDS", {
          message:
            "The wallet has not enough SOL for the fee and the minimum that it must keep: send it SOL, then export again"
        })
        : refuseLine(line, "its receiver's account would have less SOL than an account must have")
    }
    case "Transaction":
      return failure.reason === "AccountNotFound" || failure.reason === "InsufficientFundsForFee"
        ? publicError("INSUFFICIENT_FUNDS", {
          message: "The wallet has not enough SOL for the fee: send it SOL, then export again"
        })
        : failure.reason === "AlreadyProcessed"
        ? publicError("BATCH_PAID")
        : null
  }
}

const noticesOf = ({ missing, rent }: PayoutPlan): ReadonlyArray<string> =>
  missing === 0 ? [] : [
    `${missing} ${missing === 1 ? "receiver has" : "receivers have"} no account of the token yet: the wallet makes ` +
    `${missing === 1 ? "it" : "them"} and pays ${solOf(rent)}, which stay there`
  ]

const maySimulate = ({ kind }: DriverError): boolean => kind !== "refused"

/** Simulates at a node that knows the blockhash. False: no node simulates. */
const trySimulation = Effect.fnUntraced(function*(
  nodes: Endpoints<JsonRpcClient>,
  part: PayoutPart,
  planned: ReadonlyArray<PlannedInstruction>,
  transaction: Uint8Array
) {
  const failure = yield* nodes.withFailover((node) =>
    Effect.flatMap(simulate(node, transaction), (found) => {
      if (found === null) return Effect.succeed(null)
      const refusal = refusalOfSimulation(part, planned, found)
      const reason = `${node.name}, simulateTransaction: ${JSON.stringify(found)}`
      return refusal === null
        ? Effect.fail(new DriverError({ network, reason, kind: "unavailable" }))
        : Effect.succeed(refusal)
    })
  ).pipe(Effect.catchIf((error) => !maySimulate(error), () => Effect.void))
  if (failure === undefined) return false
  return failure === null ? true : yield* failure
})

/** `PayoutDriver.build`. */
export const buildPayout = Effect.fnUntraced(function*(
  nodes: Endpoints<JsonRpcClient>,
  environment: Environment,
  { isList, part, spentInputs }: {
    readonly part: PayoutPart
    readonly isList: boolean
    readonly spentInputs: ReadonlySet<string>
  }
): Effect.fn.Return<PayoutExport, PublicError | DriverError> {
  const early = refusalOfLines(part) ?? refusalOfEqualLines(part, () => isList, spentInputs, isList)
  if (early !== null) return yield* early
  const facts = yield* nodes.withFailover(readFacts(part))
  if (facts.isExecuted) return yield* publicError("BATCH_PAID")
  const plan = yield* Effect.fromResult(planPayout(part, facts.mints, facts.accounts, facts.rents))
  const heights = yield* Effect.fromResult(
    answersOf(network, yield* askEach(nodes, (node) => readHeight(node, "confirmed")))
  )
  const { builtAt, lastValidBlockHeight } = yield* Effect.fromResult(
    validityOf(facts.blockhash, heights, nodes.endpoints.length)
  )
  // A list names no export on the chain, so what was paid before it must not be looked at.
  const slot = heightOfMost(heights.map((each) => each.slot), nodes.endpoints.length)
  if (isList) return listExport(part, "spl", slot, noticesOf(plan))
  const memo = memoOf(part)
  const planned = instructionsOf(part.from, memo, plan.lines)
  const transaction = transactionOf(part.from, facts.blockhash.blockhash, planned)
  const isSimulated = yield* trySimulation(nodes, part, planned, transaction)
  return {
    format: "solana",
    payload: JSON.stringify({
      chain: `solana:${environment}`,
      account: part.from,
      transaction: Buffer.from(transaction).toString("base64"),
      blockhash: facts.blockhash.blockhash,
      lastValidBlockHeight: Number(lastValidBlockHeight),
      memo
    }),
    validUntil: (yield* nowSeconds) + validitySeconds,
    trace: { memo, lastValidBlockHeight: `${lastValidBlockHeight}` },
    builtAt,
    inputs: [],
    isSimulated,
    notices: noticesOf(plan)
  }
})
