/**
 * What a rollup of the OP Stack takes for the bytes that it writes to Ethereum, beside the gas of the transaction
 * (https://docs.optimism.io/op-stack/transactions/fees).
 */
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import { numberWord, wordBytes } from "./AbiWords.ts"
import type { Endpoint } from "./JsonRpc.ts"
import type { Call } from "./PayoutCalls.ts"

/** `getL1Fee(bytes)` of the contract GasPriceOracle: of an unsigned transaction, whose signature it adds itself. */
const getL1Fee = "0x49948e0e"

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

/** The unsigned transaction of type 2 (EIP-1559) that sends the call. `gasPrice` stands for both of its prices. */
export const unsignedTransaction = (
  { data, to, value }: Call,
  { chainId, gas, gasPrice }: { readonly chainId: number; readonly gas: bigint; readonly gasPrice: bigint }
): Uint8Array =>
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

/** Base units of the network's coin for the bytes of a transaction, by the rollup's own contract now. */
export const readDataFee = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  oracle: string,
  transaction: Uint8Array
): Effect.fn.Return<BaseUnits, DriverError> {
  const digits = bytesToHex(transaction)
  const paddedDigits = Math.ceil(transaction.length / wordBytes) * wordBytes * 2
  const data = getL1Fee + numberWord(wordBytes) + numberWord(transaction.length) + digits.padEnd(paddedDigits, "0")
  const answer = yield* endpoint.ethCall(oracle, data)
  // Chains of tests have no such contract, and take nothing.
  return baseUnits(answer === "0x" ? 0n : BigInt(answer))
})
