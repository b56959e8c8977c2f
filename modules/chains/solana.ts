/**
 * Solana over JSON-RPC: the balances and transactions of receiving wallets are polled. A wallet of one address serves
 * many invoices, which a memo or a reference tells apart; or each invoice is given a wallet of a list.
 */
import { Effect, Layer, MutableRef, Redacted, Schema } from "effect"
import { type ChainDriver, Chains, DriverError, type WalletRef } from "../../runtime/Chains.ts"
import { readAgreedBalances } from "../../runtime/nodes/FinalBalances.ts"
import { makeReaders } from "../../runtime/nodes/Corroboration.ts"
import * as Endpoints from "../../runtime/nodes/Endpoints.ts"
import { headLimits } from "../../runtime/nodes/Heads.ts"
import type { JsonRpcClient } from "../../runtime/nodes/JsonRpc.ts"
import { unreadableFromZero } from "../../runtime/nodes/UnreadableTransactions.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { usdMillis } from "../../schemas/Money.ts"
import { descriptorOf, Environment } from "../../schemas/Network.ts"
import { solanaPaymentUri } from "../../schemas/PaymentUri.ts"
import { makeAccountBook } from "./solana/AccountBook.ts"
import { makeReceivingAccounts } from "./solana/Accounts.ts"
import { metadataAccount, systemProgram, tokenPrograms } from "./solana/Addresses.ts"
import { readBalances } from "./solana/Balances.ts"
import { makeCorroborate } from "./solana/Corroboration.ts"
import { follow } from "./solana/Follow.ts"
import type { FollowOptions } from "./solana/FollowContext.ts"
import { makeHistory } from "./solana/History.ts"
import { accountsPerCall, makeClient, readAccounts, readGenesis } from "./solana/Node.ts"
import { referenceOf } from "./solana/PaymentCode.ts"
import { type Account, contractToken, decimalsOf } from "./solana/TokenFacts.ts"
import { makePayouts } from "./solana/Payouts.ts"
import { Key } from "./solana/Transactions.ts"
import { readWallet } from "./solana/Wallet.ts"

const network = "solana"

/** Hash of the first block by cluster: `mainnet-beta` and `devnet` (solana.com/docs/references/clusters). */
const genesisHashes: Readonly<Record<Environment, string>> = {
  mainnet: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
  devnet: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"
}

export const SolanaOptions = Schema.Struct({
  environment: Environment,
  /**
   * JSON-RPC endpoints, best first, at most 8. They may hold keys. Two of different operators, or one beside your own
   * node, keep one of them from deciding about money alone.
   */
  rpc: Schema.NonEmptyArray(Schema.RedactedFromValue(Schema.NonEmptyString)).check(Schema.isMaxLength(8)),
  /**
   * The deployment's own wallet, for merchants who have none: its address. Without it and without `pool` the network is
   * only offered to payors of merchants who have a wallet.
   */
  address: Schema.optionalKey(Schema.NonEmptyString),
  /** Instead of `address`: wallets that are given out one by one, an invoice each. At most 5,000. */
  pool: Schema.optionalKey(Schema.NonEmptyArray(Schema.NonEmptyString).check(Schema.isMaxLength(5_000))),
  pollMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 60_000 }))),
  /**
   * Seconds an endpoint's head may stand still, be old by its own time, or lie behind another endpoint's, before it
   * counts as frozen, 1 to 3,600; default 60. On devnet a head may stand still for ever unless this is set.
   */
  frozenSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 }))),
  /**
   * Whole dollars from which on a payment, or any payment of an invoice of as many, is confirmed only where two
   * endpoints have it; 0: every payment. Needs two endpoints. Default on mainnet with two endpoints: 1,000; else none.
   */
  agreementAboveUsd: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))),
  /** For a private cluster or `testnet`: the genesis hash its nodes answer with. Devnet only. */
  genesisHash: Schema.optionalKey(Key)
})
export type SolanaOptions = typeof SolanaOptions.Type

/** Options that cannot work; the boot stops with this message. */
export class SolanaOptionsError extends Schema.TaggedError<SolanaOptionsError>()("SolanaOptionsError", {
  reason: Schema.String
}) {
  override get message() {
    return `chain ${network}: ${this.reason}`
  }
}

/** Dollars from which on two endpoints must agree where the options do not say: as for the other networks. */
const defaultAgreementUsd = 1_000

type Nodes = Endpoints.Endpoints<JsonRpcClient>

const readOne = (nodes: Nodes, keys: ReadonlyArray<string>) =>
  nodes.withFailover((node) => Effect.map(readAccounts(node, keys), ({ accounts }) => accounts))

/** Not an address of 32 bytes: no account. */
const isKey = Schema.is(Key)

const tokenDecimals = (nodes: Nodes): NonNullable<ChainDriver["tokenDecimals"]> => (address) =>
  isKey(address)
    ? Effect.map(readOne(nodes, [address]), ([account]) => decimalsOf(account ?? null))
    : Effect.succeed(null)

const readToken = (nodes: Nodes): NonNullable<ChainDriver["readToken"]> => (address) =>
  isKey(address)
    ? Effect.map(readOne(nodes, [address, metadataAccount(address)]), ([mint, metadata]) =>
      contractToken(address, mint ?? null, metadata ?? null))
    : Effect.succeed({ symbol: null, decimals: null })

/** Why an account is no wallet. One that nothing was ever sent to is fine. */
const walletRefusal = (account: Account | null): string | null => {
  if (account === null || (account.owner === systemProgram && account.data.length === 0)) return null
  if (account.isExecutable) return "this is the address of a program, which is no wallet"
  return tokenPrograms.has(account.owner)
    ? "this is a token account or a token, and not the wallet that owns it: give the wallet's own address, which your " +
      "wallet shows for receiving SOL"
    : "this account belongs to a program, and is no wallet: give the address that your wallet shows for receiving SOL"
}

/** The addresses that the chain is asked about: of a list, all. */
const addressesOf = (wallet: WalletRef): ReadonlyArray<string> =>
  wallet._tag === "SharedWallet"
    ? [wallet.address]
    : Array.from({ length: wallet.size ?? 0 }, (_, index) => wallet.derive(index).address)

const verifyWallet = (nodes: Nodes): NonNullable<ChainDriver["verifyWallet"]> =>
  Effect.fnUntraced(function*(wallet) {
    const addresses = addressesOf(wallet)
    for (let from = 0; from < addresses.length; from += accountsPerCall) {
      const accounts = yield* readOne(nodes, addresses.slice(from, from + accountsPerCall))
      for (const [place, account] of accounts.entries()) {
        const refusal = walletRefusal(account)
        if (refusal !== null) return wallet._tag === "SharedWallet" ? refusal : `entry ${from + place + 1}: ${refusal}`
      }
    }
    return null
  })

const paymentUri: ChainDriver["paymentUri"] = (target, token, amount, { label, message }) =>
  solanaPaymentUri(target, token, amount, {
    reference: target.memo === null ? null : referenceOf(target.address, target.memo),
    label,
    message
  })

/** The wallet of the options; null: none. */
const ownWallet = Effect.fnUntraced(function*({ address, environment, pool }: SolanaOptions) {
  if (address !== undefined && pool !== undefined) {
    return yield* new SolanaOptionsError({ reason: "set `address` or `pool`, not both" })
  }
  if (address === undefined && pool === undefined) return null
  const wallet = yield* address === undefined
    ? readWallet(environment, "pool", pool!.join("\n"))
    : readWallet(environment, "address", address)
  return typeof wallet === "string"
    ? yield* new SolanaOptionsError({ reason: `${address === undefined ? "pool" : "address"}: ${wallet}` })
    : wallet
})

/** The driver. Fails when the options contradict themselves or a node is on another cluster. */
export const makeDriver = Effect.fnUntraced(function*(options: SolanaOptions) {
  const { environment } = options
  const refuse = (reason: string) => new SolanaOptionsError({ reason })
  if (options.genesisHash !== undefined && environment === "mainnet") {
    return yield* refuse("`genesisHash` is for private devnet clusters")
  }
  if (options.agreementAboveUsd !== undefined && options.rpc.length < 2) {
    return yield* refuse("`agreementAboveUsd` needs two endpoints: give a second url in `rpc`, or leave it out")
  }
  const wallet = yield* ownWallet(options)
  const genesis = options.genesisHash ?? genesisHashes[environment]
  const refused = Effect.mapError((error: DriverError) => refuse(error.reason))
  const nodes = yield* refused(Endpoints.make({
    network,
    environment,
    addresses: options.rpc.map((url: Redacted.Redacted) => ({ url })),
    limits: headLimits({ network, environment, frozenSeconds: options.frozenSeconds }),
    client: makeClient,
    prove: (node) =>
      Effect.map(
        readGenesis(node),
        (found) =>
          found === genesis ?
            null :
            `is on the cluster with genesis ${found}, but ${environment} has ${genesis} here: ` +
            "correct the url or the environment, or set `genesisHash` for a private cluster"
      )
  }))
  yield* refused(nodes.verify)
  const readers = makeReaders()
  yield* unreadableFromZero(network)
  const followOptions: FollowOptions = {
    network,
    environment,
    endpoints: nodes,
    pollMillis: options.pollMillis ?? descriptorOf(network).pollMillis,
    book: makeAccountBook(),
    receiving: makeReceivingAccounts(),
    unread: MutableRef.make(new Map()),
    onTransactionRead: readers.remember
  }
  const agreementAboveUsd = options.agreementAboveUsd ??
    (environment === "mainnet" && options.rpc.length > 1 ? defaultAgreementUsd : null)
  const driver: ChainDriver = {
    network,
    environment,
    tokenTypes: ["native", "spl"],
    wallet,
    readWallet: (kind, value) => readWallet(environment, kind, value),
    verifyWallet: verifyWallet(nodes),
    readForwarderFacts: null,
    isTokenAccount: (address) =>
      Effect.map(readOne(nodes, [address]), ([account]) => account != null && tokenPrograms.has(account.owner)),
    tokenDecimals: tokenDecimals(nodes),
    paymentUri,
    follow: (recent, watch) => follow(followOptions, recent, watch),
    history: makeHistory(nodes, environment),
    coinsForwarded: null,
    balanceAt: null,
    finalBalances: (addresses, tokens) => readAgreedBalances(nodes, (node) => readBalances(node, addresses, tokens)),
    readContract: null,
    readToken: readToken(nodes),
    corroborate: makeCorroborate(nodes, readers),
    findTransfers: null,
    agreementAboveUsdMillis: agreementAboveUsd === null ? null : usdMillis(BigInt(agreementAboveUsd) * 1000n),
    payouts: makePayouts(nodes, environment)
  }
  return driver
})

export const plugin = Plugin.make({
  name: "solana",
  slot: "chains",
  options: SolanaOptions,
  check: (options) => Effect.asVoid(makeDriver(options)),
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      yield* chains.register(yield* makeDriver(options))
    }))
})
