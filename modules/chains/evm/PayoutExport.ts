/** A part of a payout as a wallet is given it: `PayoutDriver.build`. */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { Clock, Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { reorgDepth } from "../../../runtime/chains/Confirmations.ts"
import { answersOf, askEach } from "../../../runtime/payouts/Agreement.ts"
import { paymentName, refusalOfEqualLines } from "../../../runtime/payouts/EqualLines.ts"
import type { PayoutExport, PayoutFormat, PayoutPart } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { word } from "./AbiWords.ts"
import { readHeader } from "./Blocks.ts"
import { type FrozenBuild, payer, selectors } from "./Contracts.ts"
import { Data, type Endpoint, type JsonRpc, Quantity } from "./JsonRpc.ts"
import { contentHash, partReference, payoutCalls, sumsByToken, tokenSelectors } from "./PayoutCalls.ts"
import { isCallFormat, payloadOf, payoutCsv } from "./PayoutPayload.ts"
import { findBefore, type PayoutTrace, type SearchContext } from "./PayoutSearch.ts"
import { type Forecast, simulateLines, simulatePayout } from "./PayoutSimulation.ts"
import { balanceSelector } from "./TokenFacts.ts"

/** Facts of the chain that are asked for side by side. */
const factsAtOnce = 4

/** Whether a frozen contract is on the chain. */
export const hasBuild = (endpoint: Endpoint, { address, codeHash }: FrozenBuild): Effect.Effect<boolean, DriverError> =>
  Effect.map(
    endpoint.call("eth_getCode", [address, "latest"], Data),
    (code) => bytesToHex(keccak_256(hexToBytes(code.slice(2)))) === codeHash.slice(2)
  )

/**
 * The height of the newest block, as most endpoints say it that answer. Neither one that is behind nor one that names a
 * height which is not there yet decides where a search will begin.
 */
export const readNewestHeight = Effect.fnUntraced(function*(
  rpc: JsonRpc
): Effect.fn.Return<bigint, DriverError> {
  const results = yield* Effect.forEach(
    rpc.endpoints,
    (endpoint) => Effect.result(rpc.attempt(endpoint, (each) => readHeader(each, "latest"))),
    { concurrency: "unbounded" }
  )
  const heights = results.flatMap((result) => result._tag === "Success" ? result.success?.height ?? [] : [])
    .toSorted((one, other) => Number(one - other))
  const { network } = rpc.endpoints[0]!
  if (heights.length === 0) return yield* new DriverError({ network, reason: "no endpoint tells its newest block" })
  return heights[Math.floor((heights.length - 1) / 2)]!
})

/** What the wallet of a part has, and what the Payer may take of it. */
interface WalletFacts {
  readonly hasPayer: boolean
  readonly isPaid: boolean
  readonly balances: ReadonlyMap<string | null, bigint>
  readonly allowances: ReadonlyMap<string, bigint>
}

/** A contract that reverts or answers no word has nothing. */
const readAmount = (endpoint: Endpoint, token: string, data: string): Effect.Effect<bigint, DriverError> =>
  Effect.map(endpoint.ethCall(token, data), (answer) => /^0x[0-9a-f]{64}$/i.test(answer) ? BigInt(answer) : 0n)

const readBalance = (endpoint: Endpoint, owner: string, token: string | null): Effect.Effect<bigint, DriverError> =>
  token === null
    ? Effect.map(endpoint.call("eth_getBalance", [owner, "latest"], Quantity), BigInt)
    : readAmount(endpoint, token, balanceSelector + word(owner))

const readFacts = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  part: PayoutPart
): Effect.fn.Return<WalletFacts, DriverError> {
  const { from } = part
  const tokens = [...sumsByToken(part.lines).keys()]
  const [balances, allowances] = yield* Effect.all([
    Effect.forEach(tokens, (token) => readBalance(endpoint, from, token), { concurrency: factsAtOnce }),
    Effect.forEach(tokens.filter((token) => token !== null), (token) =>
      Effect.map(
        readAmount(endpoint, token, tokenSelectors.allowance + word(from) + word(payer.address)),
        (amount) => [token, amount] as const
      ), { concurrency: factsAtOnce })
  ], { concurrency: 2 })
  const paid = yield* readAmount(endpoint, payer.address, selectors.isPaid + word(from) + word(partReference(part)))
  return {
    hasPayer: yield* hasBuild(endpoint, payer),
    isPaid: paid === 1n,
    balances: new Map(tokens.map((token, place) => [token, balances[place]!])),
    allowances: new Map(allowances)
  }
})

/** What the wallet lacks, each token by itself. What the network takes for the transaction comes on top of it. */
const insufficientFunds = (
  { from, lines }: PayoutPart,
  balances: ReadonlyMap<string | null, bigint>
): PublicError | null => {
  const tokens = [...sumsByToken(lines)].flatMap(([token, required]) => {
    const available = balances.get(token) ?? 0n
    if (available >= required) return []
    const { decimals, symbol } = lines.find(({ tokenAddress }) => tokenAddress === token)!
    const text = (amount: bigint) => formatUnits(amount, decimals)
    return [{
      token_address: token,
      symbol,
      required: text(required),
      available: text(available),
      missing: text(required - available)
    }]
  })
  if (tokens.length === 0) return null
  const missing = tokens.map((token) => `${token.missing} ${token.symbol}`).join(", ")
  return publicError("INSUFFICIENT_FUNDS", {
    message: `The wallet ${from} lacks ${missing}: fund it with that and what the transaction costs, and export again`,
    details: { from, tokens }
  })
}

/** Why a part cannot be given out, by what the chain has; null: it may be. A list needs no contract. */
const refusalOf = (part: PayoutPart, format: PayoutFormat, facts: WalletFacts): PublicError | null =>
  facts.isPaid
    ? publicError("BATCH_PAID")
    : isCallFormat(format) && !facts.hasPayer
    ? publicError("PAYER_MISSING", { details: { contract: payer.address } })
    : insufficientFunds(part, facts.balances)

/**
 * A contract sends the network's own coin by an internal call, which leaves no log and no transaction of its own: such
 * a line of a list could never be found, and would be paid again.
 */
const readCoinRefusal = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  { from, lines }: PayoutPart
): Effect.fn.Return<PublicError | null, DriverError> {
  const place = lines.findIndex(({ tokenAddress }) => tokenAddress === null)
  if (place === -1 || (yield* endpoint.call("eth_getCode", [from, "latest"], Data)) === "0x") return null
  return publicError("PAYOUT_LINE_REFUSED", {
    message:
      `Line ${place + 1} pays the network's own coin, and the wallet ${from} has code: what a contract sends of it ` +
      "leaves no transfer that could be found. Export the part as safe, eip5792 or transactions, or pay the line by a " +
      "batch of a plain account",
    details: { line: place + 1, from }
  })
})

const noticesOf = (format: PayoutFormat, calls: number): ReadonlyArray<string> =>
  format === "transactions" && calls > 1
    ? [`Send the ${calls} transactions in their order, each when the one before is in a block.`]
    : format === "csv"
    ? ["No chain keeps this list from being paid twice: pay it once, from one tool."]
    : []

interface BuildRequest {
  readonly part: PayoutPart
  readonly format: PayoutFormat
  readonly validUntil: number
  /** {@link PayoutExport.inputs} of parts that may still be executed. */
  readonly spentInputs: ReadonlySet<string>
}

/** What the chain had when a part is given out. */
interface ChainBefore {
  /** The block from which its execution is searched for: no reorganisation reaches below it. */
  readonly builtAt: bigint
  readonly before: PayoutTrace["before"]
}

/**
 * Of a list every endpoint is asked which transfers are there already, and what one of them shows pays no line: a
 * transfer of a list looks like any other of the same amount.
 */
const readChainBefore = Effect.fnUntraced(function*(
  { environment, network, rpc }: SearchContext,
  { format, part }: Pick<BuildRequest, "format" | "part">
): Effect.fn.Return<ChainBefore, DriverError> {
  const newest = yield* readNewestHeight(rpc)
  const lowest = newest - BigInt(reorgDepth(network, environment))
  const builtAt = lowest < 0n ? 0n : lowest
  if (isCallFormat(format)) return { builtAt, before: undefined }
  const reports = yield* askEach(rpc, (endpoint) => findBefore(endpoint, part, builtAt))
  const txHashes = new Set((yield* Effect.fromResult(answersOf(network, reports))).flat())
  return { builtAt, before: { newest: newest.toString(), txHashes: [...txHashes] } }
})

/** Builds a part at one endpoint, so that all of its facts are of one node. */
const buildAt = Effect.fnUntraced(function*(
  endpoint: Endpoint,
  { chainId }: SearchContext,
  { format, part, validUntil }: Omit<BuildRequest, "spentInputs">,
  { before, builtAt }: ChainBefore
): Effect.fn.Return<PayoutExport | PublicError, DriverError> {
  const facts = yield* readFacts(endpoint, part)
  const refusal = refusalOf(part, format, facts)
  if (refusal !== null) return refusal
  const isGuarded = isCallFormat(format)
  const unfindable = isGuarded ? null : yield* readCoinRefusal(endpoint, part)
  if (unfindable !== null) return unfindable
  const calls = payoutCalls(part, { chainId, validUntil, allowances: facts.allowances })
  const forecast: Forecast = yield* isGuarded
    ? simulatePayout(endpoint, part, calls)
    : simulateLines(endpoint, part)
  if (forecast._tag === "Refused") return forecast.error
  const trace: PayoutTrace = {
    ref: partReference(part),
    contentHash: isGuarded ? contentHash(validUntil, part.lines) : null,
    chainId,
    ...(before === undefined ? {} : { before })
  }
  const createdAt = yield* Clock.currentTimeMillis
  return {
    format,
    payload: isGuarded ? payloadOf(format, { part, calls, chainId, createdAt }) : payoutCsv(part),
    validUntil: isGuarded ? validUntil : null,
    trace,
    builtAt,
    // A line of a list is found by these alone, so no other open list may have it: one transfer would pay both lines.
    inputs: isGuarded ? [] : part.lines.map((line) => paymentName(part.from, line)),
    isSimulated: true,
    notices: [...noticesOf(format, calls.length), ...forecast.notices]
  }
})

/** See `PayoutDriver.build`. */
export const buildPayout = Effect.fnUntraced(function*(
  context: SearchContext,
  request: BuildRequest
): Effect.fn.Return<PayoutExport, PublicError | DriverError> {
  const { network, rpc } = context
  const { format, part, spentInputs } = request
  if (!isCallFormat(format) && format !== "csv") return yield* new DriverError({ network, reason: `no ${format} here` })
  const refusal = isCallFormat(format) ? null : refusalOfEqualLines(part, () => true, spentInputs, true)
  if (refusal !== null) return yield* refusal
  const before = yield* readChainBefore(context, request)
  const built = yield* rpc.withFailover((endpoint) => buildAt(endpoint, context, request, before))
  return "payload" in built ? built : yield* built
})
