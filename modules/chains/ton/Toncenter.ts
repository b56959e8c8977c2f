/**
 * The calls of toncenter's API v3 that are used, each with what its answer must look like
 * (toncenter.com/api/v3, and its source in toncenter/ton-indexer).
 */
import { Address, beginCell, Cell } from "@ton/core"
import { Effect, Result, Schema } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { largeCall } from "../../../runtime/nodes/NodeHttp.ts"
import type { RestClient } from "../../../runtime/nodes/Rest.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import { readTonAddress, tonAddressText } from "../../../schemas/TonAddress.ts"
import { readAccountKey, readHash } from "./Account.ts"
import { type ListedTransaction, startPages, stepPages } from "./TransactionPages.ts"
import type { Transaction } from "./Transactions.ts"

/** Accounts that are asked for in one call: their addresses fill 3 KB of a URL, and servers take at least 4. */
export const accountsPerCall = 50

/** Jettons that are asked for in one call beside 50 owners: no answer has more than a page. */
const jettonsPerCall = 20

/** Transactions of a page: the most that toncenter gives (`max-limit` of ton-index-go). */
export const transactionsPerPage = 1_000

const Whole = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Digits = Schema.String.check(Schema.isPattern(/^\d{1,40}$/))
const Nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Block = Schema.Struct({
  seqno: Whole,
  root_hash: Schema.String.check(Schema.isMaxLength(64)),
  global_id: Schema.Int,
  gen_utime: Schema.String.check(Schema.isPattern(/^\d{1,11}$/))
})
type Block = typeof Block.Type

const MasterchainInfo = Schema.Struct({ first: Block, last: Block })
const Blocks = Schema.Struct({ blocks: Schema.Array(Block) })

const WireMessage = Schema.Struct({
  source: Nullable(Schema.String),
  value: Nullable(Digits),
  bounced: Nullable(Schema.Boolean),
  message_content: Nullable(Schema.Struct({ body: Nullable(Schema.String) }))
})

const WireSentMessage = Schema.Struct({
  destination: Nullable(Schema.String),
  value: Nullable(Digits),
  message_content: Nullable(Schema.Struct({ body: Nullable(Schema.String) }))
})

const WireTransaction = Schema.Struct({
  account: Schema.String,
  hash: Schema.String,
  now: Whole,
  mc_block_seqno: Nullable(Whole),
  block_ref: Schema.Struct({ workchain: Schema.Int, shard: Schema.String, seqno: Whole }),
  description: Schema.Struct({
    aborted: Nullable(Schema.Boolean),
    compute_ph: Nullable(Schema.Struct({ success: Nullable(Schema.Boolean) })),
    bounce: Nullable(Schema.Struct({ type: Nullable(Schema.String) }))
  }),
  in_msg: Nullable(WireMessage),
  out_msgs: Nullable(Schema.Array(WireSentMessage)),
  /** Not of the chain yet: what a node expects to happen. */
  emulated: Nullable(Schema.Boolean),
  finality: Nullable(Schema.String)
})
type WireTransaction = typeof WireTransaction.Type

const Transactions = Schema.Struct({ transactions: Schema.Array(WireTransaction) })

const StackEntry = Schema.Struct({ type: Schema.String, value: Schema.Unknown })
const MethodResult = Schema.Struct({ exit_code: Schema.Int, stack: Schema.Array(StackEntry) })

const WalletStates = Schema.Struct({
  wallets: Schema.Array(Schema.Struct({
    address: Schema.String,
    is_wallet: Schema.Boolean,
    status: Nullable(Schema.String),
    balance: Nullable(Digits),
    wallet_type: Nullable(Schema.String)
  }))
})

const JettonWallets = Schema.Struct({
  jetton_wallets: Schema.Array(Schema.Struct({ address: Schema.String, owner: Schema.String, jetton: Schema.String }))
})

/** A block of the masterchain as an API shows it. */
export interface MasterchainBlock extends EndpointHead {
  /** Which network signs it. */
  readonly globalId: number
}

const blockOf = ({ gen_utime, global_id, root_hash, seqno }: Block): MasterchainBlock => ({
  height: BigInt(seqno),
  hash: root_hash,
  time: Number(gen_utime),
  globalId: global_id
})

/** One endpoint of the API. */
export type Toncenter = RestClient

const contradiction = ({ name, network }: Toncenter, reason: string) =>
  new DriverError({ network, reason: `${name}: ${reason}`, kind: "contradiction" })

/** The newest block of the masterchain, and the oldest that is there. */
export const readMasterchain = (client: Toncenter) =>
  Effect.map(client.get("/api/v3/masterchainInfo", MasterchainInfo), ({ first, last }) => ({
    first: blockOf(first),
    last: blockOf(last)
  }))

const masterchain = "/api/v3/blocks?workchain=-1&shard=8000000000000000"

const firstBlock = ({ blocks }: typeof Blocks.Type): MasterchainBlock | null =>
  blocks[0] === undefined ? null : blockOf(blocks[0])

/** The block of a number; null: it is not there. */
export const readBlockAt = (client: Toncenter, height: bigint) =>
  Effect.map(client.get(`${masterchain}&seqno=${height}&limit=1`, Blocks), firstBlock)

/** The newest block up to a time in epoch seconds; null: none is so old. */
export const readBlockBefore = (client: Toncenter, time: number) =>
  Effect.map(client.get(`${masterchain}&end_utime=${time}&sort=desc&limit=1`, Blocks), firstBlock)

/** The shorter spelling, of 48 characters, which needs no escaping. */
const inUrl = (account: string): string => {
  const address = readTonAddress(account)
  return address === null ? account : tonAddressText(address, { bounceable: true, testOnly: false })
}

const isOfChain = ({ emulated, finality, mc_block_seqno }: WireTransaction): boolean =>
  emulated !== true && (finality ?? "finalized") === "finalized" && typeof mc_block_seqno === "number"

/** Null where an answer holds what no transaction has. */
const transactionOf = (wire: WireTransaction): Transaction | null => {
  const account = readAccountKey(wire.account)
  const hash = readHash(wire.hash)
  if (account === null || hash === null) return null
  const { block_ref, description, in_msg, out_msgs } = wire
  const source = typeof in_msg?.source === "string" ? readAccountKey(in_msg.source) : null
  return {
    hash,
    account,
    time: wire.now,
    height: BigInt(wire.mc_block_seqno ?? 0),
    block: `${block_ref.workchain}:${block_ref.shard}:${block_ref.seqno}`,
    message: !in_msg || source === null ? null : {
      source,
      value: BigInt(in_msg.value ?? "0"),
      isBounced: in_msg.bounced === true,
      body: in_msg.message_content?.body ?? null
    },
    sent: (out_msgs ?? []).flatMap((each) => {
      const destination = typeof each.destination === "string" ? readAccountKey(each.destination) : null
      return destination === null
        ? []
        : [{ destination, value: BigInt(each.value ?? "0"), body: each.message_content?.body ?? null }]
    }),
    hasBounced: description.bounce !== undefined && description.bounce !== null,
    hasSucceeded: description.aborted !== true && description.compute_ph?.success === true
  }
}

const readPage = Effect.fnUntraced(function*(client: Toncenter, query: string) {
  const { transactions } = yield* client.get(`/api/v3/transactions?${query}`, Transactions, largeCall)
  const read = transactions.filter(isOfChain).map(transactionOf)
  if (read.includes(null)) return yield* contradiction(client, "a transaction without account or hash")
  return {
    listed: transactions.map(({ hash, now }): ListedTransaction => ({ hash, time: now })),
    transactions: read.filter((each) => each !== null)
  }
})

/** Failures after which fewer at once may come through. */
const isTooMuch = ({ kind, reason }: DriverError): boolean =>
  kind === "too_large" || kind === "timeout" || (kind === "refused" && /limit|too (many|large)/i.test(reason))

/** A page, with half as many transactions where that many are too much, down to one. */
const readPageOrLess = (
  client: Toncenter,
  queryOf: (limit: number) => string,
  limit: number
): Effect.Effect<Effect.Success<ReturnType<typeof readPage>> & { readonly limit: number }, DriverError> =>
  Effect.matchEffect(readPage(client, queryOf(limit)), {
    onSuccess: (page) => Effect.succeed({ ...page, limit }),
    onFailure: (error) =>
      isTooMuch(error) && limit > 1
        ? Effect.suspend(() => readPageOrLess(client, queryOf, Math.floor(limit / 2)))
        : Effect.fail(error)
  })

/** What a stretch of time held: `until` is its end, or earlier where it held more than is read at once. */
export interface AccountsReading {
  readonly transactions: ReadonlyArray<Transaction>
  /** Epoch seconds: every transaction of these accounts from the start to here was read. */
  readonly until: number
}

/**
 * Transactions of at most {@link accountsPerCall} accounts in a stretch of time, both ends included, in the order of
 * time. None is ever left out: where {@link stepPages} cannot go on, the reading fails.
 */
export const readTransactions = Effect.fnUntraced(function*(
  client: Toncenter,
  accounts: ReadonlyArray<string>,
  from: number,
  until: number
): Effect.fn.Return<AccountsReading, DriverError> {
  const who = accounts.map((account) => `account=${inUrl(account)}`).join("&")
  const found = new Map<string, Transaction>()
  let state = startPages(from, until)
  let limit = transactionsPerPage
  while (state.readUntil === null) {
    const { offset, start } = state
    const queryOf = (size: number) =>
      `${who}&start_utime=${start}&end_utime=${until}&sort=asc&limit=${size}&offset=${offset}`
    const answer = yield* readPageOrLess(client, queryOf, limit)
    limit = answer.limit
    for (const transaction of answer.transactions) found.set(transaction.hash, transaction)
    const next = stepPages(state, answer.listed, limit)
    if (typeof next === "string") return yield* contradiction(client, next)
    state = next
  }
  return { transactions: [...found.values()], until: state.readUntil }
})

/** Transactions by their hashes, in hex; those that the chain does not have are left out. */
export const readByHashes = Effect.fnUntraced(function*(client: Toncenter, hashes: ReadonlyArray<string>) {
  const found: Array<Transaction> = []
  for (let start = 0; start < hashes.length; start += accountsPerCall) {
    const part = hashes.slice(start, start + accountsPerCall)
    const query = part.map((hash) => `hash=${hash}`).join("&")
    found.push(...(yield* readPage(client, `${query}&limit=${part.length}`)).transactions)
  }
  return found.filter(({ hash }) => hashes.includes(hash))
})

/** What a method of a contract returned; null: there is no such contract or method, or it failed. */
export const runGetMethod = Effect.fnUntraced(function*(
  client: Toncenter,
  account: string,
  method: string,
  owner: string | null = null
) {
  const stack = owner === null ? [] : [{
    type: "slice",
    value: beginCell().storeAddress(Address.parseRaw(owner)).endCell().toBoc().toString("base64")
  }]
  const result = yield* client.post("/api/v3/runGetMethod", { address: account, method, stack }, MethodResult)
  return result.exit_code === 0 || result.exit_code === 1 ? result.stack : null
})

/** A cell of a returned stack; null where something else stands there. */
export const cellAt = (stack: ReadonlyArray<typeof StackEntry.Type>, place: number): Cell | null => {
  const entry = stack[place]
  if ((entry?.type !== "cell" && entry?.type !== "slice") || typeof entry.value !== "string") return null
  const text = entry.value
  return Result.getOrNull(Result.try(() => Cell.fromBase64(text)))
}

/** Key of an account in a returned stack; null where something else stands there. */
export const accountAt = (stack: ReadonlyArray<typeof StackEntry.Type>, place: number): string | null => {
  const cell = cellAt(stack, place)
  return cell === null || cell.isExotic
    ? null
    : Result.getOrNull(Result.try(() => cell.beginParse().loadAddress().toRawString()))
}

/** A whole number of a returned stack, 0 or more; null where something else stands there. */
export const numberAt = (stack: ReadonlyArray<typeof StackEntry.Type>, place: number): bigint | null => {
  const entry = stack[place]
  return entry?.type === "num" && typeof entry.value === "string" && /^(0x[0-9a-f]{1,64}|\d{1,78})$/i.test(entry.value)
    ? BigInt(entry.value)
    : null
}

/** What the API knows of accounts: those that never were on the chain are left out. */
export const readWalletStates = (client: Toncenter, accounts: ReadonlyArray<string>) =>
  Effect.map(
    client.get(
      `/api/v3/walletStates?${accounts.map((account) => `address=${inUrl(account)}`).join("&")}`,
      WalletStates
    ),
    ({ wallets }) =>
      wallets.map(({ address, balance, is_wallet, status, wallet_type }) => ({
        account: readAccountKey(address),
        isWallet: is_wallet,
        /** Of the newest version, which sends up to 255 messages by one signature. */
        isVersion5: status === "active" && wallet_type === "wallet v5 r1",
        isActive: status === "active",
        /** In nanograms; null: the API does not say it. */
        balance: typeof balance === "string" ? BigInt(balance) : null
      }))
  )

/**
 * Jetton wallets that exist of at most {@link accountsPerCall} owners, as the API believes: one that gets its first
 * jettons is listed only afterwards, and each is checked with its master before it is trusted.
 */
export const readJettonWallets = Effect.fnUntraced(function*(
  client: Toncenter,
  owners: ReadonlyArray<string>,
  jettons: ReadonlyArray<string>
) {
  const who = owners.map((owner) => `owner_address=${inUrl(owner)}`).join("&")
  const found: Array<{ readonly owner: string; readonly jetton: string }> = []
  for (let start = 0; start < jettons.length; start += jettonsPerCall) {
    const which = jettons.slice(start, start + jettonsPerCall).map((jetton) => `jetton_address=${inUrl(jetton)}`)
    const path = `/api/v3/jetton/wallets?${who}&${which.join("&")}&limit=${transactionsPerPage}`
    const { jetton_wallets } = yield* client.get(path, JettonWallets, largeCall)
    for (const each of jetton_wallets) {
      const owner = readAccountKey(each.owner)
      const jetton = readAccountKey(each.jetton)
      if (owner !== null && jetton !== null) found.push({ owner, jetton })
    }
  }
  return found
})
