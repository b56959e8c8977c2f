/** The calls of a part in the form that a wallet takes, and a part as a list for people. Pure. */
import type { BatchPart, PayoutFormat, PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { csvLine, decimal, text } from "../../../schemas/Csv.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { type Call, exportName } from "./PayoutCalls.ts"
import { safeFile } from "./SafeFile.ts"

/** Formats that the chain keeps from being executed twice, in which a wallet is given calls. */
export type CallFormat = Extract<PayoutFormat, "eip5792" | "safe" | "transactions">

export const callFormats: ReadonlyArray<CallFormat> = ["eip5792", "transactions", "safe"]

export const isCallFormat = (format: PayoutFormat): format is CallFormat =>
  (callFormats as ReadonlyArray<PayoutFormat>).includes(format)

const hex = (value: bigint | number): string => `0x${value.toString(16)}`

interface PayloadOptions {
  readonly part: BatchPart
  readonly calls: ReadonlyArray<Call>
  readonly chainId: number
  /** Epoch milliseconds. */
  readonly createdAt: number
}

const senderOf = (from: string | null): { readonly from?: string } => from === null ? {} : { from }

/**
 * The parameters of `wallet_sendCalls` (EIP-5792, version 2.0.0). Several calls are done all or not at all; wallets
 * that cannot do that may still send a single one. The id is the export's own, so that a wallet refuses an export that
 * it was given before.
 */
const sendCallsParameters = ({ calls, chainId, part }: PayloadOptions): string =>
  JSON.stringify([{
    version: "2.0.0",
    id: exportName(part, calls),
    ...senderOf(part.from),
    chainId: hex(chainId),
    atomicRequired: part._tag === "Payout",
    calls: calls.map(({ data, to, value }) => ({ to, value: hex(value), data }))
  }])

/** For each call the parameter of one `eth_sendTransaction`. */
const transactions = ({ calls, chainId, part }: PayloadOptions): string =>
  JSON.stringify(calls.map(({ data, to, value }) => ({
    ...senderOf(part.from),
    to,
    value: hex(value),
    data,
    chainId: hex(chainId)
  })))

const describe = ({ lines, _tag }: BatchPart): string =>
  _tag === "Payout"
    ? `Pays ${lines.length} lines, all of them or none, and once only.`
    : `Collects from ${lines.length} balances; it can pay nobody but the payee.`

export const payloadOf = (format: CallFormat, options: PayloadOptions): string => {
  const { calls, chainId, createdAt, part } = options
  switch (format) {
    case "eip5792":
      return sendCallsParameters(options)
    case "transactions":
      return transactions(options)
    case "safe":
      return safeFile({
        name: `Tillwire ${part.batchId}, part ${part.part}`,
        description: describe(part),
        chainId,
        createdAt,
        from: part.from,
        calls
      })
  }
}

const csvRow = ({ amount, decimals, destination, reference, tokenAddress }: PayoutLine): string =>
  csvLine([
    text(tokenAddress === null ? "native" : "erc20"),
    text(tokenAddress),
    text(destination),
    decimal(formatUnits(amount, decimals)),
    text(reference)
  ])

/** The columns that Safe's app for lists reads, and the line's own reference as `id`. */
export const payoutCsv = ({ lines }: PayoutPart): string =>
  csvLine(["token_type", "token_address", "receiver", "amount", "id"].map(text)) + lines.map(csvRow).join("")
