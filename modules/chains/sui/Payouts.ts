/**
 * Payouts on Sui: `ChainDriver.payouts`. A part is one transaction that gives each receiver a coin of its own. Its
 * digest is known before anybody signs it, it spends versions of coins that can be spent once, and no validator takes
 * it after its last epoch.
 */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { DriverError } from "../../../runtime/Chains.ts"
import { readHeightOfMost } from "../../../runtime/payouts/Agreement.ts"
import type { PayoutDriver, PayoutExport, PayoutPart } from "../../../runtime/Payouts.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, formatUnits } from "../../../schemas/Money.ts"
import { descriptorOf, type Environment } from "../../../schemas/Network.ts"
import { epochFault, epochTimesFault } from "./Epochs.ts"
import { nativeCoinType } from "./Identifiers.ts"
import type { SuiNode } from "./Nodes.ts"
import type { Epoch, ExecutionFailure, GasUsed } from "./PayoutMessages.ts"
import { readCoins, readCurrentEpoch, readHiddenBalance, simulate } from "./PayoutNode.ts"
import {
  type CoinsByType,
  coinTypeOf,
  coinTypesOf,
  type PayoutPlan,
  planPayout,
  type PlanRefusal,
  type PlanRequest
} from "./PayoutPlan.ts"
import { search } from "./PayoutSearch.ts"
import { versionName } from "./PayoutTransaction.ts"
import type { SuiChain } from "./SuiChain.ts"

const network = "sui"
const coin = descriptorOf(network).coin
const maximumLines = 200

/** An epoch of the public networks takes a day, and an export ends with the next one at the latest. */
const maximumValiditySeconds = 172_800

/** MIST that a part may cost before a node has said what it will: a new coin takes 0.001 SUI, and the rest is work. */
const firstBudget = (lines: number): bigint => 20_000_000n + 1_500_000n * BigInt(lines)

/** Whatever a node says: 1 SUI is several times what 200 lines cost. */
const maximumBudget = 1_000_000_000n

/** Ten times what a unit of gas has cost. The protocol's own limit is ten times more. */
const maximumGasPrice = 10_000n

const wordsOf = (part: PayoutPart, coinType: string) => {
  const line = part.lines.find((each) => coinTypeOf(each) === coinType)
  const { decimals, symbol } = coinType === nativeCoinType || line === undefined ? coin : line
  return { symbol, words: (amount: bigint) => formatUnits(amount, decimals) }
}

const insufficient = (
  part: PayoutPart,
  { available, coinType, required }: Extract<PlanRefusal, { readonly _tag: "Missing" }>,
  reserved: number
): PublicError => {
  const { symbol, words } = wordsOf(part, coinType)
  const bound = reserved === 0 ? "" : " beside what other parts may still spend (wait until they are paid)"
  const gas = coinType === nativeCoinType ? ", with the gas" : ""
  return publicError("INSUFFICIENT_FUNDS", {
    message: `The lines take ${words(required)} ${symbol}${gas}, and the wallet has ${words(available)}${bound}: ` +
      `send it ${words(required - available)} ${symbol} or more, then export again`,
    details: {
      symbol,
      token_address: coinType === nativeCoinType ? null : coinType,
      required: words(required),
      available: words(available),
      missing: words(required - available)
    }
  })
}

const notSpendable = (message: string): PublicError => publicError("WALLET_NOT_SPENDABLE", { message })

/** Why the coins are not enough: there are too few, too many, or the money is in no coins. */
const refusalOf = Effect.fnUntraced(function*(
  node: SuiNode,
  part: PayoutPart,
  refusal: PlanRefusal,
  reserved: number
): Effect.fn.Return<PublicError, DriverError> {
  const { coinType } = refusal
  const { symbol, words } = wordsOf(part, coinType)
  if (refusal._tag === "TooMany") {
    return notSpendable(
      `The wallet's ${symbol} lies in too many small coins for one transaction: merge them, then export again`
    )
  }
  const hidden = yield* readHiddenBalance(node, part.from, coinType)
  return hidden > 0n && refusal.available + hidden >= refusal.required
    ? notSpendable(
      `${words(hidden)} ${symbol} of the wallet is an address balance and no coin, which a batch cannot spend: send ` +
        "it to the same wallet as a coin, then export again"
    )
    : insufficient(part, refusal, reserved)
})

/** What the chain says of a part that would fail. */
const failureOf = (part: PayoutPart, plan: PayoutPlan, failure: ExecutionFailure): PublicError => {
  const { command, deniedAddress, deniedCoinType, description } = failure
  if (deniedAddress === part.from) {
    return notSpendable("The issuer of a token has frozen this wallet for it: pay from another one")
  }
  const isLine = (line: PayoutPart["lines"][number], place: number): boolean =>
    deniedCoinType !== null || deniedAddress !== null
      ? (deniedAddress === null || line.destination === deniedAddress) &&
        (deniedCoinType === null || coinTypeOf(line) === deniedCoinType)
      : command !== null && Number(command) === plan.firstTransfer + place
  const place = part.lines.findIndex(isLine)
  return place === -1
    ? notSpendable(`The network says that the part would fail: ${description}`)
    : publicError("PAYOUT_LINE_REFUSED", {
      message: `The network refuses line ${place + 1}: ${description}. Make the batch anew without it`,
      details: { line: place + 1 }
    })
}

/** MIST that are set aside for what a simulation has cost, and a fifth more: the chain moves on until it is signed. */
const budgetFor = ({ computation, storage }: GasUsed): bigint => (computation + storage) * 6n / 5n

/** A plan that was tried, with the least budget that it needs; without a budget of a node's the first one. */
const tryPlan = Effect.fnUntraced(function*(
  node: SuiNode,
  request: PlanRequest,
  reserved: number
): Effect.fn.Return<
  { readonly plan: PayoutPlan; readonly gasBudget: bigint; readonly isSimulated: boolean } | PublicError,
  DriverError
> {
  const { part } = request
  let gasBudget = request.gasBudget
  for (;;) {
    const plan = planPayout({ ...request, gasBudget })
    if ("_tag" in plan) return yield* refusalOf(node, part, plan, reserved)
    const outcome = yield* simulate(node, plan.transaction.bytes)
    if (outcome === null) return { plan, gasBudget, isSimulated: false }
    const needed = outcome.failure?.isOutOfGas === true ? 2n * gasBudget : budgetFor(outcome.gas)
    if (needed > maximumBudget) {
      return yield* node.fail("SimulateTransaction", `it says that the part costs ${needed} MIST`, "contradiction")
    }
    if (needed > gasBudget) {
      gasBudget = needed
      continue
    }
    if (outcome.failure !== null) return failureOf(part, plan, outcome.failure)
    const cheaper = planPayout({ ...request, gasBudget: needed })
    return "_tag" in cheaper
      ? { plan, gasBudget, isSimulated: true }
      : { plan: cheaper, gasBudget: needed, isSimulated: true }
  }
})

const noticesOf = (gasBudget: bigint, isSimulated: boolean): ReadonlyArray<string> => [
  `The gas is at most ${formatUnits(gasBudget, coin.decimals)} ${coin.symbol}; what is not used stays in the wallet.`,
  "Use the wallet for nothing else until it has signed and sent this: two transactions with one coin lock that coin " +
  "until the epoch ends, a day at most.",
  ...isSimulated ? [] : ["No node was able to say whether it will succeed, so the gas is an estimate."]
]

/** The last epoch of an export, and its end: the running one where that is as long as was asked for, else the next. */
const expiryOf = ({ durationSeconds, epoch, start }: Epoch, validUntil: number) => {
  const end = start + durationSeconds
  return validUntil <= end
    ? { lastEpoch: epoch, validUntil: end }
    : { lastEpoch: epoch + 1n, validUntil: end + durationSeconds }
}

/** The coins that nothing else may spend, and how many something may. */
const readSpendable = Effect.fnUntraced(function*(
  node: SuiNode,
  { from, lines }: PayoutPart,
  spentInputs: ReadonlySet<string>
): Effect.fn.Return<{ readonly coins: CoinsByType; readonly reserved: number }, DriverError> {
  const all = yield* Effect.forEach(
    coinTypesOf(lines),
    (coinType) => Effect.map(readCoins(node, from, coinType), (coins) => [coinType, coins] as const)
  )
  const coins = new Map(all.map(([coinType, each]) => [coinType, each.filter(({ id }) => !spentInputs.has(id))]))
  const reserved = all.reduce((sum, [coinType, each]) => sum + each.length - coins.get(coinType)!.length, 0)
  return { coins, reserved }
})

/** The epoch that runs; one that would cost the wallet money, or bind its coins for long, is no answer. */
const readTrustedEpoch = Effect.fnUntraced(function*(node: SuiNode, environment: Environment) {
  const found = yield* readCurrentEpoch(node)
  const { epoch, referenceGasPrice } = found
  if (referenceGasPrice > maximumGasPrice) {
    return yield* node.fail("GetEpoch", `it says that gas costs ${referenceGasPrice} MIST`, "contradiction")
  }
  const now = yield* nowSeconds
  const reason = epochFault(environment, epoch, now) ?? epochTimesFault(environment, found, now)
  return reason === null ? found : yield* node.fail("GetEpoch", reason, "contradiction")
})

/** Builds a part by what one endpoint says. */
const buildAt = Effect.fnUntraced(function*(
  chain: SuiChain,
  environment: Environment,
  node: SuiNode,
  { builtAt, part, spentInputs, validUntil: asked }: Parameters<PayoutDriver["build"]>[0] & {
    readonly part: PayoutPart
    readonly builtAt: bigint
  }
): Effect.fn.Return<PayoutExport | PublicError, DriverError> {
  // It must be of the network that was configured, whatever was proven before.
  yield* chain.readInfo(node)
  const epoch = yield* readTrustedEpoch(node, environment)
  const { lastEpoch, validUntil } = expiryOf(epoch, asked)
  const { coins, reserved } = yield* readSpendable(node, part, spentInputs)
  const gasBudget = firstBudget(part.lines.length)
  // The next epoch may ask for a little more than this one.
  const gasPrice = epoch.referenceGasPrice * 11n / 10n
  const tried = yield* tryPlan(node, { part, coins, gasPrice, gasBudget, lastEpoch }, reserved)
  if (isPublicError(tried)) return tried
  const { spent, transaction: { bytes, digest } } = tried.plan
  return {
    format: "sui",
    payload: JSON.stringify({ transaction: Buffer.from(bytes).toString("base64"), digest }),
    validUntil,
    trace: { digest, lastEpoch: Number(lastEpoch), spent: spent.map(versionName) },
    builtAt,
    inputs: spent.map(({ id }) => id),
    isSimulated: tried.isSimulated,
    notices: noticesOf(tried.gasBudget, tried.isSimulated)
  }
})

const build = (chain: SuiChain, environment: Environment): PayoutDriver["build"] =>
  Effect.fnUntraced(function*(request) {
    const { format, part } = request
    if (part._tag !== "Payout" || format !== "sui") {
      return yield* new DriverError({ network, reason: `it does not build a ${part._tag} as ${format}` })
    }
    const builtAt = yield* readHeightOfMost(
      network,
      chain.endpoints,
      (node) => Effect.map(chain.readHead(node), ({ height }) => height)
    )
    const made = yield* chain.endpoints.withFailover((node) =>
      buildAt(chain, environment, node, { ...request, part, builtAt })
    )
    return isPublicError(made) ? yield* made : made
  })

/** How many lines go into each part: a transaction of 200 has 12 KB, and 128 KB are allowed. */
const partSizes: PayoutDriver["partSizes"] = (lines) =>
  Array.from(
    { length: Math.ceil(lines.length / maximumLines) },
    (_, part) => Math.min(maximumLines, lines.length - part * maximumLines)
  )

export const makePayouts = (chain: SuiChain, environment: Environment): PayoutDriver => ({
  formats: ["sui"],
  collectFormats: [],
  estimateCollect: null,
  maximumLines,
  maximumValiditySeconds,
  minimumAmount: () => baseUnits(1n),
  partSizes,
  build: build(chain, environment),
  search: search(chain)
})
