/** Building a part of a batch from the chain as it is: `PayoutDriver.build`. */
import { Effect } from "effect"
import type { DriverError } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { answersOf, askEach, heightOfMost } from "../../../runtime/payouts/Agreement.ts"
import { paymentName, refusalOfEqualLines } from "../../../runtime/payouts/EqualLines.ts"
import { listExport } from "../../../runtime/payouts/List.ts"
import type { PayoutExport, PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { descriptorOf, type Environment } from "../../../schemas/Network.ts"
import { readAccountKey } from "./Account.ts"
import type { JettonWallets } from "./JettonWallets.ts"
import { jettonGas, messageOf, nameOf, sentPayout, type WantedLine, wantedLines } from "./PayoutMessages.ts"
import { readAll, travelSeconds } from "./PayoutSearch.ts"
import { numberAt, readMasterchain, readWalletStates, runGetMethod, type Toncenter } from "./Toncenter.ts"

const network = "ton"
const { coin } = descriptorOf(network)

/** As long as wallets show a request: within it a second signature pays again. */
export const validitySeconds = 300
const leastValiditySeconds = 60

/** Nanograms that a wallet needs for itself and for each message it sends, on the safe side. */
const walletGas = 20_000_000n
const messageGas = 10_000_000n

/** What goes with transfers of jettons. */
const attachedGas = (jettons: number): bigint => BigInt(jettons) * jettonGas

/** What a wallet's own work takes, on the safe side. */
const workGas = (lines: number): bigint => BigInt(lines) * messageGas + walletGas

const gramsOf = (amount: bigint): string => `${formatUnits(amount, coin.decimals)} ${coin.symbol}`

const refuseLine = (place: number, reason: string): PublicError =>
  publicError("PAYOUT_LINE_REFUSED", {
    message: `Line ${place + 1} cannot be paid: ${reason}. Make the batch anew without it`,
    details: { line: place + 1 }
  })

const insufficient = (
  what: Pick<PayoutLine, "decimals" | "symbol" | "tokenAddress">,
  required: bigint,
  available: bigint
): PublicError => {
  const words = (amount: bigint) => formatUnits(amount, what.decimals)
  const more = what.tokenAddress === null ? " with the gas of its messages" : ""
  return publicError("INSUFFICIENT_FUNDS", {
    message:
      `The part takes ${words(required)} ${what.symbol}${more}, and the wallet has ${words(available)}: send it ` +
      `${words(required - available)} ${what.symbol} or more, then export again`,
    details: {
      symbol: what.symbol,
      token_address: what.tokenAddress,
      required: words(required),
      available: words(available),
      missing: words(required - available)
    }
  })
}

/** The wallet's account of a jetton, by the jetton's address, and what it holds. */
interface Holding {
  readonly account: string | null
  readonly amount: bigint
}

/** What one endpoint has of the wallet. */
interface WalletFacts {
  readonly balance: bigint
  readonly isForeignContract: boolean
  readonly holdings: ReadonlyMap<string, Holding>
}

const readFacts = (jettonWallets: JettonWallets, wallet: string, tokens: ReadonlyArray<string>, now: number) =>
  Effect.fnUntraced(function*(client: Toncenter): Effect.fn.Return<WalletFacts, DriverError> {
    const state = (yield* readWalletStates(client, [wallet])).find(({ account }) => account === wallet)
    const holdings = new Map<string, Holding>()
    for (const token of tokens) {
      const master = readAccountKey(token)
      const account = master === null ? null : yield* jettonWallets.resolve(client, wallet, { token, master }, now)
      const data = account === null ? null : yield* runGetMethod(client, account, "get_wallet_data")
      holdings.set(token, { account, amount: (data === null ? null : numberAt(data, 0)) ?? 0n })
    }
    return {
      balance: state?.balance ?? 0n,
      isForeignContract: state !== undefined && state.isActive && !state.isWallet,
      holdings
    }
  })

/**
 * Whether the wallet sent a line that its name tells, not long ago: nobody may be asked for it again. Of a line with a
 * receiver's memo nobody can say whose it is.
 */
const wasSent = Effect.fnUntraced(function*(
  client: Toncenter,
  wallet: string,
  lines: ReadonlyArray<WantedLine>,
  holdings: WalletFacts["holdings"],
  now: number
) {
  const named = lines.filter(({ line }) => line.memo === null)
  const accounts = new Map(
    [...holdings].flatMap(([token, { account }]) =>
      account === null ? [] : [[account, { token, owner: wallet }] as const]
    )
  )
  const transactions = yield* readAll(client, [wallet], now - travelSeconds, now)
  return transactions.some(({ sent }) => sent.some((each) => sentPayout(named, each, accounts, false) !== null))
})

/** Lines that only token, receiver and amount tell: a transfer of jettons has a number beside its text. */
const isTextless = (isList: boolean) => ({ memo, tokenAddress }: PayoutLine): boolean =>
  isList || (memo !== null && tokenAddress === null)

const sumOf = (lines: ReadonlyArray<PayoutLine>, token: string | null): bigint =>
  lines.reduce((sum, { amount, tokenAddress }) => tokenAddress === token ? sum + amount : sum, 0n)

/** Why the wallet cannot pay the lines; null: it can. */
const refusalOf = (
  { lines }: PayoutPart,
  { balance, holdings, isForeignContract }: WalletFacts
): PublicError | null => {
  if (isForeignContract) {
    return publicError("WALLET_NOT_SPENDABLE", {
      message: "The address is a contract and no wallet that is known: name a wallet (v3, v4 or v5) that signs itself"
    })
  }
  for (const [place, line] of lines.entries()) {
    if (line.tokenAddress === null) continue
    const { account, amount } = holdings.get(line.tokenAddress)!
    if (account === null) return refuseLine(place, "there is no such token on the network")
    const required = sumOf(lines, line.tokenAddress)
    if (amount < required) return insufficient(line, required, amount)
  }
  const jettons = lines.filter(({ tokenAddress }) => tokenAddress !== null).length
  const required = sumOf(lines, null) + attachedGas(jettons) + workGas(lines.length)
  return balance < required ? insufficient({ ...coin, tokenAddress: null }, required, balance) : null
}

const noticesOf = (lines: ReadonlyArray<PayoutLine>, isList: boolean): ReadonlyArray<string> => {
  const jettons = lines.filter(({ tokenAddress }) => tokenAddress !== null).length
  return [
    ...isList ? [] : [
      "Sign it once: nothing on TON keeps a second signature within its time from paying again.",
      "The wallet may drop single messages: look at each line afterwards."
    ],
    ...jettons === 0 || isList ? [] : [
      `${gramsOf(jettonGas)} go with each of ${jettons} token ${jettons === 1 ? "transfer" : "transfers"} as gas, ${
        gramsOf(attachedGas(jettons))
      } in all: what is left of it comes back`
    ],
    ...isList ? [] : [`The wallet's own fees are ${gramsOf(workGas(lines.length))} at most`]
  ]
}

export const buildPayout = Effect.fnUntraced(function*(
  endpoints: Endpoints<Toncenter>,
  environment: Environment,
  jettonWallets: JettonWallets,
  globalId: number,
  request: {
    readonly part: PayoutPart
    readonly isList: boolean
    readonly validUntil: number
    readonly spentInputs: ReadonlySet<string>
  }
): Effect.fn.Return<PayoutExport, PublicError | DriverError> {
  const { isList, part, spentInputs } = request
  const wallet = readAccountKey(part.from)
  if (wallet === null) return yield* publicError("WALLET_ADDRESS_INVALID")
  const lines = wantedLines(part)
  const own = lines.findIndex(({ destination }) => destination === wallet)
  if (own >= 0) return yield* refuseLine(own, "it would pay the wallet itself")
  const early = refusalOfEqualLines(part, isTextless(isList), spentInputs, isList)
  if (early !== null) return yield* early
  const heads = yield* Effect.fromResult(
    answersOf(network, yield* askEach(endpoints, (client) => Effect.map(readMasterchain(client), ({ last }) => last)))
  )
  const builtAt = heightOfMost(heads.map(({ height }) => height), endpoints.endpoints.length)
  const chainTimes = heads.map(({ time }) => time).toSorted((one, other) => one - other)
  const now = Math.max(yield* nowSeconds, chainTimes[Math.floor((chainTimes.length - 1) / 2)]!)
  const tokens = [...new Set(part.lines.flatMap(({ tokenAddress }) => tokenAddress ?? []))]
  const facts = yield* endpoints.withFailover(readFacts(jettonWallets, wallet, tokens, now))
  const isSent = !isList &&
    (yield* endpoints.withFailover((client) => wasSent(client, wallet, lines, facts.holdings, now)))
  if (isSent) return yield* publicError("BATCH_PAID")
  const refusal = refusalOf(part, facts)
  if (refusal !== null) return yield* refusal
  const notices = noticesOf(part.lines, isList)
  if (isList) return listExport(part, "jetton", builtAt, notices)
  const validUntil = Math.min(Math.max(request.validUntil, now + leastValiditySeconds), now + validitySeconds)
  return {
    format: "ton",
    payload: JSON.stringify({
      validUntil,
      network: `${globalId}`,
      from: wallet,
      messages: lines.map((each) =>
        messageOf(
          wallet,
          each,
          each.line.tokenAddress === null ? null : facts.holdings.get(each.line.tokenAddress)!.account,
          environment
        )
      )
    }),
    validUntil,
    trace: { name: nameOf(part) },
    builtAt,
    inputs: part.lines.filter(isTextless(false)).map((line) => paymentName(part.from, line)),
    // Nobody executes what is not signed.
    isSimulated: false,
    notices
  }
})
