/**
 * The chain that a chaos run takes for the truth, and a minority branch beside it: two real EVM nodes, read directly.
 * The second one forks the first at a block, mines something else and adopts the first one's blocks when it is opened
 * again. Blocks are made by {@link TestChain} alone, with the system's time: every block has a moment in the record.
 */
import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { type Abi, encodeFunctionData, type Hex, keccak256 } from "viem"
import { mnemonicToAccount } from "viem/accounts"
import token from "../MockToken.json" with { type: "json" }
import { freePort } from "../Ports.ts"
import { until } from "../Service.ts"

/** Base's public chain id (EIP-155): a node on mainnet rules says that it is this one. */
export const chainId = 8453

/** Circle's USDC on Base: active in the catalogue. */
export const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

/** In the catalogue, and not active unless the operator says so: a payment in it is not accepted. */
export const inactiveToken = "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"

/** In no catalogue: anybody can make such a token. */
export const strangeToken = "0x5741a63e00000000000000000000000000000bad"

/** A node's `finalized` mark is this far behind its head: twice `--slots-in-an-epoch`. */
export const finalityDepth = 16

/** Accounts that pay. One pays again only after the others did, so that few payments hang on one another's nonce. */
const payors = 48

/** Room for a flood of logs in one block. */
const blockGas = 2_000_000_000n

/** Gas of one transfer, several times over; of one more in the same transaction. */
const oneGas = 300_000n
const moreGas = 60_000n

/** What the payors own of each token, in base units. */
const fortune = 10n ** 15n

/** The mnemonic of the node's own accounts, as its documentation prints it. */
const mnemonic = "test test test test test test test test test test test junk"

/** A transfer to somebody, read from a block. `token`: null is the native coin. Addresses are in lower case. */
export interface Transfer {
  readonly tx: string
  /** 0 for the native coin, 1 + position of the log in its receipt for a token. */
  readonly index: number
  readonly to: string
  readonly token: string | null
  readonly amount: bigint
  /** No transaction and no log names the receiver: a contract passed the coins on. */
  readonly internal: boolean
}

/** What happened to the canonical chain, in order. `at`: milliseconds of the epoch. */
export type ChainFact =
  | {
    readonly _tag: "Block"
    /** Before the node was told to make it. */
    readonly at: number
    readonly height: number
    readonly hash: string
    /** Epoch seconds of its header. */
    readonly time: number
    readonly transfers: ReadonlyArray<Transfer>
  }
  | { readonly _tag: "Undone"; readonly at: number; readonly above: number }

/** What a payor sends. */
export type Payment =
  | { readonly _tag: "Native"; readonly to: string; readonly amount: bigint }
  /** Through a contract, as a smart wallet does it. */
  | { readonly _tag: "Internal"; readonly to: string; readonly amount: bigint }
  | { readonly _tag: "Token"; readonly token: string; readonly to: string; readonly amount: bigint }
  /** The same amount to each, in one transaction. */
  | { readonly _tag: "Many"; readonly token: string; readonly to: ReadonlyArray<string>; readonly amount: bigint }

/** Where a payment is sent. */
export type Branches = "canonical" | "fork" | "both"

export interface TestChain {
  readonly url: string
  /** Of the second node; while there is none, of the first. */
  readonly forkUrl: () => string
  readonly facts: ReadonlyArray<ChainFact>
  readonly head: () => number
  /** A block on the canonical chain, and one or none on the other branch while that is open. */
  readonly mine: () => Promise<void>
  /** Signs and sends; answers the hash. It is in the next block, unless a reorganisation takes it out again. */
  readonly pay: (payment: Payment, where?: Branches) => Promise<string>
  /** Replaces the newest `depth` blocks by one more; their transactions come again at once, later or never. */
  readonly reorganise: (depth: number, random: () => number) => Promise<void>
  /** A second node leaves the canonical chain `back` blocks below its head, and mines by itself. */
  readonly openFork: (back: number) => Promise<void>
  readonly closeFork: () => void
  readonly isForked: () => boolean
  /** A raw JSON-RPC call to a node. */
  readonly ask: (url: string, method: string, ...params: ReadonlyArray<unknown>) => Promise<any>
}

const binary = (): string => {
  const platform = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`
  return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-${platform}/bin/anvil`)
}

/** A node that does not answer within so many milliseconds has hung: a run must not hang with it. */
const answerMillis = 20_000

/** One JSON-RPC call; rejects on an error. */
export const askNode = async (url: string, method: string, ...params: ReadonlyArray<unknown>): Promise<any> => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    signal: AbortSignal.timeout(answerMillis)
  })
  const answer = await response.json() as { readonly result?: unknown; readonly error?: { readonly message: string } }
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

const hex = (value: bigint | number): string => `0x${value.toString(16)}`

const spawnNode = (port: number, more: ReadonlyArray<string>): ChildProcess =>
  spawn(binary(), [
    ...["--port", String(port), "--chain-id", String(chainId), "--silent", "--no-mining"],
    ...["--slots-in-an-epoch", String(finalityDepth / 2), "--gas-limit", String(blockGas)],
    ...more
  ], { stdio: "ignore" })

const startNode = (more: ReadonlyArray<string>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function*() {
    const port = yield* freePort
    yield* Effect.acquireRelease(
      Effect.sync(() => spawnNode(port, more)),
      (child) =>
        Effect.callback<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )
    const url = `http://127.0.0.1:${port}`
    const asked = Effect.exit(Effect.tryPromise(() => askNode(url, "eth_chainId")))
    yield* until("the node answers", asked, ({ _tag }) => _tag === "Success")
    return url
  })

const abi = token.abi as Abi
const encode = (functionName: string, args: ReadonlyArray<unknown>): Hex =>
  encodeFunctionData({ abi, functionName, args })

/** keccak256("Transfer(address,address,uint256)") (EIP-20). */
const transferTopic = keccak256(new TextEncoder().encode("Transfer(address,address,uint256)"))
const forwardSelector = encode("forward", [`0x${"00".repeat(20)}`]).slice(0, 10)

/** What a block moves, by its transactions and receipts as the node itself tells them. */
const transfersIn = (block: any, receipts: ReadonlyArray<any>): ReadonlyArray<Transfer> =>
  receipts.flatMap((receipt, place): ReadonlyArray<Transfer> => {
    if (BigInt(receipt.status) !== 1n) return []
    const { hash: tx, input, to, value } = block.transactions[place]
    const amount = BigInt(value)
    const isForwarded = String(input).startsWith(forwardSelector)
    const receiver = isForwarded ? `0x${String(input).slice(34, 74)}` : String(to)
    return [
      ...amount === 0n ? [] : [{
        tx,
        index: 0,
        to: receiver.toLowerCase(),
        token: null,
        amount,
        internal: isForwarded
      }],
      ...receipt.logs.flatMap((log: any, position: number): ReadonlyArray<Transfer> =>
        log.topics[0] !== transferTopic || log.topics.length !== 3 ? [] : [{
          tx,
          index: position + 1,
          to: `0x${log.topics[2].slice(26)}`.toLowerCase(),
          token: String(log.address).toLowerCase(),
          amount: BigInt(log.data),
          internal: false
        }]
      )
    ]
  })

/** Runs one after the other what is given to it. */
const makeTurn = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <A>(work: () => Promise<A>): Promise<A> => {
    const next = last.then(work, work)
    last = next.catch(() => undefined)
    return next
  }
}

/** Starts both nodes; they end with the scope. */
export const makeTestChain: Effect.Effect<TestChain, never, Scope.Scope> = Effect.gen(function*() {
  const url = yield* startNode(["--accounts", String(payors), "--balance", "1000000"])
  const forkPort = yield* freePort
  const forkUrl = `http://127.0.0.1:${forkPort}`
  const fork: { child: ChildProcess | null } = { child: null }
  const endFork = async () => {
    const { child } = fork
    fork.child = null
    if (child === null || child.exitCode !== null) return
    const gone = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await gone
  }
  yield* Effect.addFinalizer(() => Effect.promise(endFork))
  const accounts = Array.from({ length: payors }, (_, addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }))
  const facts: Array<ChainFact> = []
  const turn = makeTurn()
  const later: Array<{ readonly raw: string; readonly fromHeight: number }> = []
  let height = 0
  let forked = false
  let anchor = 0
  let next = 0

  const read = async (number: number, at: number) => {
    const block = await askNode(url, "eth_getBlockByNumber", hex(number), true)
    const receipts = await askNode(url, "eth_getBlockReceipts", hex(number))
    facts.push({
      _tag: "Block",
      at,
      height: number,
      hash: block.hash,
      time: Number(block.timestamp),
      transfers: transfersIn(block, receipts)
    })
  }

  const mineOn = (node: string) => askNode(node, "evm_mine", { timestamp: Math.floor(Date.now() / 1000) })

  const mineCanonical = async () => {
    const at = Date.now()
    await mineOn(url)
    height += 1
    await read(height, at)
  }

  /** A transaction whose nonce another one took is none any more. */
  const sendAgain = (raw: string) => askNode(url, "eth_sendRawTransaction", raw).catch(() => undefined)

  const mine = () =>
    turn(async () => {
      const due = later.filter(({ fromHeight }) => fromHeight <= height)
      for (const one of due) {
        later.splice(later.indexOf(one), 1)
        await sendAgain(one.raw)
      }
      await mineCanonical()
      if (forked) await mineOn(forkUrl).catch(() => undefined)
    })

  const callOf = (payment: Payment): { readonly to: string; readonly value: bigint; readonly data: Hex } => {
    switch (payment._tag) {
      case "Native":
        return { to: payment.to, value: payment.amount, data: "0x" }
      case "Internal":
        return { to: usdc, value: payment.amount, data: encode("forward", [payment.to]) }
      case "Token":
        return { to: payment.token, value: 0n, data: encode("transfer", [payment.to, payment.amount]) }
      case "Many":
        return { to: payment.token, value: 0n, data: encode("transferMany", [payment.to, payment.amount, 1n]) }
    }
  }

  const pay = (payment: Payment, where: Branches = "canonical") =>
    turn(async () => {
      const account = accounts[next++ % payors]!
      const nodes = where === "both" ? [url, forkUrl] : where === "fork" ? [forkUrl] : [url]
      const nonce = Number(await askNode(nodes[0]!, "eth_getTransactionCount", account.address, "pending"))
      const { data, to, value } = callOf(payment)
      const gas = oneGas + (payment._tag === "Many" ? moreGas * BigInt(payment.to.length) : 0n)
      const fee = 10n ** 10n
      const raw = await account.signTransaction({
        chainId,
        nonce,
        gas,
        to: to as Hex,
        value,
        data,
        type: "eip1559",
        maxFeePerGas: fee,
        maxPriorityFeePerGas: 0n
      })
      await askNode(nodes[0]!, "eth_sendRawTransaction", raw)
      for (const other of nodes.slice(1)) await askNode(other, "eth_sendRawTransaction", raw).catch(() => undefined)
      return keccak256(raw)
    })

  const reorganise = (depth: number, random: () => number) =>
    turn(async () => {
      const above = height - depth
      const raws: Array<string> = []
      for (let number = above + 1; number <= height; number++) {
        const { transactions } = await askNode(url, "eth_getBlockByNumber", hex(number), false)
        for (const hash of transactions) raws.push(await askNode(url, "eth_getRawTransactionByHash", hash))
      }
      facts.push({ _tag: "Undone", at: Date.now(), above })
      await askNode(url, "anvil_rollback", depth)
      height = above
      for (let made = 0; made <= depth; made++) {
        const share = raws.splice(0, made === depth ? raws.length : Math.ceil(raws.length / 2))
        for (const raw of share) {
          const fate = random()
          if (fate < 0.6) await sendAgain(raw)
          else if (fate < 0.85) later.push({ raw, fromHeight: height + 3 + Math.floor(random() * 6) })
        }
        await mineCanonical()
      }
    })

  const openFork = (back: number) =>
    turn(async () => {
      anchor = height - back
      await endFork()
      const origin = ["--fork-url", url, "--fork-block-number", String(anchor), "--no-storage-caching"]
      fork.child = spawnNode(forkPort, origin)
      for (let tries = 0; tries < 400; tries++) {
        if (await askNode(forkUrl, "eth_chainId").then(() => true, () => false)) break
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      // Another miner: equal transactions at an equal time would make an equal block.
      await askNode(forkUrl, "anvil_setCoinbase", `0x${"fa".repeat(20)}`)
      for (let made = 0; made <= back; made++) await mineOn(forkUrl)
      forked = true
    })

  yield* Effect.promise(async () => {
    for (const at of [usdc, inactiveToken, strangeToken]) {
      await askNode(url, "anvil_setCode", at, token.deployedBytecode)
      for (const { address } of accounts) {
        await askNode(url, "eth_sendTransaction", {
          from: accounts[0]!.address,
          to: at,
          data: encode("mint", [address, fortune]),
          gas: hex(oneGas)
        })
      }
    }
    for (let made = 0; made < finalityDepth + 4; made++) await mineCanonical()
  })

  return {
    url,
    forkUrl: () => forked ? forkUrl : url,
    facts,
    head: () => height,
    mine,
    pay,
    reorganise: (depth, random) => reorganise(forked ? Math.min(depth, height - anchor - 1) : depth, random),
    openFork,
    closeFork: () => {
      forked = false
    },
    isForked: () => forked,
    ask: askNode
  }
})
