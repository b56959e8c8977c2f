/**
 * Payouts on Cardano: `ChainDriver.payouts`. A part is one transaction whose outputs are its lines. Its id is known
 * before anybody signs it, it spends outputs that nothing else may spend, and no block takes it from its slot on.
 */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { readHeightOfMost } from "../../../runtime/payouts/Agreement.ts"
import type { PayoutDriver, PayoutExport, PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { type BaseUnits, baseUnits, formatUnits } from "../../../schemas/Money.ts"
import { descriptorOf, type Environment, requiredDepth } from "../../../schemas/Network.ts"
import type { Api } from "./Api.ts"
import { readAccountUnspent, readParameters, readTip, readTransactionsOf, readUnspent } from "./PayoutApi.ts"
import {
  messageOf,
  partSizes,
  type PayoutPlan,
  planPayout,
  type PlanRefusal,
  type UnspentOutput
} from "./PayoutPlan.ts"
import {
  accountOf,
  inputName,
  isScriptAddress,
  longestAddress,
  minimumLovelace,
  type ProtocolParameters,
  usualParameters
} from "./PayoutTransaction.ts"
import { search } from "./PayoutSearch.ts"
import { mainnetMagic, slotAt } from "./Slots.ts"

const network = "cardano"
const maximumLines = 200

/** Longer than people need to sign, and short enough that what was never signed can be paid another way next day. */
const maximumValiditySeconds = 7_200

const coin = descriptorOf(network).coin
const adaOf = (lovelace: bigint): string => `${formatUnits(lovelace, coin.decimals)} ${coin.symbol}`

const refusalOf = (refusal: PlanRefusal, part: PayoutPart, reserved: number): PublicError => {
  if (refusal._tag === "TooLarge") {
    return publicError("WALLET_NOT_SPENDABLE", {
      message: `The wallet's money lies in too many small outputs: ${refusal.inputs} and the lines do not fit into ` +
        "one transaction. Send all of it to the same address once, then export again",
      details: { inputs: refusal.inputs }
    })
  }
  const { available, required, unit } = refusal
  const line = part.lines.find(({ tokenAddress }) => tokenAddress === unit)
  const { decimals, symbol } = unit === null || line === undefined ? coin : line
  const words = (amount: bigint) => formatUnits(amount, decimals)
  const bound = reserved === 0 ? "" : ` beside what other parts may still spend (wait until they are paid)`
  const more = unit === null ? ", with the fee and what must remain as change" : ""
  return publicError("INSUFFICIENT_FUNDS", {
    message: `The lines take ${words(required)} ${symbol}${more}, and the wallet has ${words(available)}${bound}: ` +
      `send it ${words(required - available)} ${symbol} or more, then export again`,
    details: {
      symbol,
      token_address: unit,
      required: words(required),
      available: words(available),
      missing: words(required - available)
    }
  })
}

/** A line of less than an output must hold; null: there is none. */
const belowMinimum = (lines: ReadonlyArray<PayoutLine>, parameters: ProtocolParameters): PublicError | null => {
  const minimumOf = ({ destination, tokenAddress }: PayoutLine) =>
    tokenAddress === null ? minimumLovelace({ address: destination, assets: [] }, parameters) : 1n
  const place = lines.findIndex((line) => line.amount < minimumOf(line))
  if (place === -1) return null
  const minimum = minimumOf(lines[place]!)
  return publicError("AMOUNT_BELOW_MINIMUM", {
    message: `Line ${place + 1} is less than an output of Cardano must hold: pay ${adaOf(minimum)} or more`,
    details: { line: place + 1, minimum: formatUnits(minimum, lines[place]!.decimals) }
  })
}

const noticesOf = (
  { carried, fee, inputs }: PayoutPlan,
  from: string,
  isListed: boolean
): ReadonlyArray<string> => [
  `The network's fee is ${adaOf(fee)}. What is left of the spent outputs comes back to the address that pays.`,
  ...inputs.every(({ address }) => address === from) ? [] : [
    "It spends from several addresses of the account: sign it with the wallet that has all of them."
  ],
  ...carried === 0n ? [] : [
    `Lines of tokens carry ${adaOf(carried)} in all beside the tokens, because the ledger lets no output be without ` +
    "ADA. The receivers keep it."
  ],
  ...isListed ? [] : [
    "The configured server does not list the transactions of an address: should the wallet build this one anew, name " +
    "the hash of what it sent by POST /api/v1/batches/{id}/sent, because the part neither is paid nor lapses before."
  ]
]

/** The export of a part: it spends only unspent outputs that no other part may still spend. */
const exportOf = Effect.fnUntraced(function*(
  part: PayoutPart,
  unspent: ReadonlyArray<UnspentOutput>,
  reserved: number,
  facts: {
    readonly parameters: ProtocolParameters
    readonly ttl: bigint
    readonly validUntil: number
    readonly builtAt: bigint
    readonly isListed: boolean
  }
): Effect.fn.Return<PayoutExport, PublicError> {
  const { builtAt, isListed, parameters, ttl, validUntil } = facts
  const low = belowMinimum(part.lines, parameters)
  if (low !== null) return yield* low
  const { from, lines } = part
  const plan = planPayout({ from, lines, unspent, parameters, ttl, message: messageOf(part) })
  if ("_tag" in plan) return yield* refusalOf(plan, part, reserved)
  const { bytes, id } = plan.transaction
  const inputs = plan.inputs.map(inputName)
  return {
    format: "cardano",
    payload: JSON.stringify({ transaction: Buffer.from(bytes).toString("hex"), id }),
    validUntil,
    trace: { id, ttl: Number(ttl), inputs, addresses: [...new Set(plan.inputs.map(({ address }) => address))] },
    builtAt,
    inputs,
    isSimulated: false,
    notices: noticesOf(plan, part.from, isListed)
  }
})

/**
 * What the part may spend: of a wallet's address all that its account's addresses hold, where the server tells of
 * accounts; else what lies on the address alone.
 */
const readSpendable = Effect.fnUntraced(function*(
  api: Api,
  from: string,
  walletAddresses: ReadonlyArray<string>
): Effect.fn.Return<ReadonlyArray<UnspentOutput>, DriverError> {
  const account = accountOf(from)
  const addresses = new Set([from, ...walletAddresses.filter((address) => accountOf(address) === account)])
  const found = account === null || addresses.size === 1 ? null : yield* readAccountUnspent(api, account, addresses)
  return found ?? (yield* readUnspent(api, from))
})

/** The newest block. A slot that does not match the time is refused, because it would set the validity wrongly. */
const readTrustedTip = Effect.fnUntraced(function*(api: Api, environment: Environment) {
  const tip = yield* readTip(api)
  if (environment === "devnet" || slotAt(mainnetMagic, tip.time) === tip.slot) return tip
  const reason = `${api.name} tells slot ${tip.slot} at the time ${tip.time}, which cannot be`
  return yield* new DriverError({ network, reason, kind: "contradiction" })
})

const build = (endpoints: Endpoints<Api>, environment: Environment): PayoutDriver["build"] =>
  Effect.fnUntraced(function*({ format, part, spentInputs, validUntil, walletAddresses = [] }) {
    if (part._tag !== "Payout" || format !== "cardano") {
      return yield* new DriverError({ network, reason: `it does not build a ${part._tag} as ${format}` })
    }
    if (isScriptAddress(part.from)) {
      return yield* publicError("WALLET_NOT_SPENDABLE", {
        message: "A script decides who spends from this address, and a batch is signed by one key: pay from an " +
          "address of a plain wallet"
      })
    }
    const now = yield* nowSeconds
    const height = yield* readHeightOfMost(network, endpoints, (api) => Effect.map(readTip(api), (tip) => tip.height))
    const { listed, parameters, tip, unspent } = yield* endpoints.withFailover((api) =>
      Effect.gen(function*() {
        const tip = yield* readTrustedTip(api, environment)
        return {
          tip,
          parameters: yield* readParameters(api),
          unspent: yield* readSpendable(api, part.from, walletAddresses),
          // Only whether it lists any: those of the newest block are few.
          listed: yield* readTransactionsOf(api, part.from, tip.height)
        }
      })
    )
    const until = Math.min(validUntil, now + maximumValiditySeconds)
    // A slot takes a second on all public networks since Shelley.
    const ttl = tip.slot + BigInt(until - tip.time)
    const free = unspent.filter((output) => !spentInputs.has(inputName(output)))
    const isListed = listed !== null || unspent.length === 0
    // A reorganisation may move what the wallet builds anew into a lower block than the newest of now.
    const lower = BigInt(requiredDepth(network, environment, "standard", 0n).blocks - 1)
    const builtAt = height > lower ? height - lower : 0n
    const facts = { parameters, ttl, validUntil: until, builtAt, isListed }
    return yield* exportOf(part, free, unspent.length - free.length, facts)
  })

/** Least that an output to any address holds, as the protocol has asked for since Babbage; of a token, one unit. */
const minimumAmount = (tokenAddress: string | null): BaseUnits =>
  baseUnits(tokenAddress === null ? minimumLovelace({ address: longestAddress, assets: [] }, usualParameters) : 1n)

export const makePayouts = (endpoints: Endpoints<Api>, environment: Environment): PayoutDriver => ({
  formats: ["cardano"],
  collectFormats: [],
  estimateCollect: null,
  maximumLines,
  maximumValiditySeconds,
  minimumAmount,
  partSizes,
  spendsWallets: true,
  build: build(endpoints, environment),
  search: search(endpoints, environment)
})
