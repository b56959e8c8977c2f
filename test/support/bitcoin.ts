/**
 * Bitcoin over the REST API of Esplora: blocks are polled, and their outputs matched in memory. It is a test's, not
 * offered to users: a driver as it is in a tree to which it was added (`AddedNetwork.ts`).
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type BaseUnits, formatUnits } from "../../schemas/Money.ts"
import { Environment, familyOf, Network } from "../../schemas/Network.ts"
import {
  type ChainDriver,
  Chains,
  type Corroboration,
  DriverError,
  type PaymentWords,
  type ReceiveTarget
} from "../../runtime/Chains.ts"
import { make as makeEndpoints } from "../../runtime/nodes/Endpoints.ts"
import { standstillLimits } from "../../runtime/nodes/Heads.ts"
import { restClient } from "../../runtime/nodes/Rest.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { type Esplora, genesisHashes, hashAt, readBlockBelow } from "./bitcoin/Blocks.ts"
import { follow } from "./bitcoin/Follow.ts"
import { readAccount, readWallet, walletOf } from "./bitcoin/Wallet.ts"

const BitcoinOptions = Schema.Struct({
  network: Network,
  environment: Environment,
  /** Base URL of an Esplora: https, or http to this machine and private hosts. It may hold a key. */
  api: Schema.RedactedFromValue(Schema.NonEmptyString),
  /** Extended public key of the account m/84'/0'/0' where funds arrive; without one the network is only watched. */
  xpub: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  /** First address index to give out where the store has never seen the xpub; default 0. */
  startIndex: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_000_000 }))),
  pollMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 600_000 })))
})
type BitcoinOptions = typeof BitcoinOptions.Type

/** BIP-21. The amount is in whole bitcoins, without zeros at its end. */
const paymentUri = ({ address }: ReceiveTarget, decimals: number, amount: BaseUnits, words: PaymentWords): string => {
  const decimal = formatUnits(amount, decimals).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")
  const entries = [["amount", decimal], ["label", words.label], ["message", words.message]] as const
  const query = entries.flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${encodeURIComponent(value.toWellFormed())}`]
  )
  return `bitcoin:${address}?${query.join("&")}`
}

/** Reads the block again at the only endpoint: where that has another block now, the transfers wait. */
const corroborate =
  (api: Effect.Success<ReturnType<typeof connect>>): NonNullable<ChainDriver["corroborate"]> => (point, watch) =>
    api.withFailover((endpoint) => readBlockBelow(endpoint, point.height, point, watch)).pipe(
      Effect.map(({ time, transfers }): Corroboration => ({
        _tag: "Alone",
        time,
        readings: [transfers],
        hasAllAnswers: true
      })),
      Effect.catch(({ kind }) =>
        Effect.succeed<Corroboration>({ _tag: kind === "contradiction" ? "Disagreed" : "Unavailable" })
      )
    )

const connect = ({ api, environment, network }: BitcoinOptions) =>
  makeEndpoints<Esplora>({
    network,
    environment,
    addresses: [{ url: api }],
    label: "api",
    limits: standstillLimits({ network, environment }),
    client: (connection) => restClient(connection),
    prove: (endpoint) =>
      Effect.map(hashAt(endpoint, 0n), (found) =>
        found === genesisHashes[environment]
          ? null
          : `has another first block than the ${environment} of ${network}: correct the url`)
  })

/** Fails where the options contradict themselves, or the endpoint is on another chain. */
export const makeDriver = Effect.fnUntraced(function*(options: BitcoinOptions) {
  const { environment, network } = options
  const refuse = (reason: string) => new DriverError({ network, reason })
  const family: string = familyOf(network)
  if (family !== "bitcoin") return yield* refuse("`network`: this driver follows Bitcoin only")
  const account = options.xpub === undefined ? null : readAccount(Redacted.value(options.xpub), environment)
  if (typeof account === "string") return yield* refuse(`xpub: ${account}`)
  const api = yield* connect(options)
  yield* api.verify
  const driver: ChainDriver = {
    network,
    environment,
    tokenTypes: ["native"],
    wallet: account === null ? null : walletOf(account, options.startIndex ?? 0),
    readWallet: (kind, value) => readWallet(kind, value, environment),
    verifyWallet: null,
    readForwarderFacts: null,
    isTokenAccount: null,
    tokenDecimals: null,
    paymentUri: (target, { decimals }, amount, words) => paymentUri(target, decimals, amount, words),
    follow: (recent, watch) => follow({ api, network, pollMillis: options.pollMillis }, recent, watch),
    history: {
      _tag: "BlockHistory",
      readBlock: (height, anchor, watch) =>
        api.withFailover((endpoint) => readBlockBelow(endpoint, height, anchor, watch))
    },
    coinsForwarded: null,
    balanceAt: null,
    finalBalances: null,
    readContract: null,
    readToken: null,
    corroborate: corroborate(api),
    findTransfers: null,
    agreementAboveUsdMillis: null,
    payouts: null
  }
  return driver
})

export const plugin = Plugin.make({
  name: "bitcoin",
  slot: "chains",
  options: BitcoinOptions,
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      yield* chains.register(yield* makeDriver(options))
    }))
})
