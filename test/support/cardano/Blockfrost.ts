/**
 * Blockfrost's REST API over HTTP on loopback, for a chain in this process: the paths, pages, statuses and answers of
 * its OpenAPI description, and the ways in which such an API goes wrong.
 */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { bytesToHex } from "@noble/hashes/utils.js"
import {
  addressBytes,
  fee,
  type Ledger,
  type RigBlock,
  type RigOutput,
  type RigTransaction,
  type RigUnspent
} from "./Ledger.ts"

/** What an answer is made of, for faults that change it. */
export interface BlockfrostCall {
  /** `/blocks/…`, without the base path and the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage["headers"]
}

export interface BlockfrostAnswer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * How the API behaves: `right`, `held` never answers, `cut` ends each connection in the middle of the answer; a
 * function changes what it would answer.
 */
export type BlockfrostFault =
  | "right"
  | "held"
  | "cut"
  | ((call: BlockfrostCall, answer: () => BlockfrostAnswer) => BlockfrostAnswer)

export interface Blockfrost {
  /** With the base path, as options hold it. */
  readonly url: string
  readonly set: (fault: BlockfrostFault) => void
  /** Blocks that it is behind, asked for each call. */
  readonly lag: (blocksOf: () => number) => void
  /** Answers from another chain from now on. */
  readonly lead: (ledger: Ledger) => void
  /** Calls so far by kind: their paths with `:name` in place of hashes and heights. */
  readonly calls: () => Readonly<Record<string, number>>
  readonly reset: () => void
}

export const projectId = "preprodAbCdEfGhIjKlMnOpQrStUvWxYz012345"
const basePath = "/api/v0"
/** Preprod's network magic. */
export const networkMagic = 1

export const refusal = (status: number, error: string, message: string): BlockfrostAnswer => ({
  status,
  body: { status_code: status, error, message }
})
const absent = refusal(404, "Not Found", "The requested component has not been found.")
const right = (body: unknown): BlockfrostAnswer => ({ status: 200, body })

/** What an API shows of a chain. */
type ShownChain = Pick<Ledger, "blocks" | "tip">

/** Without its newest blocks. */
const chainBelow = (ledger: Ledger, lagBlocks: number): ShownChain => {
  const blocks = ledger.blocks.slice(0, Math.max(1, ledger.blocks.length - lagBlocks))
  return { blocks, tip: blocks.at(-1)! }
}

const blockObject = (ledger: ShownChain, block: RigBlock) => ({
  time: block.time,
  height: block.height,
  hash: block.hash,
  slot: block.slot,
  epoch: 0,
  epoch_slot: block.slot,
  slot_leader: "pool1pu5jlj4q9w9jlxeu370a3c9myx47md5j5m2str0naunn2q3lkdy",
  size: 3 + block.transactions.length * 300,
  tx_count: block.transactions.length,
  output: null,
  fees: null,
  block_vrf: "vrf_vk1wf2k6lhujezqcfe00l6zetxpnmh9n6mwhpmhm0dvfh3fxgmdnrfqkms8ty",
  op_cert: null,
  op_cert_counter: null,
  previous_block: block.previous,
  next_block: ledger.blocks[block.height + 1]?.hash ?? null,
  confirmations: ledger.tip.height - block.height
})

const amountOf = ({ assets, lovelace }: RigOutput) => [
  { unit: "lovelace", quantity: `${lovelace}` },
  ...[...assets ?? []].flatMap(([policy, names]) =>
    [...names].map(([name, quantity]) => ({
      unit: `${policy}${Buffer.from(name).toString("hex")}`,
      quantity: `${quantity}`
    }))
  )
]

const utxosObject = (ledger: ShownChain, transaction: RigTransaction) => ({
  hash: transaction.txHash,
  inputs: transaction.inputs.map((input) => {
    const spent = findTransaction(ledger, input.txHash)?.transaction.outputs[input.index]
    return {
      address: input.address,
      amount: spent === undefined ? [] : amountOf(spent),
      tx_hash: input.txHash,
      output_index: input.index,
      data_hash: null,
      inline_datum: null,
      reference_script_hash: null,
      collateral: input.isCollateral ?? false,
      reference: false
    }
  }),
  outputs: transaction.outputs.map((output, index) => ({
    address: output.address,
    amount: amountOf(output),
    output_index: index,
    data_hash: null,
    inline_datum: output.datum === undefined ? null : Buffer.from(output.datum).toString("hex"),
    collateral: output.isCollateral ?? false,
    reference_script_hash: null,
    consumed_by_tx: null
  }))
})

const unspentObject = (address: string, { assets, index, lovelace, txHash }: RigUnspent) => ({
  address,
  tx_hash: txHash,
  tx_index: index,
  output_index: index,
  amount: [
    { unit: "lovelace", quantity: `${lovelace}` },
    ...assets.map(({ quantity, unit }) => ({ unit, quantity: `${quantity}` }))
  ],
  block: "00".repeat(32),
  data_hash: null,
  inline_datum: null,
  reference_script_hash: null
})

/** Of mainnet, which the rig's ledger has too. */
const parameters = {
  epoch: 0,
  min_fee_a: 44,
  min_fee_b: 155_381,
  max_block_size: 90_112,
  max_tx_size: 16_384,
  min_utxo: "4310",
  max_val_size: "5000",
  coins_per_utxo_size: "4310",
  coins_per_utxo_word: "4310"
}

const findTransaction = (ledger: ShownChain, txHash: string) => {
  for (const block of ledger.blocks) {
    const transaction = block.transactions.find((each) => each.txHash === txHash)
    if (transaction !== undefined) return { block, transaction }
  }
  return undefined
}

const findBlock = (ledger: ShownChain, name: string): RigBlock | undefined =>
  name === "latest"
    ? ledger.tip
    : /^\d{1,9}$/.test(name)
    ? ledger.blocks[Number(name)]
    : ledger.blocks.find(({ hash }) => hash === name)

/** A page of a list, as `count` (1 to 100) and `page` name it. */
const pageOf = (query: URLSearchParams, all: ReadonlyArray<unknown>): BlockfrostAnswer => {
  const count = Number(query.get("count") ?? 100)
  const page = Number(query.get("page") ?? 1)
  if (!Number.isInteger(count) || count < 1 || count > 100) {
    return refusal(400, "Bad Request", "querystring/count must be <= 100")
  }
  return right(all.slice((page - 1) * count, page * count))
}

const stakeKeyOf = (account: string): string => bytesToHex(addressBytes(account).subarray(1))

/** Whether an address is the one that is named, or of the account that is. */
const isOf = (name: string, address: string): boolean =>
  name.startsWith("stake")
    ? addressBytes(address).length === 57 && bytesToHex(addressBytes(address)).endsWith(stakeKeyOf(name))
    : address === name

const transactionsOf = (ledger: ShownChain, name: string) =>
  ledger.blocks.flatMap(({ height, time, transactions }) =>
    transactions.flatMap((transaction, place) =>
      [...transaction.inputs, ...transaction.outputs].some(({ address }) => isOf(name, address))
        ? [{ tx_hash: transaction.txHash, tx_index: place, block_height: height, block_time: time, transaction }]
        : []
    )
  )

/** The first two eras of a public network, as `/network/eras` tells them. */
export const erasOf = (shelley: { readonly time: number; readonly slot: number; readonly epoch: number }) => [
  {
    start: { time: 0, slot: 0, epoch: 0 },
    end: shelley,
    parameters: { epoch_length: 21_600, slot_length: 20, safe_zone: 4_320 }
  },
  { start: shelley, end: shelley, parameters: { epoch_length: 432_000, slot_length: 1, safe_zone: 129_600 } }
]

const answerOf = (ledger: ShownChain, { headers, path, query }: BlockfrostCall): BlockfrostAnswer => {
  if (headers["project_id"] !== projectId) {
    return refusal(403, "Forbidden", "Invalid project token.")
  }
  const [, root, name = "", part, form] = path.split("/")
  if (path === "/network/eras") return right(erasOf({ time: 1_728_000, slot: 86_400, epoch: 4 }))
  if (path === "/genesis") {
    return right({
      active_slots_coefficient: 0.05,
      update_quorum: 5,
      max_lovelace_supply: "45000000000000000",
      network_magic: networkMagic,
      epoch_length: 432_000,
      system_start: 1_654_041_600,
      slots_per_kes_period: 129_600,
      slot_length: 1,
      max_kes_evolutions: 62,
      security_param: 2_160
    })
  }
  if (root === "addresses" && part === "utxos") {
    const unspent = ledger.tip.unspent(name)
    return unspent.length === 0 ? absent : pageOf(query, unspent.map((each) => unspentObject(name, each)))
  }
  if (root === "accounts" && part === "utxos") {
    const unspent = ledger.tip.unspentOfAccount(stakeKeyOf(name))
    return unspent.length === 0 ? absent : pageOf(query, unspent.map((each) => unspentObject(each.address, each)))
  }
  if ((root === "addresses" || root === "accounts") && part === "transactions") {
    const from = Number(query.get("from")?.split(":")[0] ?? 0)
    const listed = transactionsOf(ledger, name).filter(({ block_height: height }) => height >= from)
      .map(({ block_height, block_time, tx_hash, tx_index }) => ({ block_height, block_time, tx_hash, tx_index }))
    return pageOf(query, query.get("order") === "desc" ? listed.toReversed() : listed)
  }
  if (path === `/addresses/${name}/total` || path === `/accounts/${name}/addresses/total`) {
    const listed = transactionsOf(ledger, name)
    const sent = listed.flatMap(({ transaction }) => transaction.inputs).filter(({ address }) => isOf(name, address))
      .map(({ index, txHash }) => findTransaction(ledger, txHash)?.transaction.outputs[index]?.lovelace ?? 0n)
    return listed.length === 0 ? absent : right({
      received_sum: [],
      sent_sum: [{ unit: "lovelace", quantity: `${sent.reduce((all, each) => all + each, 0n)}` }],
      tx_count: listed.length
    })
  }
  if (path === "/epochs/latest/parameters") return right(parameters)
  if (root === "txs") {
    const found = findTransaction(ledger, name)
    if (found === undefined) return absent
    if (part === "utxos") return right(utxosObject(ledger, found.transaction))
    if (part === "metadata") {
      const { message = [] } = found.transaction
      return right(message.length === 0 ? [] : [{ label: "674", json_metadata: { msg: message } }])
    }
    return right({
      hash: name,
      block: found.block.hash,
      block_height: found.block.height,
      block_time: found.block.time,
      fees: `${found.transaction.fee ?? fee}`,
      valid_contract: found.transaction.isValid ?? true
    })
  }
  const block = root === "blocks" ? findBlock(ledger, name) : undefined
  if (block === undefined) return absent
  if (part === undefined) return right(blockObject(ledger, block))
  if (part === "next") {
    return pageOf(query, ledger.blocks.slice(block.height + 1).map((each) => blockObject(ledger, each)))
  }
  if (part === "txs" && form === "cbor") {
    return pageOf(query, block.transactions.map(({ cbor, txHash }) => ({ tx_hash: txHash, cbor })))
  }
  return absent
}

const kindOf = (path: string): string => path.replace(/\/(?:[0-9a-f]{64}|\d+|latest|addr\w+)(?=\/|$)/g, "/:name")

/** The API of a chain, until the scope closes. */
export const blockfrost = (chain: Ledger): Effect.Effect<Blockfrost, never, Scope.Scope> =>
  Effect.gen(function*() {
    let ledger = chain
    let fault: BlockfrostFault = "right"
    let lagOf = () => 0
    let calls: Record<string, number> = {}

    const respond = (request: IncomingMessage, response: ServerResponse) => {
      const url = new URL(request.url ?? "/", "http://rig")
      const path = url.pathname.slice(basePath.length)
      const kind = kindOf(path)
      calls[kind] = (calls[kind] ?? 0) + 1
      const call = { path, query: url.searchParams, headers: request.headers }
      if (fault === "held") return
      const honest = () =>
        url.pathname.startsWith(`${basePath}/`) ? answerOf(chainBelow(ledger, lagOf()), call) : absent
      const { body, headers = {}, status } = typeof fault === "function" ? fault(call, honest) : honest()
      const text = typeof body === "string" ? body : JSON.stringify(body)
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        ...headers
      })
      if (fault !== "cut") return void response.end(text)
      response.write(text.slice(0, text.length / 2))
      setImmediate(() => request.socket.destroy())
    }

    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const made = createServer(respond)
        // A test that computes for seconds must not find its idle connections closed.
        made.keepAliveTimeout = 600_000
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${basePath}`,
      set: (next) => {
        fault = next
      },
      lag: (next) => {
        lagOf = next
      },
      lead: (next) => {
        ledger = next
      },
      calls: () => calls,
      reset: () => {
        calls = {}
      }
    }
  })
