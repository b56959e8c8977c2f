/** Simulates a payout at a node before anybody signs it, so that a line that must fail is refused in time. */
import { Effect, Schema } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { contractErrors, payer, topics } from "./Contracts.ts"
import { Data, type Endpoint, Quantity } from "./JsonRpc.ts"
import { type Call, transferCall } from "./PayoutCalls.ts"
import { type Log, transfersOfPaid } from "./PayoutMatching.ts"

/** The answer of `eth_simulateV1`: for each block each of its calls. */
const Simulated = Schema.Array(Schema.Struct({
  calls: Schema.Array(Schema.Struct({
    status: Quantity,
    returnData: Data,
    error: Schema.optionalKey(Schema.NullOr(Schema.Struct({ data: Schema.optionalKey(Schema.Unknown) }))),
    logs: Schema.optionalKey(Schema.Array(Schema.Struct({
      address: Schema.String,
      topics: Schema.Array(Schema.String),
      data: Data
    })))
  }))
}))

/** Lines that are simulated at once. */
const linesAtOnce = 8

/** The result of a simulation: why the payout would fail, or notices for the person who signs it. */
export type Forecast =
  | { readonly _tag: "Refused"; readonly error: PublicError }
  | { readonly _tag: "Possible"; readonly notices: ReadonlyArray<string> }

const callParameters = ({ data, to, value }: Call, from: string) => ({
  from,
  to,
  value: `0x${value.toString(16)}`,
  data
})

/** The error that names a line; `place` counts from 0. */
export const lineRefused = ({ lines }: PayoutPart, place: number): PublicError => {
  const { amount, decimals, destination, symbol } = lines[place]!
  return publicError("PAYOUT_LINE_REFUSED", {
    message:
      `Line ${place + 1} would fail: ${formatUnits(amount, decimals)} ${symbol} cannot be sent to ${destination} ` +
      "from this wallet. The receiver or the wallet may be frozen, or the receiver takes no coins. Make the batch anew " +
      "without the line, or with another destination",
    details: { line: place + 1, destination }
  })
}

/** What the error of the Payer means. It reverts with nothing else than its own errors, but for a lack of gas. */
const payError = (endpoint: Endpoint, part: PayoutPart, data: string): PublicError | DriverError => {
  const selector = data.slice(0, 10).toLowerCase()
  if (selector === contractErrors.LineFailed && data.length === 74) {
    const place = BigInt(`0x${data.slice(10)}`)
    if (place < BigInt(part.lines.length)) return lineRefused(part, Number(place))
  }
  if (selector === contractErrors.AlreadyPaid) return publicError("BATCH_PAID")
  const reason = selector === contractErrors.Expired
    ? "its newest block is later than the time until which the part would be valid: compare the clocks"
    : `the payment would fail with ${data.slice(0, 74)}`
  return new DriverError({ network: endpoint.network, reason: `${endpoint.name}: ${reason}`, kind: "refused" })
}

const forecastOf = (error: PublicError | DriverError): Effect.Effect<Forecast, DriverError> =>
  error._tag === "DriverError" ? Effect.fail(error) : Effect.succeed({ _tag: "Refused", error })

const possibleForecast = (notices: ReadonlyArray<string> = []): Forecast => ({ _tag: "Possible", notices })

/** Notices about lines whose token keeps a part of each transfer, so that less arrives. */
const feeNotices = (part: PayoutPart, logs: ReadonlyArray<Log>): ReadonlyArray<string> => {
  const paidAt = logs.findIndex(({ topics: [kind], address }) =>
    kind === topics.paid && address.toLowerCase() === payer.address.toLowerCase()
  )
  return transfersOfPaid(part, logs, paidAt).flatMap(({ amount, line }) => {
    const { amount: due, decimals, symbol }: PayoutLine = part.lines[line!]!
    return amount === due ? [] : [
      `Line ${line! + 1} would bring ${formatUnits(amount, decimals)} ${symbol} instead of ` +
      `${formatUnits(due, decimals)}: its token keeps a part of each transfer.`
    ]
  })
}

/**
 * Simulates all calls in the wallet's order; null: the node cannot. Every error counts as that, because nodes without
 * the method answer in many ways. A node that is really down fails again when the lines are simulated one by one.
 */
const simulateInOrder = (endpoint: Endpoint, calls: ReadonlyArray<Call>, from: string) =>
  endpoint.call("eth_simulateV1", [
    { blockStateCalls: [{ calls: calls.map((call) => callParameters(call, from)) }], validation: false },
    "latest"
  ], Simulated).pipe(
    Effect.map(([block]) => block?.calls.length === calls.length ? block.calls : null),
    Effect.catch((error) => Effect.as(Effect.logDebug("a node cannot simulate calls in a row", error.reason), null))
  )

const simulateCalls = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  part: PayoutPart,
  calls: ReadonlyArray<Call>
): Effect.fn.Return<Forecast | null, DriverError> {
  const outcomes = yield* simulateInOrder(endpoint, calls, part.from)
  if (outcomes === null) return null
  const failed = outcomes.findIndex(({ status }) => BigInt(status) !== 1n)
  if (failed === -1) return possibleForecast(feeNotices(part, outcomes.at(-1)!.logs ?? []))
  const { error, returnData } = outcomes[failed]!
  if (failed === calls.length - 1) {
    const data = returnData === "0x" && typeof error?.data === "string" ? error.data : returnData
    return yield* forecastOf(payError(endpoint, part, data))
  }
  const token = calls[failed]!.to
  return { _tag: "Refused", error: lineRefused(part, part.lines.findIndex((line) => line.tokenAddress === token)) }
})

const isAccepted = ({ tokenAddress }: PayoutLine, answer: string): boolean =>
  tokenAddress === null || answer === "0x" || (/^0x[0-9a-f]{64}/i.test(answer) && BigInt(answer.slice(0, 66)) === 1n)

/** Each line by itself, as if the wallet paid it without the Payer. */
export const simulateLines = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  part: PayoutPart
): Effect.fn.Return<Forecast, DriverError> {
  const outcomes = yield* Effect.forEach(
    part.lines,
    (line) => endpoint.tryCall("eth_call", callParameters(transferCall(line), part.from)),
    { concurrency: linesAtOnce }
  )
  const failed = outcomes.findIndex(({ data, isReverted }, place) =>
    isReverted || !isAccepted(part.lines[place]!, data)
  )
  return failed === -1 ? possibleForecast() : { _tag: "Refused", error: lineRefused(part, failed) }
})

/**
 * Simulates a payout. A payment that needs token approvals fails without them, so all calls are simulated in order
 * where the node can; else each line is simulated as a plain transfer.
 */
export const simulatePayout = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  part: PayoutPart,
  calls: ReadonlyArray<Call>
): Effect.fn.Return<Forecast, DriverError> {
  if (calls.length === 1) {
    const { data, isReverted } = yield* endpoint.tryCall("eth_call", callParameters(calls[0]!, part.from))
    return isReverted ? yield* forecastOf(payError(endpoint, part, data)) : possibleForecast()
  }
  return (yield* simulateCalls(endpoint, part, calls)) ?? (yield* simulateLines(endpoint, part))
})
