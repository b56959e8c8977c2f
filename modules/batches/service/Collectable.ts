/** What lies on addresses that take no more payments, and how it is collected. */
import { Effect, Option } from "effect"
import type { Forwarder, WalletRecord } from "../../../runtime/Chains.ts"
import type { CollectCost, PayoutDriver } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, type Rate, type UsdMillis, usdMillis, usdValueDown } from "../../../schemas/Money.ts"
import { familyOf, type Network, networks } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import type { Receipt } from "../repo.ts"
import {
  addressesPerPart,
  type AddressHolding,
  collectParts,
  defaultMinimumValue,
  isWorthCollecting
} from "../rules/Collecting.ts"
import { type BatchOwner, type BatchServices, networkDegraded } from "./BatchServices.ts"
import { type Plan, spellingOf } from "./Plans.ts"

/** Balances of one answer, at most: each takes several calls of nodes, and the caller waits for the answer. */
const maximumBalances = 1_000

/** The lines of a `collect` batch. One signature moves each part. */
export interface CollectPlan extends Plan {
  readonly sizes: ReadonlyArray<number>
  /** The balances were read at this final block, so every transfer that collects them is in a later one. */
  readonly searchedTo: bigint
}

export interface CollectableRequest {
  /** Null: all of them. */
  readonly networks: ReadonlyArray<Network> | null
  /** Null: every token of the catalogue. */
  readonly tokenIds: ReadonlyArray<number> | null
  /** usd_millis; null: `defaultMinimumValue` for the gas of an address. */
  readonly minimumValue: UsdMillis | null
}

/** The balances of one token that are moved by the same method. */
export interface CollectableGroup {
  readonly token: Token
  readonly method: "collector" | "owner"
  readonly holdings: ReadonlyArray<AddressHolding>
  /** Units of gas to collect all of them; null: it cannot be estimated. */
  readonly gas: bigint | null
}

export interface Collectable {
  readonly groups: ReadonlyArray<CollectableGroup>
  /** More addresses have received something than one answer has. */
  readonly hasMore: boolean
}

/** A Cardano wallet spends from all addresses of an account in one transaction, so nothing has to be collected. */
const needsNoCollecting = (network: Network): boolean => familyOf(network) === "cardano"

const tokensOf = ({ catalog }: BatchServices, { environment }: BatchOwner, request: CollectableRequest) =>
  catalog.list(environment).filter(({ id, network }) =>
    !needsNoCollecting(network) && (request.networks?.includes(network) ?? true) &&
    (request.tokenIds?.includes(id) ?? true)
  )

const keyOf = (network: Network, address: string | null): string => `${network} ${address ?? ""}`

/** The price now, else the last one; null: the token has never had a price. */
const rateOf = ({ prices }: BatchServices, token: Token): Effect.Effect<Rate | null> =>
  prices.spot(token).pipe(
    Effect.map(({ rate }) => rate),
    Effect.catchTag("PriceUnavailable", () => Effect.succeed(prices.latest(token)?.rate ?? null))
  )

const forwarderOf = ({ wallet }: WalletRecord): Forwarder | null =>
  wallet._tag === "IndexedWallet" ? wallet.forwarder ?? null : null

/** Balances above 0 of the receipts of one network; empty where its driver reads no balances. */
const holdingsOf = Effect.fnUntraced(function*(
  services: BatchServices,
  { environment }: BatchOwner,
  network: Network,
  receipts: ReadonlyArray<Receipt>,
  wallets: ReadonlyMap<string, WalletRecord>,
  tokens: ReadonlyMap<string, Token>
): Effect.fn.Return<ReadonlyArray<AddressHolding>, PublicError> {
  const found = yield* services.chains.addressBalances({
    network,
    environment,
    questions: receipts.map(({ address, offChainUnits, tokenAddress }) => ({
      address,
      offChainUnits,
      token: tokenAddress
    }))
  }).pipe(Effect.catchTag("DriverError", networkDegraded))
  if (found._tag === "Unreadable") return []
  const rates = new Map<string, Rate | null>()
  for (const { tokenAddress } of receipts) {
    const key = keyOf(network, tokenAddress)
    if (!rates.has(key)) rates.set(key, yield* rateOf(services, tokens.get(key)!))
  }
  return receipts.flatMap((receipt, place): ReadonlyArray<AddressHolding> => {
    const units = found.units[place]!
    if (units === 0n) return []
    const token = tokens.get(keyOf(network, receipt.tokenAddress))!
    const forwarder = forwarderOf(wallets.get(receipt.fingerprint)!)
    const rate = rates.get(keyOf(network, receipt.tokenAddress))!
    return [{
      token,
      tokenAddress: receipt.tokenAddress,
      address: receipt.address,
      index: receipt.walletIndex,
      fingerprint: receipt.fingerprint,
      payee: forwarder?.payee ?? null,
      salt: forwarder?.saltOf(receipt.walletIndex) ?? null,
      units,
      value: rate === null ? null : usdValueDown(units, rate, token.decimals),
      height: found.height
    }]
  })
})

/** The cost of one call for as many addresses as it can take, and their number; null: it cannot be estimated. */
const estimateCost = Effect.fnUntraced(function*(
  { chains }: BatchServices,
  { environment }: BatchOwner,
  holdings: ReadonlyArray<AddressHolding>
): Effect.fn.Return<(CollectCost & { readonly addresses: number }) | null> {
  const { payee, token } = holdings[0]!
  const estimate = chains.driver(token.network, environment)?.payouts?.estimateCollect ?? null
  if (estimate === null || payee === null) return null
  const sample = holdings.slice(0, addressesPerPart)
  const cost = yield* estimate({
    _tag: "Collect",
    batchId: "bat_00000000-0000-0000-0000-000000000000",
    part: 1,
    payee,
    from: null,
    lines: sample.map(({ address, salt, token: { decimals, symbol }, tokenAddress, units }) => ({
      address,
      salt: salt!,
      tokenAddress,
      symbol,
      decimals,
      amount: units
    }))
  }).pipe(
    Effect.tapError((error) =>
      Effect.logInfo("what it costs to collect cannot be estimated", { network: token.network, error })
    ),
    Effect.option
  )
  return Option.isNone(cost) ? null : { ...cost.value, addresses: sample.length }
})

/** Of the holdings of one token and wallet, those that are worth their gas, and the gas to collect them. */
const selectWorthCollecting = Effect.fnUntraced(function*(
  services: BatchServices,
  owner: BatchOwner,
  minimumValue: UsdMillis | null,
  holdings: ReadonlyArray<AddressHolding>
) {
  const { token: { network } } = holdings[0]!
  const cost = yield* estimateCost(services, owner, holdings)
  const coin = services.catalog.find(network, owner.environment, null)
  const rate = cost === null || coin === undefined ? null : yield* rateOf(services, coin)
  const gasValue = cost === null || coin === undefined || rate === null
    ? null
    : usdValueDown(
      baseUnits((cost.gas * cost.gasPrice + cost.dataFee + cost.operatorFee) / BigInt(cost.addresses)),
      rate,
      coin.decimals
    )
  const minimum = minimumValue ?? defaultMinimumValue(gasValue)
  const selected = holdings.filter((each) => isWorthCollecting(each, minimum))
  return { holdings: selected, gas: cost === null ? null : cost.gas * BigInt(selected.length) / BigInt(cost.addresses) }
})

const sumOf = (parts: ReadonlyArray<bigint | null>): bigint | null =>
  parts.reduce((sum: bigint | null, each) => sum === null || each === null ? null : sum + each, 0n)

/** `Batches.collectable`. Errors: `NETWORK_DEGRADED` where one of the networks does not answer. */
export const readCollectable = (services: BatchServices) =>
  Effect.fn("Batches.collectable")(
    function*(owner: BatchOwner, request: CollectableRequest): Effect.fn.Return<Collectable, PublicError> {
      const { chains, clock, repo } = services
      const tokens = new Map(
        tokensOf(services, owner, request).map((token) => [keyOf(token.network, spellingOf(token)), token])
      )
      const newest = yield* repo.receipts({
        ...owner,
        tokens: [...tokens.values()].map((token) => ({
          network: token.network,
          family: familyOf(token.network),
          address: spellingOf(token)
        })),
        now: yield* clock.nowSeconds(owner.merchantId, owner.environment)
      }, maximumBalances + 1)
      const wallets = new Map<string, WalletRecord>()
      for (const fingerprint of new Set(newest.map((each) => each.fingerprint))) {
        const record = yield* chains.walletRecord(fingerprint)
        if (record?.wallet._tag === "IndexedWallet") wallets.set(fingerprint, record)
      }
      const receipts = newest.slice(0, maximumBalances).filter(({ fingerprint }) => wallets.has(fingerprint))
      const holdings = yield* Effect.forEach(
        Map.groupBy(receipts, ({ network }) => network),
        ([network, networkReceipts]) => holdingsOf(services, owner, network, networkReceipts, wallets, tokens),
        { concurrency: networks.length }
      )
      const byToken = Map.groupBy(
        holdings.flat(),
        ({ payee, token }) => `${token.id} ${payee === null ? "owner" : "collector"}`
      )
      const groups = yield* Effect.forEach(byToken.values(), (tokenHoldings) =>
        Effect.gen(function*() {
          const chosen = yield* Effect.forEach(
            Map.groupBy(tokenHoldings, ({ fingerprint }) => fingerprint).values(),
            (ofWallet) => selectWorthCollecting(services, owner, request.minimumValue, ofWallet)
          )
          const group: CollectableGroup = {
            token: tokenHoldings[0]!.token,
            method: tokenHoldings[0]!.payee === null ? "owner" : "collector",
            holdings: chosen.flatMap((each) => each.holdings),
            gas: sumOf(chosen.map(({ gas }) => gas))
          }
          return group
        }), { concurrency: 4 })
      return {
        groups: groups.filter((group) => group.holdings.length > 0),
        hasMore: newest.length > maximumBalances
      }
    }
  )

/** Nobody answers for a receiver: it is the payee. */
const nothing = { book: usdMillis(0n), spot: usdMillis(0n) }

/**
 * Lines of what can be collected on a network, as many as `collectParts` takes. Errors: `UNSUPPORTED_NETWORK` where
 * nobody but the owner of the keys moves it, `TOKEN_NOT_FOUND`, `TOKEN_NETWORK_MISMATCH`, `NETWORK_DEGRADED`,
 * `BATCH_EMPTY`.
 */
export const planCollect = Effect.fnUntraced(function*(
  services: BatchServices,
  owner: BatchOwner,
  network: Network,
  tokenIds: ReadonlyArray<number> | null,
  { collectFormats }: PayoutDriver
): Effect.fn.Return<CollectPlan, PublicError> {
  if (collectFormats.length === 0) {
    return yield* publicError("UNSUPPORTED_NETWORK", {
      message: `network: on ${network} whoever has the keys of an address moves what lies there: ` +
        "GET /api/v1/collectable lists it",
      param: "network"
    })
  }
  for (const id of tokenIds ?? []) {
    const token = services.catalog.get(id)
    if (token?.environment !== owner.environment) {
      return yield* publicError("TOKEN_NOT_FOUND", { message: `token_ids: no such token: ${id}`, param: "token_ids" })
    }
    if (token.network !== network) {
      return yield* publicError("TOKEN_NETWORK_MISMATCH", {
        message:
          `token_ids: ${token.symbol} with the id ${id} is on ${token.network}: one batch collects on one network`,
        param: "token_ids"
      })
    }
  }
  const { groups } = yield* readCollectable(services)(owner, { networks: [network], tokenIds, minimumValue: null })
  const { lines, sizes } = collectParts(
    groups.flatMap(({ holdings, method }) => method === "collector" ? holdings : [])
  )
  const [first] = lines
  if (first === undefined) return yield* publicError("BATCH_EMPTY")
  return { lines, sizes, refunds: [], value: nothing, searchedTo: first.source!.height }
})
