/**
 * A ledger of unspent outputs that can be rolled back, behind the REST API of Esplora. Transactions, blocks and the
 * addresses in them are made by bitcoinjs-lib, so that nothing of the driver's own reading is believed.
 */
import { address as addresses, Block, networks, Transaction } from "bitcoinjs-lib"
import { Effect, type Scope } from "effect"
import { randomInt } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Hash of the first block of testnet4 (Bitcoin Core, `chainparams.cpp`). */
const genesisHash = "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043"

/** Where the miner of this chain is paid: the first address of BIP-173's examples for test networks. */
const minerAddress = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"

/** Satoshi that each block pays to its miner, and that a payer leaves to the miner. */
const reward = 5_000_000_000n
const fee = 200n

/** Transactions on a page of a block. */
const pageSize = 25

/** Blocks on a page of the chain. */
const headersPerPage = 10

export interface Payment {
  readonly address: string
  /** Satoshi. */
  readonly amount: bigint
}

interface LedgerBlock {
  readonly header: Block
  readonly hash: string
  readonly transactions: ReadonlyArray<Transaction>
}

/** Blocks from the first one after the genesis on. */
type Chain = ReadonlyArray<LedgerBlock>

const hashOfTip = (chain: Chain): string => chain.at(-1)?.hash ?? genesisHash

const outputScript = (address: string): Uint8Array => addresses.toOutputScript(address, networks.testnet)

const keyOf = (hash: string, index: number): string => `${hash}:${index}`

/** Hashes stand in transactions and headers in the other order than they are written. */
const reversed = (hash: string): Uint8Array => Uint8Array.from(Buffer.from(hash, "hex").reverse())
const written = (hash: Uint8Array): string => Buffer.from(hash).reverse().toString("hex")

/** The outputs that nobody has spent; fails for a chain in which one was spent twice, or never was. */
const unspentOf = (chain: Chain): ReadonlyMap<string, { readonly script: Uint8Array; readonly value: bigint }> => {
  const unspent = new Map<string, { readonly script: Uint8Array; readonly value: bigint }>()
  for (const transaction of chain.flatMap(({ transactions }) => transactions)) {
    for (const { hash, index } of transaction.isCoinbase() ? [] : transaction.ins) {
      if (!unspent.delete(keyOf(written(hash), index))) throw new Error("an output that is not there was spent")
    }
    for (const [index, output] of transaction.outs.entries()) {
      unspent.set(keyOf(transaction.getId(), index), { script: output.script, value: BigInt(output.value) })
    }
  }
  return unspent
}

const coinbase = (height: number): Transaction => {
  const transaction = new Transaction()
  const mark = Buffer.alloc(12)
  mark.writeUInt32LE(height)
  mark.writeUInt32LE(randomInt(2 ** 32), 4)
  transaction.addInput(new Uint8Array(32), 0xffff_ffff, 0xffff_ffff, Uint8Array.from(mark))
  transaction.addOutput(outputScript(minerAddress), reward)
  return transaction
}

/** The chain with one more block, made at `time` (epoch seconds). */
const mined = (chain: Chain, transactions: ReadonlyArray<Transaction>, time: number): Chain => {
  const all = [coinbase(chain.length + 1), ...transactions]
  const header = new Block()
  header.prevHash = reversed(hashOfTip(chain))
  header.merkleRoot = Block.calculateMerkleRoot(all)
  header.timestamp = time
  header.bits = 0x1d00_ffff
  header.nonce = randomInt(2 ** 32)
  const longer = [...chain, { header, hash: header.getId(), transactions: all }]
  unspentOf(longer)
  return longer
}

/** What the miner pays, in one transaction: the rest of what it spends comes back to it. */
const paymentOf = (chain: Chain, payments: ReadonlyArray<Payment>): Transaction => {
  const minerScript = Buffer.from(outputScript(minerAddress))
  const total = payments.reduce((sum, { amount }) => sum + amount, fee)
  const transaction = new Transaction()
  let spent = 0n
  for (const [key, { script, value }] of unspentOf(chain)) {
    if (spent >= total || !minerScript.equals(script)) continue
    const [hash = "", index] = key.split(":")
    transaction.addInput(reversed(hash), Number(index))
    spent += value
  }
  if (spent < total) throw new Error("the miner has not enough")
  for (const { address, amount } of payments) transaction.addOutput(outputScript(address), amount)
  transaction.addOutput(outputScript(minerAddress), spent - total)
  return transaction
}

const headerAnswer = (chain: Chain, height: number) => {
  if (height === 0) return { id: genesisHash, height, timestamp: 0, tx_count: 1, previousblockhash: null }
  const { hash, header, transactions } = chain[height - 1]!
  return {
    id: hash,
    height,
    version: header.version,
    timestamp: header.timestamp,
    tx_count: transactions.length,
    merkle_root: written(header.merkleRoot!),
    previousblockhash: written(header.prevHash!)
  }
}

const transactionAnswer = (transaction: Transaction) => ({
  txid: transaction.getId(),
  vin: transaction.ins.map(({ hash, index }) => ({
    txid: written(hash),
    vout: index,
    is_coinbase: transaction.isCoinbase()
  })),
  vout: transaction.outs.map(({ script, value }) => ({
    scriptpubkey: Buffer.from(script).toString("hex"),
    scriptpubkey_address: addresses.fromOutputScript(script, networks.testnet),
    value: Number(value)
  }))
})

/** The newest blocks up to a height, the highest first. */
const headersBelow = (chain: Chain, height: number) =>
  Array.from({ length: Math.min(headersPerPage, height + 1) }, (_, below) => headerAnswer(chain, height - below))

/** What Esplora answers to a path; undefined: 404. */
const answerOf = (chain: Chain, path: string): unknown => {
  const [, first, second = "", third, fourth = "0"] = path.split("/")
  if (first === "blocks") return headersBelow(chain, Math.min(second === "" ? Infinity : Number(second), chain.length))
  const place = chain.findIndex(({ hash }) => hash === second)
  if (first !== "block" || place === -1) return undefined
  if (third !== "txs") return headerAnswer(chain, place + 1)
  return chain[place]!.transactions.slice(Number(fourth), Number(fourth) + pageSize).map(transactionAnswer)
}

export interface BitcoinNode {
  readonly url: string
  /** Mines empty blocks. */
  readonly mine: (blocks: number) => Effect.Effect<void>
  /** Pays all of them in one transaction, mined at once in a block of its own. */
  readonly pay: (payments: ReadonlyArray<Payment>) => Effect.Effect<{ readonly txHash: string }>
  /** Replaces the newest blocks by as many empty ones. */
  readonly drop: (depth: number) => Effect.Effect<void>
  /** As {@link drop}, with one more block that holds the last payment again. */
  readonly reinclude: (depth: number) => Effect.Effect<void>
  /** Answers in the node's place where it gives something, until it is set to null. */
  readonly set: (answers: ((path: string) => { readonly status: number; readonly body: string } | null) | null) => void
}

/** A node of testnet4 with three blocks, until the scope closes. */
export const bitcoinNode: Effect.Effect<BitcoinNode, never, Scope.Scope> = Effect.gen(function*() {
  const nowSeconds = () => Math.floor(Date.now() / 1000)
  const withEmptyBlocks = (chain: Chain, count: number): Chain =>
    Array.from({ length: count }).reduce<Chain>((longer) => mined(longer, [], nowSeconds()), chain)
  let chain = withEmptyBlocks([], 3)
  let lastPayment: Transaction | null = null
  let answers: Parameters<BitcoinNode["set"]>[0] = null
  const server = createServer(({ url = "/" }, response) => {
    const own = answers?.(url) ?? null
    const answer = own === null ? answerOf(chain, url) : undefined
    response.statusCode = own?.status ?? (answer === undefined ? 404 : 200)
    response.end(own?.body ?? JSON.stringify(answer ?? "not found"))
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const change = (edit: () => void) => Effect.sync(edit)
  const drop = (depth: number) => withEmptyBlocks(chain.slice(0, -depth), depth)
  const node: BitcoinNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mine: (blocks) =>
      change(() => {
        chain = withEmptyBlocks(chain, blocks)
      }),
    pay: (payments) =>
      Effect.sync(() => {
        lastPayment = paymentOf(chain, payments)
        chain = mined(chain, [lastPayment], nowSeconds())
        return { txHash: lastPayment.getId() }
      }),
    drop: (depth) =>
      change(() => {
        chain = drop(depth)
      }),
    reinclude: (depth) =>
      change(() => {
        chain = mined(drop(depth), lastPayment === null ? [] : [lastPayment], nowSeconds())
      }),
    set: (next) => {
      answers = next
    }
  }
  return node
})
