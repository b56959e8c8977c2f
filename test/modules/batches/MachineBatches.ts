/** Batches of payouts as the machine has them, and what can happen to one. */
import { assert } from "@effect/vitest"
import { type BatchCommand, type BatchState, decide, linesOf } from "../../../modules/batches/machine.ts"
import { newBatch, newLines } from "../../../modules/batches/rules/NewBatches.ts"
import type { PayoutExecution, PayoutExport, PayoutFormat } from "../../../runtime/Payouts.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits, usdMillis } from "../../../schemas/Money.ts"

const receiver = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
export const from = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

export const batchOf = (lines: number, approvalsRequired = 1, sizes = [lines]): BatchState =>
  newBatch({
    id: "bat_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10",
    merchantId: 1,
    environment: "devnet",
    kind: "payouts",
    network: "base",
    from,
    validForSeconds: 300,
    metadata: {},
    contentHash: "00",
    approvalsRequired,
    lines: newLines(
      Array.from({ length: lines }, (_, place) => ({
        tokenId: 1,
        symbol: "USDC",
        decimals: 6,
        tokenAddress: "0x1111111111111111111111111111111111111111",
        units: baseUnits(BigInt(place + 1) * 1_000_000n),
        amount: usdMillis(BigInt(place + 1) * 1_000n),
        destination: { address: receiver, memo: null },
        source: null,
        reference: `line ${place + 1}`,
        refundId: null
      })),
      sizes
    ),
    searchedTo: null,
    createdBy: "key_1",
    now: 0
  })

export const approval = (person: string) => ({ person, actor: `wallet:${person}`, at: 0 })

export const exportOf = (format: PayoutFormat, validUntil: number | null, height: bigint): PayoutExport => ({
  format,
  payload: "{}",
  validUntil,
  trace: null,
  builtAt: height,
  inputs: [],
  isSimulated: true,
  notices: []
})

/** The batch after a command that must not be refused. */
export const after = (batch: BatchState, command: BatchCommand, now = 0): BatchState => {
  const decision = decide(batch, command, now)
  assert.isFalse(isPublicError(decision), isPublicError(decision) ? decision.code : "")
  return (decision as { readonly next: BatchState }).next
}

export const refusal = (batch: BatchState, command: BatchCommand, now = 0) => {
  const decision = decide(batch, command, now)
  return isPublicError(decision) ? decision.code : null
}

/** A transaction that pays one line of the first part, counted from 0, and nothing else. */
export const transferTo = (batch: BatchState, place: number, isFinal: boolean): PayoutExecution => {
  const line = linesOf(batch, 1)[place]!
  return {
    txHash: `0xa${place}`,
    block: { height: 5n, hash: "5", time: 50 },
    isFinal,
    fee: null,
    transfers: [{
      index: place,
      line: place,
      destination: line.destination.address,
      tokenAddress: line.tokenAddress,
      amount: line.units,
      from
    }]
  }
}
