/** Bodies of the messages that move jettons (TEP-74), read from what anybody may have written. */
import type { Cell, Slice } from "@ton/core"
import { Result } from "effect"
import { commentIn } from "./Comment.ts"

/** A jetton wallet is told by its owner to send. */
export const jettonTransfer = 0x0f8a7ea5
/** A jetton wallet is told by another one, or by the master, to add to its balance. */
const internalTransfer = 0x178d4519
/** What its jetton wallet sends to an owner after money came: anybody can send the like, so it credits nothing. */
const transferNotification = 0x7362d09c
/** What is left of the gas, sent back. */
const excesses = 0xd53276db

/** The first 32 bits of a body; null: it is shorter. */
export const operationOf = (body: Cell): number | null =>
  body.isExotic || body.bits.length < 32 ? null : body.beginParse().preloadUint(32)

/** Whether native coin that comes with a body is gas of a jetton's transfer, and no payment. */
export const isJettonGas = (body: Cell): boolean => {
  const operation = operationOf(body)
  return operation === transferNotification || operation === excesses
}

/** What a jetton wallet was told to add. */
export interface JettonCredit {
  /** A number that the sender chose. */
  readonly queryId: bigint
  /** Base units of the jetton. */
  readonly amount: bigint
  /** Key of the sender's account; null: the master made new ones. */
  readonly from: string | null
  readonly comment: string | null
}

/** The forward payload: what is left of the body, or a cell of its own. */
const forwardComment = (slice: Slice): string | null => {
  const payload = slice.loadBit() ? slice.loadRef() : slice.asCell()
  return payload.isExotic ? null : commentIn(payload.beginParse())
}

/**
 * Reads `internal_transfer query_id amount from response_address forward_ton_amount forward_payload`; null when a body
 * is something else. A payload that cannot be read leaves no comment: the jettons have come all the same.
 */
export const readJettonCredit = (body: Cell): JettonCredit | null =>
  operationOf(body) !== internalTransfer ? null : Result.getOrNull(Result.try((): JettonCredit => {
    const slice = body.beginParse()
    slice.skip(32)
    const queryId = slice.loadUintBig(64)
    const amount = slice.loadCoins()
    const from = slice.loadMaybeAddress()?.toRawString() ?? null
    const comment = Result.getOrNull(Result.try(() => {
      slice.loadMaybeAddress()
      slice.loadCoins()
      return forwardComment(slice)
    }))
    return { queryId, amount, from, comment }
  }))

/** What an owner told the own jetton wallet to send. */
export interface JettonOrder {
  readonly queryId: bigint
  readonly amount: bigint
  /** Key of the receiver's account. */
  readonly destination: string
  readonly comment: string | null
}

/**
 * Reads `transfer query_id amount destination response_destination custom_payload forward_ton_amount forward_payload`;
 * null when a body is something else.
 */
export const readJettonOrder = (body: Cell): JettonOrder | null =>
  operationOf(body) !== jettonTransfer ? null : Result.getOrNull(Result.try((): JettonOrder => {
    const slice = body.beginParse()
    slice.skip(32)
    const queryId = slice.loadUintBig(64)
    const amount = slice.loadCoins()
    const destination = slice.loadAddress().toRawString()
    const comment = Result.getOrNull(Result.try(() => {
      slice.loadMaybeAddress()
      slice.loadMaybeRef()
      slice.loadCoins()
      return forwardComment(slice)
    }))
    return { queryId, amount, destination, comment }
  }))
