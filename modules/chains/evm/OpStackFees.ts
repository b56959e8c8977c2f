/**
 * What a rollup of the OP Stack takes beside the gas of a transaction: for the bytes that it writes to Ethereum, and,
 * since its upgrade Isthmus, for its operator (https://docs.optimism.io/op-stack/transactions/fees).
 */
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import type { CollectCost } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { numberWord, wordBytes } from "./AbiWords.ts"
import type { Endpoint } from "./JsonRpc.ts"
import type { Call } from "./PayoutCalls.ts"

/** `getL1Fee(bytes)` of the contract GasPriceOracle: of an unsigned transaction, whose signature it adds itself. */
const getL1Fee = "0x49948e0e"

/** `getOperatorFee(uint256)` of the same contract: of gas. How it is computed differs by upgrade, so it is asked. */
const getOperatorFee = "0x275aedd2"

/** A nonce of the length that a wallet in use has: the fee is by bytes. */
const typicalNonce = 0xffffn

const bytesOf = (value: bigint): Uint8Array => {
  const digits = value === 0n ? "" : value.toString(16)
  return hexToBytes(digits.padStart(digits.length + digits.length % 2, "0"))
}

/** Bytes with their length before them, as RLP has it (Ethereum Yellow Paper, appendix B). */
const withLength = (content: Uint8Array, short: number): Uint8Array => {
  if (content.length <= 55) return Uint8Array.from([short + content.length, ...content])
  const length = bytesOf(BigInt(content.length))
  return Uint8Array.from([short + 55 + length.length, ...length, ...content])
}

const rlpBytes = (bytes: Uint8Array): Uint8Array =>
  bytes.length === 1 && bytes[0]! < 0x80 ? bytes : withLength(bytes, 0x80)

const rlpList = (items: ReadonlyArray<Uint8Array>): Uint8Array =>
  withLength(Uint8Array.from(items.flatMap((item) => [...item])), 0xc0)

interface CallGas {
  readonly chainId: number
  readonly gas: bigint
  readonly gasPrice: bigint
}

/** The unsigned transaction of type 2 (EIP-1559) that sends the call. `gasPrice` stands for both of its prices. */
export const unsignedTransaction = ({ data, to, value }: Call, { chainId, gas, gasPrice }: CallGas): Uint8Array =>
  Uint8Array.from([
    2,
    ...rlpList([
      ...[BigInt(chainId), typicalNonce, gasPrice, gasPrice, gas].map((each) => rlpBytes(bytesOf(each))),
      rlpBytes(hexToBytes(to.slice(2))),
      rlpBytes(bytesOf(value)),
      rlpBytes(hexToBytes(data.slice(2))),
      rlpList([])
    ])
  ])

type OpStackFees = Pick<CollectCost, "dataFee" | "operatorFee">

export const noOpStackFees: OpStackFees = { dataFee: baseUnits(0n), operatorFee: baseUnits(0n) }

/** Chains of tests have no such contract, and one that is older than a fee has no function for it: nothing is taken. */
const feeIn = (answer: string) => baseUnits(answer === "0x" ? 0n : BigInt(answer))

/** Base units of the network's coin that the call costs beside its gas, by the rollup's own contract now. */
export const readOpStackFees = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  oracle: string,
  call: Call,
  gas: CallGas
): Effect.fn.Return<OpStackFees, DriverError> {
  const transaction = unsignedTransaction(call, gas)
  const digits = bytesToHex(transaction)
  const paddedDigits = Math.ceil(transaction.length / wordBytes) * wordBytes * 2
  const bytes = numberWord(wordBytes) + numberWord(transaction.length) + digits.padEnd(paddedDigits, "0")
  return {
    dataFee: feeIn(yield* endpoint.ethCall(oracle, getL1Fee + bytes)),
    operatorFee: feeIn(yield* endpoint.ethCall(oracle, getOperatorFee + numberWord(gas.gas)))
  }
})
