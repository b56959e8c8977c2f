/** What lies on addresses that take no more payments, and how it is collected. */
import { Effect, Option } from "effect"
import type { Forwarder, WalletRecord } from "../../../runtime/Chains.ts"
import type { CollectCost, PayoutDriver } from "../../../runtime/Payouts.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, type Rate, type UsdMillis } from "../../../schemas/Money.ts"
import { familyOf, type Network, networks } from "../../../schemas/Network.ts"
import { type Token, tokenAddress } from "../../../schemas/Token.ts"
import type { Receipt } from "../repo.ts"
import {
  addressesPerPart,
  type AddressHolding,
  collectParts,
  isWorthIt,
  leastValue,
  valueOf
} from "../rules/Collects.ts"
import { type BatchOwner, type BatchServices, networkDegraded } from "./BatchServices.ts"
import type { Plan } from "./Plans.ts"

/** Balances that are asked for at once: each takes several calls of nodes, and somebody waits for the answer. */
const maximumBalances = 1_000

/** Lines of a collect, in parts that one signature moves. */
export interface CollectPlan extends Plan {
  readonly sizes: ReadonlyArray<number>
  /** Nothing of it has left in this block or an earlier one. */
  readonly searchedTo: bigint
}

export interface CollectableRequest {
  /** Null: all of them. */
  readonly networks: ReadonlyArray<Network> | null
  /** Null: every token of the catalogue. */
  readonly tokenIds: ReadonlyArray<number> | null
  /** usd_millis; null: what a collect is worth its gas. */
  readonly minimumValue: UsdMillis | null
}

/** What lies there of one token, by whoever moves it. */
export interface CollectableGroup {
  readonly token: Token
  readonly method: "collector" | "owner"
  readonly holdings: ReadonlyArray<AddressHolding>
  /** Of collecting all of them; null: nobody can say. */
  readonly gas: bigint | null
}

export interface Collectable {
  readonly groups: ReadonlyArray<CollectableGroup>
  /** More addresses have received something than were looked at. */
  readonly hasMore: boolean
}

/** One signature of an account of Cardano moves what lies on all of its addresses: there is nothing to gather. */
const isGathered = (network: Network): boolean => familyOf(network) === "cardano"

const tokensOf = ({ catalog }: BatchServices, { environment }: BatchOwner, request: CollectableRequest) =>
  catalog.list(environment).filter(({ id, network }) =>
    !isGathered(network) && (request.networks?.includes(network) ?? true) && (request.tokenIds?.includes(id) ?? true)
  )

const spellingOf = ({ address, network }: Token): string | null =>
  address === null ? null : tokenAddress(network, address) ?? address

const keyOf = (network: Network, address: string | null): string => `${network} ${address ?? ""}`

/** The price now, else the last one: what nobody can price is worth nothing here. */
const rateOf = ({ prices }: BatchServices, token: Token): Effect.Effect<Rate | null> =>
  prices.spot(token).pipe(
    Effect.map(({ rate }) => rate),
    Effect.catchTag("PriceUnavailable", () => Effect.succeed(prices.latest(token)?.rate ?? null))
  )

const forwarderOf = ({ wallet }: WalletRecord): Forwarder | null =>
  wallet._tag === "IndexedWallet" ? wallet.forwarder ?? null : null

/** Balances of one network's receipts, those that are above zero; null: its driver tells none. */
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
      value: rate === null ? null : valueOf(units, rate, token.decimals),
      height: found.height
    }]
  })
})

/** What one address costs, by a call that collects as many as fit; null: nobody can say. */
const costOf = Effect.fnUntraced(function*(
  { chains }: BatchServices,
  { environment }: BatchOwner,
  holdings: ReadonlyArray<AddressHolding>
): Effect.fn.Return<(CollectCost & { readonly addresses: number }) | null> {
  const { payee, token } = holdings[0]!
  const estimate = chains.driver(token.network, environment)?.payouts?.estimateCollect ?? null
  if (estimate === null || payee === null) return null
  const some = holdings.slice(0, addressesPerPart)
  const cost = yield* estimate({
    _tag: "Collect",
    batchId: "bat_00000000-0000-0000-0000-000000000000",
    part: 1,
    payee,
    from: null,
    lines: some.map(({ address, salt, token: { decimals, symbol }, tokenAddress, units }) => ({
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
  return Option.isNone(cost) ? null : { ...cost.value, addresses: some.length }
})

/** Holdings of one token on addresses of one wallet: those that are worth it, and their gas. */
const chooseWorthy = Effect.fnUntraced(function*(
  services: BatchServices,
  owner: BatchOwner,
  minimumValue: UsdMillis | null,
  holdings: ReadonlyArray<AddressHolding>
) {
  const { token: { network } } = holdings[0]!
  const cost = yield* costOf(services, owner, holdings)
  const coin = services.catalog.find(network, owner.environment, null)
  const rate = cost === null || coin === undefined ? null : yield* rateOf(services, coin)
  const gasValue = cost === null || coin === undefined || rate === null
    ? null
    : valueOf(baseUnits(cost.gas * cost.gasPrice / BigInt(cost.addresses)), rate, coin.decimals)
  const least = minimumValue ?? leastValue(gasValue)
  const worthy = holdings.filter((each) => isWorthIt(each, least))
  return { holdings: worthy, gas: cost === null ? null : cost.gas * BigInt(worthy.length) / BigInt(cost.addresses) }
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
      const looked = yield* repo.receipts({
        ...owner,
        tokens: [...tokens.values()].map((token) => ({
          network: token.network,
          family: familyOf(token.network),
          address: spellingOf(token)
        })),
        now: yield* clock.nowSeconds(owner.merchantId, owner.environment)
      }, maximumBalances + 1)
      const wallets = new Map<string, WalletRecord>()
      for (const fingerprint of new Set(looked.map((each) => each.fingerprint))) {
        const record = yield* chains.walletRecord(fingerprint)
        if (record?.wallet._tag === "IndexedWallet") wallets.set(fingerprint, record)
      }
      const receipts = looked.slice(0, maximumBalances).filter(({ fingerprint }) => wallets.has(fingerprint))
      const holdings = yield* Effect.forEach(
        Map.groupBy(receipts, ({ network }) => network),
        ([network, those]) => holdingsOf(services, owner, network, those, wallets, tokens),
        { concurrency: networks.length }
      )
      const byToken = Map.groupBy(
        holdings.flat(),
        ({ payee, token }) => `${token.id} ${payee === null ? "owner" : "collector"}`
      )
      const groups = yield* Effect.forEach(byToken.values(), (those) =>
        Effect.gen(function*() {
          const chosen = yield* Effect.forEach(
            Map.groupBy(those, ({ fingerprint }) => fingerprint).values(),
            (ofWallet) => chooseWorthy(services, owner, request.minimumValue, ofWallet)
          )
          const group: CollectableGroup = {
            token: those[0]!.token,
            method: those[0]!.payee === null ? "owner" : "collector",
            holdings: chosen.flatMap((each) => each.holdings),
            gas: sumOf(chosen.map(({ gas }) => gas))
          }
          return group
        }), { concurrency: 4 })
      return {
        groups: groups.filter((group) => group.holdings.length > 0),
        hasMore: looked.length > maximumBalances
      }
    }
  )

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
  return { lines, sizes, refunds: [], spotValue: null, searchedTo: first.source!.height }
})
