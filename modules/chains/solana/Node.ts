/** A node of Solana: the methods of JSON-RPC that are used, each with its commitment, and what they answer. */
import { Effect, Schema } from "effect"
import { DriverError, type DriverErrorKind } from "../../../runtime/Chains.ts"
import type { Connection } from "../../../runtime/nodes/Endpoints.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import { type JsonRpcClient, jsonRpcClient, type JsonRpcError } from "../../../runtime/nodes/JsonRpc.ts"
import { largeCall, smallCall } from "../../../runtime/nodes/NodeHttp.ts"
import { clockSysvar } from "./Addresses.ts"
import type { Account } from "./TokenFacts.ts"
import { ChainTransaction, hashOfSlot, isComplete, Key, Signature, Slot } from "./Transactions.ts"

/** Which blocks a call is about: `confirmed` by two thirds of the stake, `finalized` by 31 confirmed blocks more. */
export type Commitment = "confirmed" | "finalized"

/** Accounts of one call, at most (Agave, `MAX_MULTIPLE_ACCOUNTS`). */
export const accountsPerCall = 100
/** Signatures whose status one call tells, at most (Agave, `MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const statusesPerCall = 256
/** Signatures of one page, at most (Agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
export const signaturesPerPage = 1_000

const isRateLimit = ({ code, message }: JsonRpcError): boolean =>
  code === 429 || code === -32_429 || /too many requests|rate limit/i.test(message)

/**
 * Codes of Agave (`rpc-client-api`, `custom_error.rs`) by which a node says that it does not have a block any more: it
 * was cleaned up; it was skipped, or is missing since a snapshot; the same in long-term storage.
 */
const prunedCodes: ReadonlySet<number | undefined> = new Set([-32_001, -32_007, -32_009])

/**
 * Codes of the same list by which a node says nothing of what it was asked for: a block is not there yet (-32004,
 * -32014, -32016), the node is behind (-32005), keeps no history (-32011), or does not reach its storage (-32019).
 */
const unavailableCodes: ReadonlySet<number | undefined> = new Set([
  -32_004,
  -32_005,
  -32_011,
  -32_014,
  -32_016,
  -32_019
])

const kindOf = (error: JsonRpcError): DriverErrorKind =>
  isRateLimit(error)
    ? "rate_limited"
    : prunedCodes.has(error.code)
    ? "pruned"
    : unavailableCodes.has(error.code)
    ? "unavailable"
    : /limit exceeded|too large|too many|range/i.test(error.message)
    ? "too_large"
    : "refused"

const largeMethods: ReadonlySet<string> = new Set(["getTransaction", "getSignaturesForAddress", "getBlocks"])

/** The client of one endpoint. */
export const makeClient = (connection: Connection): JsonRpcClient =>
  jsonRpcClient(connection, {
    kindOf,
    isExact: true,
    limitsOf: (method) => largeMethods.has(method) ? largeCall : smallCall
  })

/** Which chain a node is on. */
export const readGenesis = (node: JsonRpcClient): Effect.Effect<string, DriverError> =>
  node.call("getGenesisHash", [], Key)

/** Newest slot of a commitment. */
export const readSlot = (node: JsonRpcClient, commitment: Commitment): Effect.Effect<bigint, DriverError> =>
  Effect.map(node.call("getSlot", [{ commitment }], Slot), BigInt)

const AccountAnswer = Schema.NullOr(Schema.Struct({
  lamports: Schema.Union([Schema.Int, Schema.BigInt]),
  owner: Key,
  executable: Schema.Boolean,
  data: Schema.Tuple([Schema.String, Schema.Literal("base64")])
}))

/** Accounts as they stood in one slot, in the order in which they were asked for; null: there is none. */
export interface AccountSnapshot {
  readonly slot: bigint
  readonly accounts: ReadonlyArray<(Account & { readonly lamports: bigint }) | null>
}

/** Reads accounts of one call. `length`: bytes of their data that are wanted; absent: all. */
export const readAccounts = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  keys: ReadonlyArray<string>,
  length?: number,
  commitment: Commitment = "confirmed"
): Effect.fn.Return<AccountSnapshot, DriverError> {
  const slice = length === undefined ? {} : { dataSlice: { offset: 0, length } }
  const options = { commitment, encoding: "base64", ...slice }
  const { context, value } = yield* node.call(
    "getMultipleAccounts",
    [keys, options],
    Schema.Struct({
      context: Schema.Struct({ slot: Slot }),
      value: Schema.Array(AccountAnswer).check(Schema.isMinLength(keys.length), Schema.isMaxLength(keys.length))
    })
  )
  return {
    slot: BigInt(context.slot),
    accounts: value.map((account) =>
      account === null ? null : {
        owner: account.owner,
        isExecutable: account.executable,
        lamports: BigInt(account.lamports),
        data: Uint8Array.from(Buffer.from(account.data[0], "base64"))
      }
    )
  }
})

/** Bytes of the clock: slot, start of the epoch, epoch, leader schedule's epoch, and the time, 8 each. */
const clockLength = 40
const timeAt = 32

/** The slot and time that the clock of a snapshot says; null: it is none. */
const clockOf = (account: Account | null | undefined): { readonly slot: bigint; readonly time: number } | null => {
  if (account === null || account === undefined || account.data.length !== clockLength) return null
  const view = new DataView(account.data.buffer, account.data.byteOffset)
  return { slot: view.getBigUint64(0, true), time: Number(view.getBigInt64(timeAt, true)) }
}

/** The newest confirmed slot and its time, from a snapshot that begins with the clock, which every block sets. */
export const headOf = (
  node: JsonRpcClient,
  { accounts, slot }: AccountSnapshot
): Effect.Effect<EndpointHead, DriverError> => {
  const clock = clockOf(accounts[0])
  return clock === null || clock.slot > slot
    ? Effect.fail(contradiction(node, "getMultipleAccounts", "the clock of the chain is not readable"))
    : Effect.succeed({ height: clock.slot, hash: hashOfSlot(clock.slot), time: clock.time })
}

export const readHead = (node: JsonRpcClient): Effect.Effect<EndpointHead, DriverError> =>
  Effect.flatMap(readAccounts(node, [clockSysvar], clockLength), (snapshot) => headOf(node, snapshot))

/** An error for answers that cannot all be true. */
export const contradiction = ({ name, network }: JsonRpcClient, method: string, reason: string): DriverError =>
  new DriverError({ network, reason: `${name}, ${method}: ${reason}`, kind: "contradiction" })

const SignatureEntry = Schema.Struct({
  signature: Signature,
  slot: Slot,
  err: Schema.Unknown,
  memo: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** A transaction that names an account. */
export interface ListedTransaction {
  readonly signature: string
  readonly slot: bigint
  readonly hasFailed: boolean
  /** Its memos with their lengths, where the node tells them. */
  readonly memo?: string
}

/** A page of an account's transactions, newest first, those older than `before`. */
export const readSignatures = (
  node: JsonRpcClient,
  account: string,
  limit: number,
  before: string | null
): Effect.Effect<ReadonlyArray<ListedTransaction>, DriverError> =>
  Effect.map(
    node.call(
      "getSignaturesForAddress",
      [account, { commitment: "confirmed", limit, ...before === null ? {} : { before } }],
      Schema.Array(SignatureEntry).check(Schema.isMaxLength(limit))
    ),
    (entries) =>
      entries.map(({ err, memo, signature, slot }) => ({
        signature,
        slot: BigInt(slot),
        hasFailed: err !== null,
        ...typeof memo === "string" ? { memo } : {}
      }))
  )

/** A transaction; null: this node does not have it. */
export const readTransaction = (
  node: JsonRpcClient,
  signature: string
): Effect.Effect<ChainTransaction | null, DriverError> =>
  node.call(
    "getTransaction",
    [signature, { commitment: "confirmed", encoding: "json", maxSupportedTransactionVersion: 0 }],
    Schema.NullOr(ChainTransaction)
  ).pipe(
    Effect.filterOrFail(
      (transaction) => transaction === null || transaction.transaction.signatures[0] === signature,
      () => contradiction(node, "getTransaction", "it answered with another transaction")
    ),
    Effect.filterOrFail(
      (transaction) => transaction === null || isComplete(transaction),
      () => contradiction(node, "getTransaction", "its keys and its balances are not equally many")
    )
  )

/** How a transaction stands; null: this node knows of none. */
export interface SignatureStatus {
  readonly slot: bigint
  readonly hasFailed: boolean
  readonly isFinal: boolean
}

/** How transactions stand, in the order in which they were asked for, those long past too. */
export const readStatuses = (
  node: JsonRpcClient,
  signatures: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<SignatureStatus | null>, DriverError> =>
  Effect.map(
    node.call(
      "getSignatureStatuses",
      [signatures, { searchTransactionHistory: true }],
      Schema.Struct({
        value: Schema.Array(Schema.NullOr(Schema.Struct({
          slot: Slot,
          err: Schema.Unknown,
          confirmationStatus: Schema.optionalKey(Schema.NullOr(Schema.String))
        }))).check(Schema.isMinLength(signatures.length), Schema.isMaxLength(signatures.length))
      })
    ),
    ({ value }) =>
      value.map((status) =>
        status === null ? null : {
          slot: BigInt(status.slot),
          hasFailed: status.err !== null,
          isFinal: status.confirmationStatus === "finalized"
        }
      )
  )

/** Slots that a look for the nearest block goes back at first, and at most (Agave, `MAX_GET_CONFIRMED_BLOCKS_RANGE`). */
const nearestBlockSlots = 100n
const maximumBlockSlots = 500_000n

/** Newest slot with a block at or below `slot`; null: this node has none so old. */
const readNearestBlock = Effect.fnUntraced(function*(node: JsonRpcClient, slot: bigint) {
  for (let range = nearestBlockSlots; range <= maximumBlockSlots; range *= 10n) {
    const from = slot > range ? slot - range : 0n
    const parameters = [Number(from), Number(slot), { commitment: "confirmed" }]
    const slots = yield* node.call(
      "getBlocks",
      parameters,
      Schema.Array(Slot).check(Schema.isMaxLength(Number(range) + 1))
    )
    if (slots.length > 0) return BigInt(slots.at(-1)!)
    if (from === 0n) return null
  }
  return null
})

/**
 * Epoch seconds of a slot, or of the nearest below it that has a block; null: this node has none so old. Fails where
 * the node has not come to the slot yet: then its nearest block is only its newest.
 */
export const readTime = (node: JsonRpcClient, slot: bigint): Effect.Effect<number | null, DriverError> =>
  Effect.gen(function*() {
    const nearest = yield* readNearestBlock(node, slot)
    if (nearest === slot) return yield* node.call("getBlockTime", [Number(slot)], Schema.NullOr(Schema.Int))
    const newest = yield* readSlot(node, "confirmed")
    if (newest < slot) {
      const { name, network } = node
      const reason = `${name} has come to slot ${newest} and was asked for slot ${slot}: it is behind`
      return yield* new DriverError({ network, reason, kind: "unavailable" })
    }
    return nearest === null ? null : yield* node.call("getBlockTime", [Number(nearest)], Schema.NullOr(Schema.Int))
  }).pipe(Effect.catchIf(({ kind }) => kind === "pruned", () => Effect.succeed(null)))
