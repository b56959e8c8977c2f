/**
 * Which coins of a wallet a part of a batch spends, and the commands that pay its lines from them: the largest first,
 * so that the same wallet and lines give the same transaction. Pure.
 */
import type { PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { nativeCoinType } from "./Identifiers.ts"
import {
  type Argument,
  type Coin,
  type Command,
  type Input,
  writeTransaction,
  type WrittenTransaction
} from "./PayoutTransaction.ts"

/** Coins that may pay the gas, and coins of one type that are merged (protocol configuration of Sui). */
const maximumCoins = 256

/** The wallet's coins of a type that nothing else may spend. */
export type CoinsByType = ReadonlyMap<string, ReadonlyArray<Coin>>

export interface PlanRequest {
  readonly part: PayoutPart
  readonly coins: CoinsByType
  readonly gasPrice: bigint
  readonly gasBudget: bigint
  readonly lastEpoch: bigint
}

export interface PayoutPlan {
  readonly transaction: WrittenTransaction
  /** The coins that it spends. */
  readonly spent: ReadonlyArray<Coin>
  /** Place of the command that gives the first line to its receiver; those of the others follow in their order. */
  readonly firstTransfer: number
}

export type PlanRefusal =
  | {
    readonly _tag: "Missing"
    readonly coinType: string
    readonly required: bigint
    readonly available: bigint
  }
  /** The coins are too many for one transaction. */
  | { readonly _tag: "TooMany"; readonly coinType: string }

/** The type of the coin that a line pays. */
export const coinTypeOf = ({ tokenAddress }: Pick<PayoutLine, "tokenAddress">): string => tokenAddress ?? nativeCoinType

/** The types of the lines' coins in the order of the lines, and the network's own, which pays the gas. */
export const coinTypesOf = (lines: ReadonlyArray<PayoutLine>): ReadonlyArray<string> => [
  ...new Set([...lines.map(coinTypeOf), nativeCoinType])
]

const sumOf = (coins: ReadonlyArray<Coin>): bigint => coins.reduce((sum, { balance }) => sum + balance, 0n)

const byBalance = (one: Coin, other: Coin): number =>
  one.balance === other.balance ? one.id < other.id ? -1 : 1 : one.balance > other.balance ? -1 : 1

/** The fewest coins that hold as much. */
const chooseCoins = (
  coinType: string,
  coins: ReadonlyArray<Coin>,
  required: bigint
): ReadonlyArray<Coin> | PlanRefusal => {
  const available = sumOf(coins)
  if (available < required) return { _tag: "Missing", coinType, required, available }
  const chosen: Array<Coin> = []
  let sum = 0n
  for (const coin of coins.toSorted(byBalance)) {
    if (sum >= required) break
    chosen.push(coin)
    sum += coin.balance
  }
  return chosen.length > maximumCoins ? { _tag: "TooMany", coinType } : chosen
}

const isRefusal = (chosen: ReadonlyArray<Coin> | PlanRefusal): chosen is PlanRefusal => "_tag" in chosen

/** Inputs and commands that are written one after the other. */
interface Script {
  readonly inputs: Array<Input>
  readonly commands: Array<Command>
}

const addInput = ({ inputs }: Script, input: Input): Argument => ({ _tag: "Input", place: inputs.push(input) - 1 })

/** Splits what the lines of one type are paid from one coin, after others of the type became part of it. */
const addSplit = (
  script: Script,
  coin: Argument,
  others: ReadonlyArray<Argument>,
  lines: ReadonlyArray<PayoutLine>
): ReadonlyArray<Argument> => {
  if (others.length > 0) script.commands.push({ _tag: "Merge", into: coin, coins: others })
  const amounts = lines.map(({ amount }) => addInput(script, { _tag: "Amount", amount }))
  const command = script.commands.push({ _tag: "Split", coin, amounts }) - 1
  return lines.map((_, place) => ({ _tag: "Result", command, place }))
}

/** What a part spends and does, or why it cannot be paid. */
export const planPayout = (
  { coins, gasBudget, gasPrice, lastEpoch, part }: PlanRequest
): PayoutPlan | PlanRefusal => {
  const { from, lines } = part
  const script: Script = { inputs: [], commands: [] }
  const pieces = new Map<number, Argument>()
  const spent: Array<Coin> = []
  let gasCoins: ReadonlyArray<Coin> = []
  for (const coinType of coinTypesOf(lines)) {
    const isNative = coinType === nativeCoinType
    const paid = [...lines.entries()].filter(([, line]) => coinTypeOf(line) === coinType)
    const required = paid.reduce((sum, [, { amount }]) => sum + amount, isNative ? gasBudget : 0n)
    const chosen = chooseCoins(coinType, coins.get(coinType) ?? [], required)
    if (isRefusal(chosen)) return chosen
    spent.push(...chosen)
    if (isNative) gasCoins = chosen
    if (paid.length === 0) continue
    const [coin, ...others] = isNative
      ? [{ _tag: "GasCoin" as const }]
      : chosen.map((each) => addInput(script, { _tag: "Coin", coin: each }))
    const split = addSplit(script, coin!, others, paid.map(([, line]) => line))
    for (const [place, piece] of split.entries()) pieces.set(paid[place]![0], piece)
  }
  const receivers = new Map<string, Argument>()
  const firstTransfer = script.commands.length
  for (const [place, { destination }] of lines.entries()) {
    const to = receivers.get(destination) ?? addInput(script, { _tag: "Address", address: destination })
    receivers.set(destination, to)
    script.commands.push({ _tag: "Transfer", coin: pieces.get(place)!, to })
  }
  const transaction = writeTransaction({ sender: from, ...script, gasCoins, gasPrice, gasBudget, lastEpoch })
  return { transaction, spent, firstTransfer }
}
