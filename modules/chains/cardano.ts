/**
 * Cardano over Blockfrost's REST API: blocks are polled, and what they pay is read from the transactions' own bytes.
 * Payments are in ADA; other assets that come to an address are reported under their policy and name.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { usdMillis } from "../../schemas/Money.ts"
import { descriptorOf, Environment } from "../../schemas/Network.ts"
import { cardanoPaymentUri } from "../../schemas/PaymentUri.ts"
import { type BlockHistory, type ChainDriver, type ChainPoint, Chains, DriverError } from "../../runtime/Chains.ts"
import { readUnlessPruned } from "../../runtime/nodes/Absence.ts"
import { readAgreedBalances } from "../../runtime/nodes/FinalBalances.ts"
import { makeReaders } from "../../runtime/nodes/Corroboration.ts"
import type { PoolLimits } from "../../runtime/nodes/EndpointPool.ts"
import { type Endpoints, make as makeEndpoints } from "../../runtime/nodes/Endpoints.ts"
import { headLimits } from "../../runtime/nodes/Heads.ts"
import { unreadableFromZero } from "../../runtime/nodes/UnreadableTransactions.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { type Api, makeApi, readHeader, readNetwork, readWhole } from "./cardano/Api.ts"
import { readBalances } from "./cardano/Balances.ts"
import { findSourcesAt, transfersOfBlock } from "./cardano/BlockTransfers.ts"
import { makeCorroborate } from "./cardano/Corroboration.ts"
import { follow } from "./cardano/Follow.ts"
import { makePayouts } from "./cardano/Payouts.ts"
import { mainnetMagic, wrongSlots } from "./cardano/Slots.ts"
import { readAccount, readWallet, walletOf } from "./cardano/Wallet.ts"

export const CardanoOptions = Schema.Struct({
  environment: Environment,
  /**
   * Blockfrost's API, best first, at most 8: `https://cardano-mainnet.blockfrost.io/api/v0`, or a server of your own
   * that speaks it. `projectId` is the key of a Blockfrost project. Two of different operators keep one of them from
   * deciding about money alone.
   */
  api: Schema.NonEmptyArray(Schema.Struct({
    url: Schema.RedactedFromValue(Schema.NonEmptyString),
    projectId: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString))
  })).check(Schema.isMaxLength(8)),
  /**
   * Extended public key of the account m/1852'/1815'/0' where funds arrive (`acct_xvk1…`) of merchants who have no
   * wallet of their own; without it only theirs are paid.
   */
  xpub: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  /**
   * First address index to give out where the store has never seen the xpub: past every one ever used. Mainnet needs it
   * (0 for a new account), because no search proves an address unused; devnet starts at 0.
   */
  startIndex: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_000_000 }))),
  /**
   * Milliseconds between looks for a new block, 10 to 60,000; default 10,000, which with the blocks themselves is about
   * 13,000 calls a day.
   */
  pollMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 60_000 }))),
  /** Blocks read in a second while catching up, at most, 1 to 1,000; default 8: Blockfrost allows 10 calls a second. */
  blocksPerSecond: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))),
  /**
   * Seconds an endpoint's newest block may be old, or lie behind another endpoint's, before it counts as frozen, 1 to
   * 3,600; default 300. On devnet it may be of any age unless this is set.
   */
  frozenSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 }))),
  /**
   * Whole dollars from which on a payment, or any payment of an invoice of as many, is confirmed only where two
   * endpoints have its block; 0: every payment. Needs two endpoints. Default on mainnet with two endpoints: 1,000; else
   * none.
   */
  agreementAboveUsd: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))),
  /** The devnet network's magic number, where it is not preprod (1): 2 for preview, your own for a private network. */
  networkMagic: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_294_967_295 })))
})
export type CardanoOptions = typeof CardanoOptions.Type

/** Options that cannot work; the boot stops with this message. */
export class CardanoOptionsError extends Schema.TaggedError<CardanoOptionsError>()("CardanoOptionsError", {
  reason: Schema.String
}) {
  override get message() {
    return `chain cardano: ${this.reason}`
  }
}

/** Network magics of the genesis files (book.world.dev.cardano.org/environments). */
const networkMagics: Readonly<Record<Environment, number>> = { mainnet: mainnetMagic, devnet: 1 }

/** Dollars from which on two endpoints must agree where the options do not say: as for the other networks. */
const defaultAgreementUsd = 1_000

/** Eight blocks and the page that names them stay below Blockfrost's ten calls a second. */
const defaultBlocksPerSecond = 8

/**
 * The whole block at a height below `anchor`. Fails where the server has another block, or none, in the place of
 * `anchor`. One that has `anchor` is not behind, so a block that it does not have below is one that it does not have
 * any more.
 */
const readBlockBelow = Effect.fnUntraced(function*(api: Api, height: bigint, anchor: ChainPoint) {
  const { name, network } = api
  const above = yield* readHeader(api, anchor.height)
  if (above?.hash !== anchor.hash) {
    return yield* new DriverError({ network, reason: `block ${anchor.height} is not the one that was followed` })
  }
  const header = anchor.height === height ? above : yield* readHeader(api, height)
  const block = header === null ? null : yield* readWhole(api, header)
  if (block !== null) return block
  return yield* new DriverError({
    network,
    reason: `${name} has block ${anchor.height}, and block ${height} cannot be read whole`,
    kind: "pruned"
  })
})

const readBlock = (endpoints: Endpoints<Api>): BlockHistory["readBlock"] => (height, anchor, watch) =>
  readUnlessPruned(
    endpoints,
    `block ${height}`,
    Effect.fnUntraced(function*(api: Api) {
      const block = yield* readBlockBelow(api, height, anchor)
      yield* watch.refresh
      const transfers = yield* transfersOfBlock(api, block, watch.has, {
        isExhausted: true,
        sources: new Map(),
        findSources: findSourcesAt(endpoints)
      })
      return { point: { height, hash: block.hash }, time: block.time, transfers: transfers ?? [] }
    })
  )

const makeOptionsError = (reason: string) => new CardanoOptionsError({ reason })

/** A sentence for people about options that contradict themselves; null: they do not. */
const contradictionOf = (options: CardanoOptions): string | null => {
  const { agreementAboveUsd, api, environment, networkMagic, startIndex, xpub } = options
  if (networkMagic !== undefined && environment === "mainnet") return "`networkMagic` is for devnet networks"
  if (xpub !== undefined && startIndex === undefined && environment === "mainnet") {
    return "set `startIndex`: 0 for an account never used, else past the highest index your wallet shows"
  }
  return agreementAboveUsd !== undefined && api.length < 2
    ? "`agreementAboveUsd` needs two endpoints: give a second one in `api`, or leave it out"
    : null
}

const connect = (options: CardanoOptions, absence: Pick<PoolLimits, "absenceMillis">) => {
  const { environment, frozenSeconds } = options
  const magic = options.networkMagic ?? networkMagics[environment]
  return makeEndpoints({
    network: "cardano",
    environment,
    label: "api",
    addresses: options.api.map(({ projectId, url }) => ({
      url,
      ...(projectId === undefined ? {} : { headers: { project_id: projectId } })
    })),
    limits: { ...absence, ...headLimits({ network: "cardano", environment, frozenSeconds }) },
    client: makeApi,
    prove: (api: Api) =>
      Effect.map(readNetwork(api), ({ magic: found, slotZero }) =>
        found === magic
          ? wrongSlots(magic, slotZero)
          : `is on the network with the magic number ${found}, but ${environment} is ${magic} here: correct the url ` +
            "or the environment, or set `networkMagic` for another devnet network")
  })
}

/**
 * The driver. Fails when the options contradict themselves or an endpoint is on another network. `absence`: how long an
 * endpoint without an answer is waited for, where it is not the pool's own time.
 */
export const makeDriver = Effect.fnUntraced(
  function*(options: CardanoOptions, absence: Pick<PoolLimits, "absenceMillis"> = {}) {
    const { environment } = options
    const contradiction = contradictionOf(options)
    if (contradiction !== null) return yield* makeOptionsError(contradiction)
    const account = options.xpub === undefined ? null : readAccount(Redacted.value(options.xpub), environment)
    if (typeof account === "string") return yield* makeOptionsError(`xpub: ${account}`)
    yield* unreadableFromZero("cardano")
    const endpoints = yield* Effect.mapError(connect(options, absence), ({ reason }) => makeOptionsError(reason))
    yield* Effect.mapError(endpoints.verify, ({ reason }) => makeOptionsError(reason))
    const readers = makeReaders()
    const agreementAboveUsd = options.agreementAboveUsd ??
      (environment === "mainnet" && options.api.length > 1 ? defaultAgreementUsd : null)
    const followOptions = {
      environment,
      endpoints,
      readers,
      pollMillis: options.pollMillis ?? descriptorOf("cardano").pollMillis,
      blocksPerSecond: options.blocksPerSecond ?? defaultBlocksPerSecond
    }
    const driver: ChainDriver = {
      network: "cardano",
      environment,
      tokenTypes: ["native"],
      wallet: account === null ? null : walletOf(account, options.startIndex ?? 0),
      readWallet: (kind, value) => readWallet(kind, value, environment),
      verifyWallet: null,
      readForwarderFacts: null,
      isTokenAccount: null,
      tokenDecimals: null,
      paymentUri: cardanoPaymentUri,
      follow: (recent, watch) => follow(followOptions, recent, watch),
      history: { _tag: "BlockHistory", readBlock: readBlock(endpoints) },
      coinsForwarded: null,
      balanceAt: null,
      finalBalances: (addresses, tokens) =>
        readAgreedBalances(endpoints, (api) => readBalances(api, environment, addresses, tokens)),
      readContract: null,
      readToken: null,
      corroborate: makeCorroborate(endpoints, readers),
      findTransfers: null,
      agreementAboveUsdMillis: agreementAboveUsd === null ? null : usdMillis(BigInt(agreementAboveUsd) * 1000n),
      payouts: makePayouts(endpoints, environment)
    }
    return driver
  }
)

export const plugin = Plugin.make({
  name: "cardano",
  slot: "chains",
  options: CardanoOptions,
  check: (options) => Effect.asVoid(makeDriver(options)),
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      yield* chains.register(yield* makeDriver(options))
    }))
})
