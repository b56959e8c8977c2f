/**
 * A TON chain to make things happen on: `@ton/sandbox`, which runs the real virtual machine, behind toncenter's API v3
 * on loopback. Every action is final in a masterchain block of its own. Load it only where it is needed: the machine
 * takes a second to start.
 */
import { Address, beginCell, Cell, comment, internal, toNano } from "@ton/core"
import { Blockchain, createShardAccount, Executor, type SandboxContract, type TreasuryContract } from "@ton/sandbox"
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { jettonMaster, type JettonState, mintBody, onChainContent, transferBody } from "./ton/Jetton.ts"
import {
  blockJson,
  type MasterBlock,
  type MinedTransaction,
  rawOf,
  stackJson,
  stackOf,
  type TransactionJson,
  transactionJson,
  transactionsPage
} from "./ton/Toncenter.ts"

/** What an endpoint does wrong; each may be changed at any time. */
export interface EndpointFaults {
  /** Blocks that it is behind. */
  lagBlocks: number
  /** Blocks whose transactions it does not show yet, though it shows the blocks. */
  indexLagBlocks: number
  delayMillis: number
  /** Status of every answer; null: as it should be. */
  status: number | null
  /** The connection ends in the middle of an answer. */
  isCut: boolean
  /** Bytes added to every answer. */
  ballast: number
  /** The most transactions of one answer. */
  maximumLimit: number
  /** Changes an answer: a node that lies. */
  lie: ((route: string, answer: any) => any) | null
}

export interface TonEndpoint {
  readonly url: string
  readonly faults: EndpointFaults
  /** How often each route was called. */
  readonly calls: Map<string, number>
  /** The headers of the last call. */
  readonly lastHeaders: () => IncomingMessage["headers"]
}

export interface TonJetton extends JettonState {
  readonly walletOf: (owner: Address) => Promise<Address>
}

type Payer = SandboxContract<TreasuryContract>

const v5Code = "20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f"

/** Codes that an API knows as wallets', beside the sandbox's own: v3r1, v3r2, v4r2, v5r1. */
const walletCodes = new Set([
  "b61041a58a7980b946e8fb9e198e3c904d24799ffa36574ea4251c41a566f581",
  "84dafa449f98a6987789ba232358072bc0f76dc4524002a5d0918b9a75d2d599",
  "feb5ff6820e2ff0d9483e7e0d62c817d846789fb4ae580c878866d959dabd5c0",
  v5Code
])

/**
 * The virtual machine. It is loaded with this file, which counts to no test's time, and for all chains at once: it
 * keeps nothing of one that another would see.
 */
const executor = await Executor.create()

const toRaw = (text: string): string => rawOf(Address.parse(text))

export class TonRig {
  readonly transactions: Array<MinedTransaction> = []
  readonly blocks: Array<MasterBlock> = []
  readonly jettons: Array<TonJetton> = []
  /** Owners for whom the API may have found jetton wallets. */
  private readonly owners = new Set<string>()
  readonly chain: Blockchain
  readonly payer: Payer
  readonly globalId: number

  private constructor(chain: Blockchain, payer: Payer, globalId: number) {
    this.chain = chain
    this.payer = payer
    this.globalId = globalId
  }

  static async make(globalId = -3): Promise<TonRig> {
    const chain = await Blockchain.create({ executor })
    chain.now = Math.floor(Date.now() / 1000)
    const rig = new TonRig(chain, await chain.treasury("payer", { balance: toNano(1_000_000) }), globalId)
    rig.blocks.push({ seqno: 1_000, time: chain.now })
    return rig
  }

  get head(): MasterBlock {
    return this.blocks.at(-1)!
  }

  /** One more block, `seconds` after the last or now, whichever is later. */
  mine(seconds = 0): MasterBlock {
    const time = seconds > 0 ? this.head.time + seconds : Math.max(this.head.time, Math.floor(Date.now() / 1000))
    const block = { seqno: this.head.seqno + 1, time }
    this.blocks.push(block)
    this.chain.now = time
    return block
  }

  /**
   * What `work` sends becomes final in a block of its own. `hopBlocks`: blocks after which each further transaction of
   * the trace becomes final, though it has the time of the first.
   */
  async act<A extends { readonly transactions: ReadonlyArray<any> }>(
    work: () => Promise<A>,
    hopBlocks = 0
  ): Promise<ReadonlyArray<MinedTransaction>> {
    const block = this.mine()
    const { transactions } = await work()
    const mined = transactions.map((transaction, hop) => ({ transaction, seqno: block.seqno + hop * hopBlocks }))
    this.transactions.push(...mined)
    return mined
  }

  /** Native coin. Answers the transaction of the receiver, whatever became of it. */
  async pay(to: Address, value: bigint, options: {
    readonly text?: string | null
    readonly body?: Cell
    readonly bounce?: boolean
    readonly from?: Payer
  } = {}): Promise<string> {
    const body = options.body ?? (options.text == null ? undefined : comment(options.text))
    const mined = await this.act(() =>
      (options.from ?? this.payer).send({ to, value, bounce: options.bounce ?? false, ...(body ? { body } : {}) })
    )
    return this.hashAt(mined, to)
  }

  /** Several receivers by one message to the payer's wallet: each has a transaction of its own. */
  async payMany(
    to: ReadonlyArray<{ readonly address: Address; readonly value: bigint; readonly text: string | null }>
  ) {
    return this.act(() =>
      this.payer.sendMessages(
        to.map(({ address, text, value }) =>
          internal({ to: address, value, bounce: false, ...(text === null ? {} : { body: comment(text) }) })
        )
      )
    )
  }

  /** `address`: where its master is put, absent: where its state says. Its admin has a million of it. */
  async deployJetton(
    content: Cell = onChainContent({ symbol: "USDT", decimals: "6", name: "Tether USD" }),
    admin: Payer = this.payer,
    address?: Address
  ): Promise<TonJetton> {
    const { init, ...own } = jettonMaster(admin.address, content)
    const state = { init, address: address ?? own.address }
    if (address === undefined) await this.act(() => admin.send({ to: own.address, value: toNano("0.1"), init }))
    else {
      await this.chain.setShardAccount(
        address,
        createShardAccount({ address, code: init.code!, data: init.data!, balance: toNano("1") })
      )
    }
    const walletOf = async (owner: Address) => {
      this.owners.add(rawOf(owner))
      const slice = beginCell().storeAddress(owner).endCell()
      const { stackReader } = await this.chain.runGetMethod(state.address, "get_wallet_address", [
        { type: "slice", cell: slice }
      ])
      return stackReader.readAddress()
    }
    const jetton = { ...state, walletOf }
    this.jettons.push(jetton)
    await this.mint(jetton, admin.address, 1_000_000_000_000n, admin)
    return jetton
  }

  mint(jetton: TonJetton, to: Address, amount: bigint, admin: Payer = this.payer) {
    this.owners.add(rawOf(to))
    return this.act(() => admin.send({ to: jetton.address, value: toNano("0.3"), body: mintBody(to, amount) }))
  }

  /** Jettons. Answers the transaction of the receiver's jetton wallet, whatever became of it. */
  async payJetton(jetton: TonJetton, to: Address, amount: bigint, options: {
    readonly text?: string | null
    readonly payload?: Cell
    readonly forwardAmount?: bigint
    readonly from?: Payer
    readonly hopBlocks?: number
    /** Gas for the whole way; too little stops it on its way. */
    readonly value?: bigint
  } = {}): Promise<string> {
    const { forwardAmount = toNano("0.05"), from = this.payer, text = null, value = toNano("0.3") } = options
    const wallet = await jetton.walletOf(from.address)
    const forwardPayload = options.payload ?? (text === null ? null : comment(text))
    const body = transferBody({ to, amount, response: from.address, forwardAmount, forwardPayload })
    const receiver = await jetton.walletOf(to)
    return this.hashAt(await this.act(() => from.send({ to: wallet, value, body }), options.hopBlocks), receiver)
  }

  private hashAt(mined: ReadonlyArray<MinedTransaction>, to: Address): string {
    const key = BigInt(`0x${to.hash.toString("hex")}`)
    const at = mined.find(({ transaction }) => transaction.address === key)
    return at === undefined ? "" : at.transaction.hash().toString("hex")
  }

  private async state(address: Address) {
    const { account } = (await this.chain.getContract(address)).account
    const state = account?.storage.state
    const code = state?.type === "active" ? state.state.code : null
    return {
      exists: account != null,
      isActive: state?.type === "active",
      code: code?.hash().toString("hex") ?? null,
      balance: account?.storage.balance.coins ?? 0n
    }
  }

  /** The answer of a route. */
  async answer(route: string, query: URLSearchParams, body: any, faults: EndpointFaults): Promise<[number, unknown]> {
    const seen = this.blocks.slice(0, Math.max(1, this.blocks.length - faults.lagBlocks))
    const head = seen.at(-1)!
    switch (route) {
      case "masterchainInfo":
        return [200, { last: blockJson(head, this.globalId), first: blockJson(seen[0]!, this.globalId) }]
      case "blocks": {
        const [seqno, end] = [query.get("seqno"), Number(query.get("end_utime") ?? Infinity)]
        const found = seen.filter((each) => (seqno === null || each.seqno === Number(seqno)) && each.time <= end)
        const sorted = query.get("sort") === "desc" ? found.toReversed() : found
        const page = sorted.slice(0, Number(query.get("limit") ?? 10))
        return [200, { blocks: page.map((each) => blockJson(each, this.globalId)) }]
      }
      case "transactions": {
        const limit = Number(query.get("limit") ?? 10)
        if (limit > faults.maximumLimit) {
          return [422, { code: 422, error: `limit is not allowed: ${limit} > ${faults.maximumLimit}` }]
        }
        const shown = this.transactions.filter(({ seqno }) => seqno <= head.seqno - faults.indexLagBlocks)
        const page = transactionsPage(shown.map(transactionJson), query, toRaw)
        return [200, { transactions: page, address_book: {} }]
      }
      case "runGetMethod":
        return [200, await this.runGetMethod(body)]
      case "walletStates":
        return [200, { wallets: await this.walletStates(query.getAll("address").map(toRaw)) }]
      case "jetton/wallets":
        return [200, { jetton_wallets: await this.jettonWallets(query) }]
      default:
        return [404, { error: "not found" }]
    }
  }

  private async runGetMethod(body: any) {
    const address = Address.parse(body.address)
    if (!(await this.state(address)).isActive) return { gas_used: 0, exit_code: -13, stack: [] }
    return this.chain.runGetMethod(address, body.method, stackOf(body.stack)).then(
      ({ exitCode, stack }) => ({ gas_used: 1_000, exit_code: exitCode, stack: stackJson(stack) }),
      (error) => ({ gas_used: 1_000, exit_code: error.exitCode ?? 11, stack: [] })
    )
  }

  private async walletStates(accounts: ReadonlyArray<string>) {
    const treasury = (await this.state(this.payer.address)).code
    const states = await Promise.all(accounts.map(async (address) => {
      const { balance, code, exists, isActive } = await this.state(Address.parse(address))
      const isWallet = code !== null && (code === treasury || walletCodes.has(code))
      const status = isActive ? "active" : "uninit"
      const type = code === v5Code ? "wallet v5 r1" : null
      return exists ? [{ address, is_wallet: isWallet, status, balance: `${balance}`, wallet_type: type }] : []
    }))
    return states.flat()
  }

  /** Jetton wallets that exist, which is all that an indexer can list. */
  private async jettonWallets(query: URLSearchParams) {
    const owners = query.getAll("owner_address").map(toRaw)
    const masters = new Set(query.getAll("jetton_address").map(toRaw))
    const found: Array<{ address: string; owner: string; jetton: string; balance: string }> = []
    for (const jetton of this.jettons.filter(({ address }) => masters.size === 0 || masters.has(rawOf(address)))) {
      for (const owner of owners) {
        const address = await jetton.walletOf(Address.parse(owner))
        if (!(await this.state(address)).isActive) continue
        found.push({ address: rawOf(address), owner, jetton: rawOf(jetton.address), balance: "1" })
      }
    }
    return found
  }

  /** Shows the chain on a port of loopback for as long as the scope lives. */
  serve(faultsGiven: Partial<EndpointFaults> = {}): Effect.Effect<TonEndpoint, never, Scope.Scope> {
    const faults: EndpointFaults = {
      lagBlocks: 0,
      indexLagBlocks: 0,
      delayMillis: 0,
      status: null,
      isCut: false,
      ballast: 0,
      maximumLimit: 1_000,
      lie: null,
      ...faultsGiven
    }
    const calls = new Map<string, number>()
    let headers: IncomingMessage["headers"] = {}
    const handle = async (request: IncomingMessage, response: ServerResponse) => {
      const url = new URL(request.url!, "http://rig")
      const route = url.pathname.replace("/api/v3/", "")
      calls.set(route, (calls.get(route) ?? 0) + 1)
      headers = request.headers
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk)
      const body = chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString("utf8"))
      if (faults.delayMillis > 0) await new Promise((resolve) => setTimeout(resolve, faults.delayMillis))
      const [status, answer] = faults.status === null
        ? await this.answer(route, url.searchParams, body, faults)
        : [faults.status, { code: faults.status, error: "Ratelimit exceed" }]
      const told = faults.lie === null ? answer : faults.lie(route, answer)
      const text = JSON.stringify(told) + " ".repeat(faults.ballast)
      response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
      if (faults.isCut) {
        response.write(text.slice(0, text.length / 2))
        response.destroy()
      } else response.end(text)
    }
    return Effect.acquireRelease(
      Effect.promise(() =>
        new Promise<{ readonly endpoint: TonEndpoint; readonly close: () => void }>((resolve) => {
          const server = createServer((request, response) => {
            handle(request, response).catch((error) =>
              response.writeHead(500).end(JSON.stringify({ error: `${error}` }))
            )
          })
          // A test that computes for seconds must not find its idle connections closed.
          server.keepAliveTimeout = 600_000
          server.listen(0, "127.0.0.1", () => {
            const { port } = server.address() as AddressInfo
            resolve({
              endpoint: { url: `http://127.0.0.1:${port}`, faults, calls, lastHeaders: () => headers },
              close: () => {
                server.close()
                server.closeAllConnections()
              }
            })
          })
        })
      ),
      ({ close }) => Effect.sync(close)
    ).pipe(Effect.map(({ endpoint }) => endpoint))
  }
}

export type { TransactionJson }
