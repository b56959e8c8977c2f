/**
 * TON over the API v3 of toncenter (or what speaks it): wallets and their jetton wallets are asked for what came, and
 * what a block of the masterchain refers to is final. One entry per environment.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type ChainDriver, Chains, DriverError } from "../../runtime/Chains.ts"
import { makeReaders } from "../../runtime/nodes/Corroboration.ts"
import { readAgreedBalances } from "../../runtime/nodes/FinalBalances.ts"
import type { PoolLimits } from "../../runtime/nodes/EndpointPool.ts"
import * as Endpoints from "../../runtime/nodes/Endpoints.ts"
import { headLimits } from "../../runtime/nodes/Heads.ts"
import { restClient } from "../../runtime/nodes/Rest.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { usdMillis } from "../../schemas/Money.ts"
import { descriptorOf, Environment } from "../../schemas/Network.ts"
import { tonPaymentUri } from "../../schemas/PaymentUri.ts"
import { WalletKind } from "../../schemas/Wallet.ts"
import { readAccountKey } from "./ton/Account.ts"
import { readBalances } from "./ton/Balances.ts"
import { makeCorroborate } from "./ton/Corroboration.ts"
import { follow } from "./ton/Follow.ts"
import { makeHistory } from "./ton/History.ts"
import { readJettonContent } from "./ton/JettonData.ts"
import { makeJettonWallets } from "./ton/JettonWallets.ts"
import { makePayouts } from "./ton/Payouts.ts"
import { globalIds } from "./ton/Subwallets.ts"
import { cellAt, readMasterchain, runGetMethod, type Toncenter } from "./ton/Toncenter.ts"
import { maximumPoolSize, readWallet } from "./ton/Wallet.ts"
import { checkWallet, isJettonWallet } from "./ton/WalletCheck.ts"

const network = "ton"

export const TonOptions = Schema.Struct({
  environment: Environment,
  /**
   * Endpoints of the API, best first, at most 8: `https://toncenter.com`, on devnet `https://testnet.toncenter.com`,
   * without `/api/v3`. Two of different operators keep one of them from deciding about money alone.
   */
  api: Schema.NonEmptyArray(Schema.Struct({
    url: Schema.RedactedFromValue(Schema.NonEmptyString),
    /** Sent in the header `X-API-Key`. */
    apiKey: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString))
  })).check(Schema.isMaxLength(8)),
  /** The deployment's own wallet (modules/docs/guides/network-ton.md); without one only merchants' own are paid. */
  wallet: Schema.optionalKey(Schema.Struct({
    kind: WalletKind,
    value: Schema.RedactedFromValue(Schema.NonEmptyString)
  })),
  /** First index to give out of a wallet of kind `xpub`, 0 to 2^31; needed on mainnet: 0 for a key never used so. */
  startIndex: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_000_000 }))),
  /** Milliseconds between looks, 10 to 60,000; default 3,000. */
  pollMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 60_000 }))),
  /** Seconds the masterchain may stand still, 1 to 3,600; default on mainnet as in `schemas/networks/ton.ts`. */
  frozenSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 }))),
  /**
   * Whole dollars from which on a payment is confirmed only where two endpoints have it; 0: every payment. Needs two
   * endpoints. Default on mainnet with two endpoints: 1,000; else none.
   */
  agreementAboveUsd: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))),
  /** For a private network: the `global_id` of its blocks. Devnet only. */
  globalId: Schema.optionalKey(Schema.Int)
})
export type TonOptions = typeof TonOptions.Type

/** Options that cannot work; the boot stops with this message. */
export class TonOptionsError extends Schema.TaggedError<TonOptionsError>()("TonOptionsError", {
  reason: Schema.String
}) {
  override get message() {
    return `chain ${network}: ${this.reason}`
  }
}

/** As on EVM networks: what may be lost to a wrong node before anybody looks. */
const defaultAgreementUsd = 1_000

/** Providers give the URL with the API's path, which the calls have themselves. */
const withoutPath = (url: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(Redacted.value(url).replace(/\/api\/v3\/?$/, ""))

const proveNetwork = (globalId: number) => (client: Toncenter) =>
  Effect.map(
    readMasterchain(client),
    ({ last }) =>
      last.globalId === globalId ? null : `is on the network ${last.globalId}, but ${network} is ${globalId} here: ` +
        "correct the url or the environment, or set `globalId` for a private network"
  )

/** A master's own words; null: there is no such contract. */
const readMaster = Effect.fnUntraced(function*(endpoints: Endpoints.Endpoints<Toncenter>, address: string) {
  const master = readAccountKey(address)
  if (master === null) return null
  const stack = yield* endpoints.withFailover((client) => runGetMethod(client, master, "get_jetton_data"))
  const content = stack === null ? null : cellAt(stack, 3)
  return content === null ? null : readJettonContent(content)
})

/** The deployment's own wallet. */
const readOwnWallet = Effect.fnUntraced(function*({ environment, startIndex, wallet }: TonOptions) {
  if (wallet === undefined) return null
  if (wallet.kind === "xpub" && startIndex === undefined && environment === "mainnet") {
    return yield* new TonOptionsError({
      reason: "set `startIndex`: 0 for a key whose subwallets were never used, else past the highest one used"
    })
  }
  const read = yield* readWallet(environment)(wallet.kind, Redacted.value(wallet.value))
  if (typeof read === "string") return yield* new TonOptionsError({ reason: `wallet: ${read}` })
  return read._tag === "SharedWallet" ? read : { ...read, startIndex: startIndex ?? 0 }
})

const refuse = (options: TonOptions): string | null =>
  options.globalId !== undefined && options.environment === "mainnet"
    ? "`globalId` is for private devnet networks"
    : options.agreementAboveUsd !== undefined && options.api.length < 2
    ? "`agreementAboveUsd` needs two endpoints: give a second one in `api`, or leave it out"
    : null

/**
 * The driver. Fails when the options contradict themselves or an endpoint is on another network. `absence`: how long an
 * endpoint without an answer is waited for, where it is not the pool's own time.
 */
export const makeDriver = Effect.fnUntraced(
  function*(options: TonOptions, absence: Pick<PoolLimits, "absenceMillis"> = {}) {
    const { environment, frozenSeconds } = options
    const refusal = refuse(options)
    if (refusal !== null) return yield* new TonOptionsError({ reason: refusal })
    const wallet = yield* readOwnWallet(options)
    const toOptionsError = ({ reason }: DriverError) => new TonOptionsError({ reason })
    const endpoints = yield* Effect.mapError(
      Endpoints.make({
        network,
        environment,
        addresses: options.api.map(({ apiKey, url }) => ({
          url: withoutPath(url),
          ...(apiKey === undefined ? {} : { headers: { "x-api-key": apiKey } })
        })),
        label: "api",
        limits: { ...headLimits({ network, environment, frozenSeconds }), ...absence },
        client: (connection) => restClient(connection),
        prove: proveNetwork(options.globalId ?? globalIds[environment])
      }),
      toOptionsError
    )
    yield* Effect.mapError(endpoints.verify, toOptionsError)
    const reader = { environment, jettonWallets: makeJettonWallets(endpoints) }
    const readers = makeReaders()
    const followOptions = {
      ...reader,
      endpoints,
      readers,
      pollMillis: options.pollMillis ?? descriptorOf(network).pollMillis
    }
    const agreementAboveUsd = options.agreementAboveUsd ??
      (environment === "mainnet" && options.api.length > 1 ? defaultAgreementUsd : null)
    const driver: ChainDriver = {
      network,
      environment,
      tokenTypes: ["native", "ton"],
      wallet,
      readWallet: readWallet(environment),
      readForwarderFacts: null,
      isTokenAccount: (address) => {
        const account = readAccountKey(address)
        return account === null
          ? Effect.succeed(false)
          : endpoints.withFailover((client) => isJettonWallet(client, account))
      },
      verifyWallet: (each) => endpoints.withFailover((client) => checkWallet(client, each, maximumPoolSize)),
      tokenDecimals: (address) => Effect.map(readMaster(endpoints, address), (token) => token?.decimals ?? null),
      paymentUri: tonPaymentUri,
      follow: (recent, watch) => follow(followOptions, recent, watch),
      history: makeHistory(reader, endpoints),
      coinsForwarded: null,
      balanceAt: null,
      finalBalances: (addresses, tokens) =>
        readAgreedBalances(
          endpoints,
          (client) => readBalances(client, environment, reader.jettonWallets, addresses, tokens)
        ),
      readContract: null,
      readToken: (address) =>
        Effect.map(readMaster(endpoints, address), (token) => token ?? { symbol: null, decimals: null }),
      corroborate: makeCorroborate(reader, endpoints, readers),
      findTransfers: null,
      agreementAboveUsdMillis: agreementAboveUsd === null ? null : usdMillis(BigInt(agreementAboveUsd) * 1000n),
      payouts: makePayouts(endpoints, environment, options.globalId ?? globalIds[environment])
    }
    return driver
  }
)

export const plugin = Plugin.make({
  name: "ton",
  slot: "chains",
  options: TonOptions,
  check: (options) => Effect.asVoid(makeDriver(options)),
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      yield* chains.register(yield* makeDriver(options))
    }))
})
