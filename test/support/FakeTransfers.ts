/** A contract that says it moved a token nobody lists: as many ERC-20 `Transfer` logs as are asked for. */
import { Effect } from "effect"
import type { Anvil } from "./Anvil.ts"

/** Logs in one transaction: each costs about 1,900 gas, and a transaction takes at most 2^24 (EIP-7825). */
const logsPerTransaction = 8_000
const gasPerTransaction = 16_700_000n

/**
 * Assembled by hand. Calldata: how often, to whom. `while (n) { log3(0, 32, Transfer, caller, to); n -= 1 }` over a
 * word of 1.
 */
const code =
  "0x60016000526000355b8015603f57602035337fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60206000a3600190036008565b00"

const word = (value: bigint): string => value.toString(16).padStart(64, "0")

/**
 * Puts the contract at `contract` and sends the transactions for `count` logs to `to`, without waiting for a block:
 * turn automine off before, so that all of them are in the next one.
 */
export const sendFakeTransfers = (
  node: Anvil,
  { contract, count, from, to }: {
    readonly contract: string
    readonly count: number
    readonly from: string
    readonly to: string
  }
): Effect.Effect<void> =>
  Effect.gen(function*() {
    yield* node.rpc("anvil_setCode", contract, code)
    for (let left = count; left > 0; left -= logsPerTransaction) {
      const logs = Math.min(left, logsPerTransaction)
      yield* node.rpc("eth_sendTransaction", {
        from,
        to: contract,
        data: `0x${word(BigInt(logs))}${word(BigInt(to))}`,
        gas: `0x${gasPerTransaction.toString(16)}`,
        // Before any honest payment of the same block.
        maxFeePerGas: "0x174876e800",
        maxPriorityFeePerGas: "0x174876e7ff"
      })
    }
  })
